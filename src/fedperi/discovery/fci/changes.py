"""Whether a variable depends on others in the same way at two sites: level, strengths and spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ...tables.summary.summary import Summary

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

TINY = 1e-10
"""Share of a column's variance over all sites below which it does not vary at one of them."""


class Changes:
    """Moments of all sites in common units, to compare regressions between pairs of sites.

    Parameters
    ----------
    sites : sequence of Summary
    rows : ndarray
        Rows that each counts for.

    Examples
    --------
    >>> import numpy as np, pandas as pd, fedperi as fp
    >>> rng = np.random.default_rng(0)
    >>> north = pd.DataFrame(rng.normal(size=(500, 1)), columns=["age"])
    >>> changes = Changes([fp.Summary.of(north), fp.Summary.of(north + 1)], np.array([500.0, 500.0]))
    >>> pair, age, none = np.array([[0, 1]]), np.array([[0]]), np.empty((1, 0), dtype=int)
    >>> value, freedom = changes.statistics(pair, age, none, spread=True)
    >>> bool(value[0] > 100), freedom
    (True, 2.0)
    """

    def __init__(self, sites: Sequence[Summary], rows: Floats) -> None:
        means = np.stack([site.mean for site in sites])
        covariances = np.stack([site.covariance for site in sites])
        origin = means.mean(axis=0)
        variance = (np.diagonal(covariances, axis1=1, axis2=2) + (means - origin) ** 2).mean(axis=0)
        unit = np.sqrt(np.where(variance > 0, variance, 1.0))
        self._rows = rows
        self._means = (means - origin) / unit
        self._covariances = covariances / np.outer(unit, unit)

    def statistics(self, pairs: Indices, target: Indices, given: Indices, *, spread: bool) -> tuple[Floats, float]:
        """Compare regressions at pairs of sites; all have the same numbers of columns.

        Wald's statistic for equal intercepts and strengths, each site with a residual variance of its own; for numbers
        also the squared difference of the logarithms of the residual variances. Variables with two values, and
        categories, have no spread of their own.

        Parameters
        ----------
        pairs : ndarray of int, shape (m, 2)
            The sites.
        target : ndarray of int, shape (m, t)
            Columns of the variable.
        given : ndarray of int, shape (m, k)
            Columns of each set.
        spread : bool
            Whether to compare residual variances.

        Returns
        -------
        value : ndarray, shape (m,)
            Under "no change" about chi-squared.
        freedom : float
            Its degrees of freedom.
        """
        one, other = (self._regress(pairs[:, side], target, given) for side in (0, 1))
        difference, uncertain = one[0] - other[0], one[1] + other[1]
        value = np.einsum("md,md->m", difference, np.linalg.solve(uncertain, difference[:, :, None])[:, :, 0])
        if not spread:
            return value, float(difference.shape[1])
        left = np.maximum(self._rows[pairs] - given.shape[1] - 1, 1.0)
        value += np.log(one[2] / other[2]) ** 2 / (2 / left).sum(axis=1)
        return value, difference.shape[1] + 1.0

    def _regress(self, site: Indices, target: Indices, given: Indices) -> tuple[Floats, Floats, Floats]:
        """Coefficients, intercept first, their covariance, and the residual variance of the first column."""
        m, k = given.shape
        t, rows = target.shape[1], self._rows[site]
        left = np.maximum(rows - k - 1, 1.0)
        at = site[:, None, None]
        inverse = np.linalg.inv(self._covariances[at, given[:, :, None], given[:, None, :]] + TINY * np.eye(k))
        zx = self._covariances[at, given[:, :, None], target[:, None, :]]
        slopes = inverse @ zx
        mean = self._means[site[:, None], given]
        residual = self._covariances[at, target[:, :, None], target[:, None, :]] - slopes.swapaxes(1, 2) @ zx
        residual += TINY * np.eye(t)
        centre = (inverse @ mean[:, :, None])[:, :, 0]
        design = np.empty((m, k + 1, k + 1))
        design[:, 0, 0] = 1 + np.einsum("mi,mi->m", mean, centre)
        design[:, 0, 1:] = design[:, 1:, 0] = -centre
        design[:, 1:, 1:] = inverse
        coefficients = np.empty((m, t, k + 1))
        coefficients[:, :, 0] = self._means[site[:, None], target] - np.einsum("mk,mkt->mt", mean, slopes)
        coefficients[:, :, 1:] = slopes.swapaxes(1, 2)
        # One target column after the other: the covariance is a Kronecker product.
        spread = residual[:, :, None, :, None] * design[:, None, :, None, :] / left[:, None, None, None, None]
        size = t * (k + 1)
        return coefficients.reshape(m, size), spread.reshape(m, size, size), residual[:, 0, 0] * rows / left
