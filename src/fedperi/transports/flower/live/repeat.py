"""Calls in the background, in parallel, or once a day; and how changed files are noticed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

AT_ONCE = 4
"""Parts of a message that are sent or received at the same time, each on its own connection."""

DAY = 86400.0

LAST = 1.0
"""Seconds that the last of repeated calls gets to end, so that it does not arrive after later messages."""


@contextmanager
def repeated(
    seconds: float, call: Callable[[], object], client: AbstractContextManager[object] | None = None
) -> Iterator[None]:
    """Call repeatedly in the background, until the ``with`` block ends; `client` is a connection for this call alone.

    The thread that uses the client also closes it. If another thread closed it during a request, the next connection
    would get the same file descriptor, and the rest of the request would be sent on it and break it.
    """
    done = threading.Event()

    def repeat() -> None:
        with client or nullcontext():
            while not done.wait(seconds):
                quietly(call)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(LAST)


def quietly(call: Callable[[], object]) -> None:
    """Call, and ignore failures: a lost heartbeat or farewell does no harm."""
    import httpx

    with suppress(httpx.HTTPError, RuntimeError):
        call()


def at_once(call: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Call for several items at the same time, so that they share the time of a round trip."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(call, items))


class Daily:
    """Limits a reminder to once a day."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def due(self) -> bool:
        """Whether the reminder is due; if so, the next one is due a day later."""
        due = time.monotonic() > self._last + DAY
        if due:
            self._last = time.monotonic()
        return due


def stamps(paths: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Return the time and size of each file that exists, by its name: when a file changes, so do these."""
    found = {}
    for path in paths:
        with suppress(OSError):
            status = path.stat()
            found[path.name] = (status.st_mtime_ns, status.st_size)
    return found
