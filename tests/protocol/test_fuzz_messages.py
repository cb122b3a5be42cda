"""The message decoder against anything: a message that is finite and can be written again, or a refusal in words.

Seeds and times: helpers/fuzzing.py.
"""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from helpers.fuzzing import LITERALS, ODD, fuzz, mutate
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import fedperi as fp
from fedperi.cli.common.outcome import summarize
from fedperi.errors import InputError
from fedperi.protocol import wire
from fedperi.protocol.fields import PROTOCOL, Fields, Refused
from fedperi.protocol.messages import Families, Orientations, Settings, Welcome
from fedperi.protocol.questions import Answers, read_answers, write_answers
from fedperi.protocol.requests import Asking, Card, Closing, Hello, Opening
from fedperi.protocol.steps import Beginning, StepRequest, read_step_reply
from fedperi.strict import DEEPEST, LARGEST, Unreadable, read_json, write_json
from fedperi.tables import Column

NAMES = ("age", "dose", "arm")
COLUMNS = (
    Column("age", "continuous", bounds=(0, 120)),
    Column("dose", "continuous"),
    Column("arm", "categorical", ("low", "high")),
)
FAMILIES = Families(np.array([0, 2]), np.array([[1], [0]]), np.array([[2], [1]]))
TURNS = Orientations(np.triu(np.ones((3, 3), bool), 1), np.array([1]), np.array([[1, 0, 2]]))
PRIVACY = {"mechanism": "statistics", "private": True, "epsilon": 1.0, "delta": 1e-6, "ledger": {"spent": 1.0}}
WELCOME = Welcome("north", NAMES, 100.0, ("age",), PRIVACY)
ANSWERS = Answers([np.array([[0.5, 1.5], [0.0, 2.0]]), np.array([3.0])], PRIVACY)
ASKED = (FAMILIES, TURNS)

Reader = Callable[[Any], Any]
VALID: list[tuple[dict[str, Any], Reader]] = [
    *(
        (dict(wire.write(message)), lambda record, kind=kind: wire.read(kind, record, "site 'x'", p=3))
        for kind, message in [
            ("hello", Hello("r1")),
            ("open", Opening("r1", Settings("adaptive"), COLUMNS, "auto", ASKED)),
            ("ask", Asking("r1", 2, ASKED)),
            ("begin", Beginning("r1", "fedcdh", COLUMNS)),
            (
                "step",
                StepRequest("r1", 1, "update", {"rho": 0.5, "parameters": np.zeros(25), "last": True, "name": "x"}),
            ),
            ("close", Closing("r1")),
        ]
    ),
    (
        dict(wire.write_card(Card("north", COLUMNS, {"mechanism": "regret", "epsilon": 1.0, "delta": 0.0}))),
        lambda record: wire.read_card(record, "site 'x'"),
    ),
    (dict(wire.write_welcome(WELCOME, ANSWERS)), lambda record: wire.read_welcome(record, "site 'x'", NAMES, ASKED)),
    (dict(write_answers(ANSWERS)), lambda record: read_answers(record, "site 'x'", ASKED)),
    (
        {"protocol": PROTOCOL, "out_parameters": np.zeros(4)},
        lambda record: read_step_reply(record, "site 'x'", ["parameters"]),
    ),
]


def numbers(value: Any) -> list[float]:
    """Every number in what a reader returned."""
    if isinstance(value, np.ndarray):
        return [float(number) for number in value.ravel()]
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict | list | tuple):
        inside = value.values() if isinstance(value, dict) else value
        return [number for item in inside for number in numbers(item)]
    return [float(value)] if isinstance(value, int | float) else []


def check_reading(record: Any, reader: Reader) -> bool:
    try:
        found = reader(record)
    except InputError as error:
        assert "site 'x'" in str(error) and str(error).isprintable(), error
        return False
    # A regret may be infinite: a set of parents that the rows are too few for. Nothing else may, and nothing is NaN.
    parts = found if isinstance(found, tuple) else (found,)
    arrays = [array for part in parts if isinstance(part, Answers) for array in part.arrays]
    regrets = sum(int(np.isposinf(array).sum()) for array in arrays)
    assert sum(not math.isfinite(number) for number in numbers(found)) == regrets
    return True


ARRAYS = [
    np.array([np.nan]),
    np.array([-np.inf, 1.0]),
    np.zeros((0, 3)),
    np.zeros((2, 2), np.int32),
    np.array([2**63 - 1, -(2**63)]),
    np.array([[1, 2], [3, 4]]),
    np.array(["x"]),
    np.array([10**400], dtype=object),
    np.array(3),
]


def odd(value: Any, rng: random.Random) -> Any:
    """Change a value of a message: the JSON in it, the array, or all of it."""
    kind = rng.randrange(4)
    if kind == 0 and isinstance(value, str) and value[:1] in "[{":
        content = json.loads(value)
        if content:
            mutate(content, rng)
        return json.dumps(content)
    if kind == 1 and isinstance(value, str) and value:
        at = rng.randrange(len(value))
        return (
            value[:at] + rng.choice([*LITERALS, "", "\x00", "\u202e", chr(rng.randrange(0x10FFFF))]) + value[at + 1 :]
        )
    if kind == 2 and isinstance(value, np.ndarray) and value.size:
        changed = value.copy()
        values = {"i": [-1, 3, 2**63 - 1], "u": [2, 255], "f": [-1.0, np.nan, np.inf, -np.inf, 1e308]}
        changed.flat[rng.randrange(value.size)] = rng.choice(values[value.dtype.kind])
        return rng.choice([changed, value.T, value[:-1] if value.ndim else value, value.astype(np.float32)])
    return rng.choice([*ODD, *ARRAYS, b"x", 10**5000, *LITERALS])


