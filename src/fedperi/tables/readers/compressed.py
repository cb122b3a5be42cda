"""Compressed text files: gzip, bzip2, xz and Zstandard, recognised by their first bytes and not by their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...errors import InputError

ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_LONGEST_MARK = 6
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, or what is compressed in it.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv.xz"
    >>> _ = file.write_bytes(lzma.compress(b"a,b"))
    >>> with open_bytes(file) as stream:
    ...     stream.read()
    b'a,b'
    """
    with path.open("rb") as plain:
        start = plain.read(_LONGEST_MARK)
    if start.startswith(_GZIP):
        return cast(BinaryIO, gzip.open(path))
    if start.startswith(_BZIP2):
        return cast(BinaryIO, bz2.open(path))
    if start.startswith(_XZ):
        return cast(BinaryIO, lzma.open(path))
    return _open_zstd(path) if start.startswith(_ZSTD) else path.open("rb")


def _open_zstd(path: Path) -> BinaryIO:
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            f"{str(path)!r} is compressed with Zstandard, which needs pyarrow; pip install pyarrow (the extra 'files' "
            "brings it), or compress it with gzip"
        ) from None
    stream: Any = pyarrow.input_stream(str(path), compression="zstd")
    return io.BufferedReader(stream)
