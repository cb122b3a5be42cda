"""Greedy equivalence search over any score: forward, backward, turning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...graph import bits
from ...graph.equivalence import extend
from ...graph.pdag import PDAG
from ...scores.score import RESOLUTION, Score, ScoreCache
from .operators import (
    Essential,
    Move,
    Scored,
    apply,
    below,
    deletes,
    essential,
    insert,
    inserts,
    path_condition,
    turns,
)

Gain = tuple[float, Move]

Gainful = Callable[[Essential, ScoreCache, list[int]], Iterator[Gain]]


class GESResult(NamedTuple):
    """The CPDAG found, its score, the number of moves and of distinct local scores that were computed."""

    graph: PDAG
    score: float
    moves: int
    queries: int


def ges_fit(
    score: Score, *, start: PDAG | None = None, phases: Iterable[str] = ("forward", "backward", "turning")
) -> GESResult:
    """Search the equivalence classes greedily for the best score (Chickering, 2002).

    Parameters
    ----------
    score : Score
        A decomposable, score-equivalent score.
    start : PDAG, optional
        A CPDAG to start from; the empty graph if not given.
    phases : iterable of {"forward", "backward", "turning"}
        Which phases to run, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.scores.gaussian import GaussianScore
    >>> from fedperi.discovery.ges.ges import ges_fit
    >>> collider = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    >>> ges_fit(GaussianScore(collider, n=1000, names=["A", "B", "C"])).graph
    PDAG('A -> C, B -> C', names=['A', 'B', 'C'])
    """
    names = score.names
    wanted = list(phases)
    for phase in wanted:
        if phase not in PHASES:
            raise InputError(f"phases are {', '.join(PHASES)}; {phase!r} is not one of them")
    cache = ScoreCache(score)
    matrix = np.zeros((len(names), len(names)), dtype=bool) if start is None else start.reordered(names).adjacency
    graph = essential(bits.columns(matrix & ~matrix.T), bits.rows(matrix & matrix.T))
    moves = 0
    for phase in wanted:
        graph, made = _climb(graph, cache, PHASES[phase])
        moves += made
    pdag = PDAG._known_acyclic(bits.matrix([i | u for i, u in zip(graph.parents, graph.lines, strict=True)]).T, names)
    dag, _ = extend(graph.parents, graph.lines)
    return GESResult(pdag, cache.total(dag), moves, len(cache))


def _climb(graph: Essential, cache: ScoreCache, phase: Phase) -> tuple[Essential, int]:
    """Make the best valid move until none improves the score. Only gains around the last move are computed again."""
    p = len(graph.parents)
    gains: list[list[Gain]] = [[] for _ in range(p)]  # by y, best first; the condition on paths is not checked yet
    stale = list(range(p))
    made = 0
    while True:
        for y in stale:
            gains[y] = []
        for gain, move in phase.gainful(graph, cache, stale):
            gains[move.y].append((gain, move))
        for y in stale:
            gains[y].sort(key=lambda pair: -pair[0])
        best = _best(gains, graph)
        if best is None:
            return graph, made
        before, graph = graph, best
        made += 1
        changed = sum(1 << i for i in range(p) if before.around(i) != graph.around(i))
        stale = [y for y in range(p) if (1 << y | phase.near(graph, y)) & changed]


def _best(gains: list[list[Gain]], graph: Essential) -> Essential | None:
    """Apply the move with the largest gain among those that pass the condition on paths."""
    first = [(-ranked[0][0], y, 0) for y, ranked in enumerate(gains) if ranked]
    heapify(first)
    under: list[int] = []
    while first:
        _, y, at = first[0]
        move = gains[y][at][1]
        if move.kind == "insert" and not under:
            under = below(graph)
        if path_condition(graph, move, under):
            after = apply(graph, move)
            if after is not None:
                return after
        if at + 1 < len(gains[y]):
            heapreplace(first, (-gains[y][at + 1][0], y, at + 1))
        else:
            heappop(first)
    return None


def _gainful_inserts(graph: Essential, cache: ScoreCache, heads: list[int]) -> Iterator[Gain]:
    together = [some for y in heads for some in inserts(graph, y)]
    tails = [bits.positions(some.tails, len(graph.parents)) for some in together]
    found = cache.gains([(some.y, some.base, others) for some, others in zip(together, tails, strict=True)])
    for some, others, gain in zip(together, tails, found, strict=True):
        for at in np.flatnonzero(gain > RESOLUTION):
            yield float(gain[at]), insert(graph, some, int(others[at]))


def _gainful(moves: Callable[[Essential, int], Iterator[Scored]]) -> Gainful:
    def gainful(graph: Essential, cache: ScoreCache, heads: list[int]) -> Iterator[Gain]:
        scored = [one for y in heads for one in moves(graph, y)]
        cache.fetch(query for one in scored for query in (*one.plus, *one.minus))
        for one in scored:
            gain = sum(cache[q] for q in one.plus) - sum(cache[q] for q in one.minus)
            if gain > RESOLUTION:
                yield gain, one.move

    return gainful


class Phase(NamedTuple):
    """Moves of one kind into some nodes that improve the score, and the neighbours on which a node's moves depend."""

    gainful: Gainful
    near: Callable[[Essential, int], int]


PHASES = {
    "forward": Phase(_gainful_inserts, lambda g, y: g.lines[y]),
    "backward": Phase(_gainful(deletes), lambda g, y: g.lines[y]),
    "turning": Phase(_gainful(turns), lambda g, y: g.lines[y] | g.children[y]),  # turning y -> x looks at x's parents
}
