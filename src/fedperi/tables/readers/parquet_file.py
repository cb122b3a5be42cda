"""Reading Parquet files in batches of rows; needs pyarrow, which is optional."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..in_threads import ahead
from ..table import Cells, Table
from .formats.file_format import FileFormat, TextForm
from .formats.naming import stem

if TYPE_CHECKING:
    import pandas as pd

MAGIC = b"PAR1"  # the first four bytes of every Parquet file
_ARROW_ERRORS = (ValueError, OSError, NotImplementedError)


def inspect_parquet(path: Path) -> tuple[str, ...]:
    """Return the names of the columns, without the row index that pandas may have stored beside them.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "north.parquet"
    >>> pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"]).to_parquet(file)
    >>> inspect_parquet(file)
    ('a', 'b')
    """
    with _open(path) as file:
        schema = file.schema_arrow
        index = _index_columns((schema.metadata or {}).get(b"pandas", b"{}"))
        return tuple(name for name in schema.names if name not in index)


def has_rows(path: Path) -> bool:
    """Say whether a file holds rows, if it is a Parquet file; True for all other files.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "part-0.parquet"
    >>> pd.DataFrame({"a": []}).to_parquet(file)
    >>> has_rows(file)
    False
    """
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            return True
    with _open(path) as file:
        return bool(file.metadata.num_rows)


def _index_columns(note: bytes) -> list[str]:
    """Return the names of the index columns from the metadata that pandas stores. They may hold anything."""
    try:
        stored = json.loads(note)
    except (ValueError, RecursionError):
        stored = None
    names = stored.get("index_columns") if isinstance(stored, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def read_parquet(path: Path, names: tuple[str, ...], size: int) -> Iterator[pd.DataFrame]:
    """Yield the rows in frames of at most `size`.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "north.parquet"
    >>> pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}).to_parquet(file)
    >>> [chunk["b"].tolist() for chunk in read_parquet(file, ("a", "b"), 2)]
    [[4, 5], [6]]
    """
    with _open(path) as file:
        if not file.metadata.num_rows:
            raise InputError(f"{str(path)!r} has columns but no rows; a site needs at least 2")
        try:
            for batch in file.iter_batches(batch_size=size, columns=list(names)):
                yield _frame(batch, names)
        except _ARROW_ERRORS as error:
            raise _broken(path, error) from None


def _frame(batch: Any, names: tuple[str, ...]) -> pd.DataFrame:
    """Return a batch as a frame: plain numbers without a copy, other columns as pandas stores them.

    Arrow itself would copy the numbers into one block, which takes longer than reading them. The row index that pandas
    may have stored is a column like any other here. It is not among `names`.
    """
    import pandas as pd
    import pyarrow.types as types

    columns: dict[str, Any] = {}
    for name in names:
        column = batch.column(name)
        plain = types.is_integer(column.type) or types.is_floating(column.type)
        if plain and not column.null_count:
            columns[name] = column.to_numpy()
        else:
            columns[name] = column.to_pandas().array
    return pd.DataFrame(columns, copy=False)


def parquet_cells(path: Path, names: tuple[str, ...], size: int) -> Iterator[dict[str, Any]]:
    """Yield the cells of at most `size` rows, by column; the content of a row does not change how others are converted.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "north.parquet"
    >>> pd.DataFrame({"a": [1, 2], "b": ["u", None]}).to_parquet(file)
    >>> [{name: list(cells) for name, cells in part.items()} for part in parquet_cells(file, ("a", "b"), 2)]
    [{'a': [1, 2], 'b': ['u', None]}]
    """
    with _open(path) as file:
        for name in names:
            _check_type(path, name, file.schema_arrow.field(name).type)
        try:
            for batch in file.iter_batches(batch_size=size, columns=list(names)):
                yield {name: _column_cells(batch.column(name)) for name in names}
        except _ARROW_ERRORS as error:
            raise _broken(path, error) from None


def _check_type(path: Path, name: str, kind: Any) -> None:
    """Refuse a column that is neither numbers nor text: some values of such a type cannot be read. A type is public."""
    import pyarrow.types as types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    known = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if not any(is_one(kind) for is_one in (*known, types.is_string, types.is_large_string)):
        raise InputError(
            f"{str(path)!r}, column {name!r}: it is stored as {kind}, which cannot be read under privacy; store it as "
            "numbers or text"
        )


def _column_cells(column: Any) -> Any:
    import pyarrow as arrow
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_integer(column.type) or types.is_floating(column.type):
        return column.to_pandas()
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return column.to_pylist()
    # A text that is not UTF-8 would otherwise raise an error, and refuse the rows beside it.
    wide = arrow.large_binary() if types.is_large_string(column.type) else arrow.binary()
    return [None if cell is None else cell.decode("utf-8", "replace") for cell in column.cast(wide).to_pylist()]


def _open(path: Path) -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(
            f"{str(path)!r} is a Parquet file and pyarrow is not installed; pip install pyarrow (the extra 'files' "
            "brings it)"
        ) from None
    try:
        # With its buffer, Arrow would keep the whole file in memory while it is read in batches.
        return parquet.ParquetFile(path, pre_buffer=False)
    except _ARROW_ERRORS as error:
        raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> InputError:
    return InputError(f"{str(path)!r} is not a complete Parquet file: {str(error).splitlines()[0]}; write it again")


def _open_parquet(path: Path, form: TextForm) -> Table:
    names = inspect_parquet(path)
    return Table(
        stem(path),
        names,
        str(path),
        _read=lambda size, text: ahead(read_parquet(path, names, size)),
        _cells=lambda size: map(Cells, parquet_cells(path, names, size)),
        least=_least_bytes(path, names),
    )


def _least_bytes(path: Path, names: tuple[str, ...]) -> int:
    """Return the bytes that the columns with numbers of eight bytes take in memory."""
    with _open(path) as file:
        wide = [
            one for one in file.schema_arrow if one.name in names and str(one.type) in ("int64", "uint64", "double")
        ]
        return 8 * len(wide) * int(file.metadata.num_rows)


PARQUET = FileFormat((".parquet", ".pq"), lambda path, start: start.startswith(MAGIC), _open_parquet)
