"""Work for several tables at the same time, in threads, where it pays."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

QUICK = 0.004
"""Seconds for one table below which the others are taken in turn: threads that are done at once wait for each other
longer than they work, since Python itself runs in one of them at a time."""

UNTHREADED = 2
"""Items that `ahead` makes without a thread: chunks of 65,536 rows, read in tenths of a second."""

LOOK_UP = 0.5
"""Seconds after which a wait looks up whether it was interrupted."""


def cores() -> int:
    """Count the processors that this process may use.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    threads: ThreadPoolExecutor | None, jobs: int, work: Callable[[Item], Made], items: Sequence[Item]
) -> Iterator[Made]:
    """Do some work for each item, `jobs` of them at a time, and give the results in the order of the items.

    The first ones tell how long it takes; if that is next to nothing, the rest are not handed to threads.

    Examples
    --------
    >>> with ThreadPoolExecutor(2) as threads:
    ...     list(spread(threads, 2, abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if threads is None or jobs < 2 or len(items) < 2:
        yield from map(work, items)
        return
    begin = time.perf_counter()
    first = list(in_turn([threads.submit(work, item) for item in items[:jobs]]))
    quick = time.perf_counter() - begin < QUICK
    yield from first
    rest = items[jobs:]
    yield from map(work, rest) if quick else in_turn([threads.submit(work, item) for item in rest])


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items while a thread makes the next one: what a reader gets and what is computed from it use two cores.

    The first items are made without a thread, so that short files do not pay for one.

    Examples
    --------
    >>> list(ahead(iter("abcd")))
    ['a', 'b', 'c', 'd']
    """
    yield from islice(items, UNTHREADED)
    with ThreadPoolExecutor(1) as thread:
        end = object()
        coming = thread.submit(next, items, end)
        while (item := _result(coming)) is not end:
            coming = thread.submit(next, items, end)
            yield item


def in_turn(futures: Sequence[Future[Any]]) -> Iterator[Any]:
    """Wait for all, in their order: the first one's error is the one that is raised, and at once."""
    waiting = deque(futures)  # what has come is not held here as well
    try:
        while waiting:
            yield _result(waiting.popleft())
    finally:
        for future in waiting:  # what has not begun does not begin
            future.cancel()


def _result(future: Future[Any]) -> Any:
    """Wait for one. An interruption just before a wait is noticed only when the wait ends, so that none is endless."""
    while not future.done():
        wait([future], timeout=LOOK_UP)
    return future.result()
