"""Arithmetic of the Gaussian tests: conditioning many small correlation matrices at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...scores.regression import SINGULAR

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def submatrices(matrix: Floats, columns: Indices) -> Floats:
    """Cut out many principal submatrices of one size.

    Parameters
    ----------
    matrix : ndarray, shape (q, q)
    columns : ndarray of int, shape (d, m)
        One submatrix per column of this array.

    Returns
    -------
    ndarray, shape (d, d, m)
        The index of the submatrix comes last: then each step of an elimination is one long, contiguous operation.

    Examples
    --------
    >>> import numpy as np
    >>> submatrices(np.arange(9.0).reshape(3, 3), np.array([[0], [2]]))[:, :, 0].tolist()
    [[0.0, 2.0], [6.0, 8.0]]
    """
    return matrix[columns[:, None, :], columns[None, :, :]]


def condition(stack: Floats, count: int) -> tuple[Floats, Floats]:
    """Condition on the first `count` columns of every matrix, one column after the other (Schur complements).

    Parameters
    ----------
    stack : ndarray, shape (d, d, m)
        From `submatrices`.
    count : int
        How many columns to condition on.

    Returns
    -------
    rest : ndarray, shape (d - count, d - count, m)
        Covariances of the other columns given these.
    left : ndarray, shape (count, m)
        Variance of each of these columns given those before it; their product is the determinant.

    Examples
    --------
    >>> import numpy as np
    >>> rest, left = condition(np.array([[1.0, 0.6], [0.6, 1.0]])[:, :, None], 1)
    >>> rest.ravel().tolist(), left.ravel().tolist()
    ([0.64], [1.0])
    """
    left = np.empty((count, stack.shape[2]))
    for i in range(count):
        left[i] = stack[0, 0]
        # For collinear columns the caller raises and does not use the value; it only has to be finite.
        slope = stack[0, 1:] / np.maximum(left[i], SINGULAR)
        stack = stack[1:, 1:] - stack[1:, 0, None] * slope
    return stack, left


def partial_correlations(matrix: Floats, x: Indices, y: Indices, given: Indices) -> tuple[Floats, Floats]:
    """Correlate x and y given further columns, for many tests with conditioning sets of one size.

    Parameters
    ----------
    matrix : ndarray, shape (q, q)
        A correlation matrix.
    x, y : ndarray of int, shape (m,)
    given : ndarray of int, shape (m, k)

    Returns
    -------
    correlations : ndarray, shape (m,)
    left : ndarray, shape (k + 2, m)
        Variance left in each column given those before it, in the order given, x, y.

    Examples
    --------
    >>> import numpy as np
    >>> chain = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> partial_correlations(chain, np.array([0]), np.array([2]), np.array([[1]]))[0].tolist()
    [0.0]
    """
    k = given.shape[1]
    rest, left = condition(submatrices(matrix, np.vstack([given.T, x, y])), k)
    vx, vy, covariance = rest[0, 0], rest[1, 1], rest[0, 1]
    r = covariance / np.sqrt(np.maximum(vx, SINGULAR) * np.maximum(vy, SINGULAR))
    return r, np.vstack([left, vx, vy * (1 - r * r)])


def log_wilks(matrix: Floats, x: Indices, y: Indices, given: Indices) -> tuple[Floats, Floats]:
    """Return the logarithm of Wilks' lambda of block x against block y given a block, for many tests of one shape.

    Lambda is det(xy | z) / (det(x | z) det(y | z)) = det(y | x, z) / det(y | z).

    Parameters
    ----------
    matrix : ndarray, shape (q, q)
        A correlation matrix.
    x, y, given : ndarray of int, shapes (m, dx), (m, dy), (m, dz)
        Columns of the blocks.

    Returns
    -------
    log_lambda : ndarray, shape (m,)
    left : ndarray, shape (dz + dx + dy, m)
        Variance left in each column given those before it, in the order given, x, y.

    Examples
    --------
    >>> import numpy as np
    >>> pair = np.array([[1.0, 0.6], [0.6, 1.0]])
    >>> none = np.empty((1, 0), dtype=np.intp)
    >>> float(np.exp(log_wilks(pair, np.array([[0]]), np.array([[1]]), none)[0][0]))  # 1 - r^2
    0.64
    """
    dx, dy, dz = x.shape[1], y.shape[1], given.shape[1]
    rest, left_z = condition(submatrices(matrix, np.hstack([given, x, y]).T), dz)
    _, left_y = condition(rest[dx:, dx:], dy)
    _, left_xy = condition(rest, dx + dy)
    logs = np.log(np.maximum(left_xy[dx:], SINGULAR)) - np.log(np.maximum(left_y, SINGULAR))
    return logs.sum(axis=0), np.vstack([left_z, left_xy])
