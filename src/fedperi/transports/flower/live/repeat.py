"""Something that is done again and again in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def repeated(seconds: float, call: Callable[[], object]) -> Iterator[None]:
    """Call again and again in the background, until the ``with`` block ends."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(seconds):
            quietly(call)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()


def quietly(call: Callable[[], object]) -> None:
    """Call, and let it fail: a heartbeat or a farewell that nobody hears needs no remedy."""
    import httpx

    with suppress(httpx.HTTPError, RuntimeError):
        call()
