"""An effect in sentences: what it is, how certain it is, and under which assumptions it holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...phrases import listed
from .moments import Moments
from .records import Effect, Estimate

IF_RIGHT = (
    "This is causal only if the graph is right, no unmeasured variable causes both, and effects are linear. Otherwise "
    "it is an association."
)
PROBABILITY = "A difference in probability, from a linear model: 0.1 means 10 percentage points."

MOST_SETS = 3
FEW_SITES = 4
"""With fewer sites, the text says that the interval is wide for this reason."""


def number(value: float) -> str:
    """Write a number with three significant digits.

    Examples
    --------
    >>> number(0.012345), number(-1234.5), number(float("nan")), number(0.0)
    ('0.0123', '-1230', '-', '0')
    """
    if not np.isfinite(value):
        return "-"
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def interval(estimate: Estimate | None) -> str:
    """Write a 95 % interval.

    Examples
    --------
    >>> interval(Estimate(0.5, 0.1, 0.3, 0.7, 0.5, 0.5, 0.0, 0.0, 3)), interval(None)
    ('0.3 to 0.7', '-')
    """
    if estimate is None or not np.isfinite(estimate.low):
        return "-"
    return f"{number(estimate.low)} to {number(estimate.high)}"


def sentences(rows: Sequence[Effect], moments: Moments) -> list[str]:
    """Describe the effect of one variable on another: what the numbers alone do not say.

    Parameters
    ----------
    rows : sequence of Effect
        The result of `Effects.of`.
    moments : Moments
        The sites' statements.
    """
    last = rows[-1]
    if not last.path:
        return [f"In the graph no directed path leads from {last.cause} to {last.effect}: no effect.", IF_RIGHT]
    pooled = [one for one in rows if one.pooled]
    common = pooled[-1]
    which = f"For {_levels(common)}: " if len(pooled) > 1 else ""
    return [
        _adjusted(last),
        *([_per_deviation(common, moments)] if not (common.cause_level or common.probably_none) else []),
        *([] if common.probably_none else (which + said for said in _heterogeneity(common))),
        *(which + said for said in _open(common)),
        *_arrow(common),
        *([PROBABILITY] if moments.shares[moments.names.index(last.effect)] else []),
        *(["Intervals include the noise that sites added for privacy."] if _noisy(moments) else []),
        IF_RIGHT,
    ]


def _adjusted(one: Effect) -> str:
    if one.probably_none:
        given = f"adjust for {listed(one.adjustment)}" if one.adjustment else "there is nothing to adjust for"
        where = f"The most probable DAG has no such path, and so no effect. In DAGs that have one, {given}."
    else:
        where = f"Adjusted for {listed(one.adjustment)}." if one.adjustment else "There is nothing to adjust for."
    return f"Total effect: along all directed paths. {where}{other_sets(one)}"


def other_sets(one: Effect) -> str:
    """Say what to adjust for if open directions turn out differently; empty if that changes nothing."""
    if not one.other_sets:
        return ""
    shown = [listed(some) or "nothing" for some in one.other_sets[:MOST_SETS]]
    more = len(one.other_sets) - len(shown)
    rest = f"; or for one of {more} more sets" if more > 0 else ""
    return f" If open directions turn out differently, adjust for {'; or for '.join(shown)}{rest}."


def _per_deviation(common: Effect, moments: Moments) -> str:
    spread = moments.deviation(common.cause)
    return (
        f"Pooled, per standard deviation of {common.cause} ({number(spread)}, within sites): "
        f"{number(common.total.value * spread)}."
    )


def _levels(one: Effect) -> str:
    ends = ((one.cause, one.cause_level), (one.effect, one.effect_level))
    return ", ".join(f"{name} = {level}" for name, level in ends if level)


def _heterogeneity(common: Effect) -> list[str]:
    total = common.total
    if total.sites < 2:
        return [f"The pooled total effect comes from {'one site' if total.sites else 'no site'}."]
    few = " With so few sites the interval is wide." if total.sites < FEW_SITES else ""
    if not total.tau:
        return [f"The {total.sites} sites differ no more than by chance (I^2 0 %).{few}"]
    return [
        f"The total effect varies between the {total.sites} sites with a standard deviation of {number(total.tau)}; "
        f"{total.share:.0%} of the observed variation is beyond chance (I^2).{few}"
    ]


def _open(common: Effect) -> list[str]:
    if not common.open:
        return []
    none = f" In {1 - common.path:.0%} of them, by weight, there is no effect." if common.path < 0.995 else ""
    return [
        "Open: the total effect depends on directions that the graph leaves open. Over the possible DAGs it "
        f"lies between {number(common.total.least)} and {number(common.total.most)}; intervals cover all of them.{none}"
    ]


def _arrow(common: Effect) -> list[str]:
    if not np.isfinite(common.probability):
        return []
    return [f"Probability of the arrow {common.cause} -> {common.effect}: {common.probability:.2f}."]


def _noisy(moments: Moments) -> bool:
    return any(site.noise is not None for site in moments.sites)
