"""Run the same code with compiled loops and with numpy."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from fedperi.scores import _kernel as kernel

Found = TypeVar("Found")

loops = kernel.loops
needs_loops = pytest.mark.skipif(kernel.kind() == "numpy", reason="the loops were not compiled: there is no C compiler")


def both(compute: Callable[[], Found]) -> list[Found]:
    """Return the results with compiled loops and without."""
    try:
        return [compute() for kernel.loops in (loops, kernel.NoLoops())]  # type: ignore[assignment]
    finally:
        kernel.loops = loops
