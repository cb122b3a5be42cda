"""Warnings that a careful statistician would give about a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...phrases import listed
from ...tables.checks.units import unit_warnings
from ...tables.summary.summary import Summary
from ..gaps import gap_sentences
from ..parts import Groups, Robustness
from .curved import inverted
from .runs import Runs

Bools = NDArray[np.bool_]

LITTLE_SHARED = 0.6
"""A result warns if the mean share of sites with the common mechanism is below this."""

CHANCE_MATTERS = 0.6
"""The same, corrected for the site itself: below this, mechanisms often look equal by chance."""

FEW_ROWS = 10
"""A site with fewer rows per variable is called small."""

MUCH_NOISE = 1 / 3
"""A result warns if the effective number of rows of a site's noisy moments is a smaller share of its rows than this."""

NOT_CONVERGED = 0.1
"""A sample is called not converged if chains differ by this or more."""

MOST_NAMED = 5


def cautions(
    parts: Sequence[Summary], groups: Sequence[Groups], runs: Runs, robust: Sequence[Robustness], weak: Bools
) -> list[str]:
    """List the warnings of a run, the most serious first."""
    return [
        *_one_site(parts),
        *_other_units(parts),
        *gap_sentences(parts),
        *_noisy(parts),
        *_little_shared(parts, groups),
        *_no_differences(parts, groups),
        *_not_converged(runs),
        *_resting(robust),
        *_straight(robust),
        *_open_for_curves(parts[0].names, runs, robust),
        *_very_weak(parts[0].names, robust, weak),
        *_two_ways(groups),
        *_constants(groups),
        *_hidden(parts),
        *_small(parts),
        *_left_out(parts),
    ]


def _one_site(parts: Sequence[Summary]) -> list[str]:
    if len(parts) > 1:
        return []
    return [
        "There is only one site. Most edges are oriented by differences between sites, which need at least two sites: "
        "this is plain BIC on one table."
    ]


def _other_units(parts: Sequence[Summary]) -> list[str]:
    """Name columns that a site seems to measure in another unit, so that every mechanism there looks different."""
    return [f"{str(finding)[0].upper()}{str(finding)[1:]}." for finding in unit_warnings(parts)]


def _noisy(parts: Sequence[Summary]) -> list[str]:
    """Warn of noise, and say what would help. Its variance is inverse to the squares of rows and of epsilon."""
    noisy = [part for part in parts if not part.exact and part.rows < MUCH_NOISE * part.n]
    if not noisy:
        return []
    worst = min(noisy, key=lambda part: part.rows / part.n)
    ratio = worst.n / worst.rows - 1
    others = f" This holds for {len(noisy)} sites in a similar way." if len(noisy) > 1 else ""
    return [
        f"Privacy noise leaves little to compare: at {worst.site}, {worst.n:,.0f} rows are worth {worst.rows:,.0f}."
        f"{others} Most differences cannot be detected, and edges may be missing. With about "
        f"{_rounded(ratio * worst.n):,} rows, or an epsilon {ratio**0.5:.1f} times as large, the noise would cost half "
        "of the rows."
    ]


def _hidden(parts: Sequence[Summary]) -> list[str]:
    return [
        f"At {part.site}, privacy noise hides {_named(part.noise.hidden)}: statements about "
        f"{'them' if len(part.noise.hidden) > 1 else 'it'} there come from the other sites. Narrower public bounds "
        "would help."
        for part in parts
        if part.noise is not None and part.noise.hidden
    ]


def _rounded(number: float) -> int:
    """Round to two significant digits; no more are known."""
    return int(round(number, 1 - math.floor(math.log10(number)))) if number >= 10 else round(number)


def mean_share(groups: Sequence[Groups]) -> float:
    """Mean share of the sites that have the common mechanism of a variable.

    Examples
    --------
    >>> mean_share([Groups("age", (("Lyon", "Metz"),), ()), Groups("dose", (("Lyon",), ("Metz",)), ())])
    0.75
    """
    return float(np.mean([group.share for group in groups]))


def shares_little(groups: Sequence[Groups], sites: int) -> bool:
    """Whether so little is shared that mechanisms often look equal by chance.

    A site always shares a mechanism with itself, which is not informative and increases the share if there are few
    sites. The scale used here corrects for this: 0 is nothing shared, 1 everything.

    Examples
    --------
    >>> alone = Groups("dose", (("Lyon",), ("Metz",), ("Nice",)), ())
    >>> shares_little([alone, Groups("age", (("Lyon", "Metz"), ("Nice",)), ())], 3)
    True
    >>> shares_little([Groups("age", (("Lyon", "Metz", "Nice"),), ())], 3)
    False
    """
    return sites > 1 and (mean_share(groups) - 1 / sites) / (1 - 1 / sites) < CHANCE_MATTERS


