"""Ctrl-C that is heeded wherever it strikes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def heeding_interrupts() -> Iterator[Callable[[], None]]:
    """Give a function that raises `KeyboardInterrupt` if one was raised before and got lost.

    Python raises it in whatever code runs at that moment, and libraries swallow it here and there: when pandas compares
    data types, numpy takes an error in the comparison for a plain no. One Ctrl-C in thirty was lost like that. A run
    looks before every round. Elsewhere than in the main thread, or where the program has a handler of its own, nothing
    is changed.

    Examples
    --------
    >>> with heeding_interrupts() as look:
    ...     look()  # nothing was lost
    """
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield lambda: None
        return
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        usual(number, frame)

    def look() -> None:
        if seen:
            seen.clear()
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield look
    finally:
        signal.signal(signal.SIGINT, usual)
