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
"""Share of a column's variance over both sites below which it does not vary at one of them."""


def change_statistics(
    sites: Sequence[Summary], rows: Floats, target: Indices, given: Indices, *, spread: bool
) -> tuple[Floats, Floats]:
    """Compare the regressions of one variable on many sets, each of the same number of columns, at two sites.

    Wald's statistic for equal intercepts and strengths, each site with a residual variance of its own; for numbers
    also the squared difference of the logarithms of the residual variances. Variables with two values, and categories,
    have no spread of their own.

    Parameters
    ----------
    sites : two Summary objects
    rows : ndarray
        Rows that each counts for.
    target : ndarray of int
        Columns of the variable.
    given : ndarray of int, shape (m, k)
        Columns of each set.
    spread : bool
        Whether to compare residual variances.

    Returns
    -------
    value, freedom : ndarray, shape (m,)
        Under "no change" the value is about chi-squared with so many degrees of freedom.

    Examples
    --------
    >>> import numpy as np, pandas as pd, fedperi as fp
    >>> rng = np.random.default_rng(0)
    >>> north = pd.DataFrame(rng.normal(size=(500, 1)), columns=["age"])
    >>> sites = [fp.Summary.of(north), fp.Summary.of(north + 1)]
    >>> none = np.empty((1, 0), dtype=int)
    >>> value, freedom = change_statistics(sites, np.array([500.0, 500.0]), np.array([0]), none, spread=True)
    >>> bool(value[0] > 100), freedom.tolist()
    (True, [2.0])
    """
    origin = (sites[0].mean + sites[1].mean) / 2
    variance = sum(np.diag(site.covariance) + (site.mean - origin) ** 2 for site in sites) / 2
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    fits = [_regress(site, n, origin, unit, target, given) for site, n in zip(sites, rows, strict=True)]
    difference = fits[0][0] - fits[1][0]
    uncertain = fits[0][1] + fits[1][1]
    m, d = difference.shape
    solved = np.linalg.solve(uncertain, difference[:, :, None])[:, :, 0]
    value, freedom = np.einsum("md,md->m", difference, solved), np.full(m, float(d))
    if spread:
        logs = [np.log(fit[2]) for fit in fits]
        left = [np.maximum(n - given.shape[1] - 1, 1.0) for n in rows]
        value += (logs[0] - logs[1]) ** 2 / (2 / left[0] + 2 / left[1])
        freedom += 1.0
    return value, freedom


def _regress(
    site: Summary, rows: float, origin: Floats, unit: Floats, target: Indices, given: Indices
) -> tuple[Floats, Floats, Floats]:
    """Coefficients, intercept first, their covariance, and the residual variance of the first column."""
    mean = (site.mean - origin) / unit
    covariance = site.covariance / np.outer(unit, unit)
    m, k = given.shape
    zz = covariance[given[:, :, None], given[:, None, :]] + TINY * np.eye(k)
    zx = covariance[given[:, :, None], target[None, None, :]]
    slopes = np.linalg.solve(zz, zx) if k else np.zeros((m, 0, len(target)))
    intercept = mean[target] - np.einsum("mk,mkt->mt", mean[given], slopes)
    residual = covariance[np.ix_(target, target)] - np.einsum("mkt,mku->mtu", slopes, zx)
    residual = residual + TINY * np.eye(len(target))
    left = max(rows - k - 1, 1.0)
    inverse = np.linalg.inv(zz) if k else zz
    centre = np.einsum("mij,mj->mi", inverse, mean[given])
    design = np.empty((m, k + 1, k + 1))
    design[:, 0, 0] = 1 + np.einsum("mi,mi->m", mean[given], centre)
    design[:, 0, 1:] = design[:, 1:, 0] = -centre
    design[:, 1:, 1:] = inverse
    coefficients = np.concatenate([intercept[:, None, :], slopes], axis=1)
    # One target column after the other: the covariance is a Kronecker product.
    spread = np.einsum("mtu,mij->mtiuj", residual, design).reshape(m, len(target) * (k + 1), -1) / left
    return coefficients.transpose(0, 2, 1).reshape(m, -1), spread, residual[:, 0, 0] * rows / left
