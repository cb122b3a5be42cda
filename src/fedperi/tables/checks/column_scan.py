"""What is known about a column while its table is read; numbers of many columns are added at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..levels import level_text, style_of

Storage = Literal["integer", "number", "boolean", "text", "category", "mixed", "empty", "other"]
Floats = NDArray[np.float64]

PEEK = 64  # values of a column that usually show that not all are whole


@dataclass(frozen=True)
class ColumnProfile:
    """What one column of one site holds.

    ``levels`` counts the rows of each value, up to `fedperi.tables.checks.profile.MAX_LEVELS` values or as many as
    a schema declares (``many`` says that there are more). Numbers are counted only if needed: all of them in a column
    that a schema calls categorical, none in one that it calls continuous. If the schema says nothing, numbers may be
    codes as long as they are whole and few; otherwise ``levels`` is empty and ``many`` true.

    ``low``, ``high``, the mean and ``scale`` (standard deviation, divided by n) describe the finite numbers; they are
    zero if there are none. The mean is ``origin + offset``, where the origin is the first number: kept apart, they lose
    no digits in a column far from zero. Origin, offset and scale are nan if they were not asked for. ``whole`` says
    that all numbers are whole.
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
        """Return the number of rows of each level of a schema; the table may spell the levels differently."""
        style = style_of(levels)
        rows = dict.fromkeys(levels, 0)
        for level, count in self.levels.items():
            name = level_text(level, style)
            rows[name] = rows.get(name, 0) + count
        return [rows[level] for level in levels]


@dataclass
class ColumnScan:
    """What is known about a column so far."""

    limit: int  # the number of different values to remember
    count: bool | None = None  # whether to count numbers; if None, as long as all are whole
    spread: bool = True  # whether to find mean and standard deviation
    storages: set[Storage] = field(default_factory=set)
    dtype: object = ""
    missing: int = 0
    infinite: int = 0
    n: int = 0
    origin: float = 0.0
    offset: float = 0.0
    scatter: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    numbers: dict[float, int] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    many: bool = False

    @property
    def mixed(self) -> bool:
        """Whether values of several kinds were seen."""
        kinds = {"number" if storage == "integer" else storage for storage in self.storages}
        return "other" not in kinds and (len(kinds) > 1 or "mixed" in kinds)

    def see(self, storage: Storage, dtype: object) -> None:
        """Note the type in which the next values are stored."""
        self.storages.add(storage)
        self.dtype = dtype

    def add_levels(self, counts: Iterable[tuple[Any, int]]) -> None:
        """Count values that are not numbers."""
        for value, count in counts:
            if not count:  # a category of pandas that no row has
                continue
            level = level_text(value)
            if level not in self.levels and len(self.levels) == self.limit:
                self.many = True
                return
            self.levels[level] = self.levels.get(level, 0) + int(count)

    def add_codes(self, values: Floats, low: float, high: float) -> None:
        """Count finite numbers, if their counts can still be needed."""
        if not self._counted or self.many:
            return
        distinct, counts = _distinct(values, low, high, self.whole)
        # Numbers are turned into text at the end, and only if someone will read it: most columns have too many.
        for value, count in zip(distinct[: self.limit + 1].tolist(), counts.tolist(), strict=False):
            if value not in self.numbers and len(self.numbers) == self.limit:
                self.many = True
                return
            self.numbers[value] = self.numbers.get(value, 0) + count

    def add_spread(self, n: int, offset: float, scatter: float) -> None:
        """Merge the mean, relative to the origin, and the scatter of `n` more numbers."""
        total, delta = self.n + n, offset - self.offset
        self.scatter += scatter + delta * delta * (self.n * n / total)
        self.offset += delta * n / total

    def result(self, name: str) -> ColumnProfile:
        """Say what the column holds."""
        numeric = self.n > 0
        many = self.many or (numeric and "boolean" not in self.storages and not self._counted)
        codes = {} if many and not self.count else self.numbers
        return ColumnProfile(
            name,
            self._storage(),
            str(self.dtype),
            self.missing,
            self.infinite,
            numeric and self.whole,
            self.low if numeric else 0.0,
            self.high if numeric else 0.0,
            self.origin if self.spread else np.nan,
            self.offset if self.spread else np.nan,
            np.nan if not self.spread else float(np.sqrt(self.scatter / self.n)) if numeric else 0.0,
            MappingProxyType(self.levels | {level_text(number): count for number, count in codes.items()}),
            many,
        )

    @property
    def _counted(self) -> bool:
        return self.whole if self.count is None else self.count

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


