"""Loops in C over plain arrays, where the per-call overhead of numpy would dominate.

There is one way to use them. A caller calls ``kernel.loops.some_loop``, which fills arrays in place and returns True,
or returns False if it leaves the case to numpy. Then the caller computes it with numpy, by the same operations in the
same order: graphs are the same, but it takes longer. If the loops were not compiled when the package was installed, or
if the environment variable ``FEDPERI_KERNEL`` is ``numpy``, every loop leaves every case. The manifest of a run notes
which it was.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

SLOWER = (
    "fedperi was installed without its compiled loops and computes with numpy. Graphs are the same, but M-PERI takes "
    "20 times as long with 5 variables and 340 times with 8; I-PERI takes 2 to 4 times as long with 20 to 100. "
    "Install fedperi from a wheel, or where there is a C compiler"
)
"""CPU times on simulated tables of 4 to 10 sites (docs/results/scale.md)."""


class NoLoops:
    """Stands in for the compiled loops where there are none: every loop leaves its case to numpy.

    Parameters
    ----------
    missing : bool
        Whether they should be there. If so, a warning says once per process what this costs.

    Examples
    --------
    >>> NoLoops().add_up([[1.0]], [0.0])
    False
    """

    def __init__(self, missing: bool = False) -> None:
        self._missing = missing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._missing:
            _warn_once()
        return _leave_to_numpy


def _leave_to_numpy(*_: object) -> bool:
    return False


@cache
def _warn_once() -> None:
    warnings.warn(SLOWER, stacklevel=4)


def _find_loops() -> Any:
    if os.environ.get("FEDPERI_KERNEL") == "numpy":
        return NoLoops()
    try:
        from . import _loops
    except ImportError:
        return NoLoops(missing=True)
    check_sources(_loops, Path(__file__).parent)
    return _loops


def check_sources(compiled: Any, folder: Path) -> None:
    """Refuse loops that were compiled from other sources than those beside them: after a pull or an edit.

    An installed package has no sources, so there is nothing to compare.

    Examples
    --------
    >>> check_sources(None, Path("no", "such", "folder"))
    """
    sources = sorted(folder.glob("*.[ch]"))
    number = crc32(b"".join(one.read_bytes() for one in sources)) & 0x7FFFFFFF  # as setup.py computes it
    if sources and getattr(compiled, "SOURCES", None) != number:
        raise RuntimeError(
            "the compiled loops are not those of the sources beside them, which have changed: run "
            "`pip install -e '.[dev]'` again (or set FEDPERI_KERNEL=numpy to work without them)"
        )


if TYPE_CHECKING:
    from . import _loops as loops
else:
    loops = _find_loops()


def kind() -> str:
    """Say how this process computes.

    Examples
    --------
    >>> kind() in ("compiled", "numpy")
    True
    """
    return "numpy" if isinstance(loops, NoLoops) else "compiled"
