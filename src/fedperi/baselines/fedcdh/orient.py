"""Directions in FedCDH: from colliders, by Meek's rules, and from mechanisms that change apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from math import isclose

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.order import descendants
from .skeleton import SkeletonSearch


class Marks:
    """A graph while it is being directed: ``matrix[i, j]`` says that an edge leaves i towards j.

    Parameters
    ----------
    adjacent : array of bool
        What is joined; undirected at first.
    """

    def __init__(self, adjacent: NDArray[np.bool_]) -> None:
        self.matrix = adjacent.copy()

    def line(self, i: int, j: int) -> bool:
        """Whether i -- j."""
        return bool(self.matrix[i, j] and self.matrix[j, i])

    def arrow(self, i: int, j: int) -> bool:
        """Whether i -> j."""
        return bool(self.matrix[i, j] and not self.matrix[j, i])

    def joined(self, i: int, j: int) -> bool:
        """Whether i and j are adjacent."""
        return bool(self.matrix[i, j] or self.matrix[j, i])

    def direct(self, i: int, j: int) -> None:
        """Make it i -> j."""
        self.matrix[i, j], self.matrix[j, i] = True, False

    def reaches(self, i: int, j: int) -> bool:
        """Whether arrows lead from i to j."""
        return bool(descendants(bits.rows(self.matrix & ~self.matrix.T), 1 << i) >> j & 1)


def direct_colliders(marks: Marks, skeleton: SkeletonSearch, faithful: bool) -> list[tuple[int, int, int]]:
    """Direct x -> y <- z where x and z are not joined and y is in none of the sets that separated them.

    The surest separations (largest p-value) go first, and a collider that would turn an arrow round or close a cycle
    is left out. Faithful: in the order of the variables, and cycles are not looked for. Returns the colliders left
    out.

    Examples
    --------
    >>> import numpy as np
    >>> joined = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)   # 0 - 2 - 1, a site
    >>> skeleton = SkeletonSearch(joined, {(0, 1): [(frozenset(), 0.4)]})
    >>> marks = Marks(joined)
    >>> direct_colliders(marks, skeleton, faithful=False)
    []
    >>> marks.arrow(0, 2), marks.arrow(1, 2)
    (True, True)
    """
    found = [
        (x, y, z)
        for x, z in combinations(range(len(marks.matrix)), 2)
        if not marks.joined(x, z)
        for y in range(len(marks.matrix) - 1)
        if marks.joined(x, y) and marks.joined(z, y) and (x, z) in skeleton.separations
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
        marks.direct(x, y)
        marks.direct(z, y)
    return left_out


def close_under_meek(marks: Marks) -> None:
    """Apply Meek's rules 1 to 3 until none applies; an arrow that would close a cycle is not drawn.

    Examples
    --------
    >>> import numpy as np
    >>> marks = Marks(np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]], dtype=bool))      # 0 -> 1 -- 2
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
                    marks.direct(a, b)
                    changed = True


def _implied(marks: Marks, a: int, b: int) -> bool:
    nodes = range(len(marks.matrix))
    if any(marks.arrow(c, a) and not marks.joined(c, b) for c in nodes if c != b):
        return True
    if any(marks.arrow(a, c) and marks.arrow(c, b) for c in nodes):
        return True
    both = [c for c in nodes if marks.line(a, c) and marks.arrow(c, b)]
    return any(not marks.joined(c, d) for c, d in combinations(both, 2))


def direct_by_change(
    marks: Marks, changing: Iterable[int], dependence: Callable[[list[tuple[int, int]]], list[float]], faithful: bool
) -> list[tuple[int, int]]:
    """Direct edges between variables that both change between sites, so that cause and mechanism change apart.

    `dependence` gives for pairs (x, y) how much the distribution of x and that of y and x change together. The
    clearest differences go first, Meek's rules follow each, and no cycle is closed. Faithful: the published code asks
    for an arrow between *every two* changing variables, and where an edge is there already nothing happens: so
    undirected edges stay, and variables that are not adjacent get an arrow. Returns the arrows that were added,
    weakest first.
    """
    pairs = [(x, y) for x, y in combinations(sorted(changing), 2) if marks.joined(x, y) != faithful]
    if not faithful:
        pairs = [pair for pair in pairs if marks.line(*pair)]
    scores = dependence([ends for x, y in pairs for ends in ((x, y), (y, x))])
    clear = sorted(zip(pairs, scores[::2], scores[1::2], strict=True), key=lambda one: abs(one[1] - one[2]))
    drawn = []
    for (x, y), forth, back in clear if faithful else clear[::-1]:
        tail, head = (x, y) if forth < back else (y, x)
        if faithful:
            marks.direct(tail, head)
            drawn.append((tail, head))
        # Between two sites there is one difference, and both ways have the same score: rounding must not decide.
        elif marks.line(x, y) and not isclose(forth, back, rel_tol=1e-9) and not marks.reaches(head, tail):
            marks.direct(tail, head)
            close_under_meek(marks)
    return drawn
