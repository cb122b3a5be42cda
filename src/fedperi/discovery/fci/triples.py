"""Unshielded triples: whether the middle node is needed to separate the other two, by all available sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ..pc.independence import IndependenceTest
from ..pc.skeleton import subsets
from .batches import batched, codes, members
from .skeleton import Separated

Indices = NDArray[np.intp]
Triple = tuple[int, int, int]
"""(a, b, c), a < c: b is joined with both, and these are not joined."""

SEPARATED = 0.3
"""A p-value above it says that a set separates two variables, well enough to judge what lies between them. Those of
two variables that are hardly dependent are often above the level, too, but seldom above this."""

LARGEST = 4
"""Sets of neighbours of up to this size are compared; larger ones are seldom trusted more."""


@dataclass(frozen=True)
class Triples:
    """What the tests say about the middle of every unshielded triple.

    Attributes
    ----------
    colliders : frozenset
        Triples whose middle node is in no separating set.
    unclear : frozenset
        Triples with separating sets both with and without the middle node, or with none that clearly separates: the
        tests have too little power to decide. The middle node of these may be a neighbour of one end only.
    """

    colliders: frozenset[Triple]
    unclear: frozenset[Triple]

    @cached_property
    def doubtful(self) -> Mapping[tuple[int, int], int]:
        """For an end a and a middle b, the bit set of the other ends for which the role of b is unclear."""
        out: dict[tuple[int, int], int] = {}
        for a, b, c in self.unclear:
            out[a, b] = out.get((a, b), 0) | 1 << c
            out[c, b] = out.get((c, b), 0) | 1 << a
        return out

    def clear(self, a: int, b: int, others: int) -> int:
        """Leave out, of a bit set of other ends, those for which the role of b is unclear."""
        return others & ~self.doubtful.get((a, b), 0)


def weigh_triples(
    test: IndependenceTest, alpha: float, limit: int, found: Separated, usable: int
) -> tuple[Triples, Separated]:
    """Compare, for every unshielded triple, the best p-value of the sets with and without its middle.

    They must disagree (as in the conservative rule of Ramsey, Zhang and Spirtes, 2006): all sets of one kind show
    dependence, and one of the other kind separates clearly. Otherwise the triple is unclear, and no rule uses it. A
    weak dependence that is overlooked would reverse arrows.

    Returns
    -------
    triples : Triples
    found : Separated
        With the best separators of these pairs.
    """
    pairs = sorted({(a, c) for a, _, c in unshielded(found)})
    best: dict[tuple[int, int], dict[int, float]] = {pair: {found.separators[pair]: -1.0} for pair in pairs}
    tests = found.tests + len(best)
    # The separators of the search may be larger than the sets of neighbours: they are tested again.
    for size in sorted({found.separators[pair].bit_count() for pair in pairs}):
        alike = [pair for pair in pairs if found.separators[pair].bit_count() == size]
        given = np.stack([members(found.separators[pair]) for pair in alike])
        x, y = np.array(alike, dtype=np.intp).T
        p_values = test.p_values(x, y, given)
        for pair, p in zip(alike, p_values.tolist(), strict=True):
            best[pair][found.separators[pair]] = p
    for size in range(min(LARGEST, limit) + 1):
        for x, y, given in batched(_questions(pairs, found.adjacent, usable, size)):
            p_values = test.p_values(x, y, given)
            tests += len(x)
            for a, c, code, p in zip(x.tolist(), y.tolist(), codes(given), p_values.tolist(), strict=True):
                best[a, c][code] = p
    separators = dict(found.separators)
    for pair, sets in best.items():
        separators[pair] = max(sets, key=lambda code: (sets[code], -code.bit_count(), -code))
    colliders, unclear = set(), set()
    for (a, c), sets in best.items():
        for b in bits.members(found.adjacent[a] | found.adjacent[c]):
            with_it = max((p for code, p in sets.items() if code >> b & 1), default=-1.0)
            without = max((p for code, p in sets.items() if not code >> b & 1), default=-1.0)
            if min(with_it, without) > alpha or max(with_it, without) <= max(alpha, SEPARATED):
                unclear.add((a, b, c))
            elif without > with_it and (found.adjacent[a] & found.adjacent[c]) >> b & 1:
                colliders.add((a, b, c))
    separated = Separated(found.adjacent, separators, tests, found.complete)
    return Triples(frozenset(colliders), frozenset(unclear)), separated


def unshielded(found: Separated) -> Iterator[Triple]:
    """List the unshielded triples."""
    for b, near in enumerate(found.adjacent):
        for a, c in combinations(bits.members(near), 2):
            if (a, c) in found.separators:
                yield a, b, c


def _questions(
    pairs: list[tuple[int, int]], adjacent: list[int], usable: int, size: int
) -> Iterator[tuple[int, int, Indices]]:
    """Yield the tests of the pairs with sets of neighbours of one size."""
    for a, c in pairs:
        for near in {adjacent[a] & usable, adjacent[c] & usable}:
            if near.bit_count() >= size:
                of_set = members(near)
                for chosen in subsets(len(of_set), size):
                    yield a, c, of_set[chosen]
