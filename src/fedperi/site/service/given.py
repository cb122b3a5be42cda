"""What a site has given over all its runs, counted on its disk: a new run or a new process begins no new count."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ...protocol.messages import Question, question_key
from ...protocol.policy import SitePolicy
from ...protocol.requests import Opening
from ...protocol.steps import Beginning
from .runs import plain_record

if TYPE_CHECKING:
    from ...privacy.store import Place

FILE, FORMAT, VERSION = "given.json", "fedperi.given", 1


@dataclass(frozen=True)
class Given:
    """Distinct openings and rounds of questions, by their marks; steps, which are all counted; numbers in all."""

    openings: frozenset[str] = frozenset()
    rounds: frozenset[str] = frozenset()
    steps: int = 0
    numbers: int = 0

    def check(self, policy: SitePolicy) -> None:
        """Raise if this is more than the owner allows."""
        policy.check_given(len(self.openings), len(self.rounds) + self.steps, self.numbers)


@dataclass(frozen=True)
class Account:
    """Counts what a site gives, and refuses more than its policy allows.

    Asked again, a site gives the same answer again: no more is learned, and nothing is counted. Steps are all counted,
    because their answers depend on the steps before them.

    Parameters
    ----------
    place : Place
        Where the site keeps things.
    identity : str
        Identifies the table and how it is read: answers about another table are new ones.
    policy : SitePolicy
        What is allowed.

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
        """What has been given so far."""
        text = self.place.read(FILE)
        if text is None:
            return Given()
        try:
            kept = json.loads(text)
            if (kept["format"], kept["version"]) != (FORMAT, VERSION):
                raise ValueError("format")
            return Given(
                frozenset(map(str, kept["openings"])),
                frozenset(map(str, kept["rounds"])),
                int(kept["steps"]),
                int(kept["numbers"]),
            )
        except (ValueError, KeyError, TypeError, OverflowError):
            raise InputError(
                f"{str(self.place.path / FILE)!r}, which counts what this site has given, is damaged: restore it from "
                "a backup; nothing is sent"
            ) from None

    def check(self, opening: Opening | Beginning, questions: Sequence[Question] = ()) -> None:
        """Raise if an opening, with questions, would be more than the owner allows; nothing is counted."""
        self._after(opening, questions).check(self.policy)

    def enter(self, opening: Opening | Beginning, questions: Sequence[Question] = ()) -> None:
        """Count an opening, with questions, or raise; to be called before anything is computed."""
        with self.place.locked():
            after = self._after(opening, questions)
            if after != self.given:
                self._keep(after)

    def enter_step(self, numbers: int) -> None:
        """Count a step whose answer has this many numbers, or raise."""
        with self.place.locked():
            so_far = self.given
            self._keep(Given(so_far.openings, so_far.rounds, so_far.steps + 1, so_far.numbers + numbers))

    def _after(self, opening: Opening | Beginning, questions: Sequence[Question]) -> Given:
        so_far, opened = self.given, self._mark(opening)
        openings = so_far.openings | {opened}
        if not questions:
            return Given(openings, so_far.rounds, so_far.steps, so_far.numbers)
        asked = _digest(opened, *map(question_key, questions))
        new = 0 if asked in so_far.rounds else sum(question.answers for question in questions)
        return Given(openings, so_far.rounds | {asked}, so_far.steps, so_far.numbers + new)

    def _mark(self, opening: Opening | Beginning) -> str:
        return _digest(self.identity, json.dumps(plain_record(opening) | {"run": ""}, sort_keys=True))

    def _keep(self, given: Given) -> None:
        given.check(self.policy)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "openings": sorted(given.openings),
            "rounds": sorted(given.rounds),
            "steps": given.steps,
            "numbers": given.numbers,
        }
        self.place.write(FILE, json.dumps(content))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
