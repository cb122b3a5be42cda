"""The sufficient statistic of a table of categories: the distinct rows, and how often each occurs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .frozen import frozen

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct rows of a discrete table, sorted, and the number of times each occurs.

    Parameters
    ----------
    names : tuple of str
        The variables.
    levels : tuple of tuple of str
        The levels of every variable, as in the schema; some may not occur at this site.
    codes : array of int, shape (m, p)
        The distinct rows: positions among the levels. Read-only.
    counts : array of int, shape (m,)
        How often each row occurs. Read-only.
    n : int
        The number of rows, the sum of `counts`.
    site : str
        The site's name.
    dropped : int
        Rows that were left out because a value was missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import summarize
    >>> counts = summarize(pd.DataFrame({"a": ["u", "v", "u"], "b": ["x", "y", "x"]}))
    >>> counts.codes.tolist(), counts.counts.tolist(), counts.n
    ([[0, 0], [1, 1]], [2, 1], 3)
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: Ints
    counts: Ints
    n: int
    site: str = "table"
    dropped: int = 0

    def __post_init__(self) -> None:
        names, levels = tuple(self.names), tuple(map(tuple, self.levels))
        codes, counts = frozen(self.codes, np.int64), frozen(self.counts, np.int64)
        if codes.ndim != 2 or counts.shape != codes.shape[:1] or not codes.shape[1] == len(names) == len(levels):
            raise InputError(
                f"counts of {len(names)} variables with {len(levels)} lists of levels do not fit "
                f"codes of shape {codes.shape} and counts of shape {counts.shape}"
            )
        if codes.size and (codes.min() < 0 or (codes.max(axis=0) >= [len(found) for found in levels]).any()):
            raise InputError("codes must be positions among the levels, from 0 to the number of levels minus 1")
        if self.n != counts.sum() or (counts < 1).any():
            raise InputError(f"counts must be positive and add up to n = {self.n}, not {counts.sum()}")
        values = {"names": names, "levels": levels, "codes": codes, "counts": counts, "n": int(self.n)}
        for name, value in values.items():
            object.__setattr__(self, name, value)


def stream_counts(chunks: Iterable[Ints], sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return the distinct rows of a stream of coded rows, in lexicographic order, and their counts.

    `sizes` holds the number of levels of every column.

    Examples
    --------
    >>> rows, counts = stream_counts(iter([np.array([[1, 0], [0, 1]]), np.array([[1, 0]])]), (2, 2))
    >>> rows.tolist(), counts.tolist()
    ([[0, 1], [1, 0]], [1, 2])
    """
    total: tuple[Ints, Ints] = np.empty((0, len(sizes)), np.int64), np.empty(0, np.int64)
    waiting: list[tuple[Ints, Ints]] = []
    held = 0
    for chunk in chunks:
        waiting.append(distinct_rows(chunk, np.ones(len(chunk), np.int64), sizes))
        held += len(waiting[-1][1])
        # Merge only when the waiting rows are as many as those of the total, so that the work stays n log n.
        if held >= len(total[1]):
            total, waiting, held = _merge([total, *waiting], sizes), [], 0
    return _merge([total, *waiting], sizes)


def distinct_rows(codes: Ints, weights: ArrayLike, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return the distinct rows in lexicographic order, and the sum of the weights of each.

    Examples
    --------
    >>> rows, counts = distinct_rows(np.array([[1, 0], [0, 1], [1, 0]]), [1, 1, 5], (2, 2))
    >>> rows.tolist(), counts.tolist()
    ([[0, 1], [1, 0]], [1, 6])
    """
    # One number per row, built digit by digit; when the next digit would overflow, ranks replace the numbers.
    keys, bound = np.zeros(len(codes), np.int64), 1
    for column, size in zip(codes.T, sizes, strict=True):
        if bound * size >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)
            bound = len(keys) + 1
        keys = keys * size + column
        bound *= size
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    totals = np.zeros(len(first), np.int64)
    np.add.at(totals, group.reshape(-1), np.asarray(weights, np.int64))
    return codes[first], totals


def _merge(parts: list[tuple[Ints, Ints]], sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    rows, counts = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return distinct_rows(rows, counts, sizes)
