"""Tests of single pairs, combined into long arrays: otherwise the per-call overhead of numpy dominates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ..pc.skeleton import BATCH

Indices = NDArray[np.intp]


def batched(pieces: Iterable[tuple[int, int, Indices]], most: int = BATCH) -> Iterator[tuple[Indices, ...]]:
    """Join the tests of pairs, each with a table of sets, into groups of about `most` tests.

    Examples
    --------
    >>> sets = np.array([[2], [3]])
    >>> [[part.tolist() for part in group] for group in batched([(0, 1, sets), (0, 4, sets[:1])])]
    [[[0, 0, 0], [1, 1, 4], [[2], [3], [2]]]]
    """
    ends: list[tuple[int, int]] = []
    tables: list[Indices] = []
    held = 0
    for x, y, given in pieces:
        if not len(given):
            continue
        ends.append((x, y))
        tables.append(given)
        held += len(given)
        if held >= most:
            yield _joined(ends, tables)
            ends, tables, held = [], [], 0
    if held:
        yield _joined(ends, tables)


def _joined(ends: list[tuple[int, int]], tables: list[Indices]) -> tuple[Indices, ...]:
    x, y = np.repeat(np.array(ends, dtype=np.intp), [len(table) for table in tables], axis=0).T
    return x, y, np.concatenate(tables)


def codes(given: Indices) -> list[int]:
    """Every row of a table of sets as a bit set.

    Examples
    --------
    >>> codes(np.array([[0, 2], [1, 70]])) == [5, 2 | 1 << 70]
    True
    """
    if given.max(initial=0) < 63:
        return [int(code) for code in np.left_shift(np.int64(1), given).sum(axis=1)]
    return [sum(1 << v for v in row) for row in given.tolist()]


def table_of(sets: Sequence[int], size: int) -> Indices:
    """Bit sets of one size as a table, one per row, members in ascending order.

    Examples
    --------
    >>> table_of([5, 1 | 1 << 70], 2).tolist()
    [[0, 2], [0, 70]]
    """
    if max(sets, default=0) < 1 << 63:
        inside = np.array(sets, dtype=np.int64)[:, None] >> np.arange(63) & 1
        return np.nonzero(inside)[1].reshape(len(sets), size)
    return np.array([list(bits.members(code)) for code in sets], dtype=np.intp).reshape(len(sets), size)


@lru_cache(maxsize=4096)
def members(inside: int) -> Indices:
    """The members of a bit set in ascending order, read-only and cached: the same sets recur often."""
    out = np.array(list(bits.members(inside)), dtype=np.intp)
    out.flags.writeable = False
    return out
