"""The names of sites that were given without a name: after a file, a sheet of a workbook, or a table of a database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl

from ..compressed import ENDINGS

EACH = "*"
"""``book.xlsx?sheet=*``: each sheet is a site."""

Item = TypeVar("Item")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.]+:/", re.IGNORECASE)  # a Path keeps only one of the two slashes


def stem(path: Path) -> str:
    """Return the name of a file without its endings, or the sheet or table that a source names.

    Examples
    --------
    >>> [stem(Path(text)) for text in ("a/north.csv.gz", "book.xlsx?sheet=Lyon", "duckdb:///a.db?table=visits")]
    ['north', 'Lyon', 'visits']
    """
    if not is_path(path):
        options = dict(parse_qsl(str(path).partition("?")[2]))
        return options.get("table") or options.get("sheet") or "database"
    name = next((path.name.removesuffix(end) for end in ENDINGS if path.name.endswith(end)), path.name)
    return name.rsplit(".", 1)[0] or path.name or str(path)


def is_path(path: Path) -> bool:
    """Whether a source is the path of a whole file, not a sheet of a workbook and not a database.

    Examples
    --------
    >>> is_path(Path("a/north.csv")), is_path(Path("book.xlsx?sheet=Lyon"))
    (True, False)
    """
    return "?sheet=" not in path.name and not _ADDRESS.match(str(path))


def each_source(source: Item) -> list[Item] | list[str]:
    """Return one source per sheet for ``book.xlsx?sheet=*``, and any other source as it is.

    Examples
    --------
    >>> each_source("north.csv")
    ['north.csv']
    """
    path, sheet = sheet_of(source) if isinstance(source, str) else (Path(), None)
    if sheet != EACH or not path.is_file():
        return [source]
    from .excel import is_workbook, sheet_names

    if not is_workbook(path):
        return [source]
    return [f"{path}?sheet={name}" for name in sheet_names(path)]


def sheet_of(text: str) -> tuple[Path, str | None]:
    """Split ``book.xlsx?sheet=Lyon`` into the file and the sheet.

    Examples
    --------
    >>> path, sheet = sheet_of("book.xlsx?sheet=Lyon 2")
    >>> path.name, sheet
    ('book.xlsx', 'Lyon 2')
    """
    path, mark, sheet = text.rpartition("?sheet=")
    return (Path(path), sheet) if mark else (Path(text), None)
