"""What an exact summary may not show: levels and pairs with 1 to 4 rows, and fewer than ten rows per column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.site.service.stating import exact_summary
from fedperi.tables import Column, Schema, open_table
from fedperi.tables.summary.disclosure import FEWEST, disclosure_findings, level_counts

LEVELS = {"a": ("u", "v", "w"), "b": ("x", "y"), "c": ("p", "q", "r")}
SCHEMA = Schema(tuple(Column(name, "categorical", levels) for name, levels in LEVELS.items()))


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.integers(2, 120))
def test_counts_are_those_of_the_table_and_findings_follow_from_them(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    weights = {name: rng.dirichlet(np.full(len(levels), 0.7)) for name, levels in LEVELS.items()}
    table = pd.DataFrame({name: rng.choice(levels, rows, p=weights[name]) for name, levels in LEVELS.items()})
    summary = fp.Summary.of(table, SCHEMA, name="north")
    levels, counts = level_counts(summary, {})
    have = [(table[name] == level).to_numpy() for name, level in levels]
    for i, first in enumerate(have):
        for j, second in enumerate(have):
            assert counts[i, j] == (first & second).sum()
    rare = any(0 < counts[i, j] < FEWEST for i in range(len(levels)) for j in range(len(levels)))
    few = rows < 10 * len(summary.mean)
    assert bool(disclosure_findings(summary)) == (rare or few)


def test_the_words() -> None:
    table = pd.DataFrame({"a": ["u"] * 40 + ["v"] * 40 + ["w"] * 40, "b": (["x"] * 37 + ["y"] * 3) * 3})
    said = [str(finding) for finding in disclosure_findings(fp.Summary.of(table, name="north"))]
    assert said == [
        "site 'north', columns 'a', 'b': levels 'u' and 'y' occur together in 1 to 4 rows; merge level 'u' with level "
        "'v' of 'a', or leave one of the columns out, or release with noise",
        "site 'north', columns 'a', 'b': levels 'v' and 'y' occur together in 1 to 4 rows; merge level 'v' with level "
        "'u' of 'a', or leave one of the columns out, or release with noise",
        "site 'north', columns 'a', 'b': levels 'w' and 'y' occur together in 1 to 4 rows; merge level 'w' with level "
        "'u' of 'a', or leave one of the columns out, or release with noise",
    ]


def test_categories_in_figures_are_refused() -> None:
    """Their sums reveal how many rows have a level, whatever the schema calls them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(60, 9, 100), "stroke": [2] * 3 + [1] * 97})
    words = "column 'stroke': a category that is taken as a number, so that the rows of its levels cannot be checked"
    (finding,) = disclosure_findings(fp.Summary.of(table, data="linear", name="north"))
    assert str(finding).startswith(f"site 'north', {words}; declare it as a category")
    numbers = Schema((Column("age", "continuous"), Column("stroke", "continuous")))
    with pytest.raises(fp.InputError, match="column 'stroke': level '2' has 1 to 4 rows"):
        exact_summary(open_table(table, "north"), numbers, "auto", "error", None)


def test_yes_and_no_in_figures_that_a_schema_calls_numbers() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(60, 9, 100), "stroke": [1.0] * 3 + [0.0] * 97})
    schema = Schema((Column("age", "continuous"), Column("stroke", "continuous")))
    summary = fp.Summary.of(table, schema, name="north")
    (finding,) = disclosure_findings(summary, {"stroke": (0.0, 1.0)})
    assert str(finding) == (
        "site 'north', column 'stroke': level '1' has 1 to 4 rows; leave the column out, or release with noise"
    )
