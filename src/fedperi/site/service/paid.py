"""What a message cost in privacy, for the site's log: what was paid, why, and what that makes in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InputError
from ...privacy.ledger import Entry, Ledger

if TYPE_CHECKING:
    from .source import AnswerSource

MOST_NAMED = 2
"""Entries of the ledger that one line names; of more it gives the number and the sum."""


class Spending:
    """The ledger of a site, as the log speaks of it.

    Parameters
    ----------
    held : AnswerSource
        The site's table or release.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.site.service.source import AnswerSource
    >>> held = AnswerSource(fp.simulate(3, clients=2, samples=200, seed=1).sites[0], name="north")
    >>> Spending(held).words(())
    'Privacy price: none paid, no noise was added.'
    """

    def __init__(self, held: AnswerSource) -> None:
        self._held = held

    def entries(self) -> tuple[Entry, ...]:
        """Return all that was paid so far."""
        ledger = self._ledger()
        return () if ledger is None else ledger.releases

    def words(self, before: Sequence[Entry] | None) -> str:
        """Say what was paid since the ledger had these entries, and what was paid in all; without them, only that."""
        if self._held.bare:
            return "Privacy price: none paid, no noise was added."
        if self._held.privacy is None:
            promise = self._held.card.promise or {}
            return f"Paid: nothing; the release was paid for when it was made, with epsilon {promise['epsilon']:g}."
        ledger = self._ledger()
        if ledger is None:
            return "Paid: nothing so far."
        return f"{'' if before is None else f'{paid_words(before, ledger.releases)} '}{total_words(ledger)}"

    def _ledger(self) -> Ledger | None:
        """Read the ledger; None without one, and also if it is damaged: whatever must be paid says that itself."""
        if self._held.privacy is None:
            return None
        try:
            return Ledger.look(self._held.place, site=self._held.name, table=self._held.mark)
        except InputError:
            return None


def paid_words(before: Sequence[Entry], after: Sequence[Entry]) -> str:
    """Say what was paid between two looks at a ledger, and why if something had been paid before.

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
    """Say what a ledger has spent in all, and why that is less than the sum of its entries.

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
