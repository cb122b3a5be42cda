"""Loops in C over plain arrays, where the price of a call of numpy would be most of the time.

They are compiled when the package is installed. Where that was not possible, or if the environment variable
``FEDPERI_KERNEL`` is ``numpy``, `loops` is None and the same is computed with numpy: by the same operations in the same
order, so that graphs are the same, only slower. The manifest of a run notes which it was.
"""

import os

try:
    if os.environ.get("FEDPERI_KERNEL") == "numpy":
        raise ImportError
    from . import _loops as loops
except ImportError:
    loops = None  # type: ignore[assignment]


def kind() -> str:
    """Say how this process computes.

    Examples
    --------
    >>> kind() in ("compiled", "numpy")
    True
    """
    return "numpy" if loops is None else "compiled"
