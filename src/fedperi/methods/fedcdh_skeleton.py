"""Which variables FedCDH joins with each other, and with the site: PC's search, all tests of a depth at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..local.fedcdh_layout import Batch, Floats

GROUP = 64
"""Tests that share a conditioning set in one group, at the most: it bounds the size of a message."""

Ask = Callable[[Batch], Floats]
"""Tests in, p-values out."""

Note = Callable[[str, int], None]
"""Gets what was done at a depth, and how many edges are left, those to the site included."""


@dataclass
class Skeleton:
    """The search so far. Node p, the last one, stands for the site.

    Parameters
    ----------
    adjacent : array of bool, shape (p + 1, p + 1)
        What is joined.
    separations : dict
        For pairs i < j: the sets that separated them, with p-values.
    weakness : array, shape (p + 1, p + 1)
        The largest p-value of any test of a pair.
    """

    adjacent: NDArray[np.bool_]
    separations: dict[tuple[int, int], list[tuple[frozenset[int], float]]] = field(default_factory=dict)
    weakness: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.weakness = np.zeros(self.adjacent.shape)

    @property
    def edges(self) -> int:
        """How many pairs are joined."""
        return int(self.adjacent.sum()) // 2

    def learn(self, tests: Batch, p_values: Floats, alpha: float) -> None:
        """Take in the tests of a depth: a pair that any of them separates is no longer joined."""
        for x, y, group, p in zip(tests.x.tolist(), tests.y.tolist(), tests.group, p_values.tolist(), strict=True):
            self.weakness[x, y] = self.weakness[y, x] = max(p, self.weakness[x, y])
            if p > alpha:
                self.adjacent[x, y] = self.adjacent[y, x] = False
                given = frozenset(tests.given[group].tolist())
                self.separations.setdefault((min(x, y), max(x, y)), []).append((given, p))


def find_skeleton(p: int, ask: Ask, alpha: float, deepest: int | None, note: Note) -> Skeleton:
    """Join variables that no set of neighbours separates.

    PC-stable: the neighbours are those at the beginning of a depth, so that no order matters. Every set of neighbours
    of either end is tried, as x given Z against y and Z.

    Examples
    --------
    >>> import numpy as np
    >>> def chain(tests):                                       # 0 - 1 - 2: 0 and 2 are independent given 1
    ...     return ((tests.x + tests.y == 2) & (tests.given[tests.group] == 1).any(axis=1)).astype(float)
    >>> find_skeleton(3, chain, 0.05, None, lambda *step: None).adjacent.astype(int).tolist()
    [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    """
    adjacent = np.zeros((p + 1, p + 1), dtype=bool)
    adjacent[:p, :p] = ~np.eye(p, dtype=bool)
    skeleton = Skeleton(adjacent)
    depth = 0
    while deepest is None or depth <= deepest:
        tests = gathered(_between_variables(adjacent[:p, :p].copy(), depth), depth)
        if not len(tests):
            break
        skeleton.learn(tests, ask(tests), alpha)
        note(f"{len(tests)} tests given {depth} variables", skeleton.edges)
        depth += 1
    return skeleton


def join_site(skeleton: Skeleton, ask: Ask, alpha: float, deepest: int | None, note: Note, faithful: bool) -> None:
    """Join the site with the variables whose distribution, given others, differs between sites.

    Nothing causes the site, so if it does not act on a variable directly, the parents of that variable separate the
    two: sets of its neighbours are tried. Faithful: sets of variables that are still joined with the site.
    """
    p = len(skeleton.adjacent) - 1
    skeleton.adjacent[p, :p] = skeleton.adjacent[:p, p] = True
    depth = 0
    while deepest is None or depth <= deepest:
        joined = np.flatnonzero(skeleton.adjacent[p])
        near = {int(y): joined if faithful else np.flatnonzero(skeleton.adjacent[y, :p]) for y in joined}
        tests = gathered(
            ((p, y, given) for y in near for given in combinations([int(v) for v in near[y] if v != y], depth)), depth
        )
        if not len(tests):
            break
        skeleton.learn(tests, ask(tests), alpha)
        note(f"{len(tests)} comparisons of sites given {depth} variables", skeleton.edges)
        depth += 1


def _between_variables(adjacent: NDArray[np.bool_], depth: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    for x, row in enumerate(adjacent):
        near = np.flatnonzero(row).tolist()
        for y in near:
            if depth or x < y:  # without Z the test is the same both ways
                for given in combinations([v for v in near if v != y], depth):
                    yield x, y, given


def gathered(tests: Iterator[tuple[int, int, tuple[int, ...]]], depth: int) -> Batch:
    """Sort tests by their conditioning sets.

    Examples
    --------
    >>> tests = gathered(iter([(0, 1, (2,)), (3, 1, (0,)), (1, 0, (2,))]), 1)
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
