"""Moments of a table of numbers, computed while its columns are checked, so that a file is read once and not twice.

When the first rows are read, nothing is known about the table yet. So all columns are assumed to be continuous. If a
column turns out to be something else, the moments are given up, and the rows are read again as the schema says. The
moments are bit by bit those of a second reading: the same rows in the same chunks, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..embedding import Data
from ..encode import side_by_side
from ..moments import Moments, MomentStream
from ..schema import Schema
from ..table import Table
from .plain import is_plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class PassingMoments:
    """The moments of chunks of rows, as long as all columns are numbers.

    Parameters
    ----------
    table : Table
        The table that the chunks belong to.
    schema : Schema, optional
        The order of the columns; that of the table if not given.
    drop : bool
        Whether rows in which a value is missing are left out.
    draw : callable
        Resamples rows: returns each as often as it counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> table = open_table(pd.DataFrame({"a": [1.0, 3.0], "b": [0.0, 2.0]}))
    >>> passing = PassingMoments(table, None, drop=False, draw=lambda rows: rows)
    >>> for frame in table.chunks():
    ...     passing.add(frame)
    >>> passing.result(table.columns)
    Moments(n=2, mean=array([2., 1.]), scatter=array([[2., 2.],
           [2., 2.]]))
    """

    def __init__(self, table: Table, schema: Schema | None, drop: bool, draw: Callable[[Floats], Floats]) -> None:
        self.names = table.columns if schema is None else schema.names
        # Without a schema, whole numbers may be codes, and their moments would not be used.
        self._kinds = "f" if schema is None else "fiub"
        self._positions = [table.columns.index(name) for name in self.names]
        self._drop, self._draw = drop, draw
        self._stream: MomentStream | None = MomentStream()

    def add(self, frame: pd.DataFrame) -> None:
        """Add the next chunk."""
        if self._stream is None or not len(frame):
            return
        if not all(is_plain(dtype, self._kinds) for dtype in frame.dtypes):
            self._stream = None
            return
        columns = (frame.iloc[:, position].to_numpy(dtype=np.float64) for position in self._positions)
        rows = side_by_side([column[:, None] for column in columns])
        if self._drop:
            absent = np.isnan(rows).any(axis=1)
            rows = rows[~absent] if absent.any() else rows
        rows = self._draw(rows) if len(rows) else rows
        if len(rows):
            # Missing and infinite numbers are reported when the whole table has been read.
            with np.errstate(over="ignore", invalid="ignore"):
                self._stream.add(rows)

    def result(self, names: tuple[str, ...]) -> Moments | None:
        """Return the moments of these columns, or None if the rows must be read again."""
        return self._stream.result() if self._stream and names == self.names else None


def passing_moments(
    table: Table, schema: Schema | None, partial: bool, data: Data, drop: bool, draw: Callable[[Floats], Floats]
) -> PassingMoments | None:
    """Return moments to add chunks to, or None if it is clear that rows are needed in another form.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> table = open_table(pd.DataFrame({"a": [1.0, 3.0]}))
    >>> passing_moments(table, None, False, "discrete", False, lambda rows: rows) is None
    True
    """
    if data in ("discrete", "nonlinear") or table.engine is not None:
        return None
    if schema is not None:
        if any(column.kind == "categorical" for column in schema.columns):
            return None
        if partial or set(schema.names) != set(table.columns):
            schema = None
    return PassingMoments(table, schema, drop, draw)
