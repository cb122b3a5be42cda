"""Plain columns: those that pandas stores as an array of NumPy's own numbers or truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


def is_plain(dtype: object, kinds: str = "fiub") -> bool:
    """Whether a column of this type holds plain numbers or truth values: no objects, no type of pandas' own.

    Examples
    --------
    >>> import pandas as pd
    >>> [is_plain(pd.Series(values).dtype) for values in ([0.5], [1], [True], ["a"])]
    [True, True, True, False]
    """
    return isinstance(dtype, np.dtype) and dtype.kind in kinds


def plain_values(frame: pd.DataFrame, positions: Sequence[int]) -> NDArray[np.float64]:
    """Return plain columns, given by their positions, as a matrix of floats, without a copy where that is possible.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_values(pd.DataFrame({"a": [0.5, 1.5], "b": ["u", "v"], "c": [1, 2]}), [2, 0]).tolist()
    [[1.0, 0.5], [2.0, 1.5]]
    """
    whole = list(positions) == list(range(frame.shape[1]))
    values: NDArray[np.float64] = (frame if whole else frame.iloc[:, list(positions)]).to_numpy(dtype=np.float64)
    return values