def test_valid_messages_are_read() -> None:
    assert all(check_reading(record, reader) for record, reader in VALID)


def test_fuzz_any_change_of_a_message() -> None:
    def attempt(rng: random.Random) -> None:
        valid, reader = rng.choice(VALID)
        record = dict(valid)
        for _ in range(rng.choice([1, 1, 2, 4])):
            key = rng.choice([*record, "x", "refused"]) if record else "x"
            if rng.random() < 0.1:
                record.pop(key, None)
            else:
                record[key] = odd(valid.get(key), rng)
        check_reading(record, reader)

    fuzz(attempt, 500)


def test_fuzz_anything_for_a_message() -> None:
    def attempt(rng: random.Random) -> None:
        _, reader = rng.choice(VALID)
        record = {rng.choice(["protocol", "run", "site", "columns", "x"]): odd("[]", rng) for _ in range(4)}
        if rng.random() < 0.5:
            record["protocol"] = PROTOCOL
        check_reading(rng.choice([record, record, None, [], 3, b"x", {1: 2}, {None: "run"}]), reader)

    fuzz(attempt, 500)


# What was found before, one by one


@pytest.mark.parametrize("value", [10**400, -(10**400), math.inf, math.nan, True, "1", None])
def test_values_that_are_not_finite_numbers(value: object) -> None:
    with pytest.raises(Refused, match="has a 'n' that is not a finite number"):
        Fields({"protocol": PROTOCOL, "n": value}, "site 'x'", "open").number("n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"epsilon": 1e999}', "it holds a number that is not finite, 1e999"),
        ('{"epsilon": NaN}', "it holds a number that is not finite, NaN"),
        ('{"epsilon": 1, "epsilon": 2}', "it has the field 'epsilon' twice"),
        (f'{{"epsilon": {10**30}}}', "it holds a whole number beyond 9223372036854775807"),
        ("[" * 40 + "]" * 40, "its brackets are nested deeper than 32"),
        ("{", "line 1: Expecting property name enclosed in double quotes"),
    ],
)
def test_json_in_a_message_is_strict(text: str, why: str) -> None:
    with pytest.raises(Refused) as caught:
        wire.read_welcome({**wire.write_welcome(WELCOME), "privacy": text}, "site 'x'", NAMES)
    assert str(caught.value) == f"the 'open' message of site 'x' has a 'privacy' that is not valid JSON: {why[:60]!r}"


WRONG = {
    "private": [1, "yes", None],
    "epsilon": ["1", None, -1.0, True, [1]],
    "delta": [{}, "x"],
    "mechanism": [["statistics"], 1, "\x1b[2J"],
    "ledger": [[], 1, "spent"],
    "rows": ["many", -1],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])  # type: ignore[attr-defined]
def test_wrong_types_in_the_privacy_of_a_site_are_refused(key: str, value: object) -> None:
    told = {**PRIVACY, key: value}
    for record, reader in (
        (wire.write_card(Card("north", COLUMNS, told)), lambda r: wire.read_card(r, "site 'x'")),
        (wire.write_welcome(replace(WELCOME, privacy=told)), lambda r: wire.read_welcome(r, "site 'x'", NAMES)),
        (write_answers(Answers(ANSWERS.arrays, told)), lambda r: read_answers(r, "site 'x'", ASKED)),
    ):
        with pytest.raises(Refused, match=f"message of site 'x' has a '(promise|privacy|told)' whose '{key}' is not "):
            reader(record)


@pytest.fixture(scope="module")
def run() -> fp.Result:
    tables = dict(zip(("north", "south"), fp.simulate(3, clients=2, samples=300, seed=1).sites, strict=True))
    return fp.IPERI().fit(tables)


@pytest.mark.parametrize("told", [{}, {"private": True}, *({**PRIVACY, k: v} for k, vs in WRONG.items() for v in vs)])  # type: ignore[attr-defined]
def test_the_summary_of_a_run_survives_any_report_of_a_site(run: fp.Result, told: dict[str, Any]) -> None:
    """It was a KeyError, a TypeError or a ValueError at the end of a run. A result may also come from a file."""
    result = replace(run, privacy={"north": told, "south": dict(PRIVACY)})
    console = Console(file=io.StringIO(), width=200)
    summarize(console, result, None)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Differential privacy for one row of" in said and "epsilon = 1, delta = 1e-06" in said


# The reader of JSON itself

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST, LARGEST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=5), inside, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_property_what_is_written_is_read_and_python_agrees(value: Any) -> None:
    text = write_json(value)
    assert read_json(text) == value == json.loads(text)


@given(st.text(alphabet='[]{}",:0123456789eE+-.truefalsnINy\\ ', max_size=40))
def test_property_any_text_is_read_as_python_does_or_not_at_all(text: str) -> None:
    try:
        value = read_json(text)
    except Unreadable:
        return
    assert write_json(value) == json.dumps(json.loads(text), allow_nan=False)


def test_the_deepest_that_is_read() -> None:
    assert read_json("[" * DEEPEST + "]" * DEEPEST)
    for depth in (DEEPEST + 1, 500, 5000, 200_000):
        with pytest.raises(Unreadable, match="nested deeper than 32"):
            read_json("[" * depth + "]" * depth)
