"""What is done in the background, or several times at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

AT_ONCE = 4
"""Parts of a message that are under way at the same time, each on a connection of its own."""


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


def meanwhile(call: Callable[[], object]) -> None:
    """Call in the background, once, and let it fail."""
    threading.Thread(target=quietly, args=(call,), daemon=True).start()


def at_once(call: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Call for several items at the same time: one after the other, each would wait for a round trip of its own."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(call, items))
