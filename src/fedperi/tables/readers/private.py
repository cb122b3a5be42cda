"""Rows under privacy: every cell is read alone, and only the declaration of its column says how.

No row may change how another one is read, and none may be refused: both would reveal something about it without noise.
So a cell that is empty or cannot be read counts as its column's *public default*: the middle of the bounds for a
number, the first declared level for a category. With ``missing="drop"``, its row is left out instead. Numbers outside
the bounds, also infinite ones, are moved to the nearest bound.

In a file whose columns are separated by semicolons or tabs, each number may have a decimal comma or a decimal point.
In other files a comma is not a decimal mark. If a mark is declared (`fedperi.Privacy`), only that one counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..checks.profile import Missing
from ..embedding import Data
from ..levels import level_text, style_of
from ..schema import Column, Schema
from ..table import CHUNK, Table
from .plain import is_plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Decimals = Literal[".", ",", "either"]

_TRUTH = {"true": 1.0, "false": 0.0}
_UNREADABLE = (TypeError, ValueError, ArithmeticError)  # what objects may raise when they are converted


def is_number(column: Column, data: Data) -> bool:
    """Whether a column is treated as a number and not as a category.

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
    values = np.array([_cell_number(level, ".") for level in column.levels or ()])
    return float(values.min()), float(values.max())  # both nan if a level is not a number


def default_of(column: Column, data: Data) -> float:
    """Return the value for cells that cannot be read: the middle of the bounds, or the position of the first level.

    Examples
    --------
    >>> default_of(Column("a", "continuous", bounds=(0, 120)), "auto"), default_of(Column("b", "categorical"), "mixed")
    (60.0, 0.0)
    """
    return math.fsum(limits(column)) / 2 if is_number(column, data) else 0.0


def private_rows(
    table: Table,
    schema: Schema,
    data: Data,
    missing: Missing,
    decimal: str | None = None,
    chunk: int = CHUNK,
) -> Iterator[Floats]:
    """Yield the schema's columns in chunks: numbers within their bounds, and the positions of levels.

    Parameters
    ----------
    table : Table
    schema : Schema
        Bounds for every column of numbers, levels for every category.
    data : {"linear", "nonlinear", "mixed"}
        Under "linear", categories are numbers too.
    missing : {"error", "drop"}
        "drop" leaves out a row with a cell that cannot be read; "error" gives the cell its column's default.
    decimal : {".", ","}, optional
        The declared decimal mark of cells that are text.
    chunk : int
        Rows in memory at a time.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> table = open_table(pd.DataFrame({"a": ["1.5", "<5", "99"], "b": ["u", "v", "?"]}), "north")
    >>> schema = Schema((Column("a", "continuous", bounds=(0, 8)), Column("b", "categorical", ("u", "v"))))
    >>> next(private_rows(table, schema, "mixed", "error")).tolist()
    [[1.5, 0.0], [4.0, 1.0], [8.0, 0.0]]
    >>> next(private_rows(table, schema, "mixed", "drop")).tolist()
    [[1.5, 0.0]]
    """
    for values in read_cells(table, schema, data, decimal, chunk):
        rows = _clip_and_fill(values, schema, data, missing)
        if len(rows):
            yield rows


def read_cells(
    table: Table, schema: Schema, data: Data, decimal: str | None = None, chunk: int = CHUNK
) -> Iterator[Floats]:
    """Yield the schema's columns in chunks, with nan for cells that cannot be read, and with numbers of any size."""
    absent = [name for name in schema.names if name not in table.columns]
    if absent:
        raise InputError(
            f"site {table.name!r} has no column {absent[0]!r}, which the bounds name; its columns are "
            f"{', '.join(map(repr, table.columns))}"
        )
    marks: Decimals = "," if decimal == "," else "." if decimal == "." or not table.both_marks else "either"
    for part in table.cells(chunk):
        read = [
            _numbers(part.columns[column.name], marks)
            if is_number(column, data)
            else _codes(part.columns[column.name], column.levels or (), marks)
            for column in schema.columns
        ]
        yield np.column_stack(read)


