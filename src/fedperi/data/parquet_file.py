"""Reading Parquet files in batches of rows; needs pyarrow, which is optional."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import pandas as pd

MAGIC = b"PAR1"  # the first four bytes of every Parquet file


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
        schema, rows = file.schema_arrow, file.metadata.num_rows
        if not rows:
            raise InputError(f"{str(path)!r} has columns but no rows; a site needs at least 2")
        stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = [name for name in stored.get("index_columns", []) if isinstance(name, str)]
        return tuple(name for name in schema.names if name not in index)


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
        batches = file.iter_batches(batch_size=size, columns=list(names))
        while True:
            try:
                # The metadata would bring the index back as an index; the rows are all we want.
                batch = next(batches, None)
                frame = None if batch is None else batch.to_pandas(ignore_metadata=True)
            except (ValueError, OSError, NotImplementedError) as error:  # Arrow's errors are among these
                raise _broken(path, error) from None
            if frame is None:
                return
            yield frame[list(names)]


def _open(path: Path) -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(
            f"{str(path)!r} is a Parquet file and pyarrow is not installed; pip install 'fedperi[parquet]'"
        ) from None
    try:
        # With its buffer, Arrow would hold the whole file while it is read in batches.
        return parquet.ParquetFile(path, pre_buffer=False)
    except (ValueError, OSError) as error:
        raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> InputError:
    return InputError(f"{str(path)!r} is not a complete Parquet file: {str(error).splitlines()[0]}; write it again")
