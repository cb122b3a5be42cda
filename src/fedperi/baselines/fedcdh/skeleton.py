"""FedCDH's skeleton, with the site as a variable: the search of PC, with all tests of one depth in one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from .layout import Batch, Floats

GROUP = 64
"""Largest number of tests in a group with the same conditioning set; this limits the size of a message."""

Ask = Callable[[Batch], Floats]
"""A function from tests to p-values."""

Pair = tuple[int, int, list[int]]
"""The two ends of an edge, and the variables from which separating sets are taken."""

Note = Callable[[str, int], None]
"""Called after each depth with a description and the number of edges left, including those to the site."""


@dataclass(frozen=True)
class Bound:
    """Limits of the search.

    Parameters
    ----------
    deepest : int, optional
        Size of the largest conditioning set; no limit if not given.
    tests : int, optional
        Largest number of tests of a search, for all sizes together; no limit if not given. A size is tested completely
        or not at all, otherwise the order of the columns would matter. Tests without conditioning are always made:
        they are cheap, and without them all variables would stay adjacent.
    """

    deepest: int | None = None
    tests: int | None = None


@dataclass
class SkeletonSearch:
    """The search so far. Node p, the last one, stands for the site.

    Parameters
    ----------
    adjacent : array of bool, shape (p + 1, p + 1)
        Which nodes are adjacent.
    separations : dict
        For pairs i < j: the sets that separated them, with p-values.
    weakness : array, shape (p + 1, p + 1)
        The largest p-value of any test of a pair.
    stopped : list of str
        For each search that was stopped by the limit on tests: the size of sets and the number of tests left out.
    """

    adjacent: NDArray[np.bool_]
    separations: dict[tuple[int, int], list[tuple[frozenset[int], float]]] = field(default_factory=dict)
    weakness: Floats = field(init=False)
    stopped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weakness = np.zeros(self.adjacent.shape)

    @property
    def edges(self) -> int:
        """Number of adjacent pairs."""
        return int(self.adjacent.sum()) // 2

    def learn(self, tests: Batch, p_values: Floats, alpha: float) -> None:
        """Add the results of a depth: a pair that is separated by any test is no longer adjacent."""
        for x, y, group, p in zip(tests.x.tolist(), tests.y.tolist(), tests.group, p_values.tolist(), strict=True):
            self.weakness[x, y] = self.weakness[y, x] = max(p, self.weakness[x, y])
            if p > alpha:
                self.adjacent[x, y] = self.adjacent[y, x] = False
                given = frozenset(tests.given[group].tolist())
                self.separations.setdefault((min(x, y), max(x, y)), []).append((given, p))


def find_skeleton(p: int, ask: Ask, alpha: float, bound: Bound, note: Note) -> SkeletonSearch:
    """Find the variables that no set of neighbours separates.

    PC-stable: the neighbours are those at the beginning of a depth, so that the order of columns does not matter.
    Every set Z of neighbours of either end is tried. A test given Z is not symmetric: it compares x with y and Z.

    Examples
    --------
    >>> import numpy as np
    >>> def chain(tests):                                       # 0 - 1 - 2: 0 and 2 are independent given 1
    ...     return ((tests.x + tests.y == 2) & (tests.given[tests.group] == 1).any(axis=1)).astype(float)
    >>> find_skeleton(3, chain, 0.05, Bound(), lambda *step: None).adjacent.astype(int).tolist()
    [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    >>> find_skeleton(3, chain, 0.05, Bound(tests=5), lambda *step: None).stopped   # 3 tests without a set, and then 6
    ['tests given 1 or more variables left out: 3 made, 6 more given 1']
    """
    adjacent = np.zeros((p + 1, p + 1), dtype=bool)
    adjacent[:p, :p] = ~np.eye(p, dtype=bool)
    skeleton = SkeletonSearch(adjacent)

    def list_pairs(depth: int) -> list[Pair]:
        return list(_between_variables(adjacent[:p, :p], depth))

    _deepen(skeleton, list_pairs, ask, alpha, bound, note, "tests")
    return skeleton


def join_site(skeleton: SkeletonSearch, ask: Ask, alpha: float, bound: Bound, note: Note, faithful: bool) -> None:
    """Find the variables whose distribution, given others, differs between sites: these are the neighbours of the site.

    Nothing causes the site. So if it does not act directly on a variable, the parents of that variable separate the
    two. Therefore sets of its neighbours are tried; if `faithful`, sets of variables still adjacent to the site.
    """
    p = len(skeleton.adjacent) - 1
    skeleton.adjacent[p, :p] = skeleton.adjacent[:p, p] = True

    def list_pairs(depth: int) -> list[Pair]:
        joined = np.flatnonzero(skeleton.adjacent[p]).tolist()
        sets = {y: joined if faithful else np.flatnonzero(skeleton.adjacent[y, :p]).tolist() for y in joined}
        return [(p, y, [v for v in sets[y] if v != y]) for y in joined]

    _deepen(skeleton, list_pairs, ask, alpha, bound, note, "comparisons of sites")


def _deepen(
    skeleton: SkeletonSearch,
    list_pairs: Callable[[int], list[Pair]],
    ask: Ask,
    alpha: float,
    bound: Bound,
    note: Note,
    words: str,
) -> None:
    """Test pairs given sets of increasing size, until there are no such sets or a limit is reached.

    `list_pairs` returns, for a size of sets, the pairs that are still adjacent, with the variables to take sets from.
    """
    depth, made = 0, 0
    while bound.deepest is None or depth <= bound.deepest:
        pairs = list_pairs(depth)
        count = sum(comb(len(others), depth) for _, _, others in pairs)
        if not count:
            break
        if depth and bound.tests is not None and made + count > bound.tests:
            what = f"{words} given {depth} or more variables left out: {made} made, {count} more given {depth}"
            skeleton.stopped.append(what)
            note(what, skeleton.edges)
            break
        tests = group_by_set(((x, y, given) for x, y, others in pairs for given in combinations(others, depth)), depth)
        skeleton.learn(tests, ask(tests), alpha)
        note(f"{len(tests)} {words} given {depth} variables", skeleton.edges)
        depth, made = depth + 1, made + count


def _between_variables(adjacent: NDArray[np.bool_], depth: int) -> Iterator[Pair]:
    for x, row in enumerate(adjacent):
        near = np.flatnonzero(row).tolist()
        for y in near:
            if depth or x < y:  # without Z the test is symmetric
                yield x, y, [v for v in near if v != y]


def group_by_set(tests: Iterator[tuple[int, int, tuple[int, ...]]], depth: int) -> Batch:
    """Group tests by their conditioning sets, in sorted order.

    Examples
    --------
    >>> tests = group_by_set(iter([(0, 1, (2,)), (3, 1, (0,)), (1, 0, (2,))]), 1)
    >>> tests.given.tolist(), tests.group.tolist(), tests.x.tolist()
    ([[0], [2]], [0, 1, 1], [3, 0, 1])
    """
    by_set: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for x, y, given in tests:
        by_set.setdefault(given, []).append((x, y))
    sets: list[tuple[int, ...]] = []
    group: list[int] = []
    pairs: list[tuple[int, int]] = []
    for given in sorted(by_set):
        inside = sorted(by_set[given])
        for start in range(0, len(inside), GROUP):
            some = inside[start : start + GROUP]
            group += [len(sets)] * len(some)
            sets.append(given)
            pairs += some
    table = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
    return Batch(
        np.array(sets, dtype=np.int64).reshape(len(sets), depth),
        np.array(group, dtype=np.int64),
        table[:, 0],
        table[:, 1],
    )
