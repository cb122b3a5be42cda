"""Process several tables in parallel, in threads, if this saves time."""

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
"""Seconds for one table below which the others are processed one after the other. Python runs in one thread at a time,
so threads with little work wait for each other longer than they work."""

UNTHREADED = 2
"""Items that `ahead` makes without a thread: chunks of 65,536 rows, which are read in tenths of a second."""

POLL = 0.5
"""Seconds after which a wait checks whether it was interrupted."""


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
    """Apply `work` to each item, `jobs` of them in parallel, and yield the results in the order of the items.

    The first items show how long it takes. If they are quick, the rest is processed without threads.

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
    """Yield items while a thread makes the next one, so that reading and computing use two cores.

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
    """Yield results in order. The first error is raised at once, and ends the rest."""
    waiting = deque(futures)  # a result that was yielded is not kept in memory here
    try:
        while waiting:
            yield _result(waiting.popleft())
    finally:
        for future in waiting:  # cancel work that has not begun
            future.cancel()


def _result(future: Future[Any]) -> Any:
    """Wait for one result. No wait is endless, because an interruption just before it is noticed only when it ends."""
    while not future.done():
        wait([future], timeout=POLL)
    return future.result()
