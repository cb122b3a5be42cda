"""A site's table: a source of rows that is read in chunks, so that it may be larger than memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ..errors import InputError
from ..names import check_name, shortened
from .checks.findings import quoted
from .levels import level_text
from .readers.formats.naming import each_source, is_path, stem

if TYPE_CHECKING:
    import pandas as pd

    from .databases.opening import Engine
    from .preparing.preparation import Preparation
    from .survey import FirstReading

CHUNK = 65536  # rows held in memory at a time
IN_MEMORY = "DataFrame"

Source = Union["pd.DataFrame", "Table", str, PathLike[str]]


@dataclass(frozen=True)
class Cells:
    """Some rows as they are stored, one sequence of cells per column, and how many damaged lines were left out."""

    columns: Mapping[str, Any]
    damaged: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """A named source of rows with known columns, made by `open_table`.

    Parameters
    ----------
    name : str
        The site's name.
    columns : tuple of str
        The names of the columns, in the order of the source; unique and not empty.
    origin : str
        The path of the file, or ``"DataFrame"``.
    both_marks : bool
        Whether a number in this file may have a decimal comma as well as a decimal point.
    first_reading : FirstReading, optional
        What `fedperi.tables.survey.read_once` found, so that rows are not read again.
    preparations : tuple of Preparation
        What `fedperi.tables.preparing.prepared` did to its columns.
    engine : Engine, optional
        The database that computes counts and moments, if the rows stay there.
    least : int
        A lower bound on the bytes that its rows take in memory, if it is known without reading them.

    Examples
    --------
    >>> import pandas as pd
    >>> table = open_table(pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}), "north")
    >>> table
    Table(name='north', columns=('a', 'b'), origin='DataFrame', both_marks=False)
    >>> [len(chunk) for chunk in table.chunks(2)]
    [2, 1]
    """

    name: str
    columns: tuple[str, ...]
    origin: str
    both_marks: bool = False
    _read: Callable[[int, frozenset[str]], Iterator[pd.DataFrame]] = field(kw_only=True, repr=False)
    _cells: Callable[[int], Iterator[Cells]] = field(kw_only=True, repr=False)
    _notes: Callable[[], tuple[str, ...]] = field(kw_only=True, repr=False, default=tuple)
    first_reading: FirstReading | None = field(kw_only=True, repr=False, default=None)
    preparations: tuple[Preparation, ...] = field(kw_only=True, repr=False, default=())
    engine: Engine | None = field(kw_only=True, repr=False, default=None)
    least: int = field(kw_only=True, repr=False, default=0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about a file, from its first rows."""
        return self._notes()

    @property
    def is_file(self) -> bool:
        """Whether rows come from a file, not from a DataFrame in memory."""
        return self.origin != IN_MEMORY

    def chunks(self, size: int = CHUNK, text: Iterable[str] = ()) -> Iterator[pd.DataFrame]:
        """Yield the rows in order, in frames of at most `size` rows.

        Parameters
        ----------
        size : int
            The number of rows to hold in memory at a time.
        text : iterable of str
            Columns of a CSV file to leave as text, such as codes with leading zeros; columns of a DataFrame in which
            objects of several types are to become text.
        """
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"chunk must be a positive number of rows, not {size!r}")
        return self._read(size, frozenset(text))

    def cells(self, size: int = CHUNK) -> Iterator[Cells]:
        """Yield the rows in order, at most `size` at a time, with cells as they are stored.

        For `fedperi.tables.readers.private`: no row is refused, whatever it holds, and no row changes how another is
        read.
        """
        return self._cells(size)


def open_table(
    source: Source, name: str | None = None, *, encoding: str | None = None, decimal: str | None = None
) -> Table:
    """Open a table by reading its header only. Errors in its rows are found when they are read.

    Parameters
    ----------
    source : DataFrame, path of a CSV or Parquet file, or Table
        A CSV file needs a header line, and may be separated by commas, semicolons or tabs, compressed with gzip, in
        UTF-8 or (with a byte order mark) UTF-16. The content of a file shows its format, not its name. The index of a
        DataFrame is not a column; names that are not strings are turned into strings.
    name : str, optional
        The site's name. If not given: the file's name without its ending, or ``"table"`` for a DataFrame.
    encoding, decimal : str, optional
        The encoding and the decimal mark of a text file; detected if not given.

    Raises
    ------
    InputError
        If there is no such file, it is not a table, or names of columns are empty or not unique.

    Examples
    --------
    >>> import pandas as pd
    >>> open_table(pd.DataFrame({"a": [1, 2]}), name="north").columns
    ('a',)
    >>> open_table("no/such/file.csv")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: 'no/such/file.csv' does not exist; check the path
    """
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise InputError(f"a site's name must be a non-empty string, not {name!r}")
    if name is not None:
        check_name(name, "a site")
    if isinstance(source, Table):
        return source if name is None else replace(source, name=name)
    if isinstance(source, (str, PathLike)):
        from .readers.formats.file_format import TextForm
        from .readers.formats.opening import open_path

        table = open_path(fspath(source), TextForm(encoding, decimal))
    else:
        table = _open_frame(source)
    table = table if name is None else replace(table, name=name)
    _check_names(table)
    return table


