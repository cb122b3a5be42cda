"""Random Fourier features, and independence tests of their residuals (Strobl, Zhang and Visweswaran, 2019).

A test of x and y given Z computes features of both sides, removes what the features of Z explain, and asks whether the
covariance of the residuals is larger than by chance. Under independence the statistic is a weighted sum of
chi-squares; it is approximated by a gamma distribution with the same mean and variance. These follow from the trace
and the Frobenius norm of the matrix V of mean products of four residuals. No eigenvalues of V are needed. V has many
equal entries, since it does not change when residuals of one side are swapped.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE = 1e-10
"""Added to the covariance of the features of Z, as in the published code."""

EXACT, QUICK = 1e-7, 1e-3
"""A direction of the residuals is left out if its variance is below this share of the largest one. Residuals of smooth
features vary in few directions. At 1e-7 p-values keep six digits or more; at 1e-3 three, for a tenth of the work."""

FLAT = 1e-9
"""A feature (values between -1.5 and 1.5) with a smaller standard deviation than this varies only by rounding."""

SINGLE, JOINT, GIVEN = 0, 1, 2
"""What features describe: one variable, y together with Z, or Z."""


@lru_cache(maxsize=256)
def frequencies(seed: int, role: int, dimension: int, count: int, faithful: bool) -> tuple[Floats, Floats]:
    """Draw the directions and phases of random features, the same at every site.

    The published code restarts its generator from one seed for the directions and for the phases of every set of
    features, so that they depend on each other; `faithful` does the same.
    """
    if faithful:
        weights = np.random.default_rng(seed).normal(size=(count, dimension)).T
        phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, count)
    else:
        rng = np.random.default_rng([seed, role, dimension])
        weights, phases = rng.normal(size=(dimension, count)), rng.uniform(0, 2 * np.pi, count)
    return weights, phases


def random_features(
    values: Floats, count: int, bandwidth: float, seed: int, role: int = SINGLE, faithful: bool = False
) -> Floats:
    """Map rows to `count` random features of the Gaussian kernel, ``cos(w z + b)``.

    Tests standardise features, so their location and scale can be chosen freely. Here they have mean 0 and variance 1
    for standard Gaussian rows: sums of products then lose no digits, and the small ridge has its intended size.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(100_000, 1))
    >>> features = random_features(rows, 3, 1.0, seed=0)
    >>> abs(features.mean(axis=0)).max() < 0.02, abs(features.std(axis=0) - 1).max() < 0.02
    (np.True_, np.True_)
    """
    weights, phases = frequencies(seed, role, values.shape[1], count, faithful)
    waves = np.cos((weights / bandwidth).T @ values.T + phases[:, None])
    return in_units(waves, weights / bandwidth, phases).T


def in_units(waves: Floats, weights: Floats, phases: Floats) -> Floats:
    """Bring ``cos(w z + b)``, a row for each feature, to mean 0 and variance 1 for standard Gaussian z, in place.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(1, 100_000))
    >>> waves = in_units(np.cos(2.0 * rows + 0.5), np.array([[2.0]]), np.array([0.5]))
    >>> abs(waves.mean()) < 0.01, abs(waves.std() - 1) < 0.01
    (np.True_, np.True_)
    """
    squared = (weights**2).sum(axis=0)
    mean = np.cos(phases) * np.exp(-squared / 2)
    variance = (1 + np.cos(2 * phases) * np.exp(-2 * squared)) / 2 - mean**2
    waves -= mean[:, None]
    waves /= np.sqrt(np.maximum(variance, 1e-8))[:, None]
    return waves


def standardised(features: Floats) -> Floats:
    """Centre columns and divide them by their standard deviations; columns that do not vary become zero.

    Examples
    --------
    >>> import numpy as np
    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    out: Floats = features - features.mean(axis=0)
    deviation = np.sqrt(np.einsum("ij,ij->j", out, out) / len(out))
    out /= np.where(deviation > FLAT, deviation, np.inf)
    return out


