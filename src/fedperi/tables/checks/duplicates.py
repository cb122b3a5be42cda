"""Find repeated rows and repeated tables by hashes of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .findings import Finding, quoted

if TYPE_CHECKING:
    import pandas as pd

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a hash is lost

REMEMBERED = 2_000_000  # rows whose hashes are kept to find copies: 16 MB; later rows are not compared


class RowHashes:
    """Hashes of the rows of one table, gathered chunk by chunk.

    Attributes
    ----------
    seen, copies : int
        The rows that were compared, and how many of them repeat an earlier one.
    incomplete : int
        The rows in which a value is missing, among all rows.

    Examples
    --------
    >>> import pandas as pd
    >>> hashes = RowHashes()
    >>> hashes.add(pd.DataFrame({"a": [1, 1, 2], "b": [3, 3, 3]}))
    >>> hashes.seen, hashes.copies
    (3, 1)
    """

    def __init__(self) -> None:
        self.seen = 0
        self.incomplete = 0
        self._rows = 0
        self._sum = 0
        self._parts: list[NDArray[np.integer[Any]]] = []
        self._distinct: NDArray[np.integer[Any]] | None = None

    def add(self, frame: pd.DataFrame) -> None:
        """Take in the next rows."""
        import pandas as pd

        hashes, lacking = np.zeros(len(frame), dtype=np.uint64), np.zeros(len(frame), dtype=bool)
        # By name, so that the order of the columns does not matter; numbers as floats, because whether a chunk was
        # read as integers depends on its other rows. Column by column: pandas' hash of rows would copy them first.
        for name in sorted(frame.columns):
            values, gaps = _plain(frame[name])
            hashes *= _FACTOR
            hashes += pd.util.hash_array(values)
            lacking |= gaps
        self.incomplete += int(lacking.sum())
        self._distinct = None
        self._rows += len(hashes)
        self._sum = (self._sum + int(hashes.sum())) % 2**64
        rest = REMEMBERED - self.seen
        if rest > 0:
            self._parts.append(hashes[:rest])
            self.seen += len(hashes[:rest])

    @property
    def copies(self) -> int:
        """The rows that repeat an earlier one."""
        return self.seen - len(self.different())

    def different(self, every: int = 1) -> NDArray[np.integer[Any]]:
        """Return the sorted hashes of the different rows, or of about one in `every`: the same rows in all tables.

        Examples
        --------
        >>> import pandas as pd
        >>> hashes = RowHashes()
        >>> hashes.add(pd.DataFrame({"a": [1.5, 2.5, 2.5]}))
        >>> len(hashes.different())
        2
        """
        if self._distinct is None:
            # np.unique uses a hash table, which takes many times longer than sorting.
            parts = np.sort(np.concatenate(self._parts)) if self._parts else np.empty(0, dtype=np.uint64)
            self._distinct = parts[np.diff(parts, prepend=~parts[:1]) != 0]
        return self._distinct[self._distinct % np.uint64(every) == 0] if every > 1 else self._distinct

    def shared_with(self, other: RowHashes, every: int = 1) -> int:
        """Count the different rows that another table has too, or estimate it from one row in `every`.

        Examples
        --------
        >>> import pandas as pd
        >>> some, others = RowHashes(), RowHashes()
        >>> some.add(pd.DataFrame({"a": [1.5, 2.5, 2.5]}))
        >>> others.add(pd.DataFrame({"a": [2.5, 3.5]}))
        >>> some.shared_with(others)
        1
        """
        return every * len(np.intersect1d(self.different(every), other.different(every), assume_unique=True))

    @property
    def content(self) -> tuple[int, int]:
        """Two numbers that are equal for tables with the same rows, in any order."""
        return self._rows, self._sum


def same_content(sites: Sequence[tuple[str, Sequence[str], RowHashes]]) -> list[Finding]:
    """Find sites that hold the same rows; each site is given with its columns.

    Examples
    --------
    >>> import pandas as pd
    >>> some, others = RowHashes(), RowHashes()
    >>> some.add(pd.DataFrame({"a": [1.5, 2.5]}))
    >>> others.add(pd.DataFrame({"a": [2.5, 1.5]}))
    >>> print(same_content([("lyon", "a", some), ("metz", "a", others)])[0])
    sites 'lyon', 'metz' hold the same rows; give every site's table once, or its rows count twice
    """
    by_content: dict[tuple[object, ...], list[str]] = {}
    for site, columns, hashes in sites:
        by_content.setdefault((*sorted(columns), *hashes.content), []).append(site)
    remedy = "give every site's table once, or its rows count twice"
    return [
        Finding("warning", None, (), f"sites {quoted(names)} hold the same rows", remedy)
        for names in by_content.values()
        if len(names) > 1
    ]


def _plain(column: pd.Series[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return values in a form that does not depend on how they are stored, and which of them are missing."""
    from pandas.api import types

    if types.is_numeric_dtype(column.dtype) and not types.is_complex_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, np.isnan(values)
    return column.astype(str).to_numpy(dtype=object), column.isna().to_numpy(dtype=bool)
