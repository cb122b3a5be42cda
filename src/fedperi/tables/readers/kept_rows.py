"""Rows of a file, kept in memory after the first reading, so that a run reads each file once.

A run needs more than one pass over the rows of a table: the types of the columns depend on all sites, and so do the
ranges of the polynomials. The rows are parsed once and kept for the later passes, as long as there is room for them:
the first rows unchanged, the others packed, so that a table of measurements takes a third of its size. A file that does
not fit is read again in every pass.
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
"""Bytes for the kept rows of all tables of a run. With everything else, a run needs less than 1 GiB."""

PLAIN = 1 << 26
"""The part of these bytes for rows that are not packed. It is enough for small tables, which are then read faster:
packing takes an eighth of the time of parsing."""

WORTH = 0.75
"""Rows are kept packed if this takes at most this share of their bytes; otherwise packing would gain too little."""

UNPACKED = 1.75
"""Factor on the bytes of rows that packing does not make smaller, so that at most 256 MiB of them are kept. Such a file
has numbers with all digits, and much of it may be in memory while it is read, such as a row group of a Parquet file."""

PACKED = 4
"""Packing is expected to make a table at most this many times smaller. A table that would still not fit is not kept."""


class Memory:
    """The memory that the tables of one run share for their rows.

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

    def take(self, size: int, plain: bool = False) -> bool:
        """Reserve room, if there is enough: of that for rows that are not packed, if `plain`."""
        with self._lock:
            enough = size <= (min(self._left, self._plain) if plain else self._left)
            if enough:
                self._left -= size
                self._plain -= size if plain else 0
            return enough

    def give_back(self, size: int) -> None:
        """Release room that was reserved."""
        with self._lock:
            self._left += size


Kept = Union["pd.DataFrame", PackedFrame]


class KeptRows:
    """The function that reads the rows of a table, and keeps them when all of them have been read once."""

    def __init__(self, read: Callable[[int, frozenset[str]], Iterator[pd.DataFrame]], memory: Memory) -> None:
        self._read, self._memory = read, memory
        self._frames: list[Kept] | None = None
        self._text = frozenset[str]()

    def __call__(self, size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows in frames of at most `size`, from memory if they were kept in this form."""
        if size != CHUNK:
            return self._read(size, text)
        if self._frames is not None and self._text <= text and all(map(self._is_text, text - self._text)):
            return (frame.unpacked() if isinstance(frame, PackedFrame) else frame for frame in self._frames)
        return self._keeping(text)

    def _keeping(self, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows, and keep them if all of them were read and there is room for all."""
        frames: list[Kept] | None = []
        taken = 0
        try:
            for frame in self._read(CHUNK, text):
                if frames is not None:
                    kept, size = self._keep(frame)
                    if kept is None:  # there is no room for all rows, so none are kept
                        self._memory.give_back(taken)
                        frames, taken = None, 0
                    else:
                        frames.append(kept)
                        taken += size
                yield frame
            if frames is not None:
                self._frames, self._text, taken = frames, text, 0
        finally:
            self._memory.give_back(taken)

    def _keep(self, frame: pd.DataFrame) -> tuple[Kept | None, int]:
        """Return rows as they are kept, and the bytes that were reserved for them; None and 0 if there is no room."""
        size = int(frame.memory_usage(deep=True).sum())
        if self._memory.take(size, plain=True):
            return frame, size
        packed = PackedFrame.of(frame)
        kept, size = (packed, packed.size) if packed.size < WORTH * size else (frame, round(UNPACKED * size))
        return (kept, size) if self._memory.take(size) else (None, 0)

    def _is_text(self, name: str) -> bool:
        """Whether a column was stored as text although nobody asked for text when it was read."""
        return all(
            name in frame.text if isinstance(frame, PackedFrame) else holds_text(frame[name])
            for frame in self._frames or ()
        )


def keep_rows(table: Table, memory: Memory) -> Table:
    r"""Return a table that reads its file only once if its rows fit into memory; a DataFrame is returned unchanged.

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
        return table  # keeping the rows until there is no more room would take as long as parsing them
    return replace(table, _read=KeptRows(table._read, memory))
