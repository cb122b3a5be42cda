"""Layers of an acyclic graph, ordered so that few edges cross (after Sugiyama, Tagawa and Toda)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...graph.order import topological_order

Pair = tuple[int, int]
SWEEPS = 12
"""Number of passes down and up; enough for the order to converge with 60 variables."""
STARTS = 8
"""Number of initial orders; with only one, a third more crossings can remain."""


@dataclass(frozen=True)
class Layered:
    """A graph in layers.

    Attributes
    ----------
    rows : list of list of int
        The vertices of each layer from left to right. Those from `count` on are bends of edges that pass the layer.
    chains : dict
        For every edge, the vertices on its route, including its ends.
    count : int
        Number of vertices that are nodes of the graph.
    """

    rows: list[list[int]]
    chains: dict[Pair, list[int]]
    count: int

    @property
    def links(self) -> list[Pair]:
        """The pieces of the chains, each from one layer to the next."""
        return [link for chain in self.chains.values() for link in pairwise(chain)]


def layered(count: int, edges: Sequence[Pair]) -> Layered:
    """Assign the nodes 0 to count - 1 to layers so that every edge (tail, head) points down, and order each layer.

    Examples
    --------
    >>> layered(3, [(0, 1), (1, 2), (0, 2)]).rows
    [[0], [1, 3], [2]]
    """
    layer = assign_layers(count, edges)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in range(count):
        rows[layer[node]].append(node)
    chains: dict[Pair, list[int]] = {}
    fresh = count
    for tail, head in edges:
        bends = range(fresh, fresh + layer[head] - layer[tail] - 1)
        fresh += len(bends)
        chains[tail, head] = [tail, *bends, head]
        for depth, bend in enumerate(bends, layer[tail] + 1):
            rows[depth].append(bend)
    return _uncrossed(Layered(rows, chains, count))


def assign_layers(count: int, edges: Sequence[Pair]) -> list[int]:
    """Compute each node's layer: by longest path, with few enough nodes per layer; then shorten edges.

    Examples
    --------
    >>> assign_layers(4, [(0, 1), (1, 2), (3, 2)])       # 3 waits above its child
    [0, 1, 2, 1]
    """
    most = max(4, round(1.6 * count**0.5))  # a star of 60 variables would otherwise be 60 boxes wide
    parents: list[list[int]] = [[] for _ in range(count)]
    children: list[list[int]] = [[] for _ in range(count)]
    for tail, head in edges:
        parents[head].append(tail)
        children[tail].append(head)
    order = topological_order([sum(1 << parent for parent in above) for above in parents])
    assert order is not None
    layer = [0] * count
    filled: dict[int, int] = {}
    for node in order:
        depth = max((layer[parent] + 1 for parent in parents[node]), default=0)
        while filled.get(depth, 0) >= most:
            depth += 1
        layer[node] = depth
        filled[depth] = filled.get(depth, 0) + 1
    for node in reversed(order):
        if len(children[node]) > len(parents[node]):  # moving down shortens more edges than it stretches
            lowest = min(layer[child] for child in children[node]) - 1
            free = [depth for depth in range(lowest, layer[node], -1) if filled.get(depth, 0) < most]
            if free:
                filled[layer[node]] -= 1
                layer[node] = free[0]
                filled[free[0]] = filled.get(free[0], 0) + 1
    used = {depth: k for k, depth in enumerate(sorted(set(layer)))}
    return [used[depth] for depth in layer]


def crossings(rows: Sequence[Sequence[int]], links: Iterable[Pair]) -> int:
    """Count pairs of links between neighbouring layers that cross.

    Examples
    --------
    >>> crossings([[0, 1], [2, 3]], [(0, 3), (1, 2)])
    1
    """
    depth = {vertex: d for d, row in enumerate(rows) for vertex in row}
    place = {vertex: k for row in rows for k, vertex in enumerate(row)}
    between: dict[int, list[Pair]] = {}
    for upper, lower in links:
        between.setdefault(depth[upper], []).append((place[upper], place[lower]))
    total = 0
    for ends in between.values():
        upper_at, lower_at = np.array(ends).T
        signs = np.sign(np.subtract.outer(upper_at, upper_at)) * np.sign(np.subtract.outer(lower_at, lower_at))
        total += int((signs < 0).sum()) // 2
    return total


def _uncrossed(start: Layered) -> Layered:
    """Order the layers by sweeps from several starts, and the best by sifting; return the one with fewest crossings."""
    links = start.links
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for upper, lower in links:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    rng = np.random.default_rng(0)  # a picture of one graph is always the same
    starts = [start.rows] + [[rng.permutation(row).tolist() for row in start.rows] for _ in range(STARTS - 1)]
    best = min((_swept(rows, links, above, below) for rows in starts), key=lambda rows: crossings(rows, links))
    fewest = crossings(best, links)
    while fewest:
        rows = [list(row) for row in best]
        _sift(rows, above, below)
        now = crossings(rows, links)
        if now >= fewest:
            break
        best, fewest = rows, now
    return Layered(best, start.chains, start.count)


def _swept(
    start: Sequence[Sequence[int]], links: Sequence[Pair], above: dict[int, list[int]], below: dict[int, list[int]]
) -> list[list[int]]:
    """Sweep down and up, sorting each layer by the mean position of neighbours; return the best order seen."""
    rows = [list(row) for row in start]
    best, fewest = [list(row) for row in rows], crossings(rows, links)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        neighbours = below if sweep % 2 else above
        place = {vertex: float(k) for row in rows for k, vertex in enumerate(row)}
        for row in reversed(rows) if sweep % 2 else rows:
            mean = {v: sum(place[u] for u in near) / len(near) for v in row if (near := neighbours.get(v))}
            row.sort(key=lambda v: mean.get(v, place[v]))
            place.update((vertex, float(k)) for k, vertex in enumerate(row))
        now = crossings(rows, links)
        if now < fewest:
            best, fewest = [list(row) for row in rows], now
    return best


def _sift(rows: list[list[int]], above: dict[int, list[int]], below: dict[int, list[int]]) -> None:
    """Move every vertex within its layer to the position with the fewest crossings."""
    place = {vertex: k for row in rows for k, vertex in enumerate(row)}
    for row in rows:
        for vertex in list(row):
            rest = [other for other in row if other != vertex]
            # cost[k]: crossings with the rest if the vertex is before rest[k], up to a constant
            cost, now = [0], 0
            for other in rest:
                for side in (above, below):
                    mine, theirs = ([place[u] for u in side.get(v, ())] for v in (vertex, other))
                    now += sum((a < b) - (a > b) for a in mine for b in theirs)
                cost.append(now)
            here = row.index(vertex)
            best = min(range(len(cost)), key=lambda k: (cost[k], abs(k - here)))
            if cost[best] < cost[here]:
                row[:] = [*rest[:best], vertex, *rest[best:]]
                place.update((v, k) for k, v in enumerate(row))
