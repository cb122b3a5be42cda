"""Reading the rows of comma-separated files in chunks, after a check of the first hundred.

pandas does not report everything that it changes: it renames duplicate columns, and takes surplus fields for an index.
So the first lines are checked here before pandas reads the numbers. Under privacy nothing may be detected from rows:
`fedperi.tables.readers.csv_lines` reads the file then.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ..in_threads import ahead
from ..levels import number_of
from ..table import Cells, Table
from .compressed import open_bytes
from .csv_header import BROKEN, SEPARATORS, Header, read_header, unreadable
from .csv_lines import read_lines
from .formats.file_format import FileFormat, TextForm
from .formats.naming import stem

if TYPE_CHECKING:
    import pandas as pd

_SAMPLE = 100  # lines read before the reading of the table starts
_LONGEST = 20  # characters of a number with its separator, which take 8 bytes in memory


def decimal_mark(path: Path, header: Header, declared: str | None = None) -> str:
    r"""Check the first rows, and return the decimal mark: the declared one, or else what these rows show.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_text("age;dose\n41;0,5\n37;1,25\n")
    >>> decimal_mark(file, read_header(file))
    ','
    """
    try:
        with io.TextIOWrapper(open_bytes(path), encoding=header.encoding, newline="") as stream:
            lines = csv.reader(stream, delimiter=header.separator, skipinitialspace=True)
            _, *rows = islice((line for line in lines if line), _SAMPLE + 1)
    except (UnicodeError, csv.Error, ValueError, *BROKEN) as error:
        raise unreadable(path, error, header.encoding) from None
    if any("\0" in field for row in rows for field in row):
        raise InputError(f"{str(path)!r} is a binary file, not a table; give a CSV or Parquet file")
    if not rows:
        raise InputError(f"{str(path)!r} has a header but no rows; a site needs at least 2")
    for number, row in enumerate(rows, start=2):
        if len(row) > len(header.names):
            raise InputError(
                f"{str(path)!r}, row {number}: {len(row)} fields, but the header names {len(header.names)} columns; "
                "name every column (in R: write.csv with row.names = FALSE)"
            )
    return declared or ("," if header.separator != "," and _has_decimal_commas(rows) else ".")


def read_csv(path: Path, header: Header, decimal: str, size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
    r"""Yield the rows in frames of at most `size`; the columns in `text` are not turned into numbers.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_text("a,b\n1,01\n2,02\n3,03\n")
    >>> [chunk["b"].tolist() for chunk in read_csv(file, read_header(file), ".", 2, frozenset("b"))]
    [['01', '02'], ['03']]
    """
    import pandas as pd

    try:
        with (
            open_bytes(path) as stream,
            pd.read_csv(
                stream,
                sep=header.separator,
                header=0,
                names=list(header.names),
                dtype=dict.fromkeys(text, str),
                encoding=header.encoding,
                decimal=decimal,
                compression=None,
                skipinitialspace=True,
                low_memory=False,
                chunksize=size,
            ) as reader,
        ):
            yield from reader
    except InputError:
        raise
    except (ValueError, OverflowError, *BROKEN) as error:  # pandas' parser errors are ValueErrors
        raise unreadable(path, error, header.encoding) from None


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    fields = [field for row in rows for field in row]
    commas = any("," in field and number_of(field.replace(",", ".")) is not None for field in fields)
    points = any("." in field and number_of(field) is not None for field in fields)
    return commas and not points


def _differences(header: Header, decimal: str) -> tuple[str, ...]:
    """Say in which ways a file differs from plain CSV."""
    notes = []
    if header.separator != ",":
        notes.append(f"columns are separated by a {SEPARATORS[header.separator]}")
    if decimal != ".":
        notes.append("numbers are written with a decimal comma")
    if header.encoding != "utf-8-sig":
        notes.append(f"the text is encoded in {header.encoding.upper()}")
    return tuple(notes)


def _open_csv(path: Path, form: TextForm) -> Table:
    header = read_header(path, form.encoding)
    decimal = cache(lambda: decimal_mark(path, header, form.decimal))

    def read(size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        yield from ahead(read_csv(path, header, decimal(), size, text))

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
        _notes=lambda: _differences(header, decimal()),
        least=path.stat().st_size * 8 // _LONGEST,
    )


CSV = FileFormat((".csv", ".tsv", ".txt"), lambda path, start: True, _open_csv)
"""Text with separators, compressed or not: every file that no other format recognises."""
