"""The first phase of PC: which variables are adjacent, and what separates the others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, islice
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .independence import IndependenceTest

Indices = NDArray[np.intp]

BATCH = 1 << 14
"""Number of tests per batch. It bounds the memory for any graph; larger batches are not faster."""


class Skeleton(NamedTuple):
    """Result of the first phase.

    Attributes
    ----------
    adjacent : ndarray of bool, shape (p, p)
        Symmetric.
    separators : ndarray of int
        The sorted codes ``(x * p + y) * p + z``, x < y, of every z in any set that separated x and y at the depth where
        their edge was removed.
    tests : int
        Number of tests.
    depth : int
        The size of the largest sets tested.
    complete : bool
        Whether no larger set was left to test at the end.
    """

    adjacent: NDArray[np.bool_]
    separators: Indices
    tests: int
    depth: int
    complete: bool


def find_skeleton(test: IndependenceTest, alpha: float, max_depth: int) -> Skeleton:
    """Remove every edge whose ends are independent given some neighbours of either end (Colombo and Maathuis, 2014).

    All edges are tested with all sets of one size before any edge is removed, so that the result does not depend on the
    order of the variables.

    Parameters
    ----------
    test : IndependenceTest
    alpha : float
        A p-value above it means independent.
    max_depth : int
        The largest size of a set.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> chain = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    >>> find_skeleton(DSeparation(chain), 0.01, 2).adjacent.astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    p = len(test.names)
    adjacent = ~np.eye(p, dtype=bool)
    found: list[Indices] = [np.empty(0, dtype=np.intp)]
    tests, depth = 0, 0
    while depth <= max_depth and adjacent.sum(axis=1).max(initial=0) > depth:
        kept = adjacent.copy()
        for x, y, given in batches(adjacent, depth):
            hits = np.flatnonzero(test.p_values(x, y, given) > alpha)
            tests += len(x)
            x, y, given = x[hits], y[hits], given[hits]
            kept[x, y] = kept[y, x] = False
            found.append(np.unique((x * p + y)[:, None] * p + given))
        adjacent = kept
        depth += 1
    complete = bool(adjacent.sum(axis=1).max(initial=0) <= depth)
    return Skeleton(adjacent, np.unique(np.concatenate(found)), tests, max(0, depth - 1), complete)


def batches(adjacent: NDArray[np.bool_], depth: int) -> Iterator[tuple[Indices, ...]]:
    """Yield, in arrays of bounded size, every edge x < y with every set of `depth` neighbours of x or of y, each once.

    Yields
    ------
    x, y : ndarray of int, shape (m,)
    given : ndarray of int, shape (m, depth)

    Examples
    --------
    >>> import numpy as np
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> [(x.tolist(), y.tolist(), given.tolist()) for x, y, given in batches(chain, 1)]
    [([1, 0], [2, 1], [[0], [2]])]
    """
    return packed(_pieces(adjacent, depth))


def packed(pieces: Iterator[tuple[Indices, ...]]) -> Iterator[tuple[Indices, ...]]:
    """Join small groups of parallel arrays into groups of about BATCH rows.

    Examples
    --------
    >>> import numpy as np
    >>> [[column.tolist() for column in group] for group in packed((np.array([i]), np.array([-i])) for i in (1, 2))]
    [[[1, 2], [-1, -2]]]
    """
    waiting: list[tuple[Indices, ...]] = []
    held = 0
    for piece in pieces:
        waiting.append(piece)
        held += len(piece[0])
        if held >= BATCH:
            yield tuple(map(np.concatenate, zip(*waiting, strict=True)))
            waiting, held = [], 0
    if held:
        yield tuple(map(np.concatenate, zip(*waiting, strict=True)))


def subsets(count: int, size: int, rows: int = BATCH) -> Iterator[Indices]:
    """Yield the subsets of `size` of range(count), one per row, in tables of at most `rows` rows.

    Examples
    --------
    >>> [table.tolist() for table in subsets(3, 2)]
    [[[0, 1], [0, 2], [1, 2]]]
    """
    if comb(count, size) <= rows:
        yield _table(count, size)
        return
    sets = combinations(range(count), size)
    while some := list(islice(sets, rows)):
        yield np.array(some, dtype=np.intp)


@lru_cache(maxsize=256)
def _table(count: int, size: int) -> Indices:
    sets = list(combinations(range(count), size))
    return np.array(sets, dtype=np.intp).reshape(len(sets), size)


def _pieces(adjacent: NDArray[np.bool_], depth: int) -> Iterator[tuple[Indices, ...]]:
    """Yield the tests with sets of neighbours of x, for each x in turn, in arrays of at most about BATCH tests."""
    for x in range(len(adjacent)):
        near = np.flatnonzero(adjacent[x])
        rest = len(near) - depth
        if rest <= 0:
            continue
        for chosen in subsets(len(near), depth, max(1, BATCH // rest)):
            unchosen = np.ones((len(chosen), len(near)), dtype=bool)
            unchosen[np.arange(len(chosen))[:, None], chosen] = False
            y = near[np.nonzero(unchosen)[1]]
            given = np.repeat(near[chosen], rest, axis=0)
            # Sets common to both ends would come twice: use them for the lower end only.
            new = (y > x) | ~adjacent[y[:, None], given].all(axis=1)
            y, given = y[new], given[new]
            yield np.minimum(x, y), np.maximum(x, y), given