def add_numbers(columns: Sequence[ColumnScan], block: Floats, codes: bool = True) -> None:
    """Add numbers to several columns, one row of the block for each column; missing ones (nan) are skipped.

    Each step is one operation on the whole block: with many columns of few rows, the overhead of calls dominates.

    Examples
    --------
    >>> columns = [ColumnScan(100), ColumnScan(100)]
    >>> add_numbers(columns, np.array([[1.0, 2.0, 2.0], [0.5, np.inf, np.nan]]))
    >>> columns[0].numbers, columns[1].whole, columns[1].n, columns[1].infinite
    ({1.0: 1, 2.0: 2}, False, 1, 1)
    """
    n = block.shape[1]
    if not n or not columns:
        return
    low, high = block.min(axis=1), block.max(axis=1)
    sound = np.isfinite(low) & np.isfinite(high)  # both are finite only if all numbers are
    if not sound.all():
        for column, line in zip(compress(columns, ~sound), block[~sound], strict=True):
            finite = line[np.isfinite(line)]
            column.infinite += n - len(finite) - int(np.isnan(line).sum())
            add_numbers([column], finite[None], codes)
        columns, block = list(compress(columns, sound)), block[sound]
        add_numbers(columns, block, codes)
        return
    whole = _whole(columns, block)
    spreads = _spreads(columns, block) if columns[0].spread else ()
    lows, highs = low.tolist(), high.tolist()
    for i, column in enumerate(columns):
        column.low, column.high = min(column.low, lows[i]), max(column.high, highs[i])
        column.whole = whole[i]
        if spreads:
            column.add_spread(n, *spreads[i])
        column.n += n
        if codes:
            column.add_codes(block[i], lows[i], highs[i])


def _whole(columns: Sequence[ColumnScan], block: Floats) -> list[bool]:
    """Say of every column whether its numbers have all been whole so far."""
    whole = np.array([column.whole for column in columns])
    for part in (block[:, :PEEK], block[:, PEEK:]):
        at = np.flatnonzero(whole)
        if not len(at):
            break
        some = part if len(at) == len(part) else part[at]
        whole[at] = (some == np.floor(some)).all(axis=1)
    return [bool(one) for one in whole]


def _spreads(columns: Sequence[ColumnScan], block: Floats) -> list[tuple[float, float]]:
    """Return mean and scatter of every row of a block, relative to the column's origin."""
    for column, first in zip(columns, block[:, 0].tolist(), strict=True):
        if not column.n:
            column.origin = first
    # A number that is too large to be squared is reported later; here it must not raise a warning.
    with np.errstate(over="ignore", invalid="ignore"):
        moved = block - np.array([[column.origin] for column in columns])
        offset = moved.mean(axis=1)
        moved -= offset[:, None]
        scatter = np.square(moved, out=moved).sum(axis=1)
    return list(zip(offset.tolist(), scatter.tolist(), strict=True))


def _distinct(values: Floats, low: float, high: float, whole: bool) -> tuple[Floats, NDArray[np.integer[Any]]]:
    """Return the different values in order, and how often each occurs."""
    if whole and high - low < len(values):  # counting is faster than sorting
        counts = np.bincount((values - low).astype(np.intp))
        places = np.flatnonzero(counts)
        return low + places.astype(np.float64), counts[places]
    return np.unique(values, return_counts=True)


def two_values(parts: Sequence[ColumnProfile]) -> bool:
    """Whether a column holds only two whole numbers at all sites together: yes and no, as numbers."""
    distinct = {level for part in parts for level in part.levels}
    return len(distinct) == 2 and all(part.whole and not part.many for part in parts)