def solve(given: Floats, others: Floats) -> tuple[Floats, float]:
    """Regress on features with this covariance: coefficients and effective degrees of freedom.

    Parameters
    ----------
    given : array, shape (q, q)
        Covariance of the features of Z.
    others : array, shape (q, r)
        Their covariance with all others.
    """
    values, vectors, fitted = decomposed(given)
    return vectors @ ((vectors.T @ others) / (values + RIDGE)[:, None]), fitted


def decomposed(given: Floats) -> tuple[Floats, Floats, float]:
    """Eigenvalues and eigenvectors of a covariance, and the effective degrees of freedom of a ridge regression.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors, fitted = decomposed(np.diag([0.0, 4.0]))
    >>> values.tolist(), round(fitted, 6)
    ([0.0, 4.0], 1.0)
    """
    values, vectors = np.linalg.eigh(given)
    values = np.maximum(values, 0.0)
    return values, vectors, float((values / (values + RIDGE)).sum())


def rotation(covariance: Floats, least: float) -> Floats:
    """Return the directions in which residuals vary by at least this share of the largest variance.

    Examples
    --------
    >>> import numpy as np
    >>> abs(rotation(np.array([[1.0, 1.0], [1.0, 1.0]]), EXACT)).round(3).tolist()
    [[0.707], [0.707]]
    """
    values, vectors = np.linalg.eigh(covariance)
    kept: Floats = vectors[:, values > least * max(float(values[-1]), np.finfo(float).tiny)]
    return kept


def pair_products(residuals: Floats) -> Floats:
    """Multiply the columns of each row in pairs, each pair once, so that squared sums count it twice.

    Examples
    --------
    >>> import numpy as np
    >>> pair_products(np.array([[1.0, 3.0]])).round(2).tolist()        # 1, 3 * sqrt(2), 9
    [[1.0, 4.24, 9.0]]
    """
    rows = np.ascontiguousarray(residuals.T)
    twice = np.sqrt(2) * rows
    out = np.empty((triangle(len(rows)), rows.shape[1]))
    at = 0
    for i, row in enumerate(rows):
        stop = at + len(rows) - i
        np.multiply(row, row, out=out[at])
        np.multiply(twice[i + 1 :], row, out=out[at + 1 : stop])
        at = stop
    return out.T


def triangle(count: Any) -> Any:
    """Number of pairs of `count` columns, including each column with itself."""
    return count * (count + 1) // 2


def null_moments(fourth: Floats, x: int, y: int) -> tuple[float, float]:
    """Trace and squared Frobenius norm of V, from the mean products of `pair_products` of x and y.

    Parameters
    ----------
    fourth : array, shape (x (x + 1) / 2, y (y + 1) / 2)
        Means of the products over rows.
    x, y : int
        Number of residuals of each side.
    """
    trace = fourth[np.ix_(_squares(x), _squares(y))].sum()
    return float(trace), float((fourth**2).sum())


@lru_cache(maxsize=256)
def _squares(count: int) -> NDArray[np.intp]:
    a, b = np.triu_indices(count)
    return np.flatnonzero(a == b)


def p_values(statistic: Floats, trace: Floats, norm: Floats) -> Floats:
    """Compare statistics with the gamma distribution of mean `trace` and variance 2 `norm`; 1 where nothing varies.

    Examples
    --------
    >>> import numpy as np
    >>> p_values(np.array([3.841, 0.0]), np.array([1.0, 0.0]), np.array([1.0, 0.0])).round(3)  # chi-square, 1 d.f.
    array([0.05, 1.  ])
    """
    from scipy.special import gammaincc

    out = np.ones(len(statistic))
    some = (trace > 0) & (norm > 0)
    s, t, f = statistic[some], trace[some], norm[some]
    out[some] = gammaincc(t**2 / (2 * f), s * t / (2 * f))
    return out
