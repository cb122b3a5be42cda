"""The first line of a text file: how the file separates its columns, and what they are called.

A header is public, and the rows are not. So opening a file reads this line and nothing else. How the rows can be read
is found out when they are read: by `csv_file`, and under privacy by `csv_lines`.
"""

from __future__ import annotations

import codecs
import csv
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path

from ...errors import InputError
from ..levels import number_of
from .compressed import open_bytes

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
BROKEN = (OSError, EOFError, zlib.error, LZMAError)
"""What reading a file raises if its disk or its compression is damaged."""

_FOREIGN = {b"PK\x03\x04": "an Excel or zip file", b"\xd0\xcf\x11\xe0": "an old Excel file", b"%PDF": "a PDF file"}
_BINARY = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"7z\xbc\xaf")
_MARK = b"\xef\xbb\xbf"  # the byte order mark that Excel puts before UTF-8
_WIDE = b"\xff\xfe", b"\xfe\xff"  # the same mark before UTF-16
_LONGEST = 1 << 20  # bytes of a header line; a file without line ends is not read into memory to see its start


@dataclass(frozen=True)
class Header:
    """What the first line of a text file says."""

    encoding: str
    separator: str
    names: tuple[str, ...]


def read_header(path: Path, encoding: str | None = None) -> Header:
    r"""Read the first line that is not blank, and refuse a line that cannot be the header of a table.

    The encoding is UTF-8, or UTF-16 if the file begins with its byte order mark. An encoding that the user gives is
    for files that do not show theirs: the files of other sites may have another one.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_text("age;dose\n41;0,5\n")
    >>> read_header(file)
    Header(encoding='utf-8-sig', separator=';', names=('age', 'dose'))
    """
    with open_bytes(path) as stream:
        try:
            start = stream.read(_LONGEST)
        except BROKEN as error:
            raise unreadable(path, error) from None
    detected = _detect_encoding(path, start)
    try:
        chosen = detected if encoding is None or _is_utf8(encoding) or _shows_encoding(start) else encoding
        first = next(_decoded_lines(start, chosen), None)
    except UnicodeError as error:
        raise unreadable(path, error, encoding) from None
    except LookupError:
        raise InputError(f"encoding {encoding!r} is not known; usual ones are utf-8, cp1252, latin-1, utf-16") from None
    if first is None:
        raise InputError(f"{str(path)!r} is empty; a table needs a header and at least 2 rows")
    return _parse_header(path, first, chosen)


def records(content: bytes) -> Iterator[bytes]:
    r"""Yield the lines that are not blank, without their ends and without the byte order mark.

    Examples
    --------
    >>> list(records(b"\xef\xbb\xbfa,b\r\n\r\n1,2\r3,4\n"))
    [b'a,b', b'1,2', b'3,4']
    """
    return (line for line in content.removeprefix(_MARK).splitlines() if line.strip())


def unreadable(path: Path, error: Exception, encoding: str | None = None) -> InputError:
    """Return an error that says why a file cannot be read, and what to do."""
    if isinstance(error, UnicodeError):
        remedy = "save it as CSV in UTF-8, or name its encoding (--encoding cp1252 is usual on Windows)"
        said = "UTF-8" if encoding is None or _is_utf8(encoding) else encoding
        return InputError(f"{str(path)!r} is not {said} text; {remedy}")
    reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().rstrip(".")
    return InputError(f"{str(path)!r} cannot be read as a table: {reason}; check that line, or export the file again")


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _detect_encoding(path: Path, start: bytes) -> str:
    for mark, what in _FOREIGN.items():
        if start.startswith(mark):
            raise InputError(f"{str(path)!r} is {what}, not a table; export it as CSV or Parquet")
    if start.startswith(_WIDE):
        return "utf-16"
    if start.startswith(_BINARY) or b"\0" in next(records(start), b""):
        raise InputError(f"{str(path)!r} is a binary file, not a table; give a CSV or Parquet file")
    return "utf-8-sig"


def _shows_encoding(start: bytes) -> bool:
    """Whether a file shows its encoding: by a byte order mark, or by names in UTF-8 that are not only ASCII."""
    first = next(records(start), b"")
    try:
        return start.startswith((_MARK, *_WIDE)) or (not first.isascii() and bool(first.decode("utf-8")))
    except UnicodeError:
        return False


def _decoded_lines(start: bytes, encoding: str) -> Iterator[str]:
    """Yield the lines that are not blank. Only the first one matters, so that later ones may be damaged or cut off."""
    if encoding == "utf-8-sig":
        return (line.decode("utf-8") for line in records(start))
    return (line for line in start.decode(encoding, "replace").splitlines() if line.strip())


def _parse_header(path: Path, first: str, encoding: str) -> Header:
    try:
        # The second line shows a quote that is not closed: the reader would take this line as part of the first.
        split = {mark: list(csv.reader([first, "-"], delimiter=mark, skipinitialspace=True)) for mark in SEPARATORS}
    except csv.Error as error:
        raise unreadable(path, error) from None
    # The separator that splits the header into most columns; a comma wins a tie.
    separator = max(SEPARATORS, key=lambda mark: len(split[mark][0]))
    if len(split[separator]) == 1:
        raise InputError(
            f"{str(path)!r}: a quote in the first line is not closed, or a column's name holds a line break; "
            "write the names in one line"
        )
    names = tuple(name.strip() for name in split[separator][0])
    if len(names) < 2:
        raise InputError(
            f"{str(path)!r} has a single column, {names[0][:40]!r}; "
            "columns must be separated by commas, semicolons or tabs"
        )
    _check_names(path, names)
    return Header(encoding, separator, names)


def _check_names(path: Path, names: tuple[str, ...]) -> None:
    if names[0] in ("", "Unnamed: 0"):
        raise InputError(
            f"{str(path)!r}: the first column has no name and looks like a row index; "
            "write the file without it (pandas: to_csv(path, index=False); R: row.names = FALSE)"
        )
    numbers = [number_of(name) for name in names]
    counting = [list(range(start, start + len(names))) for start in (0, 1)]  # a frame without names has these
    if all(number is not None for number in numbers) and numbers not in counting:
        raise InputError(
            f"{str(path)!r}: the first line holds numbers, not names; add a header line that names the columns"
        )
