"""Fuzzing: random wrong input.

Each fuzzer runs for some seconds. If it fails, it prints its random seed. The environment variable FEDPERI_FUZZ_SEED
sets the seed, and FEDPERI_FUZZ_SECONDS the time. There are no false alarms: with any seed, a failure is a defect.
"""

from __future__ import annotations

import copy
import os
import random
import time
from collections.abc import Callable
from typing import Any

SECONDS = float(os.environ.get("FEDPERI_FUZZ_SECONDS", "3"))
HUGE = [10**400, -(10**400), 2**63, 2**64, 1e308, -1e308, 1e15, 1e-300, 5e-324, -0.0, 0, -1, 1]
ODD: list[Any] = [
    *HUGE,
    None,
    True,
    False,
    "",
    " ",
    "x",
    "\x1b[2J",
    "\ud800",
    "1e999",
    [],
    {},
    [[]],
    [None],
    {"x": {}},
    "a" * 300,
]
LITERALS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "9" * 400,
    "9" * 5000,
    "[" * 40 + "]" * 40,
    '{"a":1,"a":2}',
]


def fuzz(attempt: Callable[[random.Random], None], fewest: int) -> None:
    """Attempt for a few seconds, at least `fewest` times; on a failure, print the seed of the attempt."""
    seed, end, count = int(os.environ.get("FEDPERI_FUZZ_SEED", "20")), time.monotonic() + SECONDS, 0
    while count < fewest or time.monotonic() < end:
        try:
            attempt(random.Random(seed))
        except BaseException:
            print(f"FEDPERI_FUZZ_SEED={seed} repeats it")  # noqa: T201
            raise
        seed, count = seed + 1, count + 1


def paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all items of a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, item in inside for path in ((*before, key), *paths(item, (*before, key)))]


def mutate(content: Any, rng: random.Random) -> None:
    """Change one random item: replace, remove or repeat it, change a number, or add an odd value."""
    *way, last = rng.choice(paths(content))
    for key in way:
        content = content[key]
    kind = rng.randrange(5)
    if kind == 0:
        del content[last]
    elif kind == 1 and isinstance(content, list):
        content.insert(last, copy.deepcopy(content[last]))
    elif kind == 2 and isinstance(content[last], int | float) and abs(content[last]) < 1e200:
        content[last] = rng.choice([content[last] * 1.5, -content[last], content[last] + 1, content[last] * 1e12])
    elif kind == 3 and isinstance(content, dict):
        content[rng.choice(["rows", "x", "ledger", "price", ""])] = rng.choice(ODD)
    else:
        content[last] = rng.choice(ODD)
