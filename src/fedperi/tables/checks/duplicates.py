"""Repeated rows and repeated tables, found by hashes of the rows."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from .profile import TableProfile

REMEMBERED = 2_000_000  # rows whose hashes are kept to find copies: 16 MB; later rows are not looked at


class RowHashes:
    """Hashes of the rows of one table, gathered chunk by chunk.

    Attributes
    ----------
    seen, copies : int
        The rows looked at, and those among them that repeat an earlier one.
    incomplete : int
        The rows in which a value is missing, among all.

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

    def add(self, frame: pd.DataFrame) -> None:
        """Take in the next rows."""
        import pandas as pd

        self.incomplete += int(frame.isna().any(axis=1).sum())
        # By name, so that the order of the columns does not matter; numbers as floats, because whether a chunk was
        # read as integers depends on its other rows.
        plain = {name: _plain(frame[name]) for name in sorted(frame.columns)}
        hashes = pd.util.hash_pandas_object(pd.DataFrame(plain), index=False).to_numpy(dtype=np.uint64)
        self._rows += len(hashes)
        self._sum = (self._sum + int(hashes.sum())) % 2**64
        rest = REMEMBERED - self.seen
        if rest > 0:
            self._parts.append(hashes[:rest])
            self.seen += len(hashes[:rest])

    @property
    def copies(self) -> int:
        """The rows that repeat an earlier one."""
        return self.seen - len(np.unique(np.concatenate(self._parts))) if self._parts else 0

    def different(self, every: int = 1) -> NDArray[np.integer[Any]]:
        """Return the hashes of the different rows, in order; of about one row in `every`, the same ones in all tables.

        Examples
        --------
        >>> import pandas as pd
        >>> hashes = RowHashes()
        >>> hashes.add(pd.DataFrame({"a": [1.5, 2.5, 2.5]}))
        >>> len(hashes.different())
        2
        """
        parts = [part[part % np.uint64(every) == 0] if every > 1 else part for part in self._parts]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.uint64)

    @property
    def content(self) -> tuple[int, int]:
        """Numbers that are equal for two tables with the same rows, in whatever order."""
        return self._rows, self._sum


def known_rows(profile: TableProfile) -> RowHashes:
    """Stand in for hashes where rows stay in a database: equal tables are told by what is known of all columns."""
    hashes = RowHashes()
    hashes.incomplete = profile.dropped or max((column.missing for column in profile.columns.values()), default=0)
    known = [
        (name, one.missing, *(f"{x:.9g}" for x in (one.low, one.high, one.origin + one.offset, one.scale)))
        for name, one in sorted(profile.columns.items())
    ]
    hashes.seen = profile.total
    hashes._rows = profile.total
    hashes._sum = int.from_bytes(sha256(repr(known).encode()).digest()[:8])
    return hashes


def _plain(column: pd.Series[Any]) -> object:
    from pandas.api import types

    if types.is_numeric_dtype(column.dtype) and not types.is_complex_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.astype(str).to_numpy(dtype=object)
