"""What a site has sent over all its runs, counted on its disk: a new run or a new process does not reset the count."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import InputError
from ...protocol.messages import Question, question_key
from ...protocol.policy import SitePolicy
from ...protocol.requests import Opening
from ...protocol.steps import Beginning
from ...strict import pack, unpack
from .runs import plain_record

if TYPE_CHECKING:
    from ...privacy.store import Place

FILE, FORMAT, VERSION = "given.json", "fedperi.given", 1


@dataclass(frozen=True)
class Given:
    """Hashes of the different openings and rounds of questions; number of steps; numbers in all answers."""

    openings: frozenset[str] = frozenset()
    rounds: frozenset[str] = frozenset()
    steps: int = 0
    numbers: int = 0


@dataclass(frozen=True)
class Account:
    """Counts what a site sends, and refuses more than its policy allows.

    A repeated question gets the same answer again: nothing more is learned, and nothing is counted. Every step is
    counted, because its answer depends on the steps before it.

    `identity` is a hash of the table and of how it is read: if either changes, repeated questions count as new.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.privacy.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     account = Account(Store(folder).place("north", "0" * 64), "0" * 64, SitePolicy(most_openings=1))
    ...     for run in ("r1", "r2"):  # the same opening under another name
    ...         account.enter(Beginning(run, "fedcdh", ()))
    ...     len(account.given.openings)
    1
    """

    place: Place
    identity: str
    policy: SitePolicy

    @property
    def given(self) -> Given:
        """What has been sent so far."""
        text = self.place.read(FILE)
        if text is None:
            return Given()
        try:
            kept = unpack(text, FORMAT, VERSION)
            openings, rounds = (frozenset(map(str, kept[name])) for name in ("openings", "rounds"))
            return Given(openings, rounds, int(kept["steps"]), int(kept["numbers"]))
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{str(self.place.path / FILE)!r}, which counts what this site has sent, is damaged: restore it from "
                "a backup; nothing is sent"
            ) from None

    def check(self, opening: Opening | Beginning, questions: Sequence[Question] = ()) -> None:
        """Raise if an opening, with questions, would be more than the owner allows; nothing is counted."""
        self._check(self._after(opening, questions))

    def enter(self, opening: Opening | Beginning, questions: Sequence[Question] = ()) -> None:
        """Count an opening, with questions, or raise. Call this before anything is computed."""
        with self.place.locked():
            after = self._after(opening, questions)
            if after != self.given:
                self._keep(after)

    def enter_step(self, numbers: int) -> None:
        """Count a step and the numbers of its answer, or raise."""
        with self.place.locked():
            given = self.given
            self._keep(replace(given, steps=given.steps + 1, numbers=given.numbers + numbers))

    def _after(self, opening: Opening | Beginning, questions: Sequence[Question]) -> Given:
        opened = sha256(self.identity, json.dumps(plain_record(opening) | {"run": ""}, sort_keys=True))[:32]
        given = self.given
        given = replace(given, openings=given.openings | {opened})
        asked = sha256(opened, *map(question_key, questions))[:32]
        if not questions or asked in given.rounds:
            return given
        new = sum(question.answers for question in questions)
        return replace(given, rounds=given.rounds | {asked}, numbers=given.numbers + new)

    def _check(self, given: Given) -> None:
        self.policy.check_given(len(given.openings), len(given.rounds) + given.steps, given.numbers)

    def _keep(self, given: Given) -> None:
        self._check(given)
        counts = {"steps": given.steps, "numbers": given.numbers}
        content = {"openings": sorted(given.openings), "rounds": sorted(given.rounds), **counts}
        self.place.write(FILE, pack(FORMAT, VERSION, content))


def sha256(*texts: str) -> str:
    """Return the SHA-256 of texts, which hold no NUL."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
