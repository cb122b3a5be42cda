"""A causal order that agrees with as much evidence on unshielded triples as possible. Votes are integers: exact sums.

A triple x, z, y has z in the middle. It is a collider in an order if z comes after x and y. A positive vote says that
it is a collider, a negative vote that it is not; larger votes are stronger evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Nodes = tuple[int, int, int]


def peel(triples: Sequence[Nodes], votes: Sequence[int], p: int) -> list[int]:
    """Build an order from its end: repeatedly choose the node that contradicts the least evidence as a sink.

    If some order agrees with all votes, so does this one (Dor and Tarsi, 1992: any possible sink may be chosen).

    Parameters
    ----------
    triples : sequence of (x, z, y)
    votes : sequence of int
    p : int
        Number of nodes.

    Examples
    --------
    >>> peel([(0, 1, 2)], [5], 3)  # a collider comes last
    [2, 0, 1]
    """
    touching: list[list[int]] = [[] for _ in range(p)]
    cost = [0] * p

    def count(at: int, sign: int) -> None:
        # As a sink, a middle node is a collider; if an end node is a sink, the triple is no collider.
        x, z, y = triples[at]
        for sink in (x, y) if votes[at] > 0 else (z,):
            cost[sink] += sign * abs(votes[at])

    for at, nodes in enumerate(triples):
        count(at, 1)
        for node in nodes:
            touching[node].append(at)
    left, open_, order = set(range(p)), set(range(len(triples))), list[int]()
    while left:
        sink = min(left, key=lambda node: (cost[node], node))
        left.remove(sink)
        order.append(sink)
        for at in open_.intersection(touching[sink]):
            count(at, -1)
            open_.remove(at)
    return order[::-1]


def colliders(order: Sequence[int], triples: Sequence[Nodes]) -> NDArray[np.bool_]:
    """Return for each triple whether it is a collider in this order.

    Examples
    --------
    >>> colliders([2, 0, 1], [(0, 1, 2), (1, 0, 2)]).tolist()
    [True, False]
    """
    place = np.argsort(np.array(order, dtype=np.intp))
    x, z, y = place[np.array(triples, dtype=np.intp).reshape(-1, 3).T]
    return np.asarray((x < z) & (y < z))


def best_order(triples: Sequence[Nodes], votes: Sequence[int], p: int) -> list[int]:
    """Search an order for which the sum of the absolute votes that it contradicts is small.

    Single nodes move while this helps. Then each contradicted vote in turn, the strongest first, is treated as certain
    until the order has adapted to it; if the new order is better with the original votes, it is kept.

    Parameters
    ----------
    triples : sequence of (x, z, y)
    votes : sequence of int
    p : int
        Number of nodes.

    Examples
    --------
    >>> best_order([(0, 1, 2), (1, 2, 3)], [3, 7], 4)  # both cannot be colliders: the stronger one is
    [3, 1, 2, 0]
    """
    around = _Around.of(triples, votes, p)
    weight = np.array(votes, dtype=np.int64)
    certain = int(np.abs(weight).sum()) + 1

    def overruled(order: list[int]) -> NDArray[np.bool_]:
        return np.asarray(colliders(order, triples) != (weight > 0))

    order = _sift(peel(triples, votes, p), around, range(p))
    against = overruled(order)
    improved = True
    while improved:
        improved = False
        for at in np.argsort(-np.abs(weight), kind="stable").tolist():
            if not against[at]:
                continue
            nodes, vote = triples[at], votes[at]
            around.vote(nodes, certain if vote > 0 else -certain)
            other = _sift(order, around, nodes)
            around.vote(nodes, vote)
            other = _sift(other, around, nodes)
            now = overruled(other)
            if np.abs(weight[now]).sum() < np.abs(weight[against]).sum():
                order, against, improved = other, now, True
    return order


class _Around(NamedTuple):
    """The votes by edge: ``votes[z, x][y]`` is the vote of the triple x, z, y."""

    near: list[list[int]]
    votes: dict[tuple[int, int], dict[int, int]]

    @classmethod
    def of(cls, triples: Sequence[Nodes], votes: Sequence[int], p: int) -> _Around:
        edges = {edge for x, z, y in triples for edge in ((x, z), (z, x), (y, z), (z, y))}
        near: list[list[int]] = [[] for _ in range(p)]
        for a, b in sorted(edges):
            near[a].append(b)
        around = cls(near, {edge: {} for edge in edges})
        for nodes, vote in zip(triples, votes, strict=True):
            around.vote(nodes, vote)
        return around

    def vote(self, nodes: Nodes, vote: int) -> None:
        x, z, y = nodes
        self.votes[z, x][y] = self.votes[z, y][x] = vote

    def gain(self, node: int, other: int, place: list[int]) -> int:
        """Return the gain of the order if a node just before this neighbour moves behind it."""
        here = place[other]
        into_node = sum(vote for end, vote in self.votes[node, other].items() if place[end] < here)
        into_other = sum(vote for end, vote in self.votes[other, node].items() if place[end] < here)
        return into_node - into_other


def _sift(order: Sequence[int], around: _Around, start: Iterable[int]) -> list[int]:
    """Move nodes to their best positions, one at a time, until none of `start` or of those they affect can gain."""
    order, waiting = list(order), set(start)
    place = np.argsort(np.array(order, dtype=np.intp)).tolist()
    while waiting:
        node = min(waiting)
        waiting.remove(node)
        near = sorted(around.near[node], key=place.__getitem__)
        here = sum(place[other] < place[node] for other in near)
        value = [0]  # values of the positions before all neighbours, behind the first, and so on
        for other in near:
            value.append(value[-1] + around.gain(node, other, place))
        best = max(range(len(value)), key=lambda at: (value[at], -abs(at - here)))
        if value[best] == value[here]:
            continue
        order.remove(node)
        order.insert(order.index(near[best]) if best < len(near) else len(order), node)
        place = np.argsort(np.array(order, dtype=np.intp)).tolist()
        crossed = near[min(best, here) : max(best, here)]
        waiting.update(around.near[node], *(around.near[other] for other in crossed))
        waiting.discard(node)
    return order
