"""Phase 2: direct edges that some site's own graph directs; the result is Phi(G) in the limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from ..graph.equivalence import consistent_extension, v_structures
from ..graph.meek import meek_closure
from ..graph.pdag import PDAG
from ..scores.score import RESOLUTION
from . import confidence
from .phase1 import Aggregate
from .sums import total_regret
from .worst import better

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOT_ADJACENT, PARENT, LINE, CHILD = range(4)
"""Marks in an orientation question: the relation of another variable to the node in the coordinator's graph."""


class OrientationOracle(Protocol):
    """Discrepancies between the directions of candidate graphs and those of the sites: arrays of shape (sites, b)."""

    def discrepancies(self, dag: NDArray[np.bool_], nodes: Ints, marks: Ints) -> Floats:
        """Answer in one round; see `fedperi.protocol.messages.Orientations`."""


class Direction(NamedTuple):
    """An edge that is directed because sites differ: its gain, and the gain at each site."""

    tail: int
    head: int
    gain: float
    sites: Floats


def orient_by_differences(
    oracle: OrientationOracle,
    graph: PDAG,
    parents: Sequence[int],
    *,
    aggregate: Aggregate,
    weigh: Callable[[int], Floats] | None = None,
) -> tuple[PDAG, list[Direction]]:
    """Direct undirected edges where this brings the graph closer to the sites' own directions.

    The regret of a graph H at a site is the sum of its nodes' discrepancies (`Orientations`). Directing one edge
    changes only the discrepancies of its two ends, so one round is enough. If sites disagree, the direction with the
    smaller aggregated regret is taken; if they balance, the edge stays undirected. The strongest directions come first.
    A direction that contradicts earlier ones is left out, so that the result has a consistent extension in the same
    class.

    `weigh` returns the shares of all directions around some nodes (`direction_shares`). It is called once, and only if
    there is a direction to weigh. Then only directions with a share of at least `CONFIDENCE` count.
    """
    lines = sorted((graph.index(a), graph.index(b)) for a, b in graph.undirected)
    if not lines:
        return graph, []
    marks = _marks(graph)
    rows = [(node, marks[node]) for node in range(len(marks))]
    for a, b in lines:
        for tail, head in ((a, b), (b, a)):
            rows += [(tail, _marked(marks[tail], head, CHILD)), (head, _marked(marks[head], tail, PARENT))]
    dag = bits.matrix(list(parents)).T
    answers = oracle.discrepancies(
        dag, np.array([node for node, _ in rows], dtype=np.int64), np.array([row for _, row in rows], dtype=np.int64)
    )
    base, changed = answers[:, : len(marks)], answers[:, len(marks) :]
    found = []
    for at, (a, b) in enumerate(lines):
        pair = changed[:, 4 * at : 4 * at + 4]
        before = base[:, a] + base[:, b]
        both = [
            Direction(*ends, 0.0, before - pair[:, 2 * k] - pair[:, 2 * k + 1])
            for k, ends in enumerate(((a, b), (b, a)))
        ]
        prefer = _preferred(both, base.sum(axis=1), aggregate)
        if prefer is not None:
            found.append(prefer)
    found.sort(key=lambda d: (-d.gain, d.tail, d.head))
    heads = sum({1 << d.head for d in found})
    return directed_as(graph, found, weigh(heads) if weigh is not None and found else None)


def _preferred(both: list[Direction], regrets: Floats, aggregate: Aggregate) -> Direction | None:
    """Choose the direction that lowers the aggregated regret, if one does so more than the other."""
    first, second = (d._replace(gain=float(total_regret(d.sites[:, None])[0])) for d in both)
    if aggregate == "sum":
        best, other = (first, second) if first.gain >= second.gain else (second, first)
        return best if best.gain > RESOLUTION and best.gain > other.gain + RESOLUTION else None
    best, other = (first, second) if better(regrets - first.sites, regrets - second.sites) else (second, first)
    improves = better(regrets - best.sites, regrets)
    return best if improves and better(regrets - best.sites, regrets - other.sites) else None


def directed_as(
    graph: PDAG, directions: Sequence[Direction], shares: Floats | None = None
) -> tuple[PDAG, list[Direction]]:
    """Direct edges one after the other; leave out those that leave no member with the same v-structures.

    If shares are given, also leave out directions with too small a share, or that imply one by Meek's rules.
    """
    taken = []
    colliders = v_structures(graph)
    certain = graph.adjacency & ~graph.adjacency.T
    for direction in directions:
        matrix = np.array(graph.adjacency)
        matrix[direction.head, direction.tail] = False
        try:
            candidate = PDAG(matrix, graph.names)
            member = consistent_extension(candidate)
        except InputError:
            continue
        if v_structures(member) != colliders:  # two directions make a collider that the common CPDAG does not have
            continue
        if shares is not None:
            # Two directions with large shares may imply a third with a small one, which must not be added with them.
            closed = meek_closure(candidate).adjacency
            if (shares[closed & ~closed.T & ~certain] < confidence.CONFIDENCE).any():
                continue
        graph = candidate
        taken.append(direction)
    return graph, taken


def _marks(graph: PDAG) -> Ints:
    """Mark the relation of every node to each other variable: ``[i, j]`` is PARENT if j -> i."""
    a = graph.adjacency
    marks = np.full(a.shape, NOT_ADJACENT, dtype=np.int64)
    marks[a.T & ~a] = PARENT
    marks[a & a.T] = LINE
    marks[a & ~a.T] = CHILD
    return marks


def _marked(row: Ints, other: int, mark: int) -> Ints:
    out = row.copy()
    out[other] = mark
    return out
