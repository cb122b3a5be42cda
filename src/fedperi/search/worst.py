"""The paper's min-max: minimise the largest regret, then the next largest, and so on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..graph.order import descendants, topological_order
from ..scores.score import RESOLUTION
from .families import ParentSets

Floats = NDArray[np.float64]


EDGE_PRICE = 1e-2
"""Penalty per edge that is added to every site's regret under `worst`: large enough to drop edges that no site
supports, too small to drop one that a site supports (at least half the logarithm of n)."""


def site_regrets(sets: ParentSets, parents: Sequence[int], edge_price: float = EDGE_PRICE) -> Floats:
    """Return the total regret of a DAG at each site, with the small penalty on its edges."""
    rows = [sets.regrets(node, into) for node, into in enumerate(parents)]
    edges = sum(into.bit_count() for into in parents)
    return np.asarray(np.sum([row for row in rows if row is not None], axis=0)) + edge_price * edges


def improve_worst(sets: ParentSets, parents: Sequence[int]) -> list[int]:
    """Climb from a DAG, by one parent set or one reversed edge at a time, while the sorted regrets improve."""
    current = list(parents)
    value = site_regrets(sets, current)
    while True:
        for candidate in _neighbours(sets, current):
            found = site_regrets(sets, candidate)
            if better(found, value):
                current, value = candidate, found
                break
        else:
            return current


def better(first: Floats, second: Floats) -> bool:
    """Whether the first regrets, sorted from the largest, come before the second ones."""
    for a, b in zip(np.sort(first)[::-1], np.sort(second)[::-1], strict=True):
        if abs(a - b) > RESOLUTION:
            return bool(a < b)
    return False


def _neighbours(sets: ParentSets, parents: list[int]) -> Iterator[list[int]]:
    """Yield the DAGs with known regrets that differ by the parents of one node, or by one reversed edge."""
    children = bits.transpose(parents)
    for node, into in enumerate(parents):
        below = descendants(children, 1 << node)
        toggled = [into ^ 1 << j for j in bits.members(sets.candidates(node))]
        for other in dict.fromkeys([*sets.strong(node, 30), *toggled]):
            if other != into and not other & below and _known(sets, node, other):
                yield [*parents[:node], other, *parents[node + 1 :]]
    for node, into in enumerate(parents):
        for tail in bits.members(into):
            turned = list(parents)
            turned[node] &= ~(1 << tail)
            turned[tail] |= 1 << node
            if (
                topological_order(turned) is not None
                and _known(sets, node, turned[node])
                and _known(sets, tail, turned[tail])
            ):
                yield turned


def _known(sets: ParentSets, node: int, parents: int) -> bool:
    return sets.constraints(node, parents) and sets.regrets(node, parents) is not None
