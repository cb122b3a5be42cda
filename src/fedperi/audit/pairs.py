"""What an audit attacks: two tables, in memory or as files, that differ by a row with nearly the largest influence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tables.schema import Column, Schema
from ..tables.table import Table, open_table

if TYPE_CHECKING:
    import pandas as pd

ROWS = 40
"""Number of rows in the smaller table."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A table, an additional row that an attacker looks for, and the public values of both.

    Examples
    --------
    >>> worst_case().row
    {'a': 1.0, 'b': 1.0}
    """

    schema: Schema
    rows: pd.DataFrame
    row: dict[str, Any]

    @property
    def larger(self) -> pd.DataFrame:
        """The table with the row, which is its last."""
        import pandas as pd

        return pd.concat([self.rows, pd.DataFrame([self.row])], ignore_index=True)

    @property
    def tables(self) -> tuple[Table, Table]:
        """Both tables, without the row and with it."""
        return open_table(self.rows, "audit"), open_table(self.larger, "audit")


@dataclass(frozen=True)
class FileNeighbours:
    """Two files that differ by the last line of the larger one.

    Examples
    --------
    >>> import tempfile
    >>> pair = worst_files(Path(tempfile.mkdtemp()))
    >>> pair.larger.read_text().splitlines()[-1]
    '1.0;1e999'
    """

    schema: Schema
    smaller: Path
    larger: Path

    @property
    def tables(self) -> tuple[Table, Table]:
        """Both tables, without the row and with it."""
        return open_table(self.smaller, "audit"), open_table(self.larger, "audit")


def worst_case(rows: int = ROWS) -> Neighbours:
    """Return two numeric columns far from their bounds, and a row at the bounds, clipped in nearly all units.

    Examples
    --------
    >>> len(worst_case().rows), len(worst_case().larger)
    (40, 41)
    """
    import pandas as pd

    values = np.linspace(-0.4, 0.4, rows)
    schema = Schema(tuple(Column(name, "continuous", bounds=(-1.0, 1.0)) for name in "ab"))
    return Neighbours(schema, pd.DataFrame({"a": values, "b": values[::-1]}), {"a": 1.0, "b": 1.0})


def worst_files(folder: Path) -> FileNeighbours:
    """Write the tables of `worst_case` as files with decimal commas; the additional row has another format.

    Its numbers have a decimal point, and an exponent beyond all bounds: this must not change how other rows are read.

    Examples
    --------
    >>> import tempfile
    >>> [table.columns for table in worst_files(Path(tempfile.mkdtemp())).tables]
    [('a', 'b'), ('a', 'b')]
    """
    pair = worst_case()
    text = pair.rows.to_csv(None, sep=";", decimal=",", index=False)
    files = folder / "smaller.csv", folder / "larger.csv"
    for file, row in zip(files, ("", "1.0;1e999\n"), strict=True):
        file.write_text(text + row, encoding="utf-8")
    return FileNeighbours(pair.schema, *files)
