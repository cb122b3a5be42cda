"""Rows under privacy: every cell is read alone, by what is declared of its column and by nothing else.

No row may change how another one is read, and none may be refused: both would tell of it without noise. So a cell that
is empty or cannot be read counts as its column's *public default*: the middle of the bounds for a number, the first
declared level for a category. Under ``missing="drop"`` its row is left out instead. Numbers outside the bounds are
moved to the nearest bound, infinite ones too.

Where a file separates its columns by semicolons or tabs, a number may have a decimal comma or a decimal point, each
cell for itself; elsewhere a comma is no decimal mark. If a mark is declared (`fedperi.Privacy`), only that one counts.
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
from ..levels import Style, level_text, style_of
from ..schema import Column, Schema
from ..table import CHUNK, Table
from .plain import is_plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Decimals = Literal[".", ",", "either"]

_TRUTH = {"true": 1.0, "false": 0.0}
_STRANGE = (TypeError, ValueError, ArithmeticError)  # what objects raise that are not what they seem


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
    values = np.array([_cell_number(level, ".") for level in column.levels or ()])
    return float(values.min()), float(values.max())  # both nan if a level is a word


def default_of(column: Column, data: Data) -> float:
    """Return what a cell that cannot be read counts as: the middle of the bounds, or the position of the first level.

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
    """Yield the schema's columns in chunks, a number within its bounds or the position of a level in each cell.

    Parameters
    ----------
    table : Table
    schema : Schema
        Bounds for every column of numbers, levels for every category.
    data : {"linear", "nonlinear", "mixed"}
        Under "linear", categories are numbers too.
    missing : {"error", "drop"}
        Whether a row with a cell that cannot be read is left out; if not, the cell counts as its column's default.
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
        rows = settled(values, schema, data, missing)
        if len(rows):
            yield rows


def read_cells(
    table: Table, schema: Schema, data: Data, decimal: str | None = None, chunk: int = CHUNK
) -> Iterator[Floats]:
    """Yield the schema's columns in chunks, as they are: nan where a cell cannot be read, and numbers of any size."""
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


def settled(values: Floats, schema: Schema, data: Data, missing: Missing) -> Floats:
    """Move numbers into their bounds, and give cells that could not be read their default, or leave their rows out."""
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
        if is_plain(cells.dtype) or (kinds.is_numeric_dtype(cells.dtype) and not kinds.is_complex_dtype(cells.dtype)):
            with np.errstate(over="ignore"):  # beyond a double's range is beyond all bounds
                values: Floats = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            return values
        cells = cells.tolist()
    if set(map(type, cells)) == {str}:
        texts = cells if marks == "." else map(_SPELL[marks], cells)
        try:  # float reads each text alone, so that this gives the same as one by one, and is faster
            return np.fromiter(map(float, texts), np.float64, len(cells))
        except ValueError:
            pass
    return np.array([_cell_number(cell, marks) for cell in cells], dtype=np.float64)


def _real(cell: Any) -> Any:
    """One complex number makes pandas store all numbers of a column as complex ones: they are what they were."""
    return cell.real if isinstance(cell, complex | np.complexfloating) and cell.imag == 0 else cell


def _cell_number(cell: Any, marks: Decimals) -> float:
    cell = _real(cell)
    try:
        if isinstance(cell, str):
            return float(spelled) if (spelled := _SPELL[marks](cell)) else math.nan
        return float(cell) if isinstance(cell, Real | Decimal | np.bool_) else math.nan
    except OverflowError:  # a whole number beyond all bounds
        return math.copysign(math.inf, 1 if cell > 0 else -1)
    except _STRANGE:
        return _TRUTH.get(cell.strip().lower(), math.nan) if isinstance(cell, str) else math.nan


def _codes(cells: Sequence[Any] | pd.Series[Any], levels: Sequence[str], marks: Decimals) -> Floats:
    """Return the position of every cell among the levels, each found alone; nan if it is not among them."""
    import pandas as pd

    style = style_of(levels)
    places = {level: float(place) for place, level in enumerate(levels)}

    def place(cell: Any) -> float:
        level = _cell_level(cell, style, marks)
        return math.nan if level is None else places.get(level, math.nan)

    if isinstance(cells, pd.Series) and isinstance(cells.dtype, pd.CategoricalDtype):
        known = np.array([*map(place, cells.cat.categories.tolist()), math.nan])
        return known[cells.cat.codes.to_numpy()]  # -1, the last, where there is no value
    if isinstance(cells, pd.Series) and is_plain(cells.dtype):
        distinct, at = np.unique(cells.to_numpy(), return_inverse=True)
        return np.array([*map(place, distinct.tolist())])[at]
    texts = {text: place(text) for text in {cell for cell in cells if type(cell) is str}}
    # Other objects may be equal and not the same level, as 1 and True are: nothing is remembered of them.
    return np.array([texts[cell] if type(cell) is str else place(cell) for cell in cells], dtype=np.float64)


def _cell_level(cell: Any, style: Style, marks: Decimals) -> str | None:
    try:
        if style == "number" and isinstance(cell, str):
            cell = _SPELL[marks](cell)
        return level_text(_real(cell), style)
    except _STRANGE:
        return None


def _comma(text: str) -> str:
    return "" if "." in text else text.replace(",", ".")


_SPELL: Mapping[Decimals, Callable[[str], str]] = {
    ".": lambda text: text,
    ",": _comma,
    "either": lambda text: text.replace(",", "."),
}
