"""Sums over incomplete rows for each pattern of missing values, in one pass: all that EM needs of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

HELD = 1 << 24
"""Most numbers in the sums of all patterns: 128 MiB, or 42,000 patterns of 20 columns."""

BLOCK = 1 << 20
"""Numbers in memory at a time while products of rows are summed."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Sums over rows, grouped by which of their columns have a value.

    Parameters
    ----------
    present : array of bool, shape (m, q)
        The patterns: which columns have a value.
    counts : array of int, shape (m,)
        The number of rows with each pattern.
    sums, squares : arrays, shape (m, q) and (m, q, q)
        Sums of the rows and of their outer products, relative to `origin` in units of `unit`; zero where a value is
        missing.
    origin, unit : arrays, shape (q,)
        A value in the middle of each column, and its spread; 1 if it does not vary.
    left_out : int
        Rows that were not counted, because there were too many patterns.
    """

    present: Bools
    counts: Ints
    sums: Floats
    squares: Floats
    origin: Floats
    unit: Floats
    left_out: int = 0


class PatternStream:
    """The patterns of rows that are added in chunks; missing values are NaN.

    At most `most` patterns are kept, or as many as `HELD` allows. Rows with other patterns are left out.

    Examples
    --------
    >>> stream = PatternStream(np.zeros(2), np.ones(2))
    >>> stream.add(np.array([[1.0, 2.0], [3.0, np.nan], [1.0, 4.0]]))
    >>> found = stream.result()
    >>> found.present.tolist(), found.counts.tolist(), found.sums.tolist()
    ([[True, False], [True, True]], [1, 2], [[3.0, 0.0], [2.0, 6.0]])
    """

    def __init__(self, origin: Floats, unit: Floats, most: int | None = None) -> None:
        self._origin, self._unit = origin, unit
        self._size = len(origin)
        self._most = max(1, HELD // self._size**2) if most is None else most
        self._places: dict[bytes, int] = {}
        self._present: list[Bools] = []
        self._counts = np.zeros(0, np.int64)
        self._sums = np.zeros((0, self._size))
        self._squares = np.zeros((0, self._size, self._size))
        self._left_out = 0

    def add(self, rows: Floats) -> None:
        """Add the next rows."""
        block = max(1, BLOCK // self._size**2)
        for start in range(0, len(rows), block):
            self._add(rows[start : start + block])

    def _add(self, rows: Floats) -> None:
        present = ~np.isnan(rows)
        kinds, group = np.unique(np.packbits(present, axis=1), axis=0, return_inverse=True)
        places = np.array([self._place(kind) for kind in kinds], dtype=np.int64)
        at = places[group.reshape(-1)]
        kept = at >= 0
        self._left_out += int((~kept).sum())
        self._grow()
        values = np.where(present, (rows - self._origin) / self._unit, 0.0)[kept]
        order = np.argsort(at[kept], kind="stable")
        values, at = values[order], at[kept][order]
        if not len(at):
            return
        here, first, counts = np.unique(at, return_index=True, return_counts=True)
        self._counts[here] += counts
        self._sums[here] += np.add.reduceat(values, first)
        self._squares[here] += np.add.reduceat(values[:, :, None] * values[:, None, :], first)

    def _place(self, kind: NDArray[np.uint8]) -> int:
        """Return the position of a pattern, or -1 if there is no room for it."""
        key = kind.tobytes()
        if key not in self._places and len(self._places) < self._most:
            self._places[key] = len(self._places)
            self._present.append(np.unpackbits(kind, count=self._size).astype(bool))
        return self._places.get(key, -1)

    def _grow(self) -> None:
        room = len(self._counts)
        if len(self._places) > room:
            more = min(max(len(self._places), 2 * room), self._most) - room
            self._counts = np.concatenate([self._counts, np.zeros(more, np.int64)])
            self._sums = np.concatenate([self._sums, np.zeros((more, self._size))])
            self._squares = np.concatenate([self._squares, np.zeros((more, self._size, self._size))])

    def result(self) -> Patterns:
        """Return the patterns so far."""
        m = len(self._places)
        present = np.array(self._present).reshape(m, self._size)
        sums = self._counts[:m], self._sums[:m], self._squares[:m]
        return Patterns(present, *sums, self._origin, self._unit, self._left_out)
