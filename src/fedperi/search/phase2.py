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
"""Marks in an orientation question: what another variable is to the node in the coordinator's graph."""


class OrientationOracle(Protocol):
    """Discrepancies between the directions of candidate graphs and those of the sites: arrays of shape (sites, b)."""

    def discrepancies(self, dag: NDArray[np.bool_], nodes: Ints, marks: Ints) -> Floats:
        """Answer in one round; see `fedperi.protocol.messages.Orientations`."""


class Direction(NamedTuple):
    """An edge directed because sites differ: what it gains, and the gain at each site."""

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
    """Direct an undirected edge where that brings the graph closer to the sites' own directions.

    The regret of a graph H at a site is the sum of its nodes' discrepancies (`Orientations`). Directing one edge
    changes those of its two ends only, so one round tells all. Where sites disagree, the direction with the smaller
    aggregated regret wins; where they balance, the edge stays undirected. Directions are taken strongest first, and one
    that contradicts those taken before it is left out, so that the result always has a member, of the same class.

    `weigh` gives the shares of all directions around some nodes (`direction_shares`), once, if there is a direction to
    weigh. Then only directions with a share of `CONFIDENCE` count.
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
    """Direct edges, one after the other; one that leaves no member with the same v-structures is left out.

    If there are shares, so is one that has too small a share, or from which such a one follows by Meek's rules.
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
        if v_structures(member) != colliders:  # two directions that make a collider where all sites together see none
            continue
        if shares is not None:
            # Two directions that are likely enough each may imply a third that is not: it must not come in with them.
            closed = meek_closure(candidate).adjacency
            if (shares[closed & ~closed.T & ~certain] < confidence.CONFIDENCE).any():
                continue
        graph = candidate
        taken.append(direction)
    return graph, taken


def _marks(graph: PDAG) -> Ints:
    """For every node, what each other variable is to it: ``[i, j]`` is PARENT if j -> i."""
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
