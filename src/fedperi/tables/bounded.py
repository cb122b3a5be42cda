"""Sums over rows that are clipped to public limits, so that one person can change them only by a known amount.

All functions of a row use only that row and public constants: bounds and levels from the schema, centres and scales
that were chosen privately. `fedperi.tables.readers.private` reads the rows, and refuses none. Sums are kept in whole
numbers: the sensitivity is then exact, and no rounding error can reveal a row.

A standardised row is ``(CONSTANT, z)``, with ``z`` clipped to norm `limit`. The Frobenius norm of its outer product is
at most ``CONSTANT^2 + limit^2``, which is the sensitivity of the sum if a row is added or removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .checks.profile import Missing
from .embedding import MAX_DEGREE, REACH, Data
from .encode import positions_of
from .levels import level_text
from .readers.private import is_number, limits, private_rows
from .schema import Column, Schema
from .table import CHUNK, Table

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GRID = 4096
"""Steps per standardised unit to which rows are rounded, towards zero: far finer than any noise, and sums are exact."""

CONSTANT = 0.5
"""The coordinate that all rows share, in standard units. Its square gives the count of rows, its products the means."""

SPREAD = 0.5
"""Standard deviation assumed for an indicator: the largest possible one, so that the data are not needed."""

Units = Mapping[str, tuple[float, float]]
"""Centre and scale of every column of numbers, in the column's own units."""


