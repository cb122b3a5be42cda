"""Frames for formats in which each cell has its own type, and columns have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...levels import level_text

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = ("-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "NaN", "nan")
GAPS = frozenset({"", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null", *_NUMBERS})
"""Texts that mean a missing value: the same as pandas uses for CSV files."""

_EXACT = 2.0**53  # whole numbers up to this one are exact as floats


def is_gap(cell: Any) -> bool:
    """Say whether a cell holds no value.

    Examples
    --------
    >>> [is_gap(cell) for cell in (None, " ", "NA", 0, "none")]
    [True, True, True, False, False]
    """
    return cell is None or (isinstance(cell, str) and cell.strip() in GAPS)


def untyped_frame(
    names: Sequence[str], columns: Sequence[Sequence[Any]], text: frozenset[str] = frozenset()
) -> pd.DataFrame:
    """Make a frame of columns of cells; every value in the columns of `text` becomes text.

    Examples
    --------
    >>> frame = untyped_frame(["a", "b", "c"], [[1.0, 2.0], [0.5, None], [1, "u"]], frozenset("c"))
    >>> frame.to_dict("list"), frame["a"].dtype
    ({'a': [1, 2], 'b': [0.5, nan], 'c': ['1', 'u']}, dtype('int64'))
    """
    import pandas as pd

    return pd.DataFrame({name: _series(cells, name in text) for name, cells in zip(names, columns, strict=True)})


def whole_as_integers(series: pd.Series[Any]) -> pd.Series[Any]:
    """Store whole numbers as integers, for formats that have no integers: a CSV file would hold 1, not 1.0.

    Examples
    --------
    >>> import pandas as pd
    >>> [str(whole_as_integers(pd.Series(values)).dtype) for values in ([0.0, 1.0], [0.5, 1.0], [0.0, None])]
    ['int64', 'float64', 'float64']
    """
    if series.dtype != np.float64:
        return series
    values = series.to_numpy()
    whole = bool(len(values)) and bool((np.abs(values) < _EXACT).all()) and bool((values == np.floor(values)).all())
    return series.astype(np.int64) if whole else series


def _series(cells: Sequence[Any], text: bool) -> pd.Series[Any]:
    import pandas as pd

    values = [None if is_gap(cell) else cell for cell in cells]
    kinds = {type(cell) for cell in values if cell is not None}
    if text:
        return pd.Series([None if cell is None else level_text(cell) for cell in values], dtype=object)
    if kinds and kinds <= {int, float}:
        return whole_as_integers(pd.Series(values, dtype=np.float64))
    return pd.Series(values, dtype=object if len(kinds) > 1 else None)
