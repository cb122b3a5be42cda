"""Loops in C over plain arrays, where the per-call overhead of numpy would dominate.

A caller calls ``kernel.loops.some_loop``, which fills arrays in place and returns True, or returns False if it does not
compute the case. Then the caller computes it with numpy, by the same operations in the same order: graphs are the same,
but it takes longer. If the loops were not compiled when the package was installed, or if the environment variable
``FEDPERI_KERNEL`` is ``numpy``, every loop returns False. The manifest of a run says which was used.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

COST = (
    "Graphs are the same, but M-PERI takes 20 times as long with 5 variables and 340 times with 8; I-PERI takes 2 to 4 "
    "times as long with 20 to 100"
)
"""CPU times on simulated tables of 4 to 10 sites (docs/results/scale.md)."""

SLOWER = (
    f"fedperi was installed without its compiled loops and computes with numpy. {COST}. Install fedperi from a wheel, "
    "or where there is a C compiler"
)

OUTDATED = (
    "fedperi's compiled loops were made from other sources than those here, as after `git pull`, so that it computes "
    f"with numpy. {COST}. Run `pip install -e .` again"
)


class NoLoops:
    """Replace the compiled loops if there are none: every loop returns False, so that numpy is used.

    Parameters
    ----------
    why : str
        Why the loops are missing; shown in a warning, once per process. If empty, there is no warning.

    Examples
    --------
    >>> NoLoops().add_up([[1.0]], [0.0])
    False
    """

    def __init__(self, why: str = "") -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._why:
            _warn_once(self._why)
        return _leave_to_numpy


def _leave_to_numpy(*_: object) -> bool:
    return False


@cache
def _warn_once(why: str) -> None:
    warnings.warn(why, stacklevel=4)


def version_of(folder: Path) -> int:
    """Return a checksum of the C sources in a folder, which setup.py compiles into the loops; zero if there are none.

    Examples
    --------
    >>> version_of(Path(__file__).parent / "nowhere")
    0
    """
    number = 0
    for source in sorted([*folder.glob("*.c"), *folder.glob("*.h")]):
        number = crc32(source.read_bytes(), number)
    return number & 0x7FFFFFFF  # a C long may have 32 bits


def _find_loops() -> Any:
    if os.environ.get("FEDPERI_KERNEL") == "numpy":
        return NoLoops()
    try:
        from . import _loops
    except ImportError:
        return NoLoops(SLOWER)
    here = version_of(Path(__file__).parent)  # a wheel has no sources: its loops were compiled with its Python files
    return NoLoops(OUTDATED) if here and getattr(_loops, "version", None) != here else _loops


if TYPE_CHECKING:
    from . import _loops as loops
else:
    loops = _find_loops()


def kind() -> str:
    """Say whether this process uses the compiled loops.

    Examples
    --------
    >>> kind() in ("compiled", "numpy")
    True
    """
    return "numpy" if isinstance(loops, NoLoops) else "compiled"
