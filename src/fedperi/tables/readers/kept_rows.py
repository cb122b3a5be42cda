"""Rows of a file, kept in memory after the first reading, so that a run reads each file once.

What is computed from a table needs more than one pass over its rows: the types of the columns depend on all sites, and
polynomials beside a number depend on its range at all sites. The rows are parsed once and kept for the later passes, as
long as there is room for them: the first ones as they are, and then packed, so that a table of measurements takes a
third of its size. A file that does not fit is read again for every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Union

from ..table import CHUNK, Table
from .packed import PackedFrame, holds_text

if TYPE_CHECKING:
    import pandas as pd

ROOM = 7 << 26
"""Bytes of rows that are kept for all tables of a run together: with all else that a run needs, less than 1 GiB."""

PLAIN = 1 << 26
"""Bytes among these for rows as they are. Small tables need no more; packing takes an eighth of the time of parsing."""

WORTH = 0.75
"""Rows are packed if they are smaller by this factor at least; what is not packed would be copied for nothing."""

UNPACKED = 1.75
"""How much more room other rows take, so that there are at most 256 MiB of them. Their file holds numbers with all
digits; a large part of it may be in memory while it is read, such as the groups of rows of a Parquet file."""

PACKED = 4
"""How many times smaller packing may make a table, when it is judged whether it fits into the room."""


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
        self._plain = min(PLAIN, self._left)
        self._lock = Lock()

    def holds(self, size: int) -> bool:
        """Whether there is room for a number of bytes."""
        return size <= self._left

    def take(self, size: int) -> bool:
        """Reserve room, if there is enough."""
        with self._lock:
            enough = size <= self._left
            self._left -= size if enough else 0
            return enough

    def take_plain(self, size: int) -> bool:
        """Reserve room for rows as they are, if there is enough."""
        with self._lock:
            enough = size <= min(self._left, self._plain)
            self._left -= size if enough else 0
            self._plain -= size if enough else 0
            return enough

    def give_back(self, size: int) -> None:
        """Release room that was reserved."""
        with self._lock:
            self._left += size


Kept = Union["pd.DataFrame", PackedFrame]


class KeptRows:
    """Reads the rows of a table, and keeps them the first time that all of them were read."""

    def __init__(self, read: Callable[[int, frozenset[str]], Iterator[pd.DataFrame]], memory: Memory) -> None:
        self._read, self._memory = read, memory
        self._frames: list[Kept] | None = None
        self._text = frozenset[str]()

    def __call__(self, size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows in frames of at most `size`, from memory if they are there in this form."""
        if size != CHUNK:
            return self._read(size, text)
        if self._frames is not None and self._text <= text and all(map(self._is_text, text - self._text)):
            return (frame.unpacked() if isinstance(frame, PackedFrame) else frame for frame in self._frames)
        return self._keeping(text)

    def _keeping(self, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        frames: list[Kept] | None = []
        taken = 0
        try:
            for frame in self._read(CHUNK, text):
                if frames is not None:
                    kept, size = self._kept(frame)
                    taken += size
                    if kept is not None:
                        frames.append(kept)
                    else:
                        frames = None
                        self._memory.give_back(taken)
                        taken = 0
                yield frame
        except BaseException:
            self._memory.give_back(taken)
            raise
        if frames is not None:
            self._frames, self._text = frames, text

    def _kept(self, frame: pd.DataFrame) -> tuple[Kept | None, int]:
        """Return rows as they are kept, and their bytes, for which room is reserved; None if there is none."""
        size = int(frame.memory_usage(deep=True).sum())
        if self._memory.take_plain(size):
            return frame, size
        packed = PackedFrame.of(frame)
        kept, size = (packed, packed.size) if packed.size < WORTH * size else (frame, round(UNPACKED * size))
        return (kept, size) if self._memory.take(size) else (None, 0)

    def _is_text(self, name: str) -> bool:
        """Whether a column is stored as text, so that it does not matter that it was read without saying so."""
        return all(_holds_text(frame, name) for frame in self._frames or ())


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
    if not table.is_file or isinstance(table._read, KeptRows) or not memory.holds(table.least // PACKED):
        return table  # to begin with keeping what will not fit would cost as much as to parse it
    return replace(table, _read=KeptRows(table._read, memory))


def _holds_text(frame: Kept, name: str) -> bool:
    return name in frame.text if isinstance(frame, PackedFrame) else holds_text(frame[name])
