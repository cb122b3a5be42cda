"""A folder as the table of one site: many CSV or Parquet files with the same columns, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import InputError
from ...checks.findings import quoted
from ...table import Cells, Table, open_table
from ..parquet_file import has_rows
from .file_format import TextForm

if TYPE_CHECKING:
    import pandas as pd


def open_folder(folder: Path, form: TextForm = TextForm()) -> Table:  # noqa: B008 (immutable)
    r"""Open all files of a folder, and of the folders in it, as one table.

    Files and folders whose names begin with a point or an underscore are left out.

    Raises
    ------
    InputError
        If there are no files, or their columns differ.

    Examples
    --------
    >>> import tempfile
    >>> lyon = Path(tempfile.mkdtemp()) / "lyon"
    >>> lyon.mkdir()
    >>> for month in ("may", "june"):
    ...     _ = (lyon / f"{month}.csv").write_text("age,dose\n41,0.5\n37,1.5\n")
    >>> table = open_folder(lyon)
    >>> table.name, table.columns, sum(len(chunk) for chunk in table.chunks())
    ('lyon', ('age', 'dose'), 4)
    """
    paths = _files(folder)
    if not paths:
        raise InputError(f"the folder {str(folder)!r} holds no files; give the files of one site, or a table")
    parts = [open_table(path, encoding=form.encoding, decimal=form.decimal) for path in paths]
    first = parts[0]
    for part in parts[1:]:
        odd = sorted(set(part.columns) ^ set(first.columns))
        if odd:
            raise InputError(
                f"the folder {str(folder)!r} is taken as one table, and its files differ: {first.origin!r} and "
                f"{part.origin!r} do not both have {quoted(odd)}; keep the files of each site in a folder of its own"
            )
    names = list(first.columns)

    def read(size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        for part in filled:
            for frame in part.chunks(size, text):
                yield frame if list(frame.columns) == names else frame[names]

    def cells(size: int) -> Iterator[Cells]:
        return chain.from_iterable(part.cells(size) for part in parts)

    def notes() -> tuple[str, ...]:
        found = dict.fromkeys(note for part in filled for note in part.notes)
        return f"{len(parts)} files, taken as one table", *found

    filled = [part for part, path in zip(parts, paths, strict=True) if has_rows(path)] or parts[:1]
    return Table(
        folder.resolve().name,
        first.columns,
        str(folder),
        any(part.both_marks for part in parts),
        _read=read,
        _cells=cells,
        _notes=notes,
        least=sum(part.least for part in parts),
    )


def _files(folder: Path) -> list[Path]:
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if any(part.startswith((".", "_")) for part in inside):  # such as _SUCCESS, which Spark leaves
            continue
        if path.is_dir() and "=" in path.name:
            raise InputError(
                f"{str(path)!r}: the name of the folder holds the value of a column; write the dataset without "
                "partitions, or query it with DuckDB (docs/guides/tables.md)"
            )
        if path.is_file():
            found.append(path)
    return found
