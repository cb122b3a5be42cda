"""Formats of files: how a file is recognised, and how the table in it is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ....errors import InputError
from ...table import Table

MARK = 64
"""The number of bytes at the beginning of a file from which a format may recognise it."""


@dataclass(frozen=True)
class TextForm:
    """How a text file is written, as far as the user says; None means that it is detected."""

    encoding: str | None = None
    decimal: str | None = None


@dataclass(frozen=True)
class FileFormat:
    """A format of files.

    Parameters
    ----------
    endings : tuple of str
        The endings of its files, for a folder that may hold other files too.
    recognises : callable
        Whether a file, given by its path and its first `MARK` bytes, has this format. The name does not decide it.
    open : callable
        Opens the table in a file, without reading rows; see `fedperi.tables.table.Table`.
    """

    endings: tuple[str, ...]
    recognises: Callable[[Path, bytes], bool]
    open: Callable[[Path, TextForm], Table]


def no_noise(path: Path, what: str) -> NoReturn:
    """Refuse a file that cannot be read cell by cell: under privacy no cell may decide whether others can be read.

    Examples
    --------
    >>> no_noise(Path("lyon.xlsx"), "an Excel workbook")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: 'lyon.xlsx' is an Excel workbook, and with noise only CSV and Parquet files are read, ...
    """
    raise InputError(
        f"{str(path)!r} is {what}, and with noise only CSV and Parquet files are read, cell by cell; save it as CSV in "
        "UTF-8 or as Parquet"
    )
