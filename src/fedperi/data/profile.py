"""The first pass over a table: what each column holds, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .levels import level_text, style_of
from .schema import Schema
from .table import CHUNK, Table

if TYPE_CHECKING:
    import pandas as pd

MAX_LEVELS = 100  # different values remembered per column; a category with more is taken for an identifier

Storage = Literal["integer", "number", "boolean", "text", "category", "mixed", "empty", "other"]
Missing = Literal["error", "drop"]


@dataclass(frozen=True)
class ColumnProfile:
    """What one column of one site holds.

    ``levels`` counts the rows of each value, up to `MAX_LEVELS` values or as many as a schema declares (``many`` says
    that there are more). ``low``, ``high``, the mean and ``scale`` (standard deviation, divided by n) are of the finite
    numbers; zero where there are none. The mean is ``origin + offset``, apart because the sum would round where the
    column is far from zero; the origin is the first number. ``whole`` says that all numbers are whole.
    """

    name: str
    storage: Storage
    dtype: str
    missing: int
    infinite: int
    whole: bool
    low: float
    high: float
    origin: float
    offset: float
    scale: float
    levels: Mapping[str, int]
    many: bool

    def counts(self, levels: tuple[str, ...]) -> list[int]:
        """Return the number of rows of each of a schema's levels, which may be spelled otherwise in the table."""
        style = style_of(levels)
        rows = dict.fromkeys(levels, 0)
        for level, count in self.levels.items():
            name = level_text(level, style)
            rows[name] = rows.get(name, 0) + count
        return [rows[level] for level in levels]


@dataclass(frozen=True)
class TableProfile:
    """What one site's table holds: rows in the file, rows dropped for missing values, and its columns."""

    site: str
    total: int
    dropped: int
    columns: Mapping[str, ColumnProfile]

    @property
    def rows(self) -> int:
        """The rows that count: the total without those dropped."""
        return self.total - self.dropped


def scan(
    table: Table,
    missing: Missing = "error",
    chunk: int = CHUNK,
    schema: Schema | None = None,
    tap: Callable[[pd.DataFrame], None] | None = None,
) -> TableProfile:
    """Read a table once and describe its columns.

    Parameters
    ----------
    table : Table
        The site's table.
    missing : {"error", "drop"}
        Under ``"drop"`` rows with a missing value are counted, and otherwise left out.
    chunk : int
        Rows in memory at a time; the result does not depend on it.
    schema : Schema, optional
        Its longest list of levels is the number of values to remember, if that is more than `MAX_LEVELS`.
    tap : callable, optional
        Called with every chunk as it passes, for those who need the same rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.data import open_table
    >>> profile = scan(open_table(pd.DataFrame({"a": [1.5, 2.5, None], "b": ["u", "v", "v"]})), missing="drop")
    >>> profile.rows, profile.dropped, profile.columns["a"].missing
    (2, 1, 1)
    >>> profile.columns["a"].low, profile.columns["a"].high, dict(profile.columns["b"].levels)
    (1.5, 2.5, {'u': 1, 'v': 1})
    """
    if missing not in ("error", "drop"):
        raise InputError(f"missing must be 'error' or 'drop', not {missing!r}")
    limit = max([MAX_LEVELS, *(len(column.levels or ()) for column in (schema.columns if schema else ()))])
    profile, mixed = _scan(table, missing, chunk, limit, tap, frozenset())
    if mixed:
        # Text in one place and numbers in another: what pandas made of "01" depended on its neighbours. Read again.
        profile, _ = _scan(table, missing, chunk, limit, None, mixed)
    return profile


