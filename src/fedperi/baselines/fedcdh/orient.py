"""Directions in FedCDH: from v-structures, by Meek's rules, and from mechanisms that change independently."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from math import isclose

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.order import descendants
from .skeleton import SkeletonSearch


class Orientation:
    """A graph while its edges are being oriented: ``matrix[i, j]`` is true for i -> j and for i -- j.

    Parameters
    ----------
    adjacent : array of bool
        Which variables are adjacent; all edges begin undirected.
    """

    def __init__(self, adjacent: NDArray[np.bool_]) -> None:
        self.matrix = adjacent.copy()

    def line(self, i: int, j: int) -> bool:
        """Whether i -- j."""
        return bool(self.matrix[i, j] and self.matrix[j, i])

    def arrow(self, i: int, j: int) -> bool:
        """Whether i -> j."""
        return bool(self.matrix[i, j] and not self.matrix[j, i])

    def adjacent(self, i: int, j: int) -> bool:
        """Whether i and j are adjacent."""
        return bool(self.matrix[i, j] or self.matrix[j, i])

    def orient(self, i: int, j: int) -> None:
        """Orient the edge as i -> j."""
        self.matrix[i, j], self.matrix[j, i] = True, False

    def reaches(self, i: int, j: int) -> bool:
        """Whether there is a directed path from i to j."""
        return bool(descendants(bits.rows(self.matrix & ~self.matrix.T), 1 << i) >> j & 1)


def direct_colliders(graph: Orientation, skeleton: SkeletonSearch, faithful: bool) -> list[tuple[int, int, int]]:
    """Orient x -> y <- z where x and z are not adjacent and y is in none of the sets that separated them.

    The clearest separations (largest p-value) go first. A v-structure that would reverse an arrow or close a cycle is
    left out. Faithful: in the order of the variables, without a check for cycles. Returns the v-structures left out.

    Examples
    --------
    >>> import numpy as np
    >>> joined = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)   # 0 - 2 - 1, a site
    >>> skeleton = SkeletonSearch(joined, {(0, 1): [(frozenset(), 0.4)]})
    >>> graph = Orientation(joined)
    >>> direct_colliders(graph, skeleton, faithful=False)
    []
    >>> graph.arrow(0, 2), graph.arrow(1, 2)
    (True, True)
    """
    found = [
        (x, y, z)
        for x, z in combinations(range(len(graph.matrix)), 2)
        if not graph.adjacent(x, z)
        for y in range(len(graph.matrix) - 1)
        if graph.adjacent(x, y) and graph.adjacent(z, y) and (x, z) in skeleton.separations
        if all(y not in given for given, _ in skeleton.separations[x, z])
    ]
    if not faithful:
        found.sort(key=lambda t: -max(p for _, p in skeleton.separations[t[0], t[2]]))
    left_out = []
    for x, y, z in found:
        turned = graph.arrow(y, x) or graph.arrow(y, z)
        if turned or (not faithful and (graph.reaches(y, x) or graph.reaches(y, z))):
            left_out.append((x, y, z))
            continue
        graph.orient(x, y)
        graph.orient(z, y)
    return left_out


def close_under_meek(graph: Orientation) -> None:
    """Apply Meek's rules 1 to 3 until none applies; arrows that would close a cycle are left out.

    Examples
    --------
    >>> import numpy as np
    >>> graph = Orientation(np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]], dtype=bool))      # 0 -> 1 -- 2
    >>> close_under_meek(graph)
    >>> graph.arrow(1, 2)
    True
    """
    nodes = range(len(graph.matrix))
    changed = True
    while changed:
        changed = False
        for a in nodes:
            for b in nodes:
                if graph.line(a, b) and _implied(graph, a, b) and not graph.reaches(b, a):
                    graph.orient(a, b)
                    changed = True


def _implied(graph: Orientation, a: int, b: int) -> bool:
    nodes = range(len(graph.matrix))
    if any(graph.arrow(c, a) and not graph.adjacent(c, b) for c in nodes if c != b):
        return True
    if any(graph.arrow(a, c) and graph.arrow(c, b) for c in nodes):
        return True
    both = [c for c in nodes if graph.line(a, c) and graph.arrow(c, b)]
    return any(not graph.adjacent(c, d) for c, d in combinations(both, 2))


def direct_by_change(
    graph: Orientation,
    changing: Iterable[int],
    dependence: Callable[[list[tuple[int, int]]], list[float]],
    faithful: bool,
) -> list[tuple[int, int]]:
    """Orient edges between two changing variables so that cause and mechanism change independently.

    `dependence` gives for pairs (x, y) how much the distribution of x and the joint one of x and y change together.
    The clearest differences go first, Meek's rules follow each, and no cycle is closed. Faithful: the published code
    adds an arrow between *every two* changing variables, but this has no effect where an edge exists already. So
    undirected edges stay undirected, and variables that are not adjacent get an arrow. Returns the arrows that were
    added, weakest first.
    """
    pairs = [(x, y) for x, y in combinations(sorted(changing), 2) if graph.adjacent(x, y) != faithful]
    if not faithful:
        pairs = [pair for pair in pairs if graph.line(*pair)]
    scores = dependence([ends for x, y in pairs for ends in ((x, y), (y, x))])
    clear = sorted(zip(pairs, scores[::2], scores[1::2], strict=True), key=lambda one: abs(one[1] - one[2]))
    drawn = []
    for (x, y), forth, back in clear if faithful else clear[::-1]:
        tail, head = (x, y) if forth < back else (y, x)
        if faithful:
            graph.orient(tail, head)
            drawn.append((tail, head))
        # With two sites there is only one difference, so both directions score the same: rounding must not decide.
        elif graph.line(x, y) and not isclose(forth, back, rel_tol=1e-9) and not graph.reaches(head, tail):
            graph.orient(tail, head)
            close_under_meek(graph)
    return drawn
