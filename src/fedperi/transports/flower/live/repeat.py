"""What is done in the background, or several times at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

AT_ONCE = 4
"""Parts of a message that are under way at the same time, each on a connection of its own."""


LAST = 1.0
"""Seconds that the last of repeated calls gets to end, so that it does not arrive after what follows."""


@contextmanager
def repeated(
    seconds: float, call: Callable[[], object], client: AbstractContextManager[object] | None = None
) -> Iterator[None]:
    """Call again and again in the background, until the ``with`` block ends; with a client that only this call uses.

    It is closed where it is used. If another thread closed it during a request, the rest of that request would go to
    whatever connection is opened next, since the system gives it the same number, and break that one.
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
    """Call, and let it fail: a heartbeat or a farewell that nobody hears needs no remedy."""
    import httpx

    with suppress(httpx.HTTPError, RuntimeError):
        call()


def at_once(call: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Call for several items at the same time: one after the other, each would wait for a round trip of its own."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(call, items))
