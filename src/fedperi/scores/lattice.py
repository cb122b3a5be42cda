"""Scores of a node for all subsets of a candidate set at once.

A lattice is an array over the subsets of a list of candidates: bit t of the index says whether candidate t is in the
subset. One elimination step per candidate doubles it, so that 2^m scores take about as long as a few matrix
factorisations.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from . import _kernel as kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TINY = 1e-300
"""Replaces pivots that are zero or negative, so that division is possible; such results are not used."""


def subset_sizes(candidates: int) -> NDArray[np.int64]:
    """Count the members of each subset, in the order of a lattice.

    Examples
    --------
    >>> from fedperi.scores.lattice import subset_sizes
    >>> subset_sizes(2).tolist()
    [0, 1, 1, 2]
    """
    return subset_widths((1,) * candidates)


@lru_cache(maxsize=256)
def subset_widths(widths: tuple[int, ...]) -> NDArray[np.int64]:
    """Add up the widths of the members of each subset, in the order of a lattice.

    Examples
    --------
    >>> from fedperi.scores.lattice import subset_widths
    >>> subset_widths((1, 3)).tolist()
    [0, 1, 3, 4]
    """
    out = np.zeros(1, dtype=np.int64)
    for width in widths:
        out = np.concatenate([out, out + width])
    out.setflags(write=False)  # it is cached
    return out


def best_of_subsets(lattice: Floats) -> Floats:
    """Replace each value by the largest among the subsets of its set, itself included (last axis).

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.scores.lattice import best_of_subsets
    >>> best_of_subsets(np.array([0.0, 5.0, -1.0, 3.0])).tolist()
    [0.0, 5.0, 0.0, 5.0]
    """
    best = np.array(lattice, order="C")
    if kernel.loops.best_of_subsets(best.reshape(-1, best.shape[-1])):
        return best
    step = 1
    while step < best.shape[-1]:
        pairs = best.reshape(*best.shape[:-1], -1, 2, step)
        np.maximum(pairs[..., 1, :], pairs[..., 0, :], out=pairs[..., 1, :])
        step *= 2
    return best


Extremes = tuple[Floats, Floats, Floats]
"""For each row of a lattice: the values of the empty set, of the whole set, and the largest of all."""


def extremes_of(lattice: Floats) -> Extremes:
    """Return the extremes of a lattice.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.scores.lattice import extremes_of
    >>> [one.tolist() for one in extremes_of(np.array([[0.0, 5.0, -1.0, 3.0]]))]
    [[0.0], [3.0], [5.0]]
    """
    return lattice[:, 0], lattice[:, -1], lattice.max(axis=1)


def best_of_proper_subsets(lattice: Floats) -> Floats:
    """Replace each value by the largest among the proper subsets of its set; minus infinity for the empty set.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.scores.lattice import best_of_proper_subsets
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
    """Compute the residual covariance of the last columns, given each subset of the blocks before them.

    Parameters
    ----------
    gram : array, shape (b, q, q)
        A batch of positive definite matrices, the candidates' blocks first.
    widths : tuple of int
        Number of columns of each candidate's block; the remaining columns are the node's own.

    Returns
    -------
    residual : array, shape (b, 2^m, own, own)
    smallest : array, shape (b,)
        The smallest pivot; zero or negative if a matrix is singular.
    """
    # Columns first, then subsets and the batch, so that every operation works on contiguous memory. Only the upper
    # triangle is ever read.
    batch = gram.shape[0]
    work = np.ascontiguousarray(gram.transpose(1, 2, 0))[:, :, None]  # (columns left, columns left, subsets, b)
    smallest = np.full(batch, np.inf)
    for width in widths:
        left, subsets = len(work) - width, work.shape[2]
        both = np.empty((left, left, 2 * subsets, batch))
        both[:, :, :subsets] = work[width:, width:]
        for own in range(width - 1, -1, -1):
            within = both[:, :, subsets:] if own == 0 else np.empty((left + own, left + own, subsets, batch))
            smallest = np.minimum(smallest, _eliminate_first(work, within))
            work = within
        work = both
    for i in range(1, len(work)):
        work[i, :i] = work[:i, i]
    return work.transpose(3, 2, 0, 1), smallest


def log_determinants(residual: Floats) -> tuple[Floats, Floats]:
    """Compute the log-determinants of a batch of lattices of covariances, and the smallest pivot of each lattice.

    Parameters
    ----------
    residual : array, shape (b, 2^m, own, own)
        As `eliminate` returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.scores.lattice import log_determinants
    >>> log_determinants(np.array([[[[1.0, 0.6], [0.6, 1.0]]]]))[0].round(3).tolist()  # of 1 - 0.6^2
    [[-0.446]]
    """
    pivot, work = residual[..., 0, 0], residual
    smallest = pivot.min(axis=1)
    out = np.log(np.maximum(pivot, TINY))
    while work.shape[-1] > 1:
        row = work[..., 0, 1:]
        work = work[..., 1:, 1:] - row[..., :, None] * (row / np.maximum(pivot, TINY)[..., None])[..., None, :]
        pivot = work[..., 0, 0]
        smallest = np.minimum(smallest, pivot.min(axis=1))
        out += np.log(np.maximum(pivot, TINY))
    return out, smallest


def _eliminate_first(work: Floats, out: Floats) -> Floats:
    """Write residuals of matrices given their first column (upper triangles) to `out`; return the smallest pivots."""
    pivot, row = work[0, 0], work[0, 1:]
    smallest = pivot.min(axis=0)
    np.multiply(row[:, None], row / np.maximum(pivot, TINY), out=out)
    np.subtract(work[1:, 1:], out, out=out)
    return np.asarray(smallest)
