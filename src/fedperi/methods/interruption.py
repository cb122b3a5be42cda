"""Respect Ctrl-C at any point of a run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def respecting_interrupts() -> Iterator[Callable[[], None]]:
    """Return a function that raises the exception of an earlier Ctrl-C, if it was lost.

    Python raises it in the code that runs at that moment, and libraries sometimes discard it: when pandas compares data
    types, numpy treats an error in the comparison as "not equal". Some Ctrl-C were lost in this way, so a run checks
    before every round. The program's reaction to Ctrl-C (by default `KeyboardInterrupt`) does not change; outside the
    main thread nothing is done.

    Examples
    --------
    >>> with respecting_interrupts() as look:
    ...     look()  # nothing was lost
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield lambda: None
        return
    raised: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        try:
            usual(number, frame)
        except BaseException:
            raised.append(number)
            raise

    def look() -> None:
        if raised:
            number = raised[0]
            raised.clear()
            usual(number, None)

    signal.signal(signal.SIGINT, note)
    try:
        yield look
    finally:
        signal.signal(signal.SIGINT, usual)
