"""Columns in another unit at one site are named, and policies, case mix and clean federations are not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.tables.checks.units import unit_warnings


def sites(
    means: dict[str, tuple[float, float]], count: int = 4, rows: int = 500, seed: int = 0
) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    return {
        f"s{k}": pd.DataFrame({name: rng.normal(mean, spread, rows) for name, (mean, spread) in means.items()})
        for k in range(count)
    }


def found(tables: dict[str, pd.DataFrame]) -> list[str]:
    return [str(finding) for finding in unit_warnings([fp.Summary.of(t, name=name) for name, t in tables.items()])]


@pytest.mark.parametrize(
    ("column", "usual", "factor", "words"),
    [
        ("weight", (80, 14), 2.2046, "pounds and kilograms"),
        ("weight", (176, 31), 1 / 2.2046, "pounds and kilograms"),
        ("glucose", (5.5, 1.1), 18.016, "glucose in mg/dl and mmol/l"),
        ("chol", (5.2, 1.0), 38.67, "cholesterol in mg/dl and mmol/l"),
        ("crea", (1.1, 0.3), 88.42, "creatinine"),
        ("height", (1.7, 0.1), 100.0, "factor of a hundred"),
    ],
)
def test_a_unit_is_named(column: str, usual: tuple[float, float], factor: float, words: str) -> None:
    tables = sites({column: usual, "age": (60, 12)})
    tables["s2"][column] *= factor
    (said,) = found(tables)
    assert said.startswith(f"site 's2', column '{column}': mean and spread are both about")
    assert words in said


def test_degrees() -> None:
    tables = sites({"temperature": (37.1, 0.8), "age": (60, 12)})
    tables["s1"]["temperature"] = tables["s1"]["temperature"] * 1.8 + 32
    (said,) = found(tables)
    assert "degrees Fahrenheit instead of Celsius" in said


def test_policies_and_case_mix_are_no_units() -> None:
    tables = sites({"sbp": (140, 18), "age": (60, 12)})
    tables["s1"]["sbp"] += 15  # shifted
    tables["s2"]["sbp"] = 140 + 2 * (tables["s2"]["sbp"] - 140)  # spread
    tables["s3"]["age"] -= 20  # a hospital for the young
    assert found(tables) == []


def test_nothing_is_said_of_clean_federations() -> None:
    """Seeded, so that there is no chance in it: 60 federations, simulated and hospital-like."""
    for seed in range(40):
        assert not found(
            dict(enumerate_named(fp.simulate(6, clients=5, samples=300, seed=seed, intervention="mixed").sites))
        )
    for seed in range(20):
        assert not found(dict(enumerate_named(fp.clinic(seed=seed).sites)))


def enumerate_named(tables: Iterable[pd.DataFrame]) -> list[tuple[str, pd.DataFrame]]:
    return [(f"s{k}", table) for k, table in enumerate(tables)]
