"""The noisy answers that a site has given: each is charged, drawn and kept before it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...privacy.ledger import Ledger
from ...protocol.messages import Floats
from ...strict import read_json, write_json

if TYPE_CHECKING:
    from ...privacy.noise import Noise
    from ...privacy.options import Privacy
    from ...privacy.regret_noise import RegretPlan
    from ...privacy.release.site_release import Budget


class AnswerBook:
    """Answers by the names of their questions: a repeated question gets the same noisy answer, and is paid only once.

    Noise comes from `privacy`. `budget` has the site's folder and ledger; without it, in tests, answers are kept only
    in this object. `ledger` is the ledger as it was last read.
    """

    def __init__(self, site: str, privacy: Privacy, budget: Budget | None) -> None:
        self._site, self._privacy, self._budget = site, privacy, budget
        self.ledger = None if budget is None else budget.ledger
        self._known: dict[str, float] = {}
        self._key = ""
        self._noise: Noise | None = None

    @property
    def given(self) -> int:
        """How many different answers have been given."""
        return len(self._known)

    def open(self, key: str, plan: RegretPlan, scale: float) -> None:
        """Read the answers that were given before under this key; if there are none, check that all can be paid."""
        self._plan, self._scale = plan, scale
        if key != self._key:
            self._key, self._known, self._noise = key, {}, None
        self._known = self.kept()
        self._read_ledger()  # after the answers, so that it has the price of all of them
        if self.ledger is not None and not self._known:
            self.ledger.check(plan.price(plan.answers))

    def kept(self) -> dict[str, float]:
        """Read the answers from the site's disk."""
        if self._budget is None:
            return self._known
        text = self._budget.kept(self._key)
        if text is None:
            return {}
        try:
            return {str(key): float(value) for key, value in read_json(text).items()}
        except (ValueError, TypeError, AttributeError):
            raise InputError(
                f"the answers that site {self._site!r} has kept are damaged. Nothing is released, because repeated "
                "questions would get other noise; restore the site's store from a backup"
            ) from None

    def has(self, names: Sequence[str]) -> bool:
        """Whether all of these questions have been answered."""
        return all(name in self._known for name in names)

    def values(self, names: Sequence[str]) -> Floats:
        """Return the answers to these questions."""
        return np.array([self._known[name] for name in names])

    def add(self, exact: Mapping[str, float]) -> None:
        """Charge for the new questions among these, add noise to their exact answers, and keep the noisy ones."""
        budget = self._budget
        with nullcontext() if budget is None else budget.place.locked():
            self._known = self.kept()
            self._read_ledger()
            new = {name: value for name, value in exact.items() if name not in self._known}
            if new:
                self._pay(len(new))
                if self._noise is None:
                    self._noise = self._privacy.noise(self._site)
                drawn = self._noise.laplace(np.array(list(new.values())), self._scale)
                self._known = self._known | dict(zip(new, drawn.tolist(), strict=True))
                if budget is not None:
                    budget.place.keep(self._key, write_json(self._known))

    def _pay(self, count: int) -> None:
        """Charge for answers before they are drawn: a crash in between wastes budget, but never harms privacy."""
        plan, used = self._plan, self.given
        if used + count > plan.answers:
            raise InputError(
                f"site {self._site!r}: epsilon = {plan.epsilon:g} was divided among {plan.answers} answers; {used} "
                f"given so far, {count} more asked for. None of these is released; plan for more with Privacy(..., "
                "answers=...), or use mechanism='statistics', which answers any number of questions at one price"
            )
        if self.ledger is not None:
            self.ledger = self.ledger.charge(plan.price(count), f"{count} regrets with noise on each")

    def _read_ledger(self) -> None:
        """Read the ledger again: other processes of the site may have paid in the meantime."""
        if self.ledger is not None:
            self.ledger = Ledger.open(self.ledger.place, site=self._site, table=self.ledger.table)
