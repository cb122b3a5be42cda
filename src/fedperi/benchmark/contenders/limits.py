"""A time limit for one fit, so that a slow package does not block a grid."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 300.0
"""Default limit of CPU seconds for a fit."""


class TooSlowError(BaseException):
    """A fit has used up its time. Not an `Exception`: packages that catch these would continue."""


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Raise `TooSlowError` when this process has used `seconds` more of CPU time.

    If signals cannot be used (Windows, threads) there is no limit. Compiled code is not interrupted: the error is
    raised when it returns.

    Examples
    --------
    >>> with within(0.05):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    ...
    fedperi.benchmark.contenders.limits.TooSlowError: more than 0.05 CPU s
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise TooSlowError(f"more than {seconds:g} CPU s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again each second, in case that a package catches everything
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
