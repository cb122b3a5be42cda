"""Convert messages of the protocol to Flower's records and back; incoming records are checked before they are used.

Flower sends each record of a message, and each array, in a separate request. To save hundreds of round trips, all
arrays of a message travel as one block of bytes, beside its plain values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ...protocol.fields import MAX_NUMBERS, Refused
from ...protocol.wire import Record

if TYPE_CHECKING:
    from flwr.app import RecordDict

VALUES = "values"
ARRAYS, BLOCK = "arrays", "block"
"""Keys of the values: names, types and shapes of the arrays; and their bytes, one array after the other."""

PIECE = 2 << 20
"""Bytes of a block in one record, so that no request is large; the rest is in records `more0`, `more1`, ..."""

_Layout = list[tuple[str, str, tuple[int, ...]]]


def to_records(record: Mapping[str, Any]) -> RecordDict:
    """Put a message into records: its plain values, and its arrays as bytes."""
    from flwr.app import ConfigRecord, RecordDict

    arrays = {key: np.ascontiguousarray(value) for key, value in record.items() if isinstance(value, np.ndarray)}
    values = {key: value for key, value in record.items() if not isinstance(value, np.ndarray)}
    if not arrays:
        return RecordDict({VALUES: ConfigRecord(values)})
    layout = [(key, value.dtype.str, record[key].shape) for key, value in arrays.items()]
    block = b"".join(value.tobytes() for value in arrays.values())
    values |= {ARRAYS: msgspec.json.encode(layout).decode(), BLOCK: block[:PIECE]}
    starts = range(PIECE, len(block), PIECE)
    more = {f"more{at}": ConfigRecord({BLOCK: block[start : start + PIECE]}) for at, start in enumerate(starts)}
    return RecordDict({VALUES: ConfigRecord(values), **more})


def from_records(content: Any, sender: str) -> Record:
    """Read a message from records; refuse anything but plain values and plain arrays."""
    from flwr.app import ConfigRecord, RecordDict

    def refused(why: str) -> Refused:
        return Refused(f"the message of {sender} {why}")

    if (
        not isinstance(content, RecordDict)
        or not all(isinstance(part, ConfigRecord) for part in content.values())
        or set(content) != {VALUES, *(f"more{at}" for at in range(len(content) - 1))}
    ):
        raise refused("does not hold the records of the protocol")
    parts: dict[str, dict[str, Any]] = {name: dict(part) for name, part in content.config_records.items()}
    out: Record = parts[VALUES]
    # By their numbers: a network does not keep the order of records.
    pieces: list[Any] = [out.pop(BLOCK, b""), *(parts[f"more{at}"].get(BLOCK) for at in range(len(parts) - 1))]
    layout = out.pop(ARRAYS, "[]")
    if not all(isinstance(value, str | int | float | bool) for value in out.values()):
        raise refused("holds a value that is neither text nor number")
    if not isinstance(layout, str) or not all(isinstance(piece, bytes) for piece in pieces):
        raise refused("holds an array that cannot be read")
    if sum(map(len, pieces)) > 8 * MAX_NUMBERS:
        raise refused(f"is larger than {8 * MAX_NUMBERS} bytes")
    try:
        arrays = _arrays(layout, b"".join(pieces))
    except (ValueError, TypeError):  # msgspec's errors are ValueErrors, numpy's are both
        raise refused("holds an array that cannot be read") from None
    if not out.keys().isdisjoint(arrays):
        raise refused("names a value twice")
    return out | arrays


def _arrays(layout: str, block: bytes) -> dict[str, Any]:
    """Cut the block into arrays; check their sizes before reading, and accept plain numbers only."""
    arrays: dict[str, Any] = {}
    at = 0
    for name, kind, shape in msgspec.json.decode(layout, type=_Layout):
        dtype = np.dtype(kind)
        if dtype.kind not in "biuf" or name in arrays or any(length < 0 for length in shape):
            raise ValueError
        count = math.prod(shape)
        if count * dtype.itemsize > len(block) - at:
            raise ValueError
        arrays[name] = np.frombuffer(block, dtype, count, at).reshape(shape)
        at += count * dtype.itemsize
    if at != len(block):
        raise ValueError
    return arrays
