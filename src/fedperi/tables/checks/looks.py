"""Take a closer look at columns of numbers while a table is read: codes, edges of the range, order, and a sample.

It needs no further pass over the rows, and a bounded amount of memory: of each column at most `SAMPLE` values are kept,
spread evenly over the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

SAMPLE = 4096
"""Values of a column that are kept: enough for quantiles to a hundredth of a standard deviation or two."""

CODES = (-99999, -9999, -999, -998, -997, -99, -98, -97, -9, -8, -7, -1, 0, 9, 97, 98, 99, 997, 998, 999, 9999, 99999)
"""Numbers that are often used as codes for "not known", "refused" or "does not apply"."""

FIRST_DATE, LAST_DATE = 19000101, 21001231


@dataclass(frozen=True, eq=False)
class NumberLook:
    """What a closer look at the finite numbers of one column found.

    ``low`` and ``high`` are the smallest and largest value, each with the number of rows that hold it and the next
    value, ``above`` or ``below``. ``inner_low`` and ``inner_high`` are the smallest and largest value that is not among
    `CODES`. ``sample`` is sorted; ``distinct`` says that none of its values occurs twice, ``dates`` that all may be
    dates such as 20240131. ``rising`` and ``falling`` are about the order of the rows, and false if they have no order.
    """

    n: int
    low: float
    low_rows: int
    above: float
    high: float
    high_rows: int
    below: float
    inner_low: float
    inner_high: float
    codes: Mapping[int, int]
    sample: Floats
    whole: bool
    distinct: bool
    dates: bool
    rising: bool
    falling: bool

    def inner(self, codes: tuple[float, ...]) -> Floats:
        """Return the sample without some codes."""
        return self.sample[~np.isin(self.sample, codes)]


@dataclass
class _Edge:
    """The smallest value so far, the rows that hold it, and the next larger one."""

    value: float = np.inf
    rows: int = 0
    following: float = np.inf

    def add(self, values: Floats) -> None:
        least = float(values.min())
        larger = values[values > least]
        rows, second = len(values) - len(larger), float(larger.min()) if len(larger) else np.inf
        low = min(self.value, least)
        self.rows = (self.rows if self.value == low else 0) + (rows if least == low else 0)
        self.following = min(one for one in (self.value, least, self.following, second, np.inf) if one > low)
        self.value = low


@dataclass
class _Scan:
    low: _Edge = field(default_factory=_Edge)
    high: _Edge = field(default_factory=_Edge)  # of the values with their sign changed
    n: int = 0
    stride: int = 1
    sample: Floats = field(default_factory=lambda: np.empty(0))
    codes: dict[int, int] = field(default_factory=dict)
    inner: tuple[float, float] = (np.inf, -np.inf)
    whole: bool = True
    last: float | None = None
    rising: bool = True
    falling: bool = True

    def add(self, column: Floats) -> None:
        values = column[np.isfinite(column)]
        if not len(values):
            return
        self.low.add(values)
        self.high.add(-values)
        whole = values == np.floor(values)
        self.whole = self.whole and bool(whole.all())
        self._count_codes(values, whole)
        self._follow(values)
        self._keep(values)
        self.n += len(values)

    def _count_codes(self, values: Floats, whole: NDArray[np.bool_]) -> None:
        coded = whole
        coded[whole] = np.isin(values[whole], CODES)
        if coded.any():
            for code, rows in zip(*np.unique(values[coded], return_counts=True), strict=True):
                self.codes[int(code)] = self.codes.get(int(code), 0) + int(rows)
        inner = values[~coded]
        if len(inner):
            self.inner = min(self.inner[0], float(inner.min())), max(self.inner[1], float(inner.max()))

    def _follow(self, values: Floats) -> None:
        if self.rising or self.falling:
            line = values if self.last is None else np.concatenate([[self.last], values])
            steps = np.diff(line)
            self.rising = self.rising and bool((steps >= 0).all())
            self.falling = self.falling and bool((steps <= 0).all())
            self.last = float(values[-1])

    def _keep(self, values: Floats) -> None:
        """Keep every value whose number is a multiple of the stride, which doubles when there are too many."""
        first = -self.n % self.stride
        self.sample = np.concatenate([self.sample, values[first :: self.stride]])
        while len(self.sample) > SAMPLE:
            self.sample, self.stride = self.sample[::2], 2 * self.stride

    def result(self) -> NumberLook:
        low, high, sample = self.low, self.high, np.sort(self.sample)
        return NumberLook(
            self.n,
            low.value,
            low.rows,
            low.following,
            -high.value,
            high.rows,
            -high.following,
            *self.inner,
            MappingProxyType(dict(self.codes)),
            sample,
            self.whole,
            len(np.unique(sample)) == len(sample),
            bool(may_be_dates(sample).all()),
            self.rising,
            self.falling,
        )


class Looks:
    """Take a closer look at each chunk of a table while it is read.

    Examples
    --------
    >>> import pandas as pd
    >>> looks = Looks()
    >>> looks.add(pd.DataFrame({"chol": [212.0, 0, 0, 180], "sex": ["f", "m", "m", "f"]}))
    >>> found = looks.result()
    >>> found["chol"].low_rows, found["chol"].above, dict(found["chol"].codes), list(found)
    (2, 180.0, {0: 2}, ['chol'])
    """

    def __init__(self) -> None:
        self._scans: dict[str, _Scan] = {}
        self._words: set[str] = set()

    def add(self, frame: pd.DataFrame) -> None:
        """Take in the next rows."""
        from pandas.api import types

        for name in frame.columns:
            series = frame[name]
            other = types.is_bool_dtype(series.dtype) or types.is_complex_dtype(series.dtype)
            if types.is_numeric_dtype(series.dtype) and not other:
                self._scans.setdefault(name, _Scan()).add(series.to_numpy(dtype=np.float64, na_value=np.nan))
            elif name not in self._words and not series.isna().all():
                self._words.add(name)

    def result(self) -> dict[str, NumberLook]:
        """Return what was found about every column that holds only numbers."""
        return {name: scan.result() for name, scan in self._scans.items() if name not in self._words and scan.n}


def may_be_dates(values: Any) -> Any:
    """Say which of some whole numbers may be dates, written as year, month and day.

    Examples
    --------
    >>> may_be_dates(np.array([20240131.0, 20241301.0])).tolist()
    [True, False]
    """
    month, day = (values // 100) % 100, values % 100
    inside = (values >= FIRST_DATE) & (values <= LAST_DATE)
    return inside & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)


def spread_of(values: Floats) -> tuple[float, float]:
    """Return the median, and a standard deviation computed from quartiles, which single values cannot change.

    Examples
    --------
    >>> median, spread = spread_of(np.array([*range(101), 10.0**9]))
    >>> median, round(spread)
    (50.5, 37)
    """
    if not len(values):
        return np.nan, 0.0
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(middle), float(high - low) / 1.349