def _clip_and_fill(values: Floats, schema: Schema, data: Data, missing: Missing) -> Floats:
    """Move numbers into their bounds; give cells that could not be read their default, or leave out their rows."""
    if missing == "drop":
        values = values[~np.isnan(values).any(axis=1)]
    out = np.where(np.isnan(values), [default_of(column, data) for column in schema.columns], values)
    for at, column in enumerate(schema.columns):
        if is_number(column, data):
            out[:, at] = np.clip(out[:, at], *limits(column))
    return out


def _numbers(cells: Sequence[Any] | pd.Series[Any], marks: Decimals) -> Floats:
    """Read cells as numbers, each alone; nan for a cell that is not a number."""
    import pandas as pd

    if isinstance(cells, pd.Series):
        kinds = pd.api.types
        if kinds.is_numeric_dtype(cells.dtype) and not kinds.is_complex_dtype(cells.dtype):
            with np.errstate(over="ignore"):  # a number beyond a double's range is beyond all bounds
                values: Floats = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            return values
        cells = cells.tolist()
    if set(map(type, cells)) == {str}:
        texts = cells if marks == "." else map(_SPELL[marks], cells)
        try:  # fast: `float` reads each text alone, as `_cell_number` does
            return np.fromiter(map(float, texts), np.float64, len(cells))
        except ValueError:
            pass
    return np.array([_cell_number(cell, marks) for cell in cells], dtype=np.float64)


def _real(cell: Any) -> Any:
    """Return a real number for a complex one: a single complex number makes pandas store all of a column as complex."""
    return cell.real if isinstance(cell, complex | np.complexfloating) and cell.imag == 0 else cell


def _cell_number(cell: Any, marks: Decimals) -> float:
    cell = _real(cell)
    try:
        if isinstance(cell, str):
            return float(spelled) if (spelled := _SPELL[marks](cell)) else math.nan
        return float(cell) if isinstance(cell, Real | Decimal | np.bool_) else math.nan
    except OverflowError:  # a whole number beyond a double's range
        return math.copysign(math.inf, 1 if cell > 0 else -1)
    except _UNREADABLE:
        return _TRUTH.get(cell.strip().lower(), math.nan) if isinstance(cell, str) else math.nan


def _codes(cells: Sequence[Any] | pd.Series[Any], levels: Sequence[str], marks: Decimals) -> Floats:
    """Return the position of every cell among the levels, each cell read alone; nan if it is not among them."""
    import pandas as pd

    style = style_of(levels)
    places = {level: float(place) for place, level in enumerate(levels)}

    def place(cell: Any) -> float:
        try:
            if style == "number" and isinstance(cell, str):
                cell = _SPELL[marks](cell)
            return places.get(level_text(_real(cell), style), math.nan)
        except _UNREADABLE:
            return math.nan

    if isinstance(cells, pd.Series) and isinstance(cells.dtype, pd.CategoricalDtype):
        known = np.array([*map(place, cells.cat.categories.tolist()), math.nan])
        return known[cells.cat.codes.to_numpy()]  # -1, the last, where there is no value
    if isinstance(cells, pd.Series) and is_plain(cells.dtype):
        distinct, at = np.unique(cells.to_numpy(), return_inverse=True)
        return np.array([*map(place, distinct.tolist())])[at]
    texts = {text: place(text) for text in {cell for cell in cells if type(cell) is str}}
    # Other objects may be equal and still be different levels, such as 1 and True: they cannot be looked up in a dict.
    return np.array([texts[cell] if type(cell) is str else place(cell) for cell in cells], dtype=np.float64)


_SPELL: Mapping[Decimals, Callable[[str], str]] = {
    ".": lambda text: text,
    ",": lambda text: "" if "." in text else text.replace(",", "."),
    "either": lambda text: text.replace(",", "."),
}
"""The text of a cell with a decimal point in place of a comma; empty if its decimal mark is not the declared one."""
