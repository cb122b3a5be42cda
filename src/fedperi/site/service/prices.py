"""The price of a message in privacy: what it will cost, for the site's owner, and what was paid, for the site's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InputError
from ...privacy.ledger import Entry, Ledger

if TYPE_CHECKING:
    from ...privacy.accounting import Price
    from .source import AnswerSource

MOST_NAMED = 2
"""Most entries of the ledger that one line names; of more it gives the number and the sum."""


def ledger_entries(source: AnswerSource) -> tuple[Entry, ...]:
    """Return all entries of a site's ledger so far."""
    ledger = _ledger(source)
    return () if ledger is None else ledger.releases


def spending_words(source: AnswerSource, before: Sequence[Entry] | None) -> str:
    """Say what was paid since the ledger had these entries, and in total; with None, only the total.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.site.service.source import AnswerSource
    >>> source = AnswerSource(fp.simulate(3, clients=2, samples=200, seed=1).sites[0], name="north")
    >>> spending_words(source, ())
    'Privacy price: none paid, no noise was added.'
    """
    if source.exact:
        return "Privacy price: none paid, no noise was added."
    if source.privacy is None:
        promise = source.card.promise or {}
        return f"Paid: nothing; the release was paid for when it was made, with epsilon {promise['epsilon']:g}."
    ledger = _ledger(source)
    if ledger is None:
        return "Paid: nothing so far."
    return f"{'' if before is None else f'{paid_words(before, ledger.releases)} '}{total_words(ledger)}"


def _ledger(source: AnswerSource) -> Ledger | None:
    """Read the ledger; None without one, or if it is damaged: an error follows when something must be paid."""
    if source.privacy is None:
        return None
    try:
        return Ledger.look(source.place, site=source.name, table=source.initial_fingerprint)
    except InputError:
        return None


def price_words(ledger: Ledger, prices: Sequence[Price]) -> str:
    """Say what will be charged, one price per entry, and how the ledger stands before and after.

    Examples
    --------
    >>> from fedperi.privacy.accounting import Price
    >>> from fedperi.privacy.ledger import Ceiling
    >>> from fedperi.privacy.store import Store
    >>> ledger = Ledger(Store("x").place("h1", "0" * 64), "h1", "0" * 64, (("2026-11-16", Ceiling(3)),))
    >>> price_words(ledger, [])
    'nothing, the noise was drawn before; ledger: spent 0 of 3.'
    >>> price_words(ledger, [Price(0.4, 0.0, laplace=(0.4, 1))])
    'epsilon 0.4, delta 0; ledger: spent 0 of 3, and 0.4 after it.'
    """
    from ...privacy.accounting import spent

    before = f"ledger: spent {ledger.spent:.4g} of {ledger.ceiling.epsilon:g}"
    if not prices:
        return f"nothing, the noise was drawn before; {before}."
    paid = " and ".join(f"epsilon {price.epsilon:.6g}, delta {price.delta:g}" for price in prices)
    after = spent([*(entry.price for entry in ledger.releases), *prices], ledger.ceiling.delta)
    return f"{paid}; {before}, and {after:.6g} after it."


def paid_words(before: Sequence[Entry], after: Sequence[Entry]) -> str:
    """Say what was paid between two states of a ledger, and why if the same had been paid before.

    Examples
    --------
    >>> from fedperi.privacy.accounting import Price
    >>> paid = Entry("2026-11-16", "noisy moments of the table", Price(1.0, 1e-6, gaussian=0.02))
    >>> paid_words((), (paid,))
    'Paid: epsilon 1, delta 1e-06 for noisy moments of the table.'
    >>> paid_words((paid,), (paid,))
    'Paid: nothing, the noise of it was drawn and paid for before.'
    """
    new = after[len(before) :]
    if not new:
        return "Paid: nothing, the noise of it was drawn and paid for before."
    if len(new) > MOST_NAMED:
        said = f"{len(new)} entries of the ledger, the first for {new[0].what}; {_sum(new):.4g} is the sum of epsilon"
    else:
        said = " and ".join(f"epsilon {e.price.epsilon:.4g}, delta {e.price.delta:g} for {e.what}" for e in new)
    again = any(entry.what == old.what for entry in new for old in before)
    return f"Paid: {said}{'; nothing that was drawn before answers this' if again else ''}."


def total_words(ledger: Ledger) -> str:
    """Say what a ledger has spent in total, and why that is less than the sum of its entries.

    Examples
    --------
    >>> from fedperi.privacy.accounting import Price
    >>> from fedperi.privacy.ledger import Ceiling
    >>> from fedperi.privacy.store import Store
    >>> from fedperi.privacy.zcdp import zcdp_rho
    >>> one = Entry("2026-11-16", "noisy moments", Price(1.0, 1e-6, gaussian=zcdp_rho(1.0, 1e-6)))
    >>> place, ceilings = Store("x").place("h1", "0" * 64), (("2026-11-16", Ceiling(3)),)
    >>> total_words(Ledger(place, "h1", "0" * 64, ceilings, (one,)))
    'Ledger: epsilon 1 of 3 spent.'
    >>> total_words(Ledger(place, "h1", "0" * 64, ceilings, (one, one)))
    'Ledger: epsilon 1.451 of 3 spent in 2 entries (their sum is 2; together they reveal less than that).'
    """
    spent, entries = ledger.spent, ledger.releases
    total = f"Ledger: epsilon {spent:.4g} of {ledger.ceiling.epsilon:g} spent"
    if len(entries) < 2:
        return f"{total}."
    less = f"their sum is {_sum(entries):.4g}; together they reveal less than that"
    counted = less if spent < 0.999 * _sum(entries) else "their sum"
    return f"{total} in {len(entries)} entries ({counted})."


def _sum(entries: Sequence[Entry]) -> float:
    return sum(entry.price.epsilon for entry in entries)
