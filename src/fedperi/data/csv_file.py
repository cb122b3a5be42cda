"""Reading comma-separated files: what kind of text it is, its header, and its rows in chunks.

pandas guesses more than it says (it renames duplicate columns, and takes surplus fields for an index), so the header
and the first lines are looked at here before pandas reads the numbers.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from ..errors import InputError
from .levels import number_of

if TYPE_CHECKING:
    import pandas as pd

_SAMPLE = 100  # lines looked at before the reading starts
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_FOREIGN = {b"PK\x03\x04": "an Excel or zip file", b"\xd0\xcf\x11\xe0": "an old Excel file", b"%PDF": "a PDF file"}


@dataclass(frozen=True)
class Dialect:
    """How a text file spells a table."""

    encoding: str
    separator: str
    decimal: str
    compressed: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What was detected and differs from plain CSV."""
        notes = []
        if self.separator != ",":
            notes.append(f"columns are separated by a {_SEPARATORS[self.separator]}")
        if self.decimal != ".":
            notes.append("numbers are written with a decimal comma")
        if self.encoding != "utf-8-sig":
            notes.append(f"the text is encoded in {self.encoding.upper()}")
        return tuple(notes)


def inspect_csv(path: Path) -> tuple[Dialect, tuple[str, ...]]:
    r"""Detect the dialect and read the header; refuse what is not a table with a header and rows.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_text("age;dose\n41;0,5\n37;1,25\n")
    >>> inspect_csv(file)
    (Dialect(encoding='utf-8-sig', separator=';', decimal=',', compressed=False), ('age', 'dose'))
    """
    encoding, compressed = _encoding(path)
    try:
        with _open(path, encoding, compressed) as stream:
            first = next((line for line in stream if line.strip()), "")
        # The separator that splits the header into most columns; a comma wins a tie.
        separator = max(_SEPARATORS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
        with _open(path, encoding, compressed) as stream:
            lines = csv.reader(stream, delimiter=separator, skipinitialspace=True)
            header, *rows = islice((line for line in lines if line), _SAMPLE + 1)
    except (UnicodeError, csv.Error, OSError, EOFError, ValueError) as error:
        raise _unreadable(path, error) from None
    names = tuple(name.strip() for name in header)
    if len(names) < 2:
        raise InputError(
            f"{str(path)!r} has a single column, {names[0][:40]!r}; "
            "columns must be separated by commas, semicolons or tabs"
        )
    _check_header(path, names)
    if not rows:
        raise InputError(f"{str(path)!r} has a header but no rows; a site needs at least 2")
    for number, row in enumerate(rows, start=2):
        if len(row) > len(names):
            raise InputError(
                f"{str(path)!r}, row {number}: {len(row)} fields, but the header names {len(names)} columns; "
                "name every column (in R: write.csv with row.names = FALSE)"
            )
    decimal = "," if separator != "," and _decimal_comma(rows) else "."
    return Dialect(encoding, separator, decimal, compressed), names


def read_csv(
    path: Path, dialect: Dialect, names: tuple[str, ...], size: int, text: frozenset[str]
) -> Iterator[pd.DataFrame]:
    r"""Yield the rows in frames of at most `size`; the columns in `text` are not turned into numbers.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_text("a,b\n1,01\n2,02\n3,03\n")
    >>> dialect, names = inspect_csv(file)
    >>> [chunk["b"].tolist() for chunk in read_csv(file, dialect, names, 2, frozenset("b"))]
    [['01', '02'], ['03']]
    """
    import pandas as pd

    try:
        with pd.read_csv(
            path,
            sep=dialect.separator,
            header=0,
            names=list(names),
            dtype=dict.fromkeys(text, str),
            encoding=dialect.encoding,
            decimal=dialect.decimal,
            compression="gzip" if dialect.compressed else None,
            skipinitialspace=True,
            low_memory=False,
            chunksize=size,
        ) as reader:
            yield from reader
    except InputError:
        raise
    except (ValueError, OSError, EOFError, OverflowError) as error:  # pandas' parser errors are ValueErrors
        raise _unreadable(path, error) from None


def _encoding(path: Path) -> tuple[str, bool]:
    with path.open("rb") as stream:
        start = stream.read(8192)
    compressed = start.startswith(b"\x1f\x8b")
    if compressed:
        try:
            with gzip.open(path) as stream:
                start = stream.read(8192)
        except (OSError, EOFError) as error:
            raise _unreadable(path, error) from None
    if not start.strip():
        raise InputError(f"{str(path)!r} is empty; a table needs a header and at least 2 rows")
    for mark, what in _FOREIGN.items():
        if start.startswith(mark):
            raise InputError(f"{str(path)!r} is {what}, not a table; export it as CSV or Parquet")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16", compressed
    if b"\0" in start:
        raise InputError(f"{str(path)!r} is a binary file, not a table; give a CSV or Parquet file")
    return "utf-8-sig", compressed


def _open(path: Path, encoding: str, compressed: bool) -> TextIO:
    if compressed:
        return cast(TextIO, gzip.open(path, "rt", encoding=encoding, newline=""))
    return path.open(encoding=encoding, newline="")


def _check_header(path: Path, names: tuple[str, ...]) -> None:
    if names[0] in ("", "Unnamed: 0"):
        raise InputError(
            f"{str(path)!r}: the first column has no name and looks like a row index; "
            "write the file without it (pandas: to_csv(path, index=False); R: row.names = FALSE)"
        )
    numbers = [number_of(name) for name in names]
    counting = [list(range(start, start + len(names))) for start in (0, 1)]  # a frame without names numbers its columns
    if all(number is not None for number in numbers) and numbers not in counting:
        raise InputError(
            f"{str(path)!r}: the first line holds numbers, not names; add a header line that names the columns"
        )


def _decimal_comma(rows: list[list[str]]) -> bool:
    fields = [field for row in rows for field in row]
    commas = any("," in field and number_of(field.replace(",", ".")) is not None for field in fields)
    points = any("." in field and number_of(field) is not None for field in fields)
    return commas and not points


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, UnicodeError):
        return InputError(f"{str(path)!r} is not UTF-8 text; save it as CSV in UTF-8")
    reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().rstrip(".")
    return InputError(f"{str(path)!r} cannot be read as a table: {reason}; check that line, or export the file again")
