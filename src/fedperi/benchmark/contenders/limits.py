"""A limit of time for one fit: a slow package must not block a grid."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 300.0
"""CPU seconds that a fit may take, if nothing else is asked for."""


class TooSlowError(BaseException):
    """A fit has used up its time. No `Exception`: packages that catch those would go on."""


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Raise `TooSlowError` when this process has used `seconds` more of CPU time.

    Where signals cannot be used (Windows, threads) there is no limit. A call of compiled code is not interrupted: the
    error comes when it returns.

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
