"""Loops in C over plain arrays, where the price of a call of numpy would be most of the time.

They are compiled when the package is installed. Where that was not possible, or if the environment variable
``FEDPERI_KERNEL`` is ``numpy``, `loops` is None and the same is computed with numpy: by the same operations in the same
order, so that graphs are the same, only slower. `KIND` says which; the manifest of a run notes it.
"""

import os
from types import ModuleType

loops: ModuleType | None
try:
    if os.environ.get("FEDPERI_KERNEL") == "numpy":
        raise ImportError
    from . import _loops as loops
except ImportError:
    loops = None

KIND = "numpy" if loops is None else "compiled"
