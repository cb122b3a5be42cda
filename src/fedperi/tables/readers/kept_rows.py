"""Rows of a file, kept in memory after the first reading, so that a run reads each file once.

What is computed from a table needs more than one pass over its rows: the types of the columns depend on all sites, and
polynomials beside a number depend on its range at all sites. The rows are parsed once and kept for the later passes, as
long as there is room for them. A file that does not fit is read again for every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from ..table import CHUNK, Table

if TYPE_CHECKING:
    import pandas as pd

ROOM = 1 << 28
"""Bytes of rows that are kept for all tables of a run together: twice 10 files of 50,000 rows and 30 columns."""


class Memory:
    """The room that the tables of one run share.

    Examples
    --------
    >>> memory = Memory(100)
    >>> memory.take(60), memory.take(60)
    (True, False)
    """

    def __init__(self, room: int | None = None) -> None:
        self._left = ROOM if room is None else room
        self._lock = Lock()

    def holds(self, size: int) -> bool:
        """Whether there is room for so many bytes."""
        return size <= self._left

    def take(self, size: int) -> bool:
        """Reserve room, if there is enough."""
        with self._lock:
            enough = size <= self._left
            self._left -= size if enough else 0
            return enough

    def give_back(self, size: int) -> None:
        """Release room that was reserved."""
        with self._lock:
            self._left += size


class KeptRows:
    """Reads the rows of a table, and keeps them the first time that all of them were read."""

    def __init__(self, read: Callable[[int, frozenset[str]], Iterator[pd.DataFrame]], memory: Memory) -> None:
        self._read, self._memory = read, memory
        self._frames: list[pd.DataFrame] | None = None
        self._text = frozenset[str]()

    def __call__(self, size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows in frames of at most `size`, from memory if they are there in this form."""
        if size != CHUNK:
            return self._read(size, text)
        if self._frames is not None and self._text <= text and all(map(self._is_text, text - self._text)):
            return iter(self._frames)
        return self._keeping(text)

    def _keeping(self, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        frames: list[pd.DataFrame] | None = []
        taken = 0
        try:
            for frame in self._read(CHUNK, text):
                size = int(frame.memory_usage(deep=True).sum())
                if frames is not None and self._memory.take(size):
                    frames.append(frame)
                    taken += size
                elif frames is not None:
                    frames = None
                    self._memory.give_back(taken)
                    taken = 0
                yield frame
        except BaseException:
            self._memory.give_back(taken)
            raise
        if frames is not None:
            self._frames, self._text = frames, text

    def _is_text(self, name: str) -> bool:
        """Whether a column is stored as text, so that it does not matter that it was read without saying so."""
        return all(_holds_text(frame[name]) for frame in self._frames or ())


def keep_rows(table: Table, memory: Memory) -> Table:
    r"""Return a table that reads its file once, if its rows fit into memory; one that is in memory stays as it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fedperi.tables import open_table
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_text("a,b\n1,2\n3,4\n")
    >>> table = keep_rows(open_table(file), Memory())
    >>> first = list(table.chunks())
    >>> file.unlink()
    >>> next(table.chunks()) is first[0]
    True
    """
    if not table.is_file or isinstance(table._read, KeptRows) or not memory.holds(table.least):
        return table  # to begin with keeping what will not fit would cost as much as to parse it
    return replace(table, _read=KeptRows(table._read, memory))


def _holds_text(series: pd.Series) -> bool:
    import pandas as pd

    if series.dtype == object:
        return pd.api.types.infer_dtype(series, skipna=True) == "string"
    return isinstance(series.dtype, pd.StringDtype | pd.CategoricalDtype)