def _scan(
    table: Table,
    missing: Missing,
    chunk: int,
    limit: int,
    tap: Callable[[pd.DataFrame], None] | None,
    text: frozenset[str],
) -> tuple[TableProfile, frozenset[str]]:
    columns = {name: _ColumnScan(limit) for name in table.columns}
    total = dropped = 0
    for frame in table.chunks(chunk, text):
        if tap is not None:
            tap(frame)
        absent = frame.isna()
        for name, column in columns.items():
            column.missing += int(absent[name].sum())
        keep = ~absent.any(axis=1) if missing == "drop" else None
        total += len(frame)
        dropped += 0 if keep is None else len(frame) - int(keep.sum())
        for name, column in columns.items():
            column.update(frame[name][~absent[name] if keep is None else keep])
    profiles = {name: column.result(name) for name, column in columns.items()}
    mixed = frozenset(name for name, column in columns.items() if column.mixed)
    return TableProfile(table.name, total, dropped, MappingProxyType(profiles)), mixed


@dataclass
class _ColumnScan:
    """What is known of a column so far."""

    limit: int
    storages: set[Storage] = field(default_factory=set)
    dtype: str = ""
    missing: int = 0
    infinite: int = 0
    n: int = 0
    origin: float = 0.0
    offset: float = 0.0
    scatter: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    levels: dict[Any, int] = field(default_factory=dict)
    many: bool = False

    @property
    def mixed(self) -> bool:
        kinds = {"number" if storage == "integer" else storage for storage in self.storages}
        return "other" not in kinds and (len(kinds) > 1 or "mixed" in kinds)

    def update(self, series: pd.Series[Any]) -> None:
        if not len(series):
            return
        storage = storage_of(series)
        self.storages.add(storage)
        self.dtype = str(series.dtype)
        if storage in ("integer", "number", "boolean"):
            self._update_numbers(series.to_numpy(dtype=np.float64), count=storage != "boolean")
        if storage in ("text", "category", "boolean"):
            counts = series.value_counts()
            self._count(counts.index.tolist(), counts.to_numpy(dtype=np.int64))

    def _update_numbers(self, values: NDArray[np.float64], count: bool) -> None:
        finite = values[np.isfinite(values)]
        self.infinite += len(values) - len(finite)
        if not len(finite):
            return
        self.low = min(self.low, float(finite.min()))
        self.high = max(self.high, float(finite.max()))
        self.whole = self.whole and bool(np.all(finite == np.floor(finite)))
        # A number too large to square is reported as such later; here it must only not overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            if not self.n:
                self.origin = float(finite[0])
            moved = finite - self.origin
            offset = float(moved.mean())
            scatter = float(np.square(moved - offset).sum())
            n, delta = self.n + len(finite), offset - self.offset
            self.scatter += scatter + delta * delta * (self.n * len(finite) / n)
            self.offset += delta * len(finite) / n
        self.n = n
        if count and not self.many:
            distinct, counts = np.unique(finite, return_counts=True)
            self._count(distinct[: self.limit + 1].tolist(), counts)

    def _count(self, values: list[Any], counts: NDArray[np.integer[Any]]) -> None:
        for value, count in zip(values, counts, strict=False):
            if not count:
                continue
            level = level_text(value)
            if level not in self.levels and len(self.levels) == self.limit:
                self.many = True
                return
            self.levels[level] = self.levels.get(level, 0) + int(count)

    def result(self, name: str) -> ColumnProfile:
        numeric = self.n > 0
        return ColumnProfile(
            name,
            self._storage(),
            self.dtype,
            self.missing,
            self.infinite,
            numeric and self.whole,
            self.low if numeric else 0.0,
            self.high if numeric else 0.0,
            self.origin,
            self.offset,
            float(np.sqrt(self.scatter / self.n)) if numeric else 0.0,
            MappingProxyType(dict(self.levels)),
            self.many,
        )

    def _storage(self) -> Storage:
        if not self.storages:
            return "empty"
        if "other" in self.storages:
            return "other"
        if self.storages <= {"integer", "number"}:
            # pandas turns integers into floats where a value is missing; such a column is still one of integers.
            integer = self.n > 0 and self.whole and ("integer" in self.storages or self.missing > 0)
            return "integer" if integer else "number"
        return next(iter(self.storages)) if len(self.storages) == 1 else "text"


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
