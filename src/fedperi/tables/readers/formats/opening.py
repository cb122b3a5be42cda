"""Opening a source that is given as text: a file of any format, a folder, a sheet of a workbook, a database."""

from __future__ import annotations

from pathlib import Path

from ....errors import InputError
from ...databases.address import is_url
from ...databases.opening import open_query, open_url
from ...table import Table
from ..csv_file import CSV
from ..parquet_file import PARQUET
from .excel import EXCEL, is_workbook, open_sheet
from .file_format import MARK, FileFormat, TextForm
from .folder import open_folder
from .labelled import LABELLED
from .naming import EACH, sheet_of

FORMATS: tuple[FileFormat, ...] = (PARQUET, LABELLED, EXCEL, CSV)
"""All formats. The first that recognises a file opens it; CSV takes what no other does."""

ENDINGS = tuple(ending for one in FORMATS for ending in one.endings)
"""The endings of files that are taken as tables, in a folder that may hold other files too."""


def open_path(text: str, form: TextForm = TextForm()) -> Table:  # noqa: B008 (immutable)
    """Open the table that a text names; only the names of its columns are read.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "north.xlsx"
    >>> pd.DataFrame({"age": [41.5, 37.0], "sex": ["f", "m"]}).to_excel(file, index=False)
    >>> open_path(str(file)).columns
    ('age', 'sex')
    >>> open_path("no/such/file.csv")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: 'no/such/file.csv' does not exist; check the path
    """
    try:
        return _open(text, form)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise InputError(f"cannot read {text!r}: {getattr(error, 'strerror', None) or error}") from None


def _open(text: str, form: TextForm) -> Table:
    if is_url(text):
        return open_url(text)
    path = Path(text)
    if path.is_dir():
        return open_folder(path, form)
    if path.is_file() and path.suffix.lower() == ".sql":
        return open_query(path)
    if not path.is_file() and (sheet := _chosen_sheet(text)) is not None:
        return sheet
    if not path.exists():
        if set("*?[") & set(str(path)):  # a shell passes a pattern on as it is if nothing matches
            raise InputError(f"no file matches {str(path)!r}; check the folder and the pattern")
        raise InputError(f"{str(path)!r} does not exist; check the path")
    with path.open("rb") as stream:
        start = stream.read(MARK)
    return next(one for one in FORMATS if one.recognises(path, start)).open(path, form)


def _chosen_sheet(text: str) -> Table | None:
    path, sheet = sheet_of(text)
    if sheet is None or not path.is_file():
        return None
    if not is_workbook(path):
        raise InputError(f"{str(path)!r} is not an Excel workbook (.xlsx), and has no sheets; give the file alone")
    if sheet == EACH:
        raise InputError(f"{text!r} stands for several sites; give it in a list of tables, without a name")
    return open_sheet(path, sheet, sheet)
