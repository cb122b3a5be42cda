"""Messages of the protocol as Flower's records, and back; what comes back is checked before anything looks at it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...protocol.fields import MAX_NUMBERS, Refused
from ...protocol.wire import Record

if TYPE_CHECKING:
    from flwr.app import RecordDict

ARRAYS, VALUES = "arrays", "values"


def to_records(record: Mapping[str, Any]) -> RecordDict:
    """Put a message into records: arrays into one, plain values into another."""
    from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

    arrays = {key: Array(value) for key, value in record.items() if isinstance(value, np.ndarray)}
    values = {key: value for key, value in record.items() if not isinstance(value, np.ndarray)}
    content: dict[str, Any] = {VALUES: ConfigRecord(values)}
    if arrays:
        content[ARRAYS] = ArrayRecord(arrays)
    return RecordDict(content)


def from_records(content: Any, sender: str) -> Record:
    """Take a message out of records; anything but plain values and plain arrays is refused."""
    from flwr.app import ArrayRecord, ConfigRecord, RecordDict

    if not isinstance(content, RecordDict) or not set(content) <= {ARRAYS, VALUES} or VALUES not in content:
        raise Refused(f"the message of {sender} does not hold the records of the protocol")
    values, arrays = content[VALUES], content.get(ARRAYS)
    if not isinstance(values, ConfigRecord) or not (arrays is None or isinstance(arrays, ArrayRecord)):
        raise Refused(f"the message of {sender} does not hold the records of the protocol")
    out: Record = {}
    for key, value in values.items():
        if not isinstance(value, str | int | float | bool):
            raise Refused(f"the message of {sender} holds a value that is neither text nor number")
        out[key] = value
    room = 8 * MAX_NUMBERS
    for key, array in (arrays or {}).items():
        room -= len(array.data)
        if room < 0:
            raise Refused(f"the message of {sender} is larger than {8 * MAX_NUMBERS} bytes")
        out[key] = _array(array, sender)
    return out


def _array(array: Any, sender: str) -> Any:
    try:
        # Not `array.numpy()`: what is read must not depend on how Flower reads it. Objects are refused, not unpickled.
        value = np.load(io.BytesIO(array.data), allow_pickle=False)
    except Exception:
        raise Refused(f"the message of {sender} holds an array that cannot be read") from None
    if not isinstance(value, np.ndarray):
        raise Refused(f"the message of {sender} holds an array that cannot be read")
    return value
