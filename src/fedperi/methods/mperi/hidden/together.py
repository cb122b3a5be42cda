"""Mechanisms that change at the same sites: a sign of a hidden common cause of two variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from math import comb, log

from ....phrases import listed
from ....tables.summary.summary import Summary
from ...parts import Groups
from .sign import Sign

CHANCE = 0.01
"""Probability, over all pairs of a run, that mechanisms change together by chance."""


def changing_together(parts: Sequence[Summary], groups: Sequence[Groups]) -> Iterator[Sign]:
    """Find pairs whose mechanisms differ at the same sites more often than chance allows (Fisher's exact test)."""
    changed = [{*chain.from_iterable(some.groups[1:]), *some.constant} for some in groups]
    pairs = list(combinations(range(len(groups)), 2))

    for one, other in pairs:
        both = sorted(changed[one] & changed[other])
        if not both:
            continue
        chance = chance_of(len(both), len(parts), *sorted((len(changed[one]), len(changed[other]))))
        if chance < CHANCE / len(pairs):
            names = groups[one].variable, groups[other].variable
            yield Sign(
                names,
                -log(chance),
                f"{names[0]} and {names[1]} may have a hidden common cause: their mechanisms change together "
                f"at {listed(both)} (by chance: {chance:.1g}).",
            )


@cache
def chance_of(both: int, sites: int, first: int, second: int) -> float:
    """Probability that two random sets of sites of given sizes have at least a given number in common.

    Integers are exact, and `scipy.stats` would take a second to import.

    Examples
    --------
    >>> chance_of(2, 4, 2, 2), chance_of(0, 4, 2, 2)
    (0.16666666666666666, 1.0)
    """
    ways = sum(comb(first, x) * comb(sites - first, second - x) for x in range(both, first + 1) if x <= second)
    return ways / comb(sites, second)
