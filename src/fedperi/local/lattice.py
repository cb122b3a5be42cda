"""Scores of a node for all subsets of a candidate set at once.

A lattice is an array over the subsets of a list of candidates: bit t of the index says whether candidate t is in the
subset. One elimination step a candidate doubles it, so that 2^m scores cost about as much as a handful of matrix
factorisations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def subset_sizes(candidates: int) -> NDArray[np.int64]:
    """Count the members of each subset, in the order of a lattice.

    Examples
    --------
    >>> from fedperi.local.lattice import subset_sizes
    >>> subset_sizes(2).tolist()
    [0, 1, 1, 2]
    """
    sizes = np.zeros(1, dtype=np.int64)
    for _ in range(candidates):
        sizes = np.concatenate([sizes, sizes + 1])
    return sizes


def best_of_subsets(lattice: Floats) -> Floats:
    """Replace each value by the largest among the subsets of its set, itself included (last axis).

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.local.lattice import best_of_subsets
    >>> best_of_subsets(np.array([0.0, 5.0, -1.0, 3.0])).tolist()
    [0.0, 5.0, 0.0, 5.0]
    """
    best = np.array(lattice)
    step = 1
    while step < best.shape[-1]:
        pairs = best.reshape(*best.shape[:-1], -1, 2, step)
        np.maximum(pairs[..., 1, :], pairs[..., 0, :], out=pairs[..., 1, :])
        step *= 2
    return best


def best_of_proper_subsets(lattice: Floats) -> Floats:
    """Replace each value by the largest among the proper subsets of its set; minus infinity for the empty set.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.local.lattice import best_of_proper_subsets
    >>> best_of_proper_subsets(np.array([0.0, 5.0, -1.0, 3.0])).tolist()
    [-inf, 0.0, 0.0, 5.0]
    """
    best, out = best_of_subsets(lattice), np.full(lattice.shape, -np.inf)
    step = 1
    while step < best.shape[-1]:
        below = best.reshape(*best.shape[:-1], -1, 2, step)[..., 0, :]
        above = out.reshape(*out.shape[:-1], -1, 2, step)[..., 1, :]
        np.maximum(above, below, out=above)
        step *= 2
    return out


def eliminate(gram: Floats, widths: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Residual covariance of the last columns, given each subset of the blocks before them.

    Parameters
    ----------
    gram : array, shape (b, q, q)
        A batch of positive definite matrices, the candidates' blocks first.
    widths : tuple of int
        Columns of each candidate's block; what is left over are the node's own.

    Returns
    -------
    residual : array, shape (b, 2^m, own, own)
    smallest : array, shape (b,)
        The smallest pivot met; zero or less where a matrix is singular.
    """
    # Columns first, then subsets and the batch, so that every operation runs over long stretches of memory. Above the
    # diagonal is all that is ever read.
    batch = gram.shape[0]
    work = np.ascontiguousarray(gram.transpose(1, 2, 0))[:, :, None]  # (columns left, columns left, subsets, b)
    smallest = np.full(batch, np.inf)
    for width in widths:
        left, subsets = len(work) - width, work.shape[2]
        both = np.empty((left, left, 2 * subsets, batch))
        for i in range(left):
            both[i, i:, :subsets] = work[width + i, width + i :]
        for own in range(width - 1, -1, -1):
            pivot, row = work[0, 0], work[0, 1:]
            smallest = np.minimum(smallest, pivot.min(axis=0))
            share = row / np.where(pivot > 0, pivot, 1.0)
            within = both[:, :, subsets:] if own == 0 else np.empty((len(row), len(row), subsets, batch))
            for i in range(len(row)):
                np.multiply(row[i], share[i:], out=within[i, i:])
                np.subtract(work[i + 1, i + 1 :], within[i, i:], out=within[i, i:])
            work = within
        work = both
    for i in range(1, len(work)):
        work[i, :i] = work[:i, i]
    return work.transpose(3, 2, 0, 1), smallest
