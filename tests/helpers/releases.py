"""Releases of one small table: draw them with seeded noise, forge them, compare them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedperi.privacy.bounds import as_bounds
from fedperi.privacy.ledger import Ceiling, Ledger
from fedperi.privacy.noise import SeededNoise
from fedperi.privacy.release.draw import count_rows, draw_release
from fedperi.privacy.release.file import write_release
from fedperi.privacy.release.release import Plan, Release
from fedperi.privacy.store import Store
from fedperi.tables.table import open_table

BOUNDS = {"age": (0, 120), "größe": (0, 250), "arm": ["placebo", "low", "high"]}


def table(n: int = 1987) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.normal(60, 10, n)
    return pd.DataFrame({"age": age, "größe": 40 + age / 2 + rng.normal(0, 8, n), "arm": rng.choice(BOUNDS["arm"], n)})


def draw(private: bool = True, epsilon: float = 1.0) -> Release:
    plan = Plan.of(as_bounds(BOUNDS), "auto", epsilon, 1e-6)
    rows = open_table(table(), "north")
    with pytest.warns(UserWarning, match="NOTHING in this run is private"):
        noise = SeededNoise(1)
    release, _ = draw_release(rows, plan, count_rows(rows, plan, "error")[0], noise, "error", ("arm",))
    return replace(release, private=private, identifier="0123456789abcdef", created="2026-11-03", version="1.0")


def with_ledger(release: Release, tmp_path: Path, releases: int = 1) -> Release:
    place = Store(tmp_path / "store").place("north", "0" * 64)
    ledger = Ledger.open(place, site="north", table="0" * 64, ceiling=Ceiling(5))
    for number in range(releases):
        ledger = ledger.charge(release.price, f"release {number + 1}")
    return replace(release, ledger=ledger.summary())


def sealed(content: dict[str, Any]) -> str:
    """Return edited content as text with a new checksum, as a forger would."""
    content = {key: value for key, value in content.items() if key != "checksum"}
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "checksum": f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"})


def forged(release: Release, change: Callable[[dict[str, Any]], object]) -> str:
    content = json.loads(write_release(release))
    change(content)
    return sealed(content)


def assert_same(one: Release, other: Release) -> None:
    for field in fields(Release):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(a, b) if field.name == "moments" else a == b, field.name
