"""The joint effect of sampling and privacy noise on a regression, from draws of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .moments import SiteMoments

Floats = NDArray[np.float64]

DRAWS = 2000
"""Number of bootstrap draws: the 95 % quantile of their spread is then known to about 3 %."""

LEAST = 1e-3
"""Smallest eigenvalue, relative to the mean one, of a covariance that noise has damaged, after repair."""


def spread_of_draws(site: SiteMoments, used: Sequence[int], effect: Sequence[int]) -> Floats:
    """Compute half the width of the 95 % interval of each regression coefficient, by a parametric bootstrap.

    A draw is a covariance of `n` normal rows (Wishart) with new noise in every entry. The result is the distance from
    the estimate within which 95 % of the draws lie. So it includes the bias that noise causes as well as the variance.
    The seed is fixed, so that one result has one interval.

    Parameters
    ----------
    site : SiteMoments
        Rows are drawn from its covariance; if this is not positive definite because of noise, it is repaired first.
        Without noise the result is the usual interval of least squares.
    used, effect : sequence of int
        Columns of the regression: explanatory and response columns.

    Returns
    -------
    array, shape (used, effect)

    Examples
    --------
    >>> from fedperi.methods.effects.moments import SiteMoments
    >>> covariance = np.array([[1.0, 0.5], [0.5, 1.25]])
    >>> exact = SiteMoments("north", 1000, np.zeros(2), covariance)
    >>> noisy = SiteMoments("north", 1000, np.zeros(2), covariance, noise=np.full((2, 2), 0.05))
    >>> spread_of_draws(exact, [0], [1]).round(2), spread_of_draws(noisy, [0], [1]).round(2)
    (array([[0.06]]), array([[0.13]]))
    """
    columns = [*used, *effect]
    first = len(used)
    truth = repaired(site.covariance[np.ix_(columns, columns)])
    centre = _coefficients(truth[None], first)[0]
    rng = np.random.default_rng(0)
    free = max(float(site.n) - 1, len(columns) + 1.0)
    root = np.linalg.cholesky(truth) @ bartlett(len(columns), free, DRAWS, rng)
    drawn = root @ np.swapaxes(root, 1, 2) / free
    if site.noise is not None:
        size = site.noise[np.ix_(columns, columns)]
        upper = np.triu(rng.normal(size=drawn.shape) * size)
        drawn = repaired(drawn + upper + np.swapaxes(np.triu(upper, 1), 1, 2))
    return np.asarray(np.quantile(np.abs(_coefficients(drawn, first) - centre), 0.95, axis=0), dtype=np.float64)


def repaired(covariance: Floats) -> Floats:
    """Raise eigenvalues that are negative or tiny because of noise, in units of the columns' deviations.

    Examples
    --------
    >>> np.linalg.eigvalsh(repaired(np.array([[1.0, 1.2], [1.2, 1.0]]))).min() > 0
    np.True_
    """
    diagonal = np.diagonal(covariance, axis1=-2, axis2=-1)
    usual = np.maximum(np.mean(np.clip(diagonal, 0.0, None), axis=-1, keepdims=True), 1e-300)
    scale = np.sqrt(np.maximum(diagonal, LEAST * usual))
    unit = scale[..., :, None] * scale[..., None, :]
    values, vectors = np.linalg.eigh(covariance / unit)
    lifted = (vectors * np.maximum(values, LEAST)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.asarray(lifted * unit, dtype=np.float64)


def _coefficients(covariances: Floats, first: int) -> Floats:
    solved = np.linalg.solve(covariances[:, :first, :first], covariances[:, :first, first:])
    return np.asarray(solved, dtype=np.float64)


def bartlett(columns: int, free: float, draws: int, rng: np.random.Generator) -> Floats:
    """Draw lower triangles L such that L L' is a Wishart matrix (Bartlett); degrees of freedom need not be whole."""
    lower = np.tril(rng.standard_normal((draws, columns, columns)), -1)
    squares = rng.chisquare(np.maximum(free - np.arange(columns), 1.0), size=(draws, columns))
    lower[:, range(columns), range(columns)] = np.sqrt(squares)
    return np.asarray(lower, dtype=np.float64)
