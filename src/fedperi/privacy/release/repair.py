"""From noisy moments back to statistics: everything here uses only a release, so it costs no privacy.

The steps, each justified by an experiment (docs/explanation/privacy.md):

- centre, and raise every eigenvalue at least to the size of the noise, so that the result is a covariance matrix;
- undo the clipping: for elliptical data, clipping rows to a ball keeps the eigenvectors and shrinks large eigenvalues
  more than small ones, by a known function;
- compute the effective number of rows: noise of standard deviation tau on a correlation is like the sampling error of
  1 / tau^2 rows, and conditioning on other noisy columns makes it larger (`AMPLIFICATION`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AMPLIFICATION = 3.0
"""Ratio between the noise variances of a partial correlation and of a correlation."""

POINTS, MOST_NUMBERS = 1 << 15, 1 << 23
"""Number of points of the integral over normal directions, and largest number of their coordinates. Beyond 256 columns
there are fewer points: with 1,000 columns a quarter, which changes an eigenvalue by about 0.5 % and saves 0.5 GB."""


def covariance_of(moments: Floats, constant: float, noise: float) -> tuple[Floats, float]:
    """Return a positive definite covariance, and the number of rows, from the noisy sum of outer products.

    Parameters
    ----------
    moments : array, shape (q + 1, q + 1)
        Sum over rows of the outer product of (constant, z).
    constant : float
    noise : float
        Standard deviation of the noise on a diagonal entry.

    Examples
    --------
    >>> covariance, rows = covariance_of(np.array([[100.0, 0.0], [0.0, 50.0]]), 1.0, 1.0)
    >>> covariance.tolist(), rows
    ([[0.5]], 100.0)
    """
    rows = max(float(moments[0, 0]) / constant**2, 2.0)
    mean = moments[0, 1:] / constant / rows
    covariance = moments[1:, 1:] / rows - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance)
    floor = max(noise / rows * math.sqrt(len(values)), 1e-6)
    return (vectors * np.maximum(values, floor)) @ vectors.T, rows


def undo_clipping(covariance: Floats, limit: float) -> Floats:
    """Return the covariance of normal rows that have the given one after clipping to norm `limit`.

    Examples
    --------
    >>> clipped = clipped_eigenvalues(np.array([0.5, 1.0, 4.0]), 1.5)
    >>> clipped.round(2).tolist()
    [0.27, 0.47, 1.15]
    >>> np.diag(undo_clipping(np.diag(clipped), 1.5)).round(2).tolist()
    [0.5, 1.0, 4.0]
    """
    values, vectors = np.linalg.eigh(covariance)
    # The trace of a clipped covariance is below limit^2; noise can raise it above, where there is no solution.
    wanted = values * min(1.0, MOST_CLIPPED * limit**2 / values.sum())
    found = wanted.copy()
    for _ in range(200):
        step = np.clip(wanted / clipped_eigenvalues(found, limit), 0.5, 2.0)
        found = found * step
        if np.abs(step - 1).max() < 1e-6:
            break
    out: Floats = (vectors * found) @ vectors.T
    return out


MOST_CLIPPED = 0.95
"""Largest share of limit^2 for the mean square of clipped rows: closer to 1 the size before clipping is unknown."""


def clipped_eigenvalues(values: Floats, limit: float) -> Floats:
    """Return the eigenvalues of a normal variable's second moments after clipping to norm `limit`.

    Examples
    --------
    >>> clipped_eigenvalues(np.array([1.0, 1.0]), 100.0).round(3).tolist()
    [1.0, 1.0]
    """
    squares = _normal_squares(len(values))
    lengths = squares @ values
    kept = np.minimum(1.0, limit**2 / lengths)
    out: Floats = values * (kept @ squares) / len(squares)
    return out


@lru_cache(maxsize=8)
def _normal_squares(q: int) -> Floats:
    """Return squares of normal coordinates on a low-discrepancy sequence, for an integral: the same at every call."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    points = min(POINTS, 1 << (MOST_NUMBERS // q).bit_length() - 1)  # a power of two, as the sequence requires
    uniform = Sobol(q, rng=np.random.default_rng(0)).random(points)
    squares: Floats = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)) ** 2
    return np.asarray(squares / squares.mean(axis=0))


def effective_rows(rows: float, noise: float, spread: float) -> float:
    """Return the number of rows without noise that would be equally informative.

    Parameters
    ----------
    rows : float
        Number of rows in the moments.
    noise : float
        Standard deviation of the noise on a mean product of two columns.
    spread : float
        Mean variance of a column.

    Examples
    --------
    >>> effective_rows(1000, 0.0, 1.0), round(effective_rows(1000, 0.05, 1.0))
    (1000.0, 118)
    """
    return 1 / (1 / rows + AMPLIFICATION * (noise / spread) ** 2)
