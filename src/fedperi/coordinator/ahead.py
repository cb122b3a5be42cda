"""Questions that are known before a run is opened, so that they can go out with the opening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ..graph.knowledge import unconstrained
from ..protocol.messages import Families, Question
from ..search.families import Ints, ParentSets
from ..search.screening import FULL, candidate_parents


def first_look(p: int) -> tuple[Question, ...]:
    """Return the first questions of PERI and I-PERI, where they depend on the number of variables alone.

    Up to `fedperi.search.screening.FULL` variables they depend on background knowledge too, and there is none.

    Examples
    --------
    >>> first_look(10)
    ()
    >>> [question.answers for question in first_look(20)]  # each node without and with each other one: 20 * 19 * 2
    [760]
    """
    if p <= FULL:
        return ()
    # The search itself says what it begins with, so that the two can never differ.
    oracle = _Listening(tuple(map(str, range(p))))
    try:
        candidate_parents(ParentSets(oracle, 0.0, unconstrained(oracle.names)))
    except _Heard as heard:
        return tuple(Families(*block) for block in heard.families)
    return ()


class _Heard(Exception):
    def __init__(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> None:
        self.families = families


class _Listening:
    """An oracle that takes down the first questions, and answers none."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> NoReturn:
        raise _Heard(families)
