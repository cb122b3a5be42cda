"""Questions that are known before a run is opened, so that they can be sent with the opening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ..graph.knowledge import unconstrained
from ..protocol.messages import Families, Question
from ..search.families import Ints, ParentSets
from ..search.screening import FULL, candidate_parents


def first_look(p: int) -> tuple[Question, ...]:
    """Return the first questions of PERI and I-PERI, if they depend only on the number of variables.

    Up to `fedperi.search.screening.FULL` variables they also depend on background knowledge, and none is returned.

    Examples
    --------
    >>> first_look(10)
    ()
    >>> [question.answers for question in first_look(20)]  # each node without and with each other one: 20 * 19 * 2
    [760]
    """
    if p <= FULL:
        return ()
    # The questions come from the search itself, so that the two can never differ.
    oracle = _Recorder(tuple(map(str, range(p))))
    try:
        candidate_parents(ParentSets(oracle, 0.0, unconstrained(oracle.names)))
    except _Asked as asked:
        return tuple(Families(*block) for block in asked.families)
    return ()


class _Asked(Exception):
    def __init__(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> None:
        self.families = families


class _Recorder:
    """An oracle that raises with the first questions, instead of an answer."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> NoReturn:
        raise _Asked(families)
