"""Rows that public limits bound, so that one person can change what is kept of a table by a known amount only.

Everything here is a function of one row and of public constants: bounds and levels from the schema, centres and scales
that were chosen privately. Values outside the bounds are moved to the nearest bound, unknown categories count as the
first level, and nothing is an error that would tell a value. Sums are kept in whole numbers: the sensitivity is then
exact, and no rounding error can give a row away.

A standardised row is ``(CONSTANT, z)``, ``z`` clipped to norm `limit`; its outer product has the Frobenius norm
``CONSTANT^2 + limit^2`` at most, which is the sensitivity of the sum under adding or removing a row.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .embedding import MAX_DEGREE, REACH, Data
from .levels import level_text, number_of, style_of
from .profile import Missing
from .schema import Column, Schema
from .table import CHUNK, Table

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GRID = 4096
"""Steps of a standardised unit to which rows are rounded, towards zero: far below any noise, and sums are exact."""

CONSTANT = 0.5
"""The coordinate that all rows share, in standard units. Its square counts the rows, its products are the means."""

SPREAD = 0.5
"""Standard deviation that an indicator is taken to have, the largest possible: no look at the data is needed."""

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
        As in `fedperi.data.summarize`.
    degree : int
        The highest degree of a basis, for ``"nonlinear"``.
    units : mapping of str to (float, float)
        Centre and scale of every column of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema((Column("a", "continuous", bounds=(0, 8)), Column("b", "categorical", ("u", "v"))))
    >>> embedding = PublicEmbedding(schema, "mixed", 3, {"a": (4.0, 2.0)})
    >>> embedding.positions
    ((0,), (1,))
    >>> embedding.embed(pd.DataFrame({"a": [2.0, 99.0], "b": ["v", "?"]}), "north").tolist()
    [[-1.0, 1.0], [2.0, -1.0]]
    """

    schema: Schema
    data: Data
    degree: int
    units: Units

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of every variable."""
        return tuple(self._width(column) for column in self.schema.columns)

    @property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """For every variable, its columns in the embedded table."""
        ends = list(accumulate(self.widths))
        return tuple(tuple(range(end - width, end)) for width, end in zip(self.widths, ends, strict=True))

    def embed(self, rows: pd.DataFrame, site: str) -> Floats:
        """Return the rows in standard units, not yet clipped."""
        return np.hstack([self._block(rows[column.name], column, site) for column in self.schema.columns])

    def _width(self, column: Column) -> int:
        if not is_number(column, self.data):
            return len(column.levels or ()) - 1
        return self.degree if self.data == "nonlinear" else 1

    def _block(self, series: pd.Series[Any], column: Column, site: str) -> Floats:
        if not is_number(column, self.data):
            return _indicators(series, column)
        centre, scale = self.units[column.name]
        z = (bounded_numbers(series, column, site) - centre) / scale
        return z[:, None] if self.data != "nonlinear" else _polynomials(z, self.degree)


def is_number(column: Column, data: Data) -> bool:
    """Whether a column is taken as a number rather than as a category.

    Examples
    --------
    >>> is_number(Column("a", "categorical", ("0", "1")), "linear"), is_number(Column("a", "categorical"), "mixed")
    (True, False)
    """
    return column.kind == "continuous" or data == "linear"


def limits(column: Column) -> tuple[float, float]:
    """Return the public bounds of a column of numbers: those declared, or its smallest and largest level.

    Examples
    --------
    >>> limits(Column("a", "categorical", ("0", "2", "7")))
    (0.0, 7.0)
    """
    if column.bounds is not None:
        return column.bounds
    values = [_level_number(level) for level in column.levels or ()]
    return min(values), max(values)


def bounded_numbers(series: pd.Series[Any], column: Column, site: str) -> Floats:
    """Return a column's values, moved to the nearest bound where they lie outside.

    Examples
    --------
    >>> import pandas as pd
    >>> bounded_numbers(pd.Series([-5, 3, float("inf")]), Column("a", "continuous", bounds=(0, 10)), "north").tolist()
    [0.0, 3.0, 10.0]
    >>> bounded_numbers(pd.Series(["secret"]), Column("a", "continuous", bounds=(0, 10)), "north")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north', column 'a': a value is not a number; correct it, or declare levels
    """
    import pandas as pd

    values = series
    if series.dtype == object or str(series.dtype) in ("bool", "boolean", "string", "category", "str"):
        values = pd.Series([_level_number(level_text(v)) for v in series], dtype=np.float64)
    found: Floats = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(found).any():
        raise InputError(
            f"site {site!r}, column {column.name!r}: a value is not a number; correct it, or declare levels"
        )
    return np.clip(found, *limits(column))


def bounded_rows(table: Table, schema: Schema, missing: Missing, chunk: int = CHUNK) -> Iterator[pd.DataFrame]:
    """Yield the schema's columns in chunks; an incomplete row is dropped, or an error that tells the column only.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.data import open_table
    >>> table = open_table(pd.DataFrame({"a": [1.0, None], "b": [2.0, 3.0]}), "north")
    >>> schema = Schema((Column("b", "continuous"), Column("a", "continuous")))
    >>> next(bounded_rows(table, schema, "drop")).to_dict("list")
    {'b': [2.0], 'a': [1.0]}
    >>> next(bounded_rows(table, schema, "error"))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north', column 'a': values are missing; fill them in, or leave such rows out ...
    """
    absent = [name for name in schema.names if name not in table.columns]
    if absent:
        raise InputError(
            f"site {table.name!r} has no column {absent[0]!r}, which the bounds name; its columns are "
            f"{', '.join(map(repr, table.columns))}"
        )
    text = [c.name for c in schema.columns if c.levels is not None and style_of(c.levels) == "text"]
    for frame in table.chunks(chunk, text):
        rows = frame[list(schema.names)]
        gaps = rows.isna()
        if missing == "error" and gaps.to_numpy().any():
            column = next(name for name in schema.names if gaps[name].any())
            raise InputError(
                f"site {table.name!r}, column {column!r}: values are missing; fill them in, or leave such rows out "
                "with missing='drop'"
            )
        rows = rows.dropna()
        if len(rows):
            yield rows


def cell_counts(
    table: Table, schema: Schema, data: Data, missing: Missing, cells: int, chunk: int = CHUNK
) -> dict[str, Integers]:
    """Count a table's rows in equal cells between the bounds, for every column of numbers. A row is in one cell each.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.data import open_table
    >>> table = open_table(pd.DataFrame({"a": [0.5, 0.6, 3.9, 7.0]}))
    >>> schema = Schema((Column("a", "continuous", bounds=(0, 4)),))
    >>> {name: counts.tolist() for name, counts in cell_counts(table, schema, "linear", "error", 4).items()}
    {'a': [2, 0, 0, 2]}
    """
    numeric = [column for column in schema.columns if is_number(column, data)]
    counts = {column.name: np.zeros(cells, dtype=np.int64) for column in numeric}
    for rows in bounded_rows(table, schema, missing, chunk):
        for column in numeric:
            low, high = limits(column)
            share = (bounded_numbers(rows[column.name], column, table.name) - low) / (high - low)
            at = np.minimum((share * cells).astype(np.int64), cells - 1)
            counts[column.name] += np.bincount(at, minlength=cells)
    return counts


@dataclass(frozen=True, eq=False)
class BoundedMoments:
    """The sum of the outer products of all clipped rows, in steps of ``1 / GRID^2``. It never leaves a site as it is.

    Parameters
    ----------
    total : int array, shape (q + 1, q + 1)
    rows : int
    clipped : int
        Rows that were longer than the limit.
    """

    total: Integers
    rows: int
    clipped: int


def bounded_moments(
    table: Table, embedding: PublicEmbedding, limit: float, missing: Missing, chunk: int = CHUNK
) -> BoundedMoments:
    """Add up the outer products of a table's rows, each clipped to norm `limit` and rounded towards zero.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.data import open_table
    >>> schema = Schema((Column("a", "continuous", bounds=(-9, 9)),))
    >>> table = open_table(pd.DataFrame({"a": [0.5, -7.0]}))
    >>> moments = bounded_moments(table, PublicEmbedding(schema, "linear", 3, {"a": (0.0, 1.0)}), 2.0, "error")
    >>> (moments.total / GRID**2).round(2).tolist(), moments.rows, moments.clipped
    ([[0.5, -0.75], [-0.75, 4.25]], 2, 1)
    """
    size = sum(embedding.widths) + 1
    total = np.zeros((size, size), dtype=np.int64)
    count = clipped = 0
    for rows in bounded_rows(table, embedding.schema, missing, chunk):
        z, long = clipped_rows(embedding.embed(rows, table.name), limit)
        augmented = np.column_stack([np.full(len(z), GRID * CONSTANT), z])
        # Whole numbers below 2^53: the product of doubles is exact, whatever the order of summation.
        total += (augmented.T @ augmented).astype(np.int64)
        count, clipped = count + len(z), clipped + long
    if not count:
        raise InputError(f"site {table.name!r} has no complete row; nothing can be learned from it")
    return BoundedMoments(total, count, clipped)


def clipped_rows(z: Floats, limit: float) -> tuple[Floats, int]:
    """Clip rows to a norm, in whole steps; also say how many were longer.

    Examples
    --------
    >>> clipped, long = clipped_rows(np.array([[3.0, 4.0], [0.0, 1.0]]), 1.0)
    >>> (clipped / GRID).round(2).tolist(), long
    ([[0.6, 0.8], [0.0, 1.0]], 1)
    """
    norm = np.linalg.norm(z, axis=1)
    long = norm > limit
    # Rounding the factor could lengthen a row by 1e-16 of its norm; rounding towards zero then takes a step away
    # unless the row lies on the grid, where the factor is 1 and nothing was rounded.
    shrunk = np.where(long, limit * (1 - 1e-12) / np.where(long, norm, 1.0), 1.0)
    steps = np.trunc(z * shrunk[:, None] * GRID)
    steps[(steps**2).sum(axis=1) > (limit * GRID) ** 2] = 0.0
    return steps, int(long.sum())


def fingerprint(table: Table, chunk: int = CHUNK) -> str:
    """Identify the content of a table, whatever the order of its rows and columns. It stays at the site.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.data import open_table
    >>> a, b = pd.DataFrame({"x": [1, 2], "y": ["u", "v"]}), pd.DataFrame({"y": ["v", "u"], "x": [2.0, 1.0]})
    >>> fingerprint(open_table(a)) == fingerprint(open_table(b))
    True
    """
    import pandas as pd

    names = sorted(table.columns)
    rows = first = second = 0
    for frame in table.chunks(chunk):
        plain = pd.DataFrame({name: _plain(frame[name]) for name in names})
        marks = pd.util.hash_pandas_object(plain, index=False).to_numpy(dtype=np.uint64)
        rows, first, second = rows + len(frame), first + int(marks.sum()), second + int((marks * marks).sum())
    return hashlib.sha256(repr((names, rows, first % (1 << 64), second % (1 << 64))).encode()).hexdigest()


def _plain(series: pd.Series[Any]) -> pd.Series[Any]:
    """Values that do not depend on how they happen to be stored: 1 and 1.0 are one number, True is a word."""
    if series.dtype.kind in "iuf":
        return series.astype(np.float64) + 0.0  # -0.0 and 0.0 are one number
    return series.map(level_text, na_action="ignore").astype(object).fillna("").astype(str)


def _indicators(series: pd.Series[Any], column: Column) -> Floats:
    import pandas as pd

    levels = column.levels or ()
    style = style_of(levels)
    positions = {level: position for position, level in enumerate(levels)}
    labels, values = pd.factorize(series)
    codes = np.array([positions.get(level_text(value, style), 0) for value in values.tolist()], dtype=np.int64)[labels]
    shown = np.equal(codes[:, None], np.arange(1, len(levels)))
    return (shown - 1 / len(levels)) / SPREAD


def _polynomials(z: Floats, degree: int) -> Floats:
    """Legendre polynomials of z / REACH, each in units of its spread for a normal variable."""
    values = np.polynomial.legendre.legvander(np.clip(z / REACH, -1, 1), degree)[:, 1:]
    centre, spread = _NORMAL[0][:degree], _NORMAL[1][:degree]
    out: Floats = (values - centre) / spread
    return out


def _normal_moments() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    values = np.polynomial.legendre.legvander(np.clip(nodes / REACH, -1, 1), MAX_DEGREE)[:, 1:]
    mean = weights @ values
    return mean, np.sqrt(weights @ (values - mean) ** 2)


_NORMAL = _normal_moments()


def _level_number(level: str) -> float:
    truth = {"True": 1.0, "False": 0.0}.get(level)
    if truth is not None:
        return truth
    number = number_of(level)
    return math.nan if number is None else number
