"""The file of an exact summary against anything: a summary that can be explained, or a refusal in words."""

from __future__ import annotations

import json
import random
from functools import cache

import numpy as np
import pytest
from helpers.fuzzing import LITERALS, fuzz, mutate
from helpers.releases import sealed, table

import fedperi as fp
from fedperi.privacy.exact.file import read_summary, write_summary
from fedperi.privacy.exact.reveals import sections
from fedperi.tables import Column, Schema

SCHEMA = Schema(
    (
        Column("age", "continuous", bounds=(0, 120)),
        Column("größe", "continuous"),
        Column("arm", "categorical", ("placebo", "low", "high", "never")),
    )
)


@cache
def text() -> str:
    return write_summary(fp.Summary.of(table(), SCHEMA, name="north"))


def assert_read_or_refused(content: str) -> None:
    try:
        summary = read_summary(content, "x.fedperi")
    except fp.InputError as error:
        assert str(error).startswith("summary file 'x.fedperi' ")
        return
    assert np.isfinite(summary.mean).all() and np.isfinite(summary.covariance).all()
    assert sections(summary)
    read_summary(write_summary(summary), "again")


def test_any_change_of_a_value_under_a_new_checksum() -> None:
    def attempt(rng: random.Random) -> None:
        content = json.loads(text())
        for _ in range(rng.randint(1, 3)):
            mutate(content, rng)
        assert_read_or_refused(sealed(content) if isinstance(content, dict) else json.dumps(content))

    fuzz(attempt, fewest=300)


def test_any_change_of_the_text() -> None:
    def attempt(rng: random.Random) -> None:
        whole = text()
        at, until = sorted(rng.randrange(len(whole)) for _ in range(2))
        assert_read_or_refused(whole[:at] + rng.choice([*LITERALS, "", whole[at:until]]) + whole[until:])

    fuzz(attempt, fewest=300)


def test_what_is_no_table_is_refused() -> None:
    """Counts that are no whole numbers, and covariances beyond what variances allow."""

    def edited(change: str) -> str:
        content = json.loads(text())
        if change == "counts":
            content["mean"][-1] = 0.00037
        elif change == "covariance":
            content["scatter"][1][0] = 1e12
        elif change == "unit":
            content["columns"][0]["unit"] = "Curve nan 1.0"
        elif change == "rows":
            content["rows"] = 10**9
        return sealed(content)

    for change, words in {
        "counts": "column 'arm' has counts of levels that no table can have",
        "covariance": "no table can have its covariances",
        "unit": "column 'age' has a unit that does not fit it",
        "rows": "column 'arm' has counts of levels that no table can have",
    }.items():
        with pytest.raises(fp.InputError, match=words):
            read_summary(edited(change), "x.fedperi")


def test_no_cell_and_no_name_of_a_file_is_in_it() -> None:
    content = text()
    for cell in table()["age"].head(50):
        assert f"{cell}" not in content
