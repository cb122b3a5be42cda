"""Combine the releases of several sites: the scale of each, and columns that the noise hides at some of them.

Sites with common mechanisms inform each other. Only values that are hidden by noise at a site are taken from the
others, so that a visible policy stays visible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MEDIAN_COST = math.pi / 2
"""Ratio between the variances of a median and of a mean."""

LEAST_COLUMNS = 4
"""With at least this number of numeric columns, sites are aligned by the median over their columns."""

MOST_MOVED = 3.0
"""Largest correction of a site's scale towards the others, in standard errors."""


@dataclass(frozen=True, eq=False)
class ReleaseEstimate:
    """Estimates of a table from its release.

    Attributes
    ----------
    rows : float
        The number of rows.
    mean, covariance : array
        Of the columns, in their own units.
    number : array of bool
        Which columns are numbers.
    drowned : array of bool
        Numeric columns whose variance is hidden by the noise: the site's units are far too wide for them.
    noise_share : float
        Variance that the noise adds to an entry, on average over the directions of a regression, in units in which one
        row has variance 1.
    scale_error : float
        Standard error of a factor that all variances have in common, as a logarithm.
    mean_noise, covariance_noise : array
        Standard deviation of the noise in each mean and each covariance, in the columns' own units.
    """

    rows: float
    mean: Floats
    covariance: Floats
    number: Bools
    drowned: Bools
    noise_share: float
    scale_error: float
    mean_noise: Floats
    covariance_noise: Floats

    @property
    def worth(self) -> float:
        """Number of rows without noise that would be equally informative."""
        return 1 / (1 / self.rows + self.noise_share + self.scale_error**2 / 2)


def align_scales(found: Sequence[ReleaseEstimate]) -> list[ReleaseEstimate]:
    """Correct the factor that all variances of a site have in common, with the help of the other sites.

    A policy changes few mechanisms. If nearly all variables of a site, given all others, vary more than elsewhere by
    the same factor, the reason is the scale of its release. So the factor is the median over the variables, shrunk
    according to the uncertainty of the scale. If sites differ in most variables, the median is uncertain and the
    correction small.
    """
    number, errors = found[0].number, np.array([one.scale_error for one in found])
    if len(found) < 2 or number.sum() < LEAST_COLUMNS or not errors.all():
        return list(found)
    left = np.stack([-np.log(np.diag(np.linalg.inv(one.covariance)))[number] for one in found])
    factor = np.zeros(len(found))
    for _ in range(5):
        left = left - np.median(left, axis=0)
        middle = np.median(left, axis=1)
        factor, left = factor + middle, left - middle[:, None]
    factor -= np.average(factor, weights=1 / errors**2)
    around = 1.4826 * np.median(np.abs(left), axis=1)
    out = []
    for one, factor_, spread in zip(found, factor.tolist(), around.tolist(), strict=True):
        own = 2 * (1 / one.rows + one.noise_share)
        of_median = MEDIAN_COST * max(own, spread**2) / int(number.sum())
        before = one.scale_error**2
        moved = factor_ * before / (before + of_median)
        moved = float(np.clip(moved, -MOST_MOVED * one.scale_error, MOST_MOVED * one.scale_error))
        after = math.sqrt(before * of_median / (before + of_median))
        factor_ = math.exp(-moved)
        changed = {name: getattr(one, name) * factor_ for name in ("covariance", "covariance_noise")}
        out.append(replace(one, scale_error=after, **changed))
    return out


def borrow_drowned(found: Sequence[ReleaseEstimate]) -> list[ReleaseEstimate]:
    """Replace columns that are hidden by noise at a site by the other sites' regression on the remaining columns.

    The site's own values of such a column are noise. With the others' values the site adds no information about the
    column, and shows no false difference. If the column is hidden at all sites, all keep their own values.
    """
    out = []
    for one in found:
        hidden = one.drowned & ~np.all([other.drowned for other in found], axis=0)
        rest = ~one.drowned
        if not hidden.any() or not rest.any():
            out.append(one)
            continue
        mean, covariance = _pooled([other for other in found if not (other.drowned & hidden).any()] or found)
        slopes = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[np.ix_(rest, hidden)]).T
        left = covariance[np.ix_(hidden, hidden)] - slopes @ covariance[np.ix_(rest, hidden)]
        own_mean, own = one.mean.copy(), one.covariance.copy()
        own_mean[hidden] = mean[hidden] + slopes @ (one.mean[rest] - mean[rest])
        across = slopes @ own[np.ix_(rest, rest)]
        own[np.ix_(hidden, rest)], own[np.ix_(rest, hidden)] = across, across.T
        own[np.ix_(hidden, hidden)] = across @ slopes.T + left
        out.append(replace(one, mean=own_mean, covariance=own))
    return out


def _pooled(found: Sequence[ReleaseEstimate]) -> tuple[Floats, Floats]:
    """Return the mean and within-site covariance of several sites, weighted by their effective numbers of rows."""
    weights = np.array([one.worth for one in found])
    weights /= weights.sum()
    mean = weights @ np.stack([one.mean for one in found])
    covariance = np.einsum("k,kij->ij", weights, np.stack([one.covariance for one in found]))
    return mean, covariance
