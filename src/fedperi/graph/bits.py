"""Sets of nodes as integers: bit i is node i. Set algebra on integers makes graph code fast in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def rows(matrix: NDArray[np.bool_]) -> list[int]:
    """Return the rows of a boolean matrix as bit sets: bit j of set i is ``matrix[i, j]``."""
    packed = np.packbits(matrix, axis=1, bitorder="little")
    raw, width = packed.tobytes(), packed.shape[1]
    if not width:
        return [0] * len(packed)
    return [int.from_bytes(raw[at : at + width], "little") for at in range(0, len(raw), width)]


def columns(matrix: NDArray[np.bool_]) -> list[int]:
    """Return the columns of a boolean matrix as bit sets: bit i of set j is ``matrix[i, j]``."""
    return rows(matrix.T)


def matrix(sets: Sequence[int]) -> NDArray[np.bool_]:
    """Turn bit sets back into a boolean matrix, one row per set (the inverse of `rows`)."""
    p = len(sets)
    if not p:
        return np.zeros((0, 0), dtype=bool)
    width = (p + 7) // 8
    raw = np.frombuffer(b"".join(s.to_bytes(width, "little") for s in sets), dtype=np.uint8)
    return np.unpackbits(raw.reshape(p, width), axis=1, count=p, bitorder="little").astype(bool)


def members(bits: int) -> Iterator[int]:
    """Yield the members of a bit set in ascending order."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def positions(bits: int, p: int) -> NDArray[np.int64]:
    """Return the members of a set of at most p as an array, in ascending order."""
    raw = np.frombuffer(bits.to_bytes((p + 7) // 8, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


def union(sets: Sequence[int], bits: int) -> int:
    """Return the union of ``sets[i]`` over the members i of a bit set."""
    out = 0
    for i in members(bits):
        out |= sets[i]
    return out


def transpose(sets: Sequence[int]) -> list[int]:
    """Swap the roles of members and sets: i is in the result's set j exactly if j is in set i."""
    out = [0] * len(sets)
    for i, inside in enumerate(sets):
        for j in members(inside):
            out[j] |= 1 << i
    return out


def filled(inside: int, others: Iterable[int], most: int) -> int:
    """Add nodes to a set, in their order, while it has fewer than `most` members."""
    for i in others:
        if inside.bit_count() < most:
            inside |= 1 << i
    return inside


def subsets(bits: int) -> Iterator[int]:
    """Yield all subsets of a bit set, the empty one first."""
    sub = 0
    while True:
        yield sub
        sub = (sub - bits) & bits
        if not sub:
            return
