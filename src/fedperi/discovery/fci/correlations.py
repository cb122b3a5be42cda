"""Partial correlations of many pairs at all sites at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...scores.regression import SINGULAR
from ..pc.gaussian import condition

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CHUNK = 1 << 15
"""Numbers per step of an elimination, so that they stay in the processor's cache."""

BY_HAND = 6
"""Up to this size of a set only the upper half is computed, entry by entry; beyond, calls of numpy cost more."""


def correlations_of_sites(matrices: Floats, x: Indices, y: Indices, given: Indices) -> tuple[Floats, Floats]:
    """Correlate x and y given further columns at every site, for many tests with sets of one size.

    Parameters
    ----------
    matrices : ndarray, shape (K, q, q)
        Correlations.
    x, y : ndarray of int, shape (m,)
    given : ndarray of int, shape (m, k)

    Returns
    -------
    correlations : ndarray, shape (K, m)
    left : ndarray, shape (K, m)
        The least variance that is left in a column given those before it, in the order given, x, y.

    Examples
    --------
    >>> chain = np.array([[[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]])
    >>> correlations_of_sites(chain, np.array([0]), np.array([2]), np.array([[1]]))[0].tolist()
    [[0.0]]
    """
    sites, k = len(matrices), given.shape[1]
    q = matrices.shape[1]
    flat = matrices.reshape(sites, q * q)
    columns = np.vstack([given.T, x, y])
    r, left = np.empty((sites, len(x))), np.empty((sites, len(x)))
    eliminate = _upper if k <= BY_HAND else _stacked
    step = max(1, CHUNK // max(1, sites * (1 if k <= BY_HAND else (k + 2) ** 2)))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        vx, vy, covariance, least = eliminate(flat, q, columns[:, part])
        r[:, part] = one = covariance / np.sqrt(np.maximum(vx, SINGULAR) * np.maximum(vy, SINGULAR))
        left[:, part] = np.minimum(np.minimum(least, vx), vy * (1 - one * one))
    return r, left


def _upper(flat: Floats, q: int, columns: Indices) -> tuple[Floats, Floats, Floats, Floats]:
    """Eliminate all columns but the last two; the diagonal of a correlation matrix is 1."""
    d = len(columns)
    one = np.ones((len(flat), columns.shape[1]))
    a = {(i, j): flat.take(columns[i] * q + columns[j], axis=1) for i in range(d) for j in range(i + 1, d)}
    a |= {(i, i): one for i in range(d)}
    least = one
    for s in range(d - 2):
        least = np.minimum(least, a[s, s])
        safe = np.maximum(a[s, s], SINGULAR)
        for j in range(s + 1, d):
            slope = a[s, j] / safe if s else a[s, j]
            for i in range(s + 1, j + 1):
                a[i, j] = a[i, j] - a[s, i] * slope
    return a[d - 2, d - 2], a[d - 1, d - 1], a[d - 2, d - 1], least


def _stacked(flat: Floats, q: int, columns: Indices) -> tuple[Floats, Floats, Floats, Floats]:
    """Do the same with one array for all entries."""
    d, m = columns.shape
    index = (columns[:, None, :] * q + columns[None, :, :]).reshape(-1)
    stack = flat.take(index, axis=1).reshape(len(flat), d, d, m).transpose(1, 2, 0, 3).reshape(d, d, -1)
    rest, left = condition(stack, d - 2)
    shape = (len(flat), m)
    return tuple(part.reshape(shape) for part in (rest[0, 0], rest[1, 1], rest[0, 1], left.min(axis=0)))
