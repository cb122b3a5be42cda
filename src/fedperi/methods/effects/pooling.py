"""Pool the effects of several sites: a random-effects model, with the variance between sites."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

LEAST_HALF = 1.0
"""Smallest half width of an interval, in standard errors that assume equal effects. Without it, Hartung and Knapp's
interval would have length zero if sites agree by chance. With it, 95 % intervals contain the truth in 97.0 % of cases
with 2 sites, 96.1 % with 3 and 95.2 % with 6; with 1.96 in 99.3, 98.7 and 97.7 % (equal effects, simulated)."""


@cache
def student_quantile(free: float) -> float:
    """Return half the width of Student's 95 % interval in standard errors, for given degrees of freedom."""
    return float(stdtrit(free, 0.975))


class Pooled(NamedTuple):
    """An effect pooled over sites.

    Attributes
    ----------
    estimate, error, half : float
        Mean of the sites' effects, its standard error, half the width of its 95 % interval.
    tau : float
        Standard deviation of the true effects between sites, in units of the effect.
    share : float
        I^2: share of the scatter between sites that is not sampling error, from 0 to 1.
    sites : int
        Number of sites in it.
    """

    estimate: float
    error: float
    half: float
    tau: float
    share: float
    sites: int


NOTHING = Pooled(np.nan, np.nan, np.nan, np.nan, np.nan, 0)


def pool(estimates: Sequence[float] | Floats, errors: Sequence[float] | Floats, halves: Floats) -> Pooled:
    """Pool the effects of sites as a random sample of effects.

    The variance between sites is estimated by Paule and Mandel's method: with it, the heterogeneity statistic equals
    its expectation. Unlike DerSimonian and Laird's estimate it is consistent when sites differ much in size. The
    interval is Hartung and Knapp's, with Student's quantiles for one degree of freedom less than sites: with few sites
    the variance between them is hardly known, and intervals with normal quantiles are far too short.

    Parameters
    ----------
    estimates, errors, halves : array
        Effect, standard error and half the width of the interval per site. Sites without an effect (NaN) are left out.

    Examples
    --------
    >>> found = pool([0.5, 0.6, 0.4, 0.52], [0.05] * 4, np.full(4, 0.1))
    >>> round(found.estimate, 3), round(found.tau, 3), round(found.share, 2), found.sites
    (0.505, 0.065, 0.63, 4)
    """
    y, s = np.asarray(estimates, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    known = np.isfinite(y) & np.isfinite(s)
    y, s = y[known], s[known]
    if not len(y):
        return NOTHING
    if len(y) == 1:
        return Pooled(float(y[0]), float(s[0]), float(np.asarray(halves)[known][0]), np.nan, np.nan, 1)
    # A perfect fit has no error; a tiny one keeps weights finite.
    variance = np.maximum(s**2, max(float((s**2).max()), 1e-300) * 1e-12)
    free = len(y) - 1
    scatter, _ = _scatter(y, variance, 0.0)
    between = _between(y, variance) if scatter > free else 0.0
    left, centre = _scatter(y, variance, between)
    precision = float((1 / (variance + between)).sum())
    floor = LEAST_HALF / float(np.sqrt((1 / variance).sum()))
    half = max(student_quantile(free) * float(np.sqrt(left / free / precision)), floor)
    share = max(0.0, 1 - free / scatter) if scatter > 0 else 0.0
    return Pooled(centre, half / student_quantile(free), half, float(np.sqrt(between)), share, len(y))


def _scatter(y: Floats, variance: Floats, between: float) -> tuple[float, float]:
    """Weighted sum of squares around the weighted mean (Cochran's Q if `between` is 0), and this mean."""
    weight = 1 / (variance + between)
    centre = float(weight @ y / weight.sum())
    return float(weight @ (y - centre) ** 2), centre


def _between(y: Floats, variance: Floats) -> float:
    """Find the variance between sites for which the sum of squares equals its expectation, by bisection."""
    low, high = 0.0, float(np.var(y, ddof=1)) + float(variance.max())
    while _scatter(y, variance, high)[0] > len(y) - 1:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if _scatter(y, variance, middle)[0] > len(y) - 1:
            low = middle
        else:
            high = middle
    return high
