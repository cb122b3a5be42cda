"""Reading the rows of comma-separated files in chunks, after a look at the first hundred.

pandas guesses more than it says (it renames duplicate columns, and takes surplus fields for an index), so the first
lines are looked at here before pandas reads the numbers. What is found out from rows must not be used under privacy:
there `fedperi.tables.readers.csv_lines` reads.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ...errors import InputError
from ..in_threads import ahead
from ..levels import number_of
from ..table import Cells, Table
from .compressed import unpacked
from .csv_header import BROKEN, SEPARATORS, Header, read_header, unreadable
from .csv_lines import read_lines
from .formats.file_format import FileFormat, TextForm
from .formats.naming import stem

if TYPE_CHECKING:
    import pandas as pd

_SAMPLE = 100  # lines looked at before the reading starts
_LONGEST = 20  # characters of a number with its separator, which take 8 bytes in memory


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
            notes.append(f"columns are separated by a {SEPARATORS[self.separator]}")
        if self.decimal != ".":
            notes.append("numbers are written with a decimal comma")
        if self.encoding != "utf-8-sig":
            notes.append(f"the text is encoded in {self.encoding.upper()}")
        return tuple(notes)


def inspect_csv(path: Path, encoding: str | None = None, decimal: str | None = None) -> tuple[Dialect, tuple[str, ...]]:
    r"""Detect the dialect from the header and the first rows; refuse what is not a table with a header and rows.

    An encoding or a decimal mark that is given is not detected.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_text("age;dose\n41;0,5\n37;1,25\n")
    >>> inspect_csv(file)
    (Dialect(encoding='utf-8-sig', separator=';', decimal=',', compressed=False), ('age', 'dose'))
    """
    header = read_header(path, encoding)
    names, separator = header.names, header.separator
    try:
        with _open(path, header) as stream:
            lines = csv.reader(stream, delimiter=separator, skipinitialspace=True)
            _, *rows = islice((line for line in lines if line), _SAMPLE + 1)
    except (UnicodeError, csv.Error, ValueError, *BROKEN) as error:
        raise unreadable(path, error, encoding) from None
    if any("\0" in field for row in rows for field in row):
        raise InputError(f"{str(path)!r} is a binary file, not a table; give a CSV or Parquet file")
    if not rows:
        raise InputError(f"{str(path)!r} has a header but no rows; a site needs at least 2")
    for number, row in enumerate(rows, start=2):
        if len(row) > len(names):
            raise InputError(
                f"{str(path)!r}, row {number}: {len(row)} fields, but the header names {len(names)} columns; "
                "name every column (in R: write.csv with row.names = FALSE)"
            )
    if decimal is None:
        decimal = "," if separator != "," and _decimal_comma(rows) else "."
    return Dialect(header.encoding, separator, decimal, header.compressed), names


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
        source: Any = unpacked(path) if dialect.compressed else path
        with pd.read_csv(
            source,
            sep=dialect.separator,
            header=0,
            names=list(names),
            dtype=dict.fromkeys(text, str),
            encoding=dialect.encoding,
            decimal=dialect.decimal,
            compression=None,
            skipinitialspace=True,
            low_memory=False,
            chunksize=size,
        ) as reader:
            yield from reader
    except InputError:
        raise
    except (ValueError, OverflowError, *BROKEN) as error:  # pandas' parser errors are ValueErrors
        raise unreadable(path, error, dialect.encoding) from None


def _open(path: Path, header: Header) -> TextIO:
    if header.compressed:
        return io.TextIOWrapper(unpacked(path), encoding=header.encoding, newline="")
    return path.open(encoding=header.encoding, newline="")


def _decimal_comma(rows: list[list[str]]) -> bool:
    fields = [field for row in rows for field in row]
    commas = any("," in field and number_of(field.replace(",", ".")) is not None for field in fields)
    points = any("." in field and number_of(field) is not None for field in fields)
    return commas and not points


def _open_csv(path: Path, form: TextForm) -> Table:
    header = read_header(path, form.encoding)
    dialect = cache(lambda: inspect_csv(path, form.encoding, form.decimal)[0])

    def read(size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        yield from ahead(read_csv(path, dialect(), header.names, size, text))

    def cells(size: int) -> Iterator[Cells]:
        for lines in read_lines(path, header, size):
            whole = [fields for fields in lines if fields]
            columns = zip(*whole, strict=True) if whole else ((),) * len(header.names)
            yield Cells(dict(zip(header.names, columns, strict=True)), len(lines) - len(whole))

    return Table(
        stem(path),
        header.names,
        str(path),
        header.separator != ",",
        _read=read,
        _cells=cells,
        _notes=lambda: dialect().notes,
        least=path.stat().st_size * 8 // _LONGEST,
    )


CSV = FileFormat((".csv", ".tsv", ".txt"), lambda path, start: True, _open_csv)
"""Text with separators, compressed or not: every file that no other format recognises."""
