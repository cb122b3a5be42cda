"""Combine the releases of several sites: the scale of each, and columns that the noise hides at one of them.

Sites that share mechanisms inform each other. Only what the noise hides at a site is taken from the others, so a policy
that is visible stays visible.
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
"""How much larger the variance of a median is than that of a mean."""

LEAST_COLUMNS = 4
"""Columns of numbers from which on sites are aligned by the median over their columns."""

MOST_MOVED = 3.0
"""Standard errors by which a site's scale may be moved to be like that of the others."""


@dataclass(frozen=True, eq=False)
class Estimate:
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
        Columns of numbers whose variance is not visible under the noise: the site's units are far too wide for them.
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
        """How many rows without noise would be as informative."""
        return 1 / (1 / self.rows + self.noise_share + self.scale_error**2 / 2)


def align_scales(found: Sequence[Estimate]) -> list[Estimate]:
    """Correct the factor that all variances of a site have in common, with the help of the other sites.

    A policy changes few mechanisms. If nearly all variables of a site vary more than elsewhere by one factor, given all
    others, it is the scale of its release. So the factor is the median over the variables, weighed against how far off
    the scale may be; where sites differ in most variables, the median tells little and moves little.
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


def borrow_drowned(found: Sequence[Estimate]) -> list[Estimate]:
    """Let sites take a column that the noise hides from the others: its regression on the columns that they know.

    The site's own values of the column are noise. With the others' values it adds no information, and no difference
    appears there because of it. If no site knows the column, all keep their own.
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


def _pooled(found: Sequence[Estimate]) -> tuple[Floats, Floats]:
    """Mean, and covariance within sites, of several sites, each weighted by the rows that it is worth."""
    weights = np.array([one.worth for one in found])
    weights /= weights.sum()
    mean = weights @ np.stack([one.mean for one in found])
    covariance = np.einsum("k,kij->ij", weights, np.stack([one.covariance for one in found]))
    return mean, covariance
