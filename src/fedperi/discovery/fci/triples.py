"""Unshielded triples: whether the middle node is needed to separate the other two, by all available sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ..pc.independence import IndependenceTest
from ..pc.skeleton import subsets
from .batches import batched, codes, members
from .skeleton import Pair, Separated

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
    test: IndependenceTest,
    alpha: float,
    limit: int,
    found: Separated,
    usable: int,
    stricter: IndependenceTest | None = None,
) -> tuple[Triples, Separated]:
    """Compare, for every unshielded triple, the best p-value of the sets with and without its middle.

    They must disagree (as in the conservative rule of Ramsey, Zhang and Spirtes, 2006): all sets of one kind show
    dependence, and one of the other kind separates clearly. Otherwise the triple is unclear, and no rule uses it. A
    weak dependence that is overlooked would reverse arrows.

    Parameters
    ----------
    test : IndependenceTest
    alpha : float
        A p-value above it means independent. Contexts share the level: of many, some pair of sites differs by chance.
    limit : int
        The largest size of a set.
    found : Separated
    usable : int
        Bit set of the nodes that may be in a separating set. The others are contexts.
    stricter : IndependenceTest, optional
        The higher of the two p-values counts.

    Returns
    -------
    triples : Triples
    found : Separated
        With the best separators of these pairs.
    """
    pairs = sorted({(a, c) for a, _, c in unshielded(found)})
    near = {(a, c): (found.adjacent[a] | found.adjacent[c]) & usable for a, c in pairs}
    contexts = len(found.adjacent) - usable.bit_count()
    levels = {(a, c): alpha if usable >> c & 1 else alpha / contexts for a, c in pairs}
    best = _p_values(test, limit, found, usable, near, levels)
    made = sum(len(sets) for sets in best.values())
    separators = found.separators | {
        pair: min(sets, key=lambda code: (-sets[code], code.bit_count(), code)) for pair, sets in best.items()
    }
    clearly = max(alpha, SEPARATED)
    if stricter is not None:
        open_pairs = [pair for pair in pairs if _open(best[pair], near[pair], levels[pair])]
        again = [(*pair, code) for pair in open_pairs for code, p in best[pair].items() if p <= clearly]
        made += len(again)
        for a, c, code, p in _asked(stricter, again):
            best[a, c][code] = max(p, best[a, c][code])
    colliders, unclear = set(), set()
    for (a, c), sets in best.items():
        middle, other = _judged(sets, near[a, c], levels[a, c], clearly)
        colliders |= {(a, b, c) for b in bits.members(middle & found.adjacent[a] & found.adjacent[c])}
        unclear |= {(a, b, c) for b in bits.members(near[a, c] & ~middle & ~other)}
    separated = Separated(found.adjacent, separators, found.tests + made, found.complete)
    return Triples(frozenset(colliders), frozenset(unclear)), separated


def _p_values(
    test: IndependenceTest,
    limit: int,
    found: Separated,
    usable: int,
    near: Mapping[Pair, int],
    levels: Mapping[Pair, float],
) -> dict[Pair, dict[int, float]]:
    """For every pair the p-values of the separator of the search and of sets of neighbours.

    Larger sets are left out once smaller ones leave every neighbour unclear.
    """
    out: dict[Pair, dict[int, float]] = {pair: {} for pair in near}
    for a, c, code, p in _asked(test, ((*pair, found.separators[pair]) for pair in near)):
        out[a, c][code] = p
    pairs = list(near)
    for size in range(min(LARGEST, limit) + 1):
        pairs = [pair for pair in pairs if _open(out[pair], near[pair], levels[pair])]
        for x, y, given in batched(_questions(pairs, found.adjacent, usable, size)):
            p_values = test.p_values(x, y, given).tolist()
            for a, c, code, p in zip(x.tolist(), y.tolist(), codes(given), p_values, strict=True):
                out[a, c][code] = p
    return out


def _open(sets: Mapping[int, float], near: int, level: float) -> bool:
    """Whether a node is left for which sets with it, or those without it, all show dependence so far."""
    with_it = without = near
    for code, p in sets.items():
        if p > level:
            with_it, without = with_it & ~code, without & code
            if not with_it | without:
                return False
    return True


def _asked(test: IndependenceTest, questions: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int, float]]:
    """Yield pairs with a bit set each, and their p-values, smaller sets first."""
    by_size = sorted(questions, key=lambda question: question[2].bit_count())
    for _, some in groupby(by_size, key=lambda question: question[2].bit_count()):
        for x, y, given in batched((a, c, members(code)[None, :]) for a, c, code in some):
            p_values = test.p_values(x, y, given).tolist()
            yield from zip(x.tolist(), y.tolist(), codes(given), p_values, strict=True)


def _judged(sets: Mapping[int, float], near: int, level: float, clearly: float) -> tuple[int, int]:
    """Nodes that are clearly in no separating set, and nodes that clearly have to be in one, as bit sets."""
    # Nodes for which a set with it (first) or without it (second) shows no dependence, or separates clearly.
    separates, clear = [0, 0], [0, 0]
    for code, p in sets.items():
        if p > level:
            for kind, inside in enumerate((near & code, near & ~code)):
                separates[kind] |= inside
                clear[kind] |= inside if p > clearly else 0
    return clear[1] & ~separates[0], clear[0] & ~separates[1]


def unshielded(found: Separated) -> Iterator[Triple]:
    """List the unshielded triples."""
    for b, near in enumerate(found.adjacent):
        for a, c in combinations(bits.members(near), 2):
            if (a, c) in found.separators:
                yield a, b, c


def _questions(
    pairs: Sequence[Pair], adjacent: list[int], usable: int, size: int
) -> Iterator[tuple[int, int, Indices]]:
    """Yield the tests of the pairs with sets of neighbours of one size."""
    for a, c in pairs:
        for near in {adjacent[a] & usable, adjacent[c] & usable}:
            if near.bit_count() >= size:
                of_set = members(near)
                for chosen in subsets(len(of_set), size):
                    yield a, c, of_set[chosen]
