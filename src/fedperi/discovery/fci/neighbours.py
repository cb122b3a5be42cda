"""Tests of the ends of unshielded triples, given sets of neighbours of either end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ..pc.independence import IndependenceTest
from ..pc.skeleton import BATCH, subsets
from .batches import batched, codes, members, table_of
from .skeleton import Pair, Separated

Indices = NDArray[np.intp]
Triple = tuple[int, int, int]
"""(a, b, c), a < c: b is joined with both, and these are not joined."""

Tested = dict[Pair, dict[int, float]]
"""For pairs that are not joined, sets as bit sets, and their p-values."""

LARGEST = 3
"""Sets of neighbours of up to this size are compared. Larger ones seldom separate what smaller ones do not."""

UNDECIDED = 0.3
"""If sets with a node and sets without it have p-values above this, more sets will not tell what the node is."""


def tests_of_neighbours(test: IndependenceTest, limit: int, found: Separated, usable: int) -> Tested:
    """Test the ends of unshielded triples, given what separated them in the search, and all sets of neighbours.

    Of a variable and a context, larger sets are left out once smaller ones leave every neighbour unclear: there can be
    many contexts.

    Parameters
    ----------
    test : IndependenceTest
    limit : int
        The largest size of a set.
    found : Separated
    usable : int
        Bit set of the nodes that may be in a separating set. The others are contexts.
    """
    pairs = sorted({(a, c) for a, _, c in unshielded(found)})
    out: Tested = {pair: {} for pair in pairs}
    for a, c, code, p in ask(test, ((*pair, found.separators[pair]) for pair in pairs)):
        out[a, c][code] = p
    near = {(a, c): (found.adjacent[a] | found.adjacent[c]) & usable for a, c in pairs}
    for size in range(min(LARGEST, limit) + 1):
        pairs = [(a, c) for a, c in pairs if usable >> c & 1 or _open(out[a, c], near[a, c])]
        for x, y, given in batched(_questions(pairs, found.adjacent, usable, size)):
            p_values = test.p_values(x, y, given).tolist()
            for a, c, code, p in zip(x.tolist(), y.tolist(), codes(given), p_values, strict=True):
                out[a, c][code] = p
    return out


def lone_pairs(tested: Tested, alpha: float, usable: int, lone: float) -> set[Pair]:
    """Pairs of variables that hardly any set separates.

    Of many sets one makes variables look independent by chance, or because effects nearly cancel.
    """
    return {
        (a, c)
        for (a, c), sets in tested.items()
        if usable >> c & 1 and sum(p > alpha for p in sets.values()) < lone * len(sets)
    }


def _open(sets: Mapping[int, float], near: int) -> bool:
    """Whether a node is left for which sets with it, or those without it, all show dependence so far."""
    with_it = without = near
    for code, p in sets.items():
        if p > UNDECIDED:
            with_it, without = with_it & ~code, without & code
            if not with_it | without:
                return False
    return True


def ask(test: IndependenceTest, questions: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int, float]]:
    """Yield pairs with a bit set each, and their p-values, smaller sets first."""
    by_size = sorted(questions, key=lambda question: question[2].bit_count())
    for size, some in groupby(by_size, key=lambda question: question[2].bit_count()):
        asked = list(some)
        for start in range(0, len(asked), BATCH):
            x, y, sets = zip(*asked[start : start + BATCH], strict=True)
            p_values = test.p_values(np.array(x, dtype=np.intp), np.array(y, dtype=np.intp), table_of(sets, size))
            yield from zip(x, y, sets, p_values.tolist(), strict=True)


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
