"""Means and second moments of a stream of rows, in one pass, to full precision.

Chan, Golub and LeVeque (1983): each chunk is centred by its own mean before it is squared, and two parts are merged by
their counts, means and scatters. All numbers are taken relative to the first chunk's mean, so that no step subtracts
two large sums, and a column around 1e8 loses no digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """The number of rows, their mean, and their scatter: the sum over rows of (x - mean)(x - mean)'."""

    n: int
    mean: Floats
    scatter: Floats


def moments_of(rows: Floats) -> Moments:
    """Return the moments of rows held in memory.

    Examples
    --------
    >>> moments_of(np.array([[1.0, 0.0], [3.0, 2.0]]))
    Moments(n=2, mean=array([2., 1.]), scatter=array([[2., 2.], [2., 2.]]))
    """
    return _centre(np.array(rows, dtype=np.float64))


def _centre(rows: Floats) -> Moments:
    """Return the moments of rows, and centre the rows in place to save memory."""
    mean = rows.mean(axis=0)
    rows -= mean
    return Moments(len(rows), mean, rows.T @ rows)


def merge(a: Moments, b: Moments) -> Moments:
    """Return the moments of the rows of both.

    Examples
    --------
    >>> merge(moments_of(np.array([[1.0]])), moments_of(np.array([[2.0], [6.0]])))
    Moments(n=3, mean=array([3.]), scatter=array([[14.]]))
    """
    n, step = a.n + b.n, b.mean - a.mean
    return Moments(n, a.mean + step * (b.n / n), a.scatter + b.scatter + np.outer(step, step) * (a.n * (b.n / n)))


def stream_moments(chunks: Iterable[Floats]) -> Moments:
    """Return the moments of all rows of a stream of at least one non-empty chunk.

    Examples
    --------
    >>> stream_moments(np.array([[1e8 + i]]) for i in (1, 2, 6))
    Moments(n=3, mean=array([1.00000003e+08]), scatter=array([[14.]]))
    """
    stream = MomentStream()
    for rows in chunks:
        stream.add(rows)
    return stream.result()


class MomentStream:
    """The moments of all chunks that were added; none of them may be empty.

    Examples
    --------
    >>> stream = MomentStream()
    >>> for i in (1, 2, 6):
    ...     stream.add(np.array([[1e8 + i]]))
    >>> stream.result()
    Moments(n=3, mean=array([1.00000003e+08]), scatter=array([[14.]]))
    """

    def __init__(self) -> None:
        self._shift: Floats | None = None
        self._total: Moments | None = None
        self._room = np.empty((0, 0))  # for centred rows: allocating memory for each chunk takes longer than filling it

    def __len__(self) -> int:
        return 0 if self._total is None else self._total.n

    def add(self, rows: Floats) -> None:
        """Add the next rows."""
        if self._shift is None:
            self._shift = rows[0] + (rows - rows[0]).mean(axis=0)
        if len(rows) > len(self._room):
            self._room = np.empty_like(rows)
        part = _centre(np.subtract(rows, self._shift, out=self._room[: len(rows)]))
        self._total = part if self._total is None else merge(self._total, part)

    def result(self) -> Moments:
        """Return the moments; there must be at least one row."""
        if self._shift is None or self._total is None:
            raise InputError("no row was drawn; draw again with another seed")
        return Moments(self._total.n, self._shift + self._total.mean, self._total.scatter)


def correlation_of(scatter: Floats) -> Floats:
    """Return correlations; those of a constant column with others are zero.

    Examples
    --------
    >>> correlation_of(np.array([[4.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    root = np.sqrt(np.diag(scatter))
    safe = np.where(root > 0, root, 1.0)
    correlation: Floats = np.clip(scatter / np.outer(safe, safe), -1, 1)
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    return correlation
