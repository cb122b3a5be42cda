"""Arrays that cannot be written to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


def frozen(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Return a copy in an immutable buffer. Unlike numpy's flag, this cannot be switched back to writeable.

    Examples
    --------
    >>> frozen([1, 2], float).flags.writeable
    False
    """
    array = np.ascontiguousarray(values, dtype=dtype)
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
