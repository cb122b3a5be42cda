"""Which format a file has, told by its first bytes, and the table in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ....errors import InputError
from ...databases.address import is_url
from ...databases.opening import open_query, open_url
from ...table import Table
from .excel import inspect_sheet, is_workbook, read_sheet
from .folder import open_folder
from .labelled import LONGEST_MARK, LabelledFile, program_of
from .naming import EACH, sheet_of, stem

if TYPE_CHECKING:
    import pandas as pd


def open_other(text: str, encoding: str | None = None, decimal: str | None = None) -> Table | None:
    """Open what is not a CSV or Parquet file: a folder, a sheet, a database, a file of Stata, SPSS or SAS.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "north.xlsx"
    >>> pd.DataFrame({"age": [41.5, 37.0], "sex": ["f", "m"]}).to_excel(file, index=False)
    >>> open_other(str(file)).columns, open_other("north.csv")
    (('age', 'sex'), None)
    """
    if is_url(text):
        return open_url(text)
    path = Path(text)
    if path.is_dir():
        return open_folder(path, encoding, decimal)
    if not path.is_file():
        return _chosen_sheet(text)
    if path.suffix.lower() == ".sql":
        return open_query(path)
    with path.open("rb") as stream:
        program = program_of(stream.read(LONGEST_MARK))
    if program is not None:
        return _labelled(path, program)
    return _open_sheet(path, None, stem(path)) if is_workbook(path) else None


def _labelled(path: Path, program: str) -> Table:
    file = LabelledFile(path, program)
    return Table(
        stem(path),
        file.names,
        str(path),
        _read=lambda size, text: file.read(size),
        _cells=lambda size: _refused(path, f"a {program} file"),
        _notes=lambda: file.notes,
    )


def _chosen_sheet(text: str) -> Table | None:
    path, sheet = sheet_of(text)
    if sheet is None or not path.is_file():
        return None
    if not is_workbook(path):
        raise InputError(f"{str(path)!r} is not an Excel workbook (.xlsx), and has no sheets; give the file alone")
    if sheet == EACH:
        raise InputError(f"{text!r} stands for several sites; give it in a list of tables, without a name")
    return _open_sheet(path, sheet, sheet)


def _open_sheet(path: Path, sheet: str | None, name: str) -> Table:
    found, names = inspect_sheet(path, sheet)

    def read(size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        return read_sheet(path, found, names, size, text)

    origin = str(path) if sheet is None else f"{path}?sheet={sheet}"
    return Table(name, names, origin, _read=read, _cells=lambda size: _refused(path, "an Excel workbook"))


def _refused(path: Path, what: str) -> NoReturn:
    """Under privacy no cell may decide whether the others can be read, which these formats do not promise."""
    raise InputError(
        f"{str(path)!r} is {what}, and with noise only CSV and Parquet files are read, cell by cell; save it as CSV in "
        "UTF-8 or as Parquet"
    )
