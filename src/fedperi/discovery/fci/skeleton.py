"""Which variables FCI joins: first with neighbours as separators, then with possible d-separators.

All edges are tried with sets of one size before any is removed, so that what is found does not depend on the order of
the variables. Of the sets of one size that separate a pair, the one with the highest p-value is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb, inf
from types import MappingProxyType
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class Certain(Protocol):
    """A test that may know its answers without making it."""

    def open_sets(self, pairs: Sequence[Pair], candidates: Sequence[int], alpha: float) -> list[list[int] | None]:
        """For every pair, the sets of candidates that need a test: given any other, the two depend on each other."""


MOST_QUESTIONS = 50_000
"""Tests of one size that are made with possible d-separators, of which there can be as many as variables. With more
tests than this the larger sets are left out, and the result says so."""

CLEARLY = 0.3
"""P-value above which possible d-separators separate. Of the true edges that are removed with them at the level of the
neighbours, most are found by chance among hundreds of sets: 38 true edges fell for 7 false ones."""


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
    levels = np.full(len(allowed), alpha)
    return _prune(test, levels, max_depth, start, lambda adjacent: lambda x, y: adjacent[x] & usable, lambda x, y: 0)


def prune_further(
    test: IndependenceTest, alpha: float, max_depth: int, found: Separated, candidates: Candidates, usable: int
) -> Separated:
    """Remove edges whose ends are clearly independent given possible d-separators; neighbours were tried before."""
    inside = {
        (x, y): candidates(x, y) & usable & ~(1 << x | 1 << y)
        for x, near in enumerate(found.adjacent)
        for y in bits.members(near)
    }

    def usable_ones(x: int, y: int) -> int:
        return inside[x, y]

    def tried(x: int, y: int) -> int:
        return found.adjacent[x] & usable

    levels = np.full(len(found.adjacent), alpha)
    levels[: usable.bit_count()] = clearly = max(alpha, CLEARLY)
    needed = _needed(test, clearly, max_depth, found, usable_ones, tried) if isinstance(test, Certain) else {}
    return _prune(test, levels, max_depth, found, lambda adjacent: usable_ones, tried, MOST_QUESTIONS, needed)


def _needed(
    test: Certain, alpha: float, max_depth: int, found: Separated, candidates: Candidates, tried: Candidates
) -> dict[Pair, list[int]]:
    """Sets that need a test, for pairs with enough sets that finding those first is faster."""
    sizes, depth = _sizes(found.adjacent, candidates), 0
    while depth <= min(max_depth, max(sizes, default=-1)) and _count(sizes, depth) <= MOST_QUESTIONS:
        depth += 1
    pairs, inside = [], []
    for x, near in enumerate(found.adjacent):
        for y in bits.members(near >> x << x):
            one, other = candidates(x, y), candidates(y, x)
            size = (one | other).bit_count()
            if one & ~tried(x, y) | other & ~tried(y, x) and _count(Counter([size]), *range(depth)) > size * size:
                pairs.append((x, y))
                inside.append(one | other)
    sets = test.open_sets(pairs, inside, alpha)
    return {pair: some for pair, some in zip(pairs, sets, strict=True) if some is not None}


def _sizes(adjacent: Sequence[int], candidates: Candidates) -> Counter[int]:
    """How many sets of candidates, of the two that each edge has, have which size."""
    return Counter(
        (candidates(x, y) & ~(1 << y)).bit_count() for x, near in enumerate(adjacent) for y in bits.members(near)
    )


def _count(sizes: Counter[int], *depths: int) -> int:
    """How many subsets of a given size they have."""
    return sum(number * comb(size, depth) for size, number in sizes.items() for depth in depths)


def _prune(
    test: IndependenceTest,
    levels: NDArray[np.float64],
    max_depth: int,
    found: Separated,
    candidates_in: Callable[[list[int]], Candidates],
    tried: Candidates,
    most: float = inf,
    needed: Mapping[Pair, list[int]] = MappingProxyType({}),
) -> Separated:
    adjacent, separators = list(found.adjacent), dict(found.separators)
    tests, depth, complete = found.tests, 0, True
    while True:
        candidates = candidates_in(adjacent)
        sizes = _sizes(adjacent, candidates) if depth else Counter([0] * sum(near.bit_count() for near in adjacent))
        if max(sizes, default=-1) < depth:
            break
        if depth > max_depth or _count(sizes, depth) > most:
            complete = False
            break
        best: dict[Pair, tuple[float, int]] = {}
        asked = batched(_questions(adjacent, candidates, tried, needed, depth)) if depth else _first(adjacent, tried)
        for x, y, given in asked:
            p_values = test.p_values(x, y, given)
            tests += len(x)
            high = np.flatnonzero(p_values > levels[y])
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


def _first(adjacent: list[int], tried: Candidates) -> Iterator[tuple[Indices, ...]]:
    """Yield the tests of the edges given nothing."""
    ends = [(x, y) for x, near in enumerate(adjacent) for y in bits.members(near >> x << x) if not tried(x, y)]
    if ends:
        x, y = np.array(ends, dtype=np.intp).T
        yield x, y, np.empty((len(ends), 0), dtype=np.intp)


def _questions(
    adjacent: list[int], candidates: Candidates, tried: Candidates, needed: Mapping[Pair, list[int]], depth: int
) -> Iterator[tuple[int, int, Indices]]:
    """Yield the tests of one size, in small groups: for every edge the sets of candidates of either end, each once."""
    for x, near in enumerate(adjacent):
        for y in bits.members(near):
            ends = (x, y) if x < y else (y, x)
            inside = candidates(x, y) & ~(1 << x | 1 << y)
            # Sets that were tried before, and for the second end those that the first end has had.
            known = [tried(x, y), tried(y, x), candidates(y, x) if x > y else 0]
            masks = [old & inside for old in known if (old & inside).bit_count() >= depth]
            if inside.bit_count() < depth or inside in masks:
                continue
            if ends in needed:
                yield *ends, _listed(needed[ends], inside, masks, depth)
                continue
            of_set = members(inside)
            had = [np.array([mask >> v & 1 for v in of_set.tolist()], dtype=bool) for mask in masks]
            for chosen in subsets(len(of_set), depth, BATCH):
                given = of_set[chosen]
                for mask in had:
                    new = ~mask[chosen].all(axis=1)
                    given, chosen = given[new], chosen[new]
                yield *ends, given


def _listed(sets: list[int], inside: int, masks: list[int], depth: int) -> Indices:
    """The sets of a given size, all of them inside and not all in one of the masks."""
    some = [code for code in sets if code.bit_count() == depth and not code & ~inside]
    rows = sorted(members(code).tolist() for code in some if all(code & ~mask for mask in masks))
    return np.array(rows, dtype=np.intp).reshape(-1, depth)
