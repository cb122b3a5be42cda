"""Rows packed into little memory: numbers of few digits as small whole numbers, repeated text as codes.

Nothing is rounded: unpacked rows are bit by bit equal to the original rows. A column that cannot be packed in this way
stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .plain import is_plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

DIGITS = 6
"""The most digits after the decimal point for which numbers are packed."""

BYTES = 4
"""The most bytes of a packed number; with more, packing saves too little."""

LARGEST = 2.0**53
"""Whole numbers up to this one are exact as floats."""

PEEK = 64
"""How many numbers of a column are tried first: they usually show how many digits it has."""

Unpack = Callable[[], Any]


@dataclass(frozen=True, eq=False)
class PackedFrame:
    """The rows of a DataFrame, packed column by column.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": [41.5, None, 37.25] * 1000, "sex": ["f", "m", "m"] * 1000})
    >>> packed = PackedFrame.of(rows)
    >>> packed.unpacked().equals(rows), packed.size < int(rows.memory_usage(deep=True).sum()) / 4
    (True, True)
    """

    index: pd.Index[Any]
    columns: dict[str, Unpack]
    dtypes: dict[str, Any]
    text: frozenset[str]
    size: int

    @classmethod
    def of(cls, frame: pd.DataFrame) -> PackedFrame:
        """Pack the rows of a frame."""
        packed = {name: _packed(frame[name]) for name in frame.columns}
        text = frozenset(name for name in frame.columns if holds_text(frame[name]))
        size = sum(size for _, size in packed.values())
        unpack = {name: unpack for name, (unpack, _) in packed.items()}
        return cls(frame.index, unpack, {name: frame[name].dtype for name in frame.columns}, text, size)

    def unpacked(self) -> pd.DataFrame:
        """Return the original rows."""
        import pandas as pd

        columns = {
            name: pd.Series(unpack(), index=self.index, dtype=self.dtypes[name], copy=False)
            for name, unpack in self.columns.items()
        }
        return pd.DataFrame(columns, copy=False)


def holds_text(series: pd.Series[Any]) -> bool:
    """Whether a column is stored as text."""
    import pandas as pd

    if series.dtype == object:
        return pd.api.types.infer_dtype(series, skipna=True) == "string"
    return isinstance(series.dtype, pd.StringDtype | pd.CategoricalDtype)


def _packed(series: pd.Series[Any]) -> tuple[Unpack, int]:
    """Return a function that returns the values of a column, and the bytes that it keeps in memory."""
    import pandas as pd

    packed = None
    if not len(series):
        return series.array.copy, 0
    if is_plain(series.dtype, "iu"):
        packed = _whole(series.to_numpy())
    elif series.dtype == np.float64:
        with np.errstate(over="ignore", invalid="ignore"):  # numbers too large to be packed
            packed = _decimal(series.to_numpy())
    elif isinstance(series.dtype, pd.StringDtype) or (
        series.dtype == object and pd.api.types.infer_dtype(series, skipna=False) == "string"
    ):
        packed = _text(series)
    if packed is not None:
        return packed
    values = series.array.copy()  # a view would keep all columns of the chunk in memory
    return lambda: values, int(series.memory_usage(index=False, deep=True))


def _text(series: pd.Series[Any]) -> tuple[Unpack, int] | None:
    import pandas as pd

    codes, levels = pd.factorize(series)
    if len(levels) > len(codes) // 4:
        return None
    small = codes.astype(np.min_scalar_type(-1 - len(levels)))
    held: Any = pd.Index(levels, dtype=series.dtype).array
    held = held.take(np.arange(len(held)))  # a copy: levels may be a view of the whole column
    return lambda: held.take(small.astype(np.intp), allow_fill=True), small.nbytes + int(held.nbytes)


def _whole(values: NDArray[Any]) -> tuple[Unpack, int] | None:
    low, high, kind = int(values.min()), int(values.max()), values.dtype
    width = _width(high - low)
    if width > BYTES or width >= kind.itemsize:
        return None
    small = _shortened((values - kind.type(low)).astype(np.uint32), width)
    return lambda: _widened(small).astype(kind) + kind.type(low), small.nbytes


def _unpack_decimals(small: NDArray[np.uint8], low: float, unit: float, gap: int | None) -> Floats:
    codes = _widened(small)
    values = codes.astype(np.float64)
    values += low
    values /= unit
    if gap is not None:
        values[codes == gap] = np.nan
    return values


def _decimal(values: Floats) -> tuple[Unpack, int] | None:
    """Pack floats that are whole numbers divided by a power of ten, as differences from the lowest of these."""
    gaps = np.isnan(values)
    there = np.where(gaps, values[gaps.argmin()], values) if gaps.any() else values  # without gaps
    for digits in range(DIGITS + 1):
        unit = 10.0**digits
        if not _same(np.rint(there[:PEEK] * unit) / unit, there[:PEEK]):
            continue
        scaled = there * unit
        np.rint(scaled, out=scaled)
        low, high = float(scaled.min()), float(scaled.max())
        if max(-low, high) >= LARGEST or _width(high - low + 1) > BYTES:
            return None
        if _same(scaled / unit + 0.0, there):  # no whole number is -0: such a column is not packed
            scaled -= low
            gap = int(high - low) + 1 if there is not values else None
            if gap is not None:
                scaled[gaps] = gap
            small = _shortened(scaled.astype(np.uint32), _width(high - low + 1))
            return partial(_unpack_decimals, small, low, unit, gap), small.nbytes
    return None


def _same(some: Floats, others: Floats) -> bool:
    """Whether numbers are equal to the last bit; 0 and -0 are not."""
    return np.array_equal(np.ascontiguousarray(some).view(np.int64), np.ascontiguousarray(others).view(np.int64))


def _width(largest: float) -> int:
    """Return the bytes that a whole number needs."""
    return (max(int(largest), 1).bit_length() + 7) // 8


def _shortened(codes: NDArray[np.uint32], width: int) -> NDArray[np.uint8]:
    """Keep the lowest bytes of each code."""
    return np.ascontiguousarray(codes.astype("<u4", copy=False).view(np.uint8).reshape(-1, 4)[:, :width])


def _widened(small: NDArray[np.uint8]) -> NDArray[np.uint32]:
    if small.shape[1] == 4:
        return small.view("<u4")[:, 0]
    codes = np.zeros((len(small), 4), np.uint8)
    codes[:, : small.shape[1]] = small
    return codes.view("<u4")[:, 0]