@dataclass(frozen=True)
class PublicEmbedding:
    """Variables as blocks of columns in standard units, by public constants alone.

    Parameters
    ----------
    schema : Schema
        Bounds for every column of numbers, levels for every category.
    data : {"linear", "nonlinear", "mixed"}
        As in `fedperi.tables.summarize`.
    degree : int
        The highest degree of a basis, for ``"nonlinear"``.
    units : mapping of str to (float, float)
        Centre and scale of every column of numbers.

    Examples
    --------
    >>> schema = Schema((Column("a", "continuous", bounds=(0, 8)), Column("b", "categorical", ("u", "v"))))
    >>> embedding = PublicEmbedding(schema, "mixed", 3, {"a": (4.0, 2.0)})
    >>> embedding.positions
    ((0,), (1,))
    >>> embedding.embed(np.array([[2.0, 1.0], [8.0, 0.0]])).tolist()      # b: the positions of its levels
    [[-1.0, 1.0], [2.0, -1.0]]
    """

    schema: Schema
    data: Data
    degree: int
    units: Units

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of every variable."""
        return tuple(self._width(column) for column in self.schema.columns)

    @property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """For every variable, its columns in the embedded table."""
        return positions_of(self.widths)

    def embed(self, rows: Floats) -> Floats:
        """Return rows of `fedperi.tables.readers.private.private_rows` in standard units, not yet clipped."""
        return np.hstack([self._block(rows[:, at], column) for at, column in enumerate(self.schema.columns)])

    def _width(self, column: Column) -> int:
        if not is_number(column, self.data):
            return len(column.levels or ()) - 1
        return self.degree if self.data == "nonlinear" else 1

    def _block(self, values: Floats, column: Column) -> Floats:
        if not is_number(column, self.data):
            levels = len(column.levels or ())
            return (np.equal(values[:, None], np.arange(1, levels)) - 1 / levels) / SPREAD
        centre, scale = self.units[column.name]
        z = (values - centre) / scale
        return z[:, None] if self.data != "nonlinear" else _polynomials(z, self.degree)


def cell_counts(
    table: Table, schema: Schema, data: Data, missing: Missing, cells: int, decimal: str | None = None
) -> tuple[dict[str, Integers], int]:
    """Count the rows in equal cells between the bounds of each column of numbers; a row is in one cell per column.

    Also return the number of rows, which must not leave the site.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> table = open_table(pd.DataFrame({"a": [0.5, 0.6, 3.9, 7.0]}))
    >>> schema = Schema((Column("a", "continuous", bounds=(0, 4)),))
    >>> counts, rows = cell_counts(table, schema, "linear", "error", 4)
    >>> counts["a"].tolist(), rows
    ([2, 0, 0, 2], 4)
    """
    numeric = {at: column for at, column in enumerate(schema.columns) if is_number(column, data)}
    counts = {column.name: np.zeros(cells, dtype=np.int64) for column in numeric.values()}
    total = 0
    for rows in private_rows(table, schema, data, missing, decimal):
        total += len(rows)
        for at, column in numeric.items():
            low, high = limits(column)
            cell = np.minimum(((rows[:, at] - low) / (high - low) * cells).astype(np.int64), cells - 1)
            counts[column.name] += np.bincount(cell, minlength=cells)
    return counts, total


@dataclass(frozen=True, eq=False)
class BoundedMoments:
    """The sum of the outer products of all clipped rows, in steps of ``1 / GRID^2``. It may leave only with noise."""

    total: Integers  # shape (q + 1, q + 1)
    rows: int
    clipped: int  # rows that were longer than the limit


def bounded_moments(
    table: Table,
    embedding: PublicEmbedding,
    limit: float,
    missing: Missing,
    decimal: str | None = None,
    chunk: int = CHUNK,
) -> BoundedMoments:
    """Add up the outer products of a table's rows, each clipped to norm `limit` and rounded towards zero.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> schema = Schema((Column("a", "continuous", bounds=(-9, 9)),))
    >>> table = open_table(pd.DataFrame({"a": [0.5, -7.0]}))
    >>> moments = bounded_moments(table, PublicEmbedding(schema, "linear", 3, {"a": (0.0, 1.0)}), 2.0, "error")
    >>> (moments.total / GRID**2).round(2).tolist(), moments.rows, moments.clipped
    ([[0.5, -0.75], [-0.75, 4.25]], 2, 1)
    """
    size = sum(embedding.widths) + 1
    total = np.zeros((size, size), dtype=np.int64)
    count = clipped = 0
    for rows in private_rows(table, embedding.schema, embedding.data, missing, decimal, chunk):
        z, long = clipped_rows(embedding.embed(rows), limit)
        augmented = np.column_stack([np.full(len(z), GRID * CONSTANT), z])
        # Whole numbers below 2^53: products and sums of doubles are exact, in any order.
        total += (augmented.T @ augmented).astype(np.int64)
        count, clipped = count + len(z), clipped + long
    return BoundedMoments(total, count, clipped)


def clipped_rows(z: Floats, limit: float) -> tuple[Floats, int]:
    """Clip rows to a norm, and round them to whole steps; also return how many were longer.

    Examples
    --------
    >>> clipped, long = clipped_rows(np.array([[3.0, 4.0], [0.0, 1.0]]), 1.0)
    >>> (clipped / GRID).round(2).tolist(), long
    ([[0.6, 0.8], [0.0, 1.0]], 1)
    """
    norm = np.linalg.norm(z, axis=1)
    long = norm > limit
    # Rounding the factor could lengthen a row by 1e-16 of its norm, so the factor is slightly smaller. A row that is
    # still too long becomes zero.
    shrunk = np.where(long, limit * (1 - 1e-12) / np.where(long, norm, 1.0), 1.0)
    steps = np.trunc(z * shrunk[:, None] * GRID)
    steps[(steps**2).sum(axis=1) > (limit * GRID) ** 2] = 0.0
    return steps, int(long.sum())


def fingerprint(table: Table) -> str:
    """Identify the content of a table, in any order of its rows and columns. It must not leave the site.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> a, b = pd.DataFrame({"x": [1, 2], "y": ["u", "v"]}), pd.DataFrame({"y": ["v", "u"], "x": [2.0, 1.0]})
    >>> fingerprint(open_table(a)) == fingerprint(open_table(b))
    True
    """
    import pandas as pd

    names = sorted(table.columns)
    try:
        frames = (pd.DataFrame({name: _plain(frame[name]) for name in names}) for frame in table.chunks())
        return _digest(names, frames)
    except Exception:  # rows that only a private reading accepts: pandas and Arrow refuse them in many ways
        cells = ({name: [_text(cell) for cell in part.columns[name]] for name in names} for part in table.cells())
        return _digest(names, (pd.DataFrame(part, dtype=object) for part in cells))


def _digest(names: list[str], frames: Iterable[pd.DataFrame]) -> str:
    import pandas as pd

    rows = first = second = 0
    for frame in frames:
        marks = pd.util.hash_pandas_object(frame, index=False).to_numpy(dtype=np.uint64)
        rows, first, second = rows + len(frame), first + int(marks.sum()), second + int((marks * marks).sum())
    return hashlib.sha256(repr((names, rows, first % (1 << 64), second % (1 << 64))).encode()).hexdigest()


def _plain(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return values in a form that does not depend on their storage: 1 and 1.0 are the same number, True is text."""
    if series.dtype.kind in "iuf":
        return series.astype(np.float64) + 0.0  # -0.0 and 0.0 are one number
    return series.map(level_text, na_action="ignore").astype(object).fillna("").astype(str)


def _text(cell: Any) -> str:
    try:
        return level_text(cell).encode("utf-8", "backslashreplace").decode()
    except Exception:  # a whole number of thousands of digits, or an object that cannot be written as text
        return f"{cell:x}" if isinstance(cell, int) else type(cell).__name__


def _polynomials(z: Floats, degree: int) -> Floats:
    """Return Legendre polynomials of z / REACH, each in units of its spread for a normal variable."""
    values = np.polynomial.legendre.legvander(np.clip(z / REACH, -1, 1), degree)[:, 1:]
    centre, spread = _NORMAL[0][:degree], _NORMAL[1][:degree]
    out: Floats = (values - centre) / spread
    return out


def _normal_moments() -> tuple[Floats, Floats]:
    """Return mean and spread of each Legendre polynomial of a normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    values = np.polynomial.legendre.legvander(np.clip(nodes / REACH, -1, 1), MAX_DEGREE)[:, 1:]
    mean = weights @ values
    return mean, np.sqrt(weights @ (values - mean) ** 2)


_NORMAL = _normal_moments()
