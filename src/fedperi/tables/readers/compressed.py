"""Compressed text files: gzip, bzip2, xz and Zstandard, told by their first bytes and not by their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...errors import InputError

LONGEST_MARK = 6
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


def is_compressed(start: bytes) -> bool:
    r"""Say whether a file that begins with these bytes is compressed.

    Examples
    --------
    >>> is_compressed(b"\x1f\x8b\x08\x00"), is_compressed(b"age,sex")
    (True, False)
    """
    return start.startswith((_GZIP, _BZIP2, _XZ, _ZSTD))


def unpacked(path: Path) -> BinaryIO:
    """Open what is compressed in a file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv.xz"
    >>> _ = file.write_bytes(lzma.compress(b"a,b"))
    >>> with unpacked(file) as stream:
    ...     stream.read()
    b'a,b'
    """
    with path.open("rb") as plain:
        start = plain.read(LONGEST_MARK)
    if start.startswith(_BZIP2):
        return cast(BinaryIO, bz2.open(path))
    if start.startswith(_XZ):
        return cast(BinaryIO, lzma.open(path))
    return _zstd(path) if start.startswith(_ZSTD) else cast(BinaryIO, gzip.open(path))


def _zstd(path: Path) -> BinaryIO:
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            f"{str(path)!r} is compressed with Zstandard, which needs pyarrow; pip install pyarrow (the extra 'files' "
            "brings it), or compress it with gzip"
        ) from None
    stream: Any = pyarrow.input_stream(str(path), compression="zstd")
    return io.BufferedReader(stream)
