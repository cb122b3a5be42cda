"""Messages of methods without regrets: a step sends plain values and arrays, and gets arrays of numbers back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..names import MAX_NAME
from ..tables.schema import Column
from .fields import MAX_NUMBERS, PROTOCOL, Fields
from .worker import Payload

MOST_VALUES = 50
"""Most values in the payload of one step."""

_IN, _OUT = "in_", "out_"


@dataclass(frozen=True)
class Beginning:
    """The beginning of a run of steps: the name of the method, and the columns on which all sites agree."""

    run: str
    worker: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, eq=False)
class StepRequest:
    """A step. `number` counts the steps from 1, so that a site performs none twice."""

    run: str
    number: int
    kind: str
    payload: Payload


def normal(payload: Mapping[str, Any]) -> Payload:
    """Bring a payload into the form that every transport carries: C-ordered arrays of 8-byte numbers, plain values.

    The layout of an array must be the same everywhere, because sums in another order differ in their last bit.

    Examples
    --------
    >>> normal({"rho": np.float64(0.5), "x": np.array([1], np.int32), "send": "weights"})
    {'rho': 0.5, 'x': array([1]), 'send': 'weights'}
    """
    out: Payload = {}
    for name, value in payload.items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            out[name] = np.array(value, np.float64 if value.dtype.kind == "f" else np.int64, order="C")
        elif isinstance(value, np.generic):
            out[name] = value.item()
        elif isinstance(value, str | int | float):
            out[name] = value
        else:
            raise InputError(f"a step cannot carry {name!r}: it is not a number, text, or array of numbers")
    return out


def write_step_request(message: StepRequest) -> dict[str, Any]:
    """Write a step, without protocol and run."""
    payload = normal(message.payload)
    numbers = _numbers(payload)
    if numbers > MAX_NUMBERS:
        raise InputError(
            f"the step {message.kind!r} would send {numbers} numbers to every site; a message holds at most "
            f"{MAX_NUMBERS}: use fewer features, hidden units or variables"
        )
    values = {f"{_IN}{name}": value for name, value in payload.items()}
    return {"number": message.number, "kind": message.kind, **values}


def read_step_request(fields: Fields, run: str) -> StepRequest:
    """Read a step. Only the site can check whether its worker knows the kind and the values.

    Examples
    --------
    >>> record = {"protocol": PROTOCOL, "number": 1, "kind": "update", "in_rho": 0.5}
    >>> read_step_request(Fields(record, "the coordinator", "step"), "r1").payload
    {'rho': 0.5}
    """
    number, kind = fields.integer("number", 1, 1 << 31), fields.text("kind", MAX_NAME)
    names = fields.named(_IN)
    if len(names) > MOST_VALUES:
        fields.wrong(f"holds more than {MOST_VALUES} values")
    payload = {name: fields.value(f"{_IN}{name}") for name in names}
    if _numbers(payload) > MAX_NUMBERS:
        fields.wrong(f"holds more than {MAX_NUMBERS} numbers")
    return StepRequest(run, number, kind, payload)


def _numbers(payload: Payload) -> int:
    return sum(value.size for value in payload.values() if isinstance(value, np.ndarray))


def write_step_reply(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Write a site's reply to a step.

    Examples
    --------
    >>> write_step_reply({"mean": np.array([0.5])})
    {'protocol': 4, 'out_mean': array([0.5])}
    """
    arrays = {f"{_OUT}{name}": np.array(value, np.float64, order="C") for name, value in answer.items()}
    return {"protocol": PROTOCOL, **arrays}


def read_step_reply(record: Mapping[str, Any], sender: str, known: Iterable[str]) -> Payload:
    """Read a site's reply to a step: finite numbers, under names that the method knows.

    Examples
    --------
    >>> read_step_reply({"protocol": 4, "out_rows": np.zeros(3)}, "site 'north'", ["mean"])
    Traceback (most recent call last):
    ...
    fedperi.protocol.fields.Refused: the 'step' message of site 'north' holds the unknown value 'out_rows'
    """
    fields = Fields(record, sender, "step")
    out: Payload = {}
    for name in sorted(set(fields.named(_OUT)) & set(known)):
        array = fields.array(f"{_OUT}{name}", "f")
        if not np.isfinite(array).all():
            fields.wrong(f"has a {name!r} that is not finite")
        out[name] = array
    return fields.done(out)
