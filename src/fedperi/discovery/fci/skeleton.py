"""Which variables FCI joins: first with neighbours as separators, then with possible d-separators.

All edges are tried with sets of one size before any is removed, so that what is found does not depend on the order of
the variables. Of the sets of one size that separate a pair, the one with the highest p-value is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb, inf

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ..pc.independence import IndependenceTest
from ..pc.skeleton import BATCH, subsets
from .batches import batched, codes, members

Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Separated:
    """What the tests found.

    Attributes
    ----------
    adjacent : list of int
        For every node, the bit set of the nodes that it is joined with.
    separators : dict
        For every pair x < y that is not joined, the bit set that separates it.
    tests : int
        How many tests were made.
    complete : bool
        Whether no larger set was left to ask when the search stopped.
    """

    adjacent: list[int]
    separators: dict[Pair, int]
    tests: int
    complete: bool

    def separator(self, x: int, y: int) -> int | None:
        """The bit set that separates a pair, None if nothing did."""
        return self.separators.get((x, y) if x < y else (y, x))


Candidates = Callable[[int, int], int]

MOST_QUESTIONS = 50_000
"""Tests of one size that are made with possible d-separators, of which there can be as many as variables. With more
tests than this the larger sets are left out, and the result says so."""

NOTHING = np.empty((1, 0), dtype=np.intp)
"""The empty set alone."""


def find_skeleton(test: IndependenceTest, alpha: float, max_depth: int, allowed: Bools, usable: int) -> Separated:
    """Remove every edge whose ends are independent given some neighbours of either end.

    Parameters
    ----------
    test : IndependenceTest
    alpha : float
        A p-value above it means independent.
    max_depth : int
        The largest size of a set.
    allowed : ndarray of bool, shape (p, p)
        Edges that may be there. Where one may not, nothing is tested and nothing separates.
    usable : int
        Bit set of the nodes that may be in a separating set.

    Examples
    --------
    >>> import numpy as np, fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> chain = DSeparation(fp.PDAG.from_edges([("A", "B"), ("B", "C")]))
    >>> found = find_skeleton(chain, 0.01, 1, ~np.eye(3, dtype=bool), 0b111)
    >>> found.adjacent, found.separators
    ([2, 5, 2], {(0, 2): 2})
    """
    start = Separated(bits.rows(allowed), {}, 0, True)
    # Neighbours change as edges fall, so that the sets to try are looked up in the current graph at each size.
    return _prune(test, alpha, max_depth, start, lambda adjacent: lambda x, y: adjacent[x] & usable, lambda x, y: 0)


def prune_further(
    test: IndependenceTest, alpha: float, max_depth: int, found: Separated, candidates: Candidates, usable: int
) -> Separated:
    """Remove edges whose ends are independent given possible d-separators; sets of neighbours were tried before."""
    return _prune(
        test,
        alpha,
        max_depth,
        found,
        lambda adjacent: lambda x, y: candidates(x, y) & usable,
        lambda x, y: found.adjacent[x] & usable,
        MOST_QUESTIONS,
    )


def _prune(
    test: IndependenceTest,
    alpha: float,
    max_depth: int,
    found: Separated,
    candidates_in: Callable[[list[int]], Candidates],
    tried: Candidates,
    most: float = inf,
) -> Separated:
    adjacent, separators = list(found.adjacent), dict(found.separators)
    tests, depth, complete = found.tests, 0, True
    while True:
        candidates = candidates_in(adjacent)
        sizes = [
            (candidates(x, y) & ~(1 << y)).bit_count() for x in range(len(adjacent)) for y in bits.members(adjacent[x])
        ]
        if max(sizes, default=-1) < depth:
            break
        if depth > max_depth or sum(comb(size, depth) for size in sizes) > most:
            complete = False
            break
        best: dict[Pair, tuple[float, int]] = {}
        for x, y, given in batched(_questions(adjacent, candidates, tried, depth)):
            p_values = test.p_values(x, y, given)
            tests += len(x)
            high = np.flatnonzero(p_values > alpha)
            kept = zip(x[high].tolist(), y[high].tolist(), p_values[high].tolist(), codes(given[high]), strict=True)
            for a, b, p_value, code in kept:
                if (a, b) not in best or p_value > best[a, b][0]:
                    best[a, b] = p_value, code
        for (a, b), (_, given_set) in best.items():
            adjacent[a] &= ~(1 << b)
            adjacent[b] &= ~(1 << a)
            separators[a, b] = given_set
        depth += 1
    return Separated(adjacent, separators, tests, complete and found.complete)


def _questions(
    adjacent: list[int], candidates: Candidates, tried: Candidates, depth: int
) -> Iterator[tuple[int, int, Indices]]:
    """Yield the tests of one size, in small groups: for every edge the sets of candidates of either end, each once."""
    for x, near in enumerate(adjacent):
        for y in bits.members(near):
            if not depth and (x > y or tried(x, y)):
                continue
            inside = candidates(x, y) & ~(1 << x | 1 << y)
            if inside.bit_count() < depth:
                continue
            ends = (x, y) if x < y else (y, x)
            if not depth:
                yield *ends, NOTHING
                continue
            of_set = members(inside)
            # Sets that were tried before, and for the second end those that the first end has had.
            known = [tried(x, y), tried(y, x), candidates(y, x) if x > y else 0]
            masks = [(old & inside) for old in known if (old & inside).bit_count() >= depth]
            if inside in masks:
                continue
            had = [np.isin(of_set, members(mask)) for mask in masks]
            for chosen in subsets(len(of_set), depth, BATCH):
                given = of_set[chosen]
                for mask in had:
                    given = given[~mask[chosen].all(axis=1)]
                    chosen = chosen[~mask[chosen].all(axis=1)]
                yield *ends, given
