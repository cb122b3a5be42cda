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


def direct_colliders(marks: Orientation, skeleton: SkeletonSearch, faithful: bool) -> list[tuple[int, int, int]]:
    """Orient x -> y <- z where x and z are not adjacent and y is in none of the sets that separated them.

    The clearest separations (largest p-value) go first. A v-structure that would reverse an arrow or close a cycle is
    left out. Faithful: in the order of the variables, without a check for cycles. Returns the v-structures left out.

    Examples
    --------
    >>> import numpy as np
    >>> joined = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)   # 0 - 2 - 1, a site
    >>> skeleton = SkeletonSearch(joined, {(0, 1): [(frozenset(), 0.4)]})
    >>> marks = Orientation(joined)
    >>> direct_colliders(marks, skeleton, faithful=False)
    []
    >>> marks.arrow(0, 2), marks.arrow(1, 2)
    (True, True)
    """
    found = [
        (x, y, z)
        for x, z in combinations(range(len(marks.matrix)), 2)
        if not marks.adjacent(x, z)
        for y in range(len(marks.matrix) - 1)
        if marks.adjacent(x, y) and marks.adjacent(z, y) and (x, z) in skeleton.separations
        if all(y not in given for given, _ in skeleton.separations[x, z])
    ]
    if not faithful:
        found.sort(key=lambda t: -max(p for _, p in skeleton.separations[t[0], t[2]]))
    left_out = []
    for x, y, z in found:
        turned = marks.arrow(y, x) or marks.arrow(y, z)
        if turned or (not faithful and (marks.reaches(y, x) or marks.reaches(y, z))):
            left_out.append((x, y, z))
            continue
        marks.orient(x, y)
        marks.orient(z, y)
    return left_out


def close_under_meek(marks: Orientation) -> None:
    """Apply Meek's rules 1 to 3 until none applies; arrows that would close a cycle are left out.

    Examples
    --------
    >>> import numpy as np
    >>> marks = Orientation(np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]], dtype=bool))      # 0 -> 1 -- 2
    >>> close_under_meek(marks)
    >>> marks.arrow(1, 2)
    True
    """
    nodes = range(len(marks.matrix))
    changed = True
    while changed:
        changed = False
        for a in nodes:
            for b in nodes:
                if marks.line(a, b) and _implied(marks, a, b) and not marks.reaches(b, a):
                    marks.orient(a, b)
                    changed = True


def _implied(marks: Orientation, a: int, b: int) -> bool:
    nodes = range(len(marks.matrix))
    if any(marks.arrow(c, a) and not marks.adjacent(c, b) for c in nodes if c != b):
        return True
    if any(marks.arrow(a, c) and marks.arrow(c, b) for c in nodes):
        return True
    both = [c for c in nodes if marks.line(a, c) and marks.arrow(c, b)]
    return any(not marks.adjacent(c, d) for c, d in combinations(both, 2))


def direct_by_change(
    marks: Orientation,
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
    pairs = [(x, y) for x, y in combinations(sorted(changing), 2) if marks.adjacent(x, y) != faithful]
    if not faithful:
        pairs = [pair for pair in pairs if marks.line(*pair)]
    scores = dependence([ends for x, y in pairs for ends in ((x, y), (y, x))])
    clear = sorted(zip(pairs, scores[::2], scores[1::2], strict=True), key=lambda one: abs(one[1] - one[2]))
    drawn = []
    for (x, y), forth, back in clear if faithful else clear[::-1]:
        tail, head = (x, y) if forth < back else (y, x)
        if faithful:
            marks.orient(tail, head)
            drawn.append((tail, head))
        # With two sites there is only one difference, so both directions score the same: rounding must not decide.
        elif marks.line(x, y) and not isclose(forth, back, rel_tol=1e-9) and not marks.reaches(head, tail):
            marks.orient(tail, head)
            close_under_meek(marks)
    return drawn