def open_tables(sources: Mapping[str, Source] | Iterable[Source]) -> tuple[Table, ...]:
    """Open the tables of several sites, and name each site.

    Parameters
    ----------
    sources : mapping of names to sources, or iterable of sources
        See `open_table`. DataFrames without a name are called ``"site 1"``, ``"site 2"``, ...; if several files have
        the same name, their folders are added (``north/data`` and ``south/data``).

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2]})
    >>> [table.name for table in open_tables([frame, frame])]
    ['site 1', 'site 2']
    >>> [table.name for table in open_tables({"north": frame, "south": frame})]
    ['north', 'south']
    """
    named = named_sources(sources)
    if not named:
        raise InputError("there are no tables; give at least one")
    twice = [name for name, count in Counter(name for name, _ in named).items() if count > 1]
    if twice:
        raise InputError(f"several sites are named {quoted(twice)}; rename the files, or give each site its own name")
    return tuple(open_table(source, name) for name, source in named)


def named_sources(sources: Mapping[str, Source] | Iterable[Source]) -> list[tuple[str, Source]]:
    """Name each source as `open_tables` does, without opening it.

    Examples
    --------
    >>> named_sources(["north/data.csv", "south/data.csv", "east.csv"])
    [('north/data', 'north/data.csv'), ('south/data', 'south/data.csv'), ('east', 'east.csv')]
    """
    if isinstance(sources, Mapping):
        return list(sources.items())
    if isinstance(sources, (str, PathLike, Table)) or hasattr(sources, "columns"):
        raise InputError("give a list of tables, one per site, not a single table")
    given = [one for source in sources for one in each_source(source)]
    stems = Counter(stem(path) for path in {Path(source) for source in given if isinstance(source, (str, PathLike))})
    return [(_name(source, position, stems), source) for position, source in enumerate(given, start=1)]


def _name(source: Source, position: int, stems: Counter[str]) -> str:
    if isinstance(source, Table):
        return source.name
    if isinstance(source, (str, PathLike)):
        path = Path(source)
        own = stem(path)
        return f"{path.parent.name}/{own}" if stems[own] > 1 and is_path(path) else own
    return f"site {position}"


def _open_frame(source: object) -> Table:
    import numpy as np
    import pandas as pd
    from pandas.api.types import infer_dtype

    if isinstance(source, np.ndarray) and source.ndim == 2:  # its columns have no names
        source = pd.DataFrame(source).rename(columns="X{}".format)
    if not isinstance(source, pd.DataFrame):
        kind = type(source).__name__
        raise InputError(f"a table must be a pandas DataFrame or the path of a CSV or Parquet file, not {kind}")
    if isinstance(source.columns, pd.MultiIndex):
        raise InputError("the DataFrame has several levels of column names; flatten them to one")
    frame, names = source, tuple("" if pd.isna(name) else str(name).strip() for name in source.columns)

    def read(size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        if not len(frame):
            raise InputError("the DataFrame has no rows; a site needs at least 2")
        for start in range(0, len(frame), size):
            part = frame if len(frame) <= size else frame.iloc[start : start + size]
            if part.columns.tolist() != list(names):
                part = part.set_axis(list(names), axis=1)
            mixed = [name for name in text if part[name].dtype == object and infer_dtype(part[name]) != "string"]
            changed = {name: part[name].map(level_text, na_action="ignore") for name in mixed}
            yield part.assign(**changed) if changed else part

    def cells(size: int) -> Iterator[Cells]:
        for start in range(0, len(frame), size):
            part = frame.iloc[start : start + size]
            yield Cells({name: part.iloc[:, at] for at, name in enumerate(names)})

    return Table("table", names, IN_MEMORY, _read=read, _cells=cells)


def _check_names(table: Table) -> None:
    check_name(table.name, f"the site of {shortened(table.origin)}")
    if not table.columns:
        raise InputError(f"site {table.name!r}: the table has no columns; give one column per variable")
    for position, name in enumerate(table.columns, start=1):
        if not name:
            raise InputError(f"site {table.name!r}: column {position} has no name; name it, or drop it")
        check_name(name, f"site {table.name!r}, column {position}")
    twice = {name: count for name, count in Counter(table.columns).items() if count > 1}
    if twice:
        several = len(twice) > 1
        what = "names are repeated:" if several else f"{max(twice.values())} columns are named"
        raise InputError(f"site {table.name!r}: {what} {quoted(twice)}; rename them so that every name is unique")
