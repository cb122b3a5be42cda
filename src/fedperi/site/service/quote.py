"""What answering a message costs, as the ledger will record it, known before anybody is asked and anything is paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...privacy.accounting import Price
    from ...privacy.ledger import Ledger


@dataclass(frozen=True)
class Quote:
    """The entries that a ledger will get, and the ledger as it stands.

    Parameters
    ----------
    ledger : Ledger
        The ledger before the message is answered.
    prices : tuple of Price
        What will be charged, one entry each; none if all of it was paid for before.

    Examples
    --------
    >>> from fedperi.privacy.accounting import Price
    >>> from fedperi.privacy.ledger import Ceiling, Ledger
    >>> from fedperi.privacy.store import Store
    >>> ledger = Ledger(Store("x").place("h1", "0" * 64), "h1", "0" * 64, (("2026-11-16", Ceiling(3)),))
    >>> Quote(ledger).words
    'nothing, the noise was drawn before; ledger: spent 0 of 3.'
    >>> Quote(ledger, (Price(0.4, 0.0, laplace=(0.4, 1)),)).words
    'epsilon 0.4, delta 0; ledger: spent 0 of 3, and 0.4 after it.'
    """

    ledger: Ledger
    prices: tuple[Price, ...] = ()

    @property
    def words(self) -> str:
        """The price in words."""
        from ...privacy.accounting import spent

        ceiling = self.ledger.ceiling
        stands = f"ledger: spent {self.ledger.spent:.4g} of {ceiling.epsilon:g}"
        if not self.prices:
            return f"nothing, the noise was drawn before; {stands}."
        paid = " and ".join(f"epsilon {price.epsilon:.6g}, delta {price.delta:g}" for price in self.prices)
        after = spent([*(entry.price for entry in self.ledger.releases), *self.prices], ceiling.delta)
        return f"{paid}; {stands}, and {after:.6g} after it."