def _little_shared(parts: Sequence[Summary], groups: Sequence[Groups]) -> list[str]:
    shared = mean_share(groups)
    if len(parts) < 3 or shared >= LITTLE_SHARED:
        return []
    return [
        f"Little is shared: on average only {shared:.0%} of the sites have the most common mechanism of a variable. "
        "Nearly every mechanism differs, so comparing them says little about directions. Treat arrows as suggestions, "
        "and try IPERI as well, which only uses arrows that are missing at a site."
    ]


def _no_differences(parts: Sequence[Summary], groups: Sequence[Groups]) -> list[str]:
    if len(parts) < 2 or any(len(group.groups) > 1 or group.constant for group in groups):
        return []
    return ["The sites do not differ in any mechanism, so differences between them orient no edge."]


def _not_converged(runs: Runs) -> list[str]:
    if runs.chains_differ < NOT_CONVERGED:
        return []
    return [
        f"The probabilities come from samples that have not converged: they differ by up to {runs.chains_differ:.2f} "
        "between chains. Treat those near the threshold with caution, or run again with another seed."
    ]


def _resting(robust: Sequence[Robustness]) -> list[str]:
    by_site: dict[str, int] = {}
    for edge in robust:
        if edge.grade == "one site" and edge.site:
            by_site[edge.site] = by_site.get(edge.site, 0) + 1
    return [
        f"{count} direction{'s rest' if count > 1 else ' rests'} on {site} alone, and "
        f"{'are' if count > 1 else 'is'} lost without the data from there. Ask {site} what is done differently there."
        for site, count in sorted(by_site.items(), key=lambda one: (-one[1], one[0]))
    ]


def _straight(robust: Sequence[Robustness]) -> list[str]:
    bent = [f"{edge.a} -> {edge.b}" for edge in robust if edge.grade == "straight lines"]
    if not bent:
        return []
    return [
        f"If effects may be curved, {_named(bent)} {'are' if len(bent) > 1 else 'is'} no longer more probable than the "
        "other direction. A straight line fitted to a curve differs between sites with different patients."
    ]


def _open_for_curves(names: Sequence[str], runs: Runs, robust: Sequence[Robustness]) -> list[str]:
    """Name the directions that are left open because curves invert them."""
    doubtful = inverted(runs)
    pairs = [(edge.a, edge.b) for edge in robust if not edge.grade]
    found = [f"{a} -> {b}" for pair in pairs for a, b in (pair, pair[::-1]) if doubtful[names.index(a), names.index(b)]]
    if not found:
        return []
    return [
        f"Straight lines give {_named(found)}, and curves the opposite direction{'s' * (len(found) > 1)}, so "
        f"{'they are' if len(found) > 1 else 'it is'} left open. Look at the variables in a plot."
    ]


def _very_weak(names: Sequence[str], robust: Sequence[Robustness], weak: Bools) -> list[str]:
    found = [f"{edge.a} - {edge.b}" for edge in robust if weak[names.index(edge.a), names.index(edge.b)]]
    if not found:
        return []
    return [
        f"Very weak: {_named(found)}. The cause explains less than 0.1 % of the variance of the effect, given its "
        "other causes. With this many rows, a slight curve or a product of two causes looks like such an edge, so no "
        "direction is found for it, and there may be no edge. If you know which variable comes first, give tiers."
    ]


def _two_ways(groups: Sequence[Groups]) -> list[str]:
    tied = [
        group.variable for group in groups if len(group.groups) > 1 and len(group.groups[0]) == len(group.groups[1]) > 1
    ]
    if not tied:
        return []
    return [
        f"For {_named(tied)}, two mechanisms are equally common among the sites. The data do not show which of the "
        "two is the local policy."
    ]


def _constants(groups: Sequence[Groups]) -> list[str]:
    return [
        f"{group.variable} has only one value at {listed(group.constant)}: "
        f"{'these sites say' if len(group.constant) > 1 else 'this site says'} nothing about its causes."
        for group in groups
        if group.constant
    ]


def _small(parts: Sequence[Summary]) -> list[str]:
    small = [part.site for part in parts if part.total < FEW_ROWS * len(part.names)]
    if not small:
        return []
    return [
        f"{_named(small)} {'have' if len(small) > 1 else 'has'} fewer than {FEW_ROWS} rows per variable, too few to "
        "detect most differences in mechanisms."
    ]


def _left_out(parts: Sequence[Summary]) -> list[str]:
    rows = {part.site: int(part.n) + part.dropped if part.gaps is None else part.gaps.rows for part in parts}
    return [
        f"At {part.site}, {part.dropped} of {rows[part.site]} rows were left out because a value is missing. If they "
        "are not missing at random, this biases the result."
        for part in parts
        if part.dropped
    ]


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], f"{more} more"]) if more > 0 else listed(names)
