"""Sheets of Excel workbooks (.xlsx); needs openpyxl, which is optional.

The first row that is not blank holds the names of the columns, and each row below it is a row of the table. Blank rows
are skipped. Each cell has its own type: number, text or truth value, as Excel stored it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from ....errors import InputError
from ...checks.findings import quoted
from ...table import Table
from .file_format import FileFormat, no_noise
from .naming import stem
from .untyped import is_gap, untyped_frame

if TYPE_CHECKING:
    import pandas as pd

Row = tuple[Any, ...]

_ERRORS = frozenset({"#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"})
_DAMAGED = (KeyError, EOFError, BadZipFile, SyntaxError)  # errors of XML are SyntaxErrors


def is_workbook(path: Path) -> bool:
    """Say whether a file is an Excel workbook.

    Examples
    --------
    >>> import tempfile, openpyxl
    >>> file = Path(tempfile.mkdtemp()) / "book.xlsx"
    >>> openpyxl.Workbook().save(file)
    >>> is_workbook(file)
    True
    """
    if not is_zipfile(path):
        return False
    try:
        with ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except BadZipFile:
        return False


def sheet_names(path: Path) -> tuple[str, ...]:
    """Return the names of the sheets that are not empty.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "book.xlsx"
    >>> pd.DataFrame({"a": [1, 2]}).to_excel(file, sheet_name="Lyon", index=False)
    >>> sheet_names(file)
    ('Lyon',)
    """
    with _workbook(path) as book:
        return tuple(sheet.title for sheet in book.worksheets if any(_filled(row) for row in _rows(sheet)))


def inspect_sheet(path: Path, sheet: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the name of a sheet and the names of its columns; without a name, take the only sheet that is not empty.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "book.xlsx"
    >>> pd.DataFrame({"age": [41.5, 37.0], "sex": ["f", "m"]}).to_excel(file, sheet_name="Lyon", index=False)
    >>> inspect_sheet(file, None)
    ('Lyon', ('age', 'sex'))
    """
    if sheet is None:
        names = sheet_names(path)
        if len(names) > 1:
            raise InputError(
                f"{str(path)!r} has {len(names)} sheets, {quoted(names)}; choose one ('{path.name}?sheet={names[0]}'), "
                f"or take each as a site ('{path.name}?sheet=*')"
            )
        if not names:
            raise InputError(f"{str(path)!r}: all sheets are empty; a table needs a header and at least 2 rows")
        sheet = names[0]
    with _workbook(path) as book:
        header = next((row for row in _rows(_sheet(path, book, sheet)) if _filled(row)), None)
    if header is None:
        raise InputError(f"{_where(path, sheet)} is empty; a table needs a header and at least 2 rows")
    names = tuple("" if cell is None else str(cell).strip() for cell in header[_extent(header)])
    if "" in names:
        raise InputError(
            f"{_where(path, sheet)}: column {names.index('') + 1} of the header has no name; write one name per column "
            "in one row, without merged cells and without a title above"
        )
    if len(names) < 2:
        raise InputError(
            f"{_where(path, sheet)} has a single cell in its first row, which should name all columns; remove titles "
            "above the table"
        )
    return sheet, names


def read_sheet(
    path: Path, sheet: str, names: tuple[str, ...], size: int, text: frozenset[str]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of a sheet in frames of at most `size`; numbers in the columns of `text` become text.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "book.xlsx"
    >>> pd.DataFrame({"a": [1, 2, 3], "b": ["u", "NA", "v"]}).to_excel(file, index=False)
    >>> [chunk["a"].tolist() for chunk in read_sheet(file, "Sheet1", ("a", "b"), 2, frozenset())]
    [[1, 2], [3]]
    """
    with _workbook(path) as book:
        numbered = enumerate(_rows(_sheet(path, book, sheet)), start=1)
        rows = ((f"{_where(path, sheet)}, row {number}", row) for number, row in numbered if _filled(row))
        _, header = next(rows)
        extent, empty = _extent(header), True
        while part := list(islice(rows, size)):
            empty = False
            cells = [_cells(where, names, extent, row) for where, row in part]
            yield untyped_frame(names, list(zip(*cells, strict=True)), text)
    if empty:
        raise InputError(f"{_where(path, sheet)} has a header but no rows; a site needs at least 2")


def _cells(where: str, names: tuple[str, ...], extent: slice, row: Row) -> Row:
    """Return the cells of a row below the names of the columns; refuse cells elsewhere and errors of formulas."""
    if _filled(row[: extent.start]) or _filled(row[extent.stop :]):
        raise InputError(
            f"{where}: a cell lies outside the {len(names)} columns that the header names; "
            "name every column, and keep notes out of the sheet"
        )
    cells: Row = row[extent] + (None,) * (extent.stop - max(len(row), extent.start))
    for name, cell in zip(names, cells, strict=True):
        if isinstance(cell, str) and cell in _ERRORS:
            raise InputError(f"{where}, column {name!r}: a formula gives an error; correct it, or leave the cell empty")
    return cells


def _rows(sheet: Any) -> Iterator[Row]:
    sheet.reset_dimensions()  # some programs write a wrong size, and rows beyond it would not be read
    return iter(sheet.iter_rows(values_only=True))


def _filled(row: Sequence[Any]) -> bool:
    return not all(map(is_gap, row))


def _extent(header: Row) -> slice:
    filled = [position for position, cell in enumerate(header) if not is_gap(cell)]
    return slice(filled[0], filled[-1] + 1)


def _where(path: Path, sheet: str) -> str:
    return f"{str(path)!r}, sheet {sheet!r}"


def _sheet(path: Path, book: Any, name: str) -> Any:
    known = [sheet.title for sheet in book.worksheets]
    if name not in known:
        raise InputError(f"{str(path)!r} has no sheet {name!r}; it has {quoted(known)}")
    return book[name]


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"{str(path)!r} is an Excel workbook and openpyxl is not installed; pip install openpyxl (the extra "
            "'files' brings it), or save the sheet as CSV"
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (OSError, ValueError, *_DAMAGED) as error:
        raise _broken(path, error) from None
    try:
        yield book
    except _DAMAGED as error:
        raise _broken(path, error) from None
    finally:
        book.close()


def _broken(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{str(path)!r} is a damaged workbook ({type(error).__name__}); open it in Excel, and save it again"
    )


def open_sheet(path: Path, sheet: str | None, name: str) -> Table:
    """Open a sheet of a workbook as the table of a site; without a name, the only sheet that is not empty.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "book.xlsx"
    >>> pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel(file, sheet_name="Lyon", index=False)
    >>> open_sheet(file, "Lyon", "Lyon").columns
    ('a', 'b')
    """
    found, names = inspect_sheet(path, sheet)
    return Table(
        name,
        names,
        str(path) if sheet is None else f"{path}?sheet={sheet}",
        _read=lambda size, text: read_sheet(path, found, names, size, text),
        _cells=lambda size: no_noise(path, "an Excel workbook"),
    )


EXCEL = FileFormat(
    (".xlsx", ".xls"), lambda path, start: is_workbook(path), lambda path, form: open_sheet(path, None, stem(path))
)
