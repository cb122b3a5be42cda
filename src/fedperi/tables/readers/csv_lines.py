"""Reading a text file under privacy: one line is one record, and no line changes how another one is read.

The separator comes from the header line, which is public. Nothing is detected from rows: not their encoding, their
quoting, their types or their decimal mark. A quoted field ends with its line at the latest, so that a quote that is not
closed damages its own record only. A line with more or fewer fields than the header is damaged, and is left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ...errors import InputError
from .compressed import open_bytes
from .csv_header import BROKEN, Header, records, unreadable


def read_lines(path: Path, header: Header, size: int) -> Iterator[list[list[str]]]:
    r"""Yield the fields of all records, in lists of at most `size` records; a damaged line has no fields.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.tables.readers.csv_header import read_header
    >>> file = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = file.write_bytes(b'a,b\n1,"x, y"\n2,"open\n3,\xff,4\n')
    >>> list(read_lines(file, read_header(file), 10))
    [[['1', 'x, y'], ['2', 'open'], []]]
    """
    if header.encoding != "utf-8-sig":
        raise InputError(
            f"{str(path)!r} is encoded in {header.encoding.upper()}; under privacy a damaged character must not shift "
            "the lines after it: save the file as CSV in UTF-8"
        )
    try:
        with open_bytes(path) as stream:
            lines = (line for block in stream for line in records(block))
            next(lines)  # the header
            while chunk := list(islice(lines, size)):
                yield [_fields(line, header) for line in chunk]
    except BROKEN as error:
        raise unreadable(path, error) from None


def _fields(line: bytes, header: Header) -> list[str]:
    text = line.decode("utf-8", "replace")
    if '"' not in text:
        fields = text.split(header.separator)
    else:
        try:
            fields = next(csv.reader([text], delimiter=header.separator, skipinitialspace=True))
        except csv.Error:  # a field beyond the reader's limit
            return []
    return fields if len(fields) == len(header.names) else []
