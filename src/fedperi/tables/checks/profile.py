"""Read a table once to find what each column holds, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...option_values import MISSING, check_one_of
from ..readers.plain import is_plain, plain_values
from ..schema import Schema
from ..table import CHUNK, Table
from .column_scan import ColumnProfile, ColumnScan, Storage, add_numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_LEVELS", "ColumnProfile", "Missing", "TableProfile", "scan", "storage_of"]

MAX_LEVELS = 100  # different values remembered per column; a category with more is taken for an identifier
BLOCK = 1 << 17  # numbers added at a time: a megabyte

_STORAGES: dict[str, Storage] = {"f": "number", "i": "integer", "u": "integer"}

Missing = Literal["auto", "em", "error", "drop"]


@dataclass(frozen=True)
class TableProfile:
    """What one site's table holds: all rows, rows dropped because a value is missing, and the columns."""

    site: str
    total: int
    dropped: int
    columns: Mapping[str, ColumnProfile]

    @property
    def rows(self) -> int:
        """The rows that are used: the total without those dropped."""
        return self.total - self.dropped


def scan(
    table: Table,
    missing: Missing = "error",
    chunk: int = CHUNK,
    schema: Schema | None = None,
    tap: Callable[[pd.DataFrame], None] | None = None,
    spread: bool = True,
) -> TableProfile:
    """Read a table once, `chunk` rows at a time, and describe its columns.

    Parameters
    ----------
    missing : {"auto", "em", "error", "drop"}
        With ``"drop"``, rows with a missing value are counted and then left out.
    schema : Schema, optional
        Its longest list of levels is the number of values to remember, if that is more than `MAX_LEVELS`. It also says
        of which columns numbers are counted; see `ColumnProfile`.
    tap : callable, optional
        Called with every chunk that is read, to compute something else from the same rows.
    spread : bool
        Whether means and standard deviations are needed.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> profile = scan(open_table(pd.DataFrame({"a": [1.5, 2.5, None], "b": ["u", "v", "v"]})), missing="drop")
    >>> profile.rows, profile.dropped, profile.columns["a"].missing
    (2, 1, 1)
    >>> profile.columns["a"].low, profile.columns["a"].high, dict(profile.columns["b"].levels)
    (1.5, 2.5, {'u': 1, 'v': 1})
    """
    check_one_of("missing", missing, MISSING)
    if table.engine is not None:
        return table.engine.profile(table, missing, schema)
    declared = schema.columns if schema is not None else ()
    limit = max([MAX_LEVELS, *(len(column.levels or ()) for column in declared)])
    count = {column.name: column.kind == "categorical" for column in declared}

    def read(tap: Callable[[pd.DataFrame], None] | None, text: frozenset[str]) -> tuple[TableProfile, frozenset[str]]:
        columns = {name: ColumnScan(limit, count.get(name), spread) for name in table.columns}
        total = dropped = 0
        for frame in table.chunks(chunk, text):
            if tap is not None:
                tap(frame)
            total += len(frame)
            dropped += _update(list(columns.values()), frame, missing == "drop")
        profiles = MappingProxyType({name: column.result(name) for name, column in columns.items()})
        mixed = frozenset(name for name, column in columns.items() if column.mixed)
        return TableProfile(table.name, total, dropped, profiles), mixed

    profile, mixed = read(tap, frozenset())
    if mixed:
        # Text in one chunk and numbers in another: how pandas read "01" depended on other rows. Read again as text.
        profile, _ = read(None, mixed)
    return profile


def _update(columns: Sequence[ColumnScan], frame: pd.DataFrame, drop: bool) -> int:
    """Add the next rows to all columns, which are in the order of the table; return how many rows were dropped."""
    if not len(frame):
        return 0
    dtypes = list(frame.dtypes)
    numbers = [i for i, dtype in enumerate(dtypes) if is_plain(dtype, "fiu")]
    others = {i: frame.iloc[:, i] for i, dtype in enumerate(dtypes) if not is_plain(dtype, "fiu")}
    lines = plain_values(frame, numbers).T
    absent = {i: series.isna().to_numpy(dtype=bool) for i, series in others.items()}
    # A minimum is nan only if a number is missing: so most columns need no second pass.
    absent |= {numbers[k]: np.isnan(lines[k]) for k in np.flatnonzero(np.isnan(lines.min(axis=1)))}
    lacking = {i: int(mask.sum()) for i, mask in absent.items()}
    for i, rows in lacking.items():
        columns[i].missing += rows
    rows, dropped = len(frame), 0
    if drop and any(lacking.values()):
        keep = ~np.logical_or.reduce(list(absent.values()))
        rows, dropped = int(keep.sum()), len(frame) - int(keep.sum())
        lines = lines[:, keep]
        others = {i: series[keep] for i, series in others.items()}
        lacking = {}
    else:
        others = {i: series[~absent[i]] if lacking[i] else series for i, series in others.items()}
    for i in numbers:
        if rows > lacking.get(i, 0):
            columns[i].see(_STORAGES[dtypes[i].kind], dtypes[i])
    # Blocks that stay in the processor's cache from one step to the next.
    width = max(1, BLOCK // max(1, rows))
    for start in range(0, len(numbers), width):
        part = numbers[start : start + width]
        add_numbers([columns[i] for i in part], np.ascontiguousarray(lines[start : start + width]))
    for i, series in others.items():
        _update_other(columns[i], series)
    return dropped


def _update_other(column: ColumnScan, series: pd.Series[Any]) -> None:
    """Add values, none of them missing, to a column that is not stored as plain numbers."""
    if not len(series):
        return
    storage = storage_of(series)
    column.see(storage, series.dtype)
    if storage in ("integer", "number", "boolean"):
        add_numbers([column], series.to_numpy(dtype=np.float64)[None], codes=storage != "boolean")
    if storage in ("text", "category", "boolean"):
        counts = series.value_counts()
        column.add_levels(zip(counts.index.tolist(), counts.to_numpy(dtype=np.int64).tolist(), strict=True))


def storage_of(series: pd.Series[Any]) -> Storage:
    """Say what kind of values a column without missing values holds.

    Examples
    --------
    >>> import pandas as pd
    >>> [storage_of(pd.Series(values)) for values in ([1, 2], [0.5], [True], ["a"], [1, "a"], [[1], [2]])]
    ['integer', 'number', 'boolean', 'text', 'mixed', 'other']
    """
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_integer_dtype(dtype):
        return "integer"
    if types.is_float_dtype(dtype):
        return "number"
    if isinstance(dtype, pd.StringDtype):
        return "text"
    what = types.infer_dtype(series, skipna=True)
    named: dict[str, Storage] = {"boolean": "boolean", "integer": "integer", "string": "text"}
    named |= dict.fromkeys(("floating", "mixed-integer-float", "decimal"), "number")
    if what in named:
        return named[what]
    simple = what.startswith("mixed") and all(isinstance(value, (str, Real, Decimal, np.bool_)) for value in series)
    return "mixed" if simple else "other"
