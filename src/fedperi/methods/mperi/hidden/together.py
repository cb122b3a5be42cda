"""Mechanisms that change at the same sites: a sign of a hidden common cause of two variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from math import log

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

    @cache
    def chance_of(both: int, first: int, second: int) -> float:
        from scipy.stats import hypergeom

        return float(hypergeom.sf(both - 1, len(parts), first, second))

    for one, other in pairs:
        both = sorted(changed[one] & changed[other])
        if not both:
            continue
        chance = chance_of(len(both), *sorted((len(changed[one]), len(changed[other]))))
        if chance < CHANCE / len(pairs):
            names = groups[one].variable, groups[other].variable
            yield Sign(
                names,
                -log(chance),
                f"{names[0]} and {names[1]} may have a hidden common cause: their mechanisms change together "
                f"at {listed(both)} (by chance: {chance:.1g}).",
            )
