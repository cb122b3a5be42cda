"""`fedperi check` as a user meets it: exit codes, what is shown, what is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi, fedperi_here

from fedperi.tables import Schema


def site(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, n)
    pressure = 100 + 0.3 * age + rng.normal(0, 5, n)
    return pd.DataFrame({"age": age, "pressure": pressure, "arm": rng.choice(["high", "low", "placebo"], n)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    site().to_csv(tmp_path / "north.csv", index=False)
    site(200, 1).to_csv(tmp_path / "south.csv", index=False)
    return tmp_path


def test_sound_tables(folder: Path) -> None:
    done = fedperi("check", "north.csv", "south.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "",
        "  Site    Rows   Incomplete   Columns   Verdict",
        " ───────────────────────────────────────────────",
        "  north    300            0         3   ok",
        "  south    200            0         3   ok",
        "",
        "  2 continuous    age, pressure",
        "  1 categorical   arm (high, low, placebo)",
        "",
        "No errors: a run would start.",
        "To keep these types for all sites, add --write-schema schema.toml.",
    ]


def test_mistakes_are_all_shown_errors_first_and_what_to_do(folder: Path) -> None:
    south = site(200, 1).assign(pressure=1.5, weight=np.arange(200) / 7)
    south.loc[:9, "age"] = np.nan
    south.loc[10:19, "weight"] = np.nan
    south["arm"] = south["arm"].map({"high": 2, "low": 1, "placebo": 0})
    south.to_csv(folder / "south.csv", index=False)
    (folder / "east.xlsx").write_bytes(b"PK\x03\x04")
    done = fedperi_here(
        "check", "north.csv", "south.csv", "east.xlsx", "west*.csv", "--missing", "error", cwd=folder, columns=100
    )
    assert done.returncode == 2
    assert done.stderr == ""
    assert "\x1b[" not in done.stdout
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(map(len, lines)) <= 100
    assert lines[3:7] == [
        "  north    300             0         3   ok by itself",
        "  south    200   20 (10.0 %)         4   1 error, 1 warning",
        "  east       -             -         -   cannot be read",
        "  west*      -             -         -   cannot be read",
    ]
    start = lines.index("  2 continuous   age, pressure")
    assert lines[start:] == [
        "  2 continuous   age, pressure",
        "",
        "error    'east': 'east.xlsx' is an Excel or zip file, not a table",
        "           export it as CSV or Parquet",
        "error    'west*': no file matches 'west*.csv'",
        "           check the folder and the pattern",
        "error    column 'weight': present at 'south' but not at 'north'",
        "           give all sites the same columns",
        "error    column 'arm': text such as 'high', 'low', 'placebo' at 'north' but numbers at 'south'",
        "           use the same type at all sites, or declare the column in the schema",
        "error    'south', columns 'age', 'weight': 5.0 % of the values are missing (10 of 200)",
        "           fill them, drop the column, leave incomplete rows out (missing=drop), or use M-PERI with",
        "           missing=auto",
        "warning  'south', column 'pressure': all values are the same (1.5)",
        "           a policy of this site, or a mistake; --method iperi refuses it",
        "",
        "5 errors, 1 warning: a run would fail.",
        "To leave incomplete rows out, add --missing drop.",
        "To declare types or levels, write them in a schema file and add --schema FILE.",
    ]


def test_the_same_at_several_sites_is_said_once(folder: Path) -> None:
    for name in ("north", "south"):
        site(20, len(name) + ord(name[0])).to_csv(folder / f"{name}.csv", index=False)
    done = fedperi_here("check", "north.csv", "south.csv", cwd=folder)
    assert done.returncode == 0
    assert "'north', 'south': 20 rows are few for 3 variables" in done.stdout
    assert done.stdout.count("20 rows are few") == 1


def test_missing_rows_may_be_dropped(folder: Path) -> None:
    gap = site(200, 2)
    gap.loc[:9, "age"] = np.nan
    gap.to_csv(folder / "gap.csv", index=False)
    assert fedperi_here("check", "gap.csv", "--missing", "error", cwd=folder).returncode == 2
    assert "values are missing: 5.0 % of age" in fedperi_here("check", "gap.csv", cwd=folder).stdout
    done = fedperi_here("check", "gap.csv", "--missing", "drop", cwd=folder, columns=120)
    assert done.returncode == 0
    assert "5.0 % of the rows lack a value and are dropped (10 of 200)" in done.stdout
    assert "No errors, 1 warning: a run would start." in done.stdout
    assert "--missing" not in done.stdout
    # The remedy reads as an option in both spellings.
    assert fedperi_here("check", "gap.csv", "--missing=drop", cwd=folder).returncode == 0


def test_json_is_all_that_is_printed(folder: Path) -> None:
    done = fedperi_here("check", "north.csv", "nothing.csv", "--json", cwd=folder)
    assert done.returncode == 2
    report = json.loads(done.stdout)
    assert report["ok"] is False
    assert report["findings"] == [
        {
            "level": "error",
            "site": "nothing",
            "columns": [],
            "message": "'nothing.csv' does not exist",
            "remedy": "check the path",
        }
    ]
    assert [column["name"] for column in report["columns"]] == ["age", "pressure", "arm"]
    fine = fedperi_here("check", "north.csv", "--json", cwd=folder)
    assert (fine.returncode, json.loads(fine.stdout)["ok"]) == (0, True)


def test_a_schema_is_written_read_and_obeyed(folder: Path) -> None:
    done = fedperi_here("check", "north.csv", "south.csv", "--write-schema", "schema.toml", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.endswith("Wrote the types of 3 columns to schema.toml.\n")
    assert Schema.from_file(folder / "schema.toml")["arm"].levels == ("high", "low", "placebo")
    again = fedperi_here("check", "north.csv", "--write-schema", "schema.toml", cwd=folder)
    assert again.returncode == 2
    assert again.stderr == ("error: --write-schema: 'schema.toml' already exists; remove it, or choose another name\n")
    site().replace({"arm": {"low": "none"}}).to_csv(folder / "east.csv", index=False)
    other = fedperi_here("check", "east.csv", "--schema", "schema.toml", "--write-schema", "new.json", cwd=folder)
    assert other.returncode == 2
    assert "values 'none' are not among the declared levels" in other.stdout
    assert "new.json was not written: there are errors." in other.stdout
    assert not (folder / "new.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["north.csv", "--missing", "skip"], "error: missing must be one of auto, em, error, drop; not 'skip'"),
        (
            ["north.csv", "--schema", "none.toml"],
            "error: cannot read schema file 'none.toml': No such file or directory",
        ),
        (
            ["north.csv", "--write-schema", "schema.txt"],
            "error: schema file 'schema.txt': the name must end in .toml or",
        ),
        (
            ["north.csv", "--write-schema", "no/such/s.toml"],
            "error: cannot write schema file 'no/such/s.toml': No such",
        ),
        ([], "FILES"),
    ],
)
def test_bad_options_give_exit_code_2(folder: Path, arguments: list[str], message: str) -> None:
    done = fedperi_here("check", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_narrow_screen_and_names_that_look_like_markup(folder: Path) -> None:
    site().rename(columns={"age": "[red]age"}).assign(arm="u").to_csv(folder / "[b]x.csv", index=False)
    done = fedperi_here("check", "[b]x.csv", cwd=folder, columns=40)
    assert done.returncode == 2
    assert max(map(len, done.stdout.splitlines())) <= 40
    assert "[red]age" in done.stdout
    assert "[b]x" in done.stdout
