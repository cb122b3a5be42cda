"""The population mean and covariance of a linear model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .mechanisms import Matrix, parents_first


def implied_covariance(weights: ArrayLike, noise_variances: ArrayLike) -> Matrix:
    """Compute the population covariance of a linear model.

    Parameters
    ----------
    weights : array_like, shape (p, p)
        Entry ``[i, j]`` is the weight of i -> j; the non-zero entries form a DAG.
    noise_variances : array_like, shape (p,)
        Variance of each variable's noise.

    Returns
    -------
    array, shape (p, p)

    Examples
    --------
    >>> from fedperi.simulation.covariance import implied_covariance
    >>> implied_covariance([[0, 2], [0, 0]], [1, 1]).tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """
    matrix, variances = _checked(weights, noise_variances)
    covariance = np.zeros_like(matrix)
    with np.errstate(over="ignore", invalid="ignore"):
        for j in parents_first(matrix):
            # Variables that come later still have rows of zeros here; they fill in their own entries.
            with_j = np.zeros(len(matrix))
            for i in np.flatnonzero(matrix[:, j]):
                with_j = with_j + matrix[i, j] * covariance[i]
            covariance[j], covariance[:, j] = with_j, with_j
            covariance[j, j] = variances[j] + (matrix[:, j] * with_j).sum()
    if not np.isfinite(covariance).all():
        raise InputError("the covariance implied by the weights overflows; use smaller weights")
    return covariance


def implied_mean(weights: ArrayLike, means: ArrayLike) -> Matrix:
    """Compute the population mean of a linear model.

    Parameters
    ----------
    weights : array_like, shape (p, p)
        Entry ``[i, j]`` is the weight of i -> j; the non-zero entries form a DAG.
    means : array_like, shape (p,)
        Constant that is added to each variable, besides its parents and noise.

    Returns
    -------
    array, shape (p,)

    Examples
    --------
    >>> from fedperi.simulation.covariance import implied_mean
    >>> implied_mean([[0, 2], [0, 0]], [1, 10]).tolist()
    [1.0, 12.0]
    """
    matrix, total = np.array(weights, dtype=float), np.array(means, dtype=float)
    for j in parents_first(matrix):
        total[j] += (matrix[:, j] * total).sum()
    return total


def _checked(weights: ArrayLike, noise_variances: ArrayLike) -> tuple[Matrix, Matrix]:
    try:
        matrix, variances = np.array(weights, dtype=float), np.array(noise_variances, dtype=float)
    except (TypeError, ValueError):
        raise InputError("weights and noise_variances must hold numbers, in rows of equal length") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"weights must be a square matrix, not an array of shape {matrix.shape}")
    if variances.shape != (len(matrix),):
        raise InputError(f"noise_variances must hold {len(matrix)} values, not an array of shape {variances.shape}")
    if not np.isfinite(matrix).all():
        raise InputError("weights must be finite numbers")
    if not (np.isfinite(variances) & (variances >= 0)).all():
        raise InputError("noise_variances must be finite and not negative")
    return matrix, variances
