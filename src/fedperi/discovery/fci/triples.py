"""Unshielded triples: whether the middle node is needed to separate the other two, by all available sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

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
    tests: Sequence[IndependenceTest], alpha: float, limit: int, found: Separated, usable: int
) -> tuple[Triples, Separated]:
    """Compare, for every unshielded triple, the best p-value of the sets with and without its middle.

    They must disagree (as in the conservative rule of Ramsey, Zhang and Spirtes, 2006): all sets of one kind show
    dependence, and one of the other kind separates clearly. Otherwise the triple is unclear, and no rule uses it. A
    weak dependence that is overlooked would reverse arrows.

    Parameters
    ----------
    tests : sequence of IndependenceTest
        The highest of their p-values counts.
    alpha : float
        A p-value above it means independent. Contexts share it: one of many pairs of sites differs easily by chance.
    limit : int
        The largest size of a set.
    found : Separated
    usable : int
        Bit set of the nodes that may be in a separating set. The others are contexts.

    Returns
    -------
    triples : Triples
    found : Separated
        With the best separators of these pairs.
    """
    pairs = sorted({(a, c) for a, _, c in unshielded(found)})
    best, made = _p_values(tests, limit, pairs, found, usable)
    contexts = len(found.adjacent) - usable.bit_count()
    separators = dict(found.separators)
    colliders, unclear = set(), set()
    for (a, c), sets in best.items():
        ranked = sorted(sets, key=lambda code: (-sets[code], code.bit_count(), code))
        separators[a, c] = ranked[0]
        level = alpha if usable >> c & 1 else alpha / contexts
        with_it, without = _highest(sets, ranked, (found.adjacent[a] | found.adjacent[c]) & usable)
        for b, p in with_it.items():
            if min(p, without[b]) > level or max(p, without[b]) <= max(alpha, SEPARATED):
                unclear.add((a, b, c))
            elif p < without[b] and found.adjacent[a] & found.adjacent[c] & 1 << b:
                colliders.add((a, b, c))
    separated = Separated(found.adjacent, separators, found.tests + made, found.complete)
    return Triples(frozenset(colliders), frozenset(unclear)), separated


def _p_values(
    tests: Sequence[IndependenceTest], limit: int, pairs: Sequence[tuple[int, int]], found: Separated, usable: int
) -> tuple[dict[tuple[int, int], dict[int, float]], int]:
    """For every pair the p-values of all sets, and how many there are.

    Sets are those of neighbours, and the separators of the search, which may be larger.
    """
    out: dict[tuple[int, int], dict[int, float]] = {pair: {} for pair in pairs}
    made = 0
    sizes = {found.separators[pair].bit_count() for pair in pairs}
    for size in sorted(sizes.union(range(min(LARGEST, limit) + 1))):
        alike = [pair for pair in pairs if found.separators[pair].bit_count() == size]
        own = ((*pair, members(found.separators[pair])[None, :]) for pair in alike)
        asked = _questions(pairs, found.adjacent, usable, size) if size <= min(LARGEST, limit) else ()
        for x, y, given in batched(chain(own, asked)):
            p_values = np.max([test.p_values(x, y, given) for test in tests], axis=0)
            made += len(x)
            for a, c, code, p in zip(x.tolist(), y.tolist(), codes(given), p_values.tolist(), strict=True):
                out[a, c][code] = p
    return out, made


def _highest(
    sets: Mapping[int, float], ranked: Sequence[int], inside: int
) -> tuple[dict[int, float], dict[int, float]]:
    """For every node the highest p-value of the sets with it, and without it; -1 where there is none."""
    with_it = without = inside
    out: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for code in ranked:
        for waiting, found in ((with_it & code, out[0]), (without & ~code, out[1])):
            found.update(dict.fromkeys(bits.members(waiting), sets[code]))
        with_it, without = with_it & ~code, without & code
        if not with_it | without:
            break
    out[0].update(dict.fromkeys(bits.members(with_it), -1.0))
    out[1].update(dict.fromkeys(bits.members(without), -1.0))
    return out


def unshielded(found: Separated) -> Iterator[Triple]:
    """List the unshielded triples."""
    for b, near in enumerate(found.adjacent):
        for a, c in combinations(bits.members(near), 2):
            if (a, c) in found.separators:
                yield a, b, c


def _questions(
    pairs: Sequence[tuple[int, int]], adjacent: list[int], usable: int, size: int
) -> Iterator[tuple[int, int, Indices]]:
    """Yield the tests of the pairs with sets of neighbours of one size."""
    for a, c in pairs:
        for near in {adjacent[a] & usable, adjacent[c] & usable}:
            if near.bit_count() >= size:
                of_set = members(near)
                for chosen in subsets(len(of_set), size):
                    yield a, c, of_set[chosen]
