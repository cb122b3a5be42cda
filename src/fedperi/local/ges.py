"""Greedy equivalence search over any score: forward, backward, turning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from ..graph.equivalence import extend
from ..graph.pdag import PDAG
from .operators import Essential, Move, apply, deletes, essential, inserts, path_condition, turns
from .score import RESOLUTION, Score, ScoreCache

Enumerate = Callable[[Essential, int, int], Iterator[Move]]
"""Moves of one kind into a node from some others."""

PHASES: dict[str, Enumerate] = {"forward": inserts, "backward": deletes, "turning": turns}


class GESResult(NamedTuple):
    """The CPDAG found, its score, how many moves were made and how many distinct local scores were asked."""

    graph: PDAG
    score: float
    moves: int
    queries: int


def ges_fit(score: Score, *, start: PDAG | None = None, phases: Iterable[str] = PHASES) -> GESResult:
    """Search the equivalence classes greedily for the best score (Chickering, 2002).

    Parameters
    ----------
    score : Score
        A decomposable, score-equivalent score.
    start : PDAG, optional
        A CPDAG to start from; the empty graph if not given.
    phases : iterable of {"forward", "backward", "turning"}
        Which phases to run, in this order.

    Returns
    -------
    GESResult

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.local import GaussianScore, ges_fit
    >>> collider = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    >>> ges_fit(GaussianScore(collider, n=1000, names=["A", "B", "C"])).graph
    PDAG('A -> C, B -> C', names=['A', 'B', 'C'])
    """
    names = score.names
    wanted = list(phases)
    for phase in wanted:
        if phase not in PHASES:
            raise InputError(f"phases are {', '.join(PHASES)}; {phase!r} is none of them")
    cache = ScoreCache(score)
    matrix = np.zeros((len(names), len(names)), dtype=bool) if start is None else start.reordered(names).adjacency
    graph = essential(bits.columns(matrix & ~matrix.T), bits.rows(matrix & matrix.T))
    moves = 0
    for phase in wanted:
        graph, made = _climb(graph, cache, PHASES[phase])
        moves += made
    pdag = PDAG._known_acyclic(_matrix(graph), names)
    return GESResult(pdag, _total(graph, cache), moves, len(cache))


def _touched(g: Essential, node: int, changed: int) -> bool:
    """Whether the moves into a node may have changed: its own edges, or adjacencies among its neighbours."""
    return bool((1 << node | g.lines[node]) & changed)


def _climb(graph: Essential, cache: ScoreCache, enumerate_moves: Enumerate) -> tuple[Essential, int]:
    """Make the best valid move until none gains. Gains are kept, and counted anew only around the last move."""
    gains: dict[tuple[int, int], list[tuple[float, Move]]] = {}  # (y, x) -> moves that gain, path condition open
    changed = (1 << len(graph.parents)) - 1
    made = 0
    while True:
        _refresh(gains, graph, cache, enumerate_moves, changed)
        best = _best(gains, graph)
        if best is None:
            return graph, made
        before, graph = graph, best
        made += 1
        changed = sum(
            1 << i
            for i in range(len(graph.parents))
            if before.parents[i] != graph.parents[i]
            or before.lines[i] != graph.lines[i]
            or before.children[i] != graph.children[i]
        )


def _refresh(
    gains: dict[tuple[int, int], list[tuple[float, Move]]],
    graph: Essential,
    cache: ScoreCache,
    enumerate_moves: Enumerate,
    changed: int,
) -> None:
    """Enumerate and score again the moves x -> y whose neighbourhood the last move changed."""
    everyone = (1 << len(graph.parents)) - 1
    tails = [everyone if _touched(graph, y, changed) else changed for y in range(len(graph.parents))]
    for y, x in list(gains):
        if tails[y] >> x & 1:
            del gains[y, x]
    moves = [move for y, some in enumerate(tails) for move in enumerate_moves(graph, y, some)]
    cache.fetch(query for move in moves for query in (*move.plus, *move.minus))
    for move in moves:
        gain = sum(cache[q] for q in move.plus) - sum(cache[q] for q in move.minus)
        if gain > RESOLUTION:
            gains.setdefault((move.y, move.x), []).append((gain, move))


def _best(gains: dict[tuple[int, int], list[tuple[float, Move]]], graph: Essential) -> Essential | None:
    """Apply the move with the largest gain among those that pass the condition on paths."""
    ranked = sorted((pair for moves in gains.values() for pair in moves), key=lambda pair: -pair[0])
    for _, move in ranked:
        if path_condition(graph, move):
            after = apply(graph, move)
            if after is not None:
                return after
    return None


def _total(graph: Essential, cache: ScoreCache) -> float:
    parents, _ = extend(graph.parents, graph.lines)
    return cache.total(parents)


def _matrix(graph: Essential) -> NDArray[np.bool_]:
    return bits.matrix([i | u for i, u in zip(graph.parents, graph.lines, strict=True)]).T
