"""How tables are named on the command line: patterns, folders, standard input, columns, targets, knowledge, init."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.command import COMMAND, fedperi_here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    (tmp_path / "sites").mkdir()
    for site in ("lyon", "metz", "nice"):
        age = rng.normal(60, 10, 120)
        frame = pd.DataFrame({"id": rng.permutation(9000)[:120], "age": age, "sbp": age + rng.normal(0, 8, 120)})
        frame.assign(dose=frame["sbp"] + rng.normal(0, 9, 120)).to_csv(tmp_path / f"sites/{site}.csv", index=False)
    (tmp_path / "sites/README.md").write_text("not a table")
    return tmp_path


def sites_of(output: str) -> dict[str, int]:
    return {site["name"]: site["columns"] for site in json.loads(output)["sites"]}


@pytest.mark.parametrize(
    "files", [("sites",), ("sites/*.csv",), ("sites/lyon.csv", "sites/m*.csv", "nice=sites/nice.csv")]
)
def test_folders_patterns_and_names(folder: Path, files: tuple[str, ...]) -> None:
    done = fedperi_here("check", *files, "--json", "--exclude", "id", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sites_of(done.stdout) == {"lyon": 3, "metz": 3, "nice": 3}


def test_a_folder_per_site_and_parts_that_are_no_sites(folder: Path) -> None:
    for site in ("lyon", "metz"):
        (folder / site).mkdir()
        whole = pd.read_csv(folder / f"sites/{site}.csv")
        for at, rows in enumerate((whole[:50], whole[50:])):
            rows.to_csv(folder / f"{site}/part-0000{at}.csv", index=False, sep=";", decimal=",")
    done = fedperi_here("check", "lyon", "metz", "--json", "--decimal", ",", "--exclude", "id", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {site["name"]: site["rows"] for site in json.loads(done.stdout)["sites"]} == {
        "lyon": 120,
        "metz": 120,
    }
    done = fedperi_here("check", "lyon", cwd=folder)
    assert done.returncode == 2 and "named like parts of one table, which is one site" in done.stderr


def test_standard_input_is_one_site(folder: Path) -> None:
    command = [*COMMAND, "check", "brest=-", "sites/metz.csv", "--json", "--columns", "age,sbp"]
    content = (folder / "sites/lyon.csv").read_bytes()
    done = subprocess.run(command, cwd=folder, input=content, capture_output=True, timeout=120)
    assert sites_of(done.stdout.decode()) == {"brest": 2, "metz": 2}
    done = subprocess.run(
        [*COMMAND, "check", "-"], cwd=folder, input=b"a,b\n1\0,2\n3,4\n", capture_output=True, timeout=120
    )
    assert done.returncode == 2
    assert "standard input" in done.stdout.decode() and "fedperi-" not in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("check", "sites", "--columns", "age,bmi"),
            "--columns names 'bmi', which no table has; the columns are",
        ),
        (("check", "sites", "--exclude", ","), "--exclude names no column; give names separated by commas"),
        (("check", "sites", "--exclude", "id", "--columns", "id"), "column 'id' is chosen and excluded; leave one"),
        (("check", "sites", "--encoding", "klingon"), "encoding 'klingon' is not known; usual ones are utf-8, cp1252"),
        (
            ("check", "sites", "--decimal", ";"),
            "decimal is the mark in numbers such as 1.5, a point or",
        ),
        (("check", "-", "-"), "standard input (-) is one table; give it once"),
        (("check", "."), "the folder '.' holds no tables; their names end in .parquet, .pq"),
        (
            ("run", "sites", "--targets", "nice", "--dry-run"),
            "--targets 'nice': write the site and its columns",
        ),
        (
            ("run", "sites", "--targets", "rome=dose", "--dry-run"),
            "--targets names the site 'rome', which",
        ),
        (("run", "sites", "--targets", "nice=bmi", "--dry-run"), "bmi"),
        (
            ("run", "sites", "--targets", "nice=age", "--method", "feddag", "--dry-run"),
            "--targets is an option of mperi, iperi and peri, not of feddag; leave it out",
        ),
    ],
)
def test_refusals(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    if arguments == ("check", "."):
        (folder / "empty").mkdir()
        folder = folder / "empty"
    done = fedperi_here(*arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr


def test_targets_reach_the_run(folder: Path) -> None:
    options = ("--exclude", "id", "--json", "--targets", "lyon=dose", "--targets", "metz=")
    done = fedperi_here("run", "sites", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    names = {node["name"] if isinstance(node, dict) else node for node in json.loads(done.stdout)["graph"]["names"]}
    assert names == {"age", "sbp", "dose"}


@pytest.mark.parametrize("arguments", [("--dry-run",), ("--out", "results")])
def test_contradictory_knowledge_is_found_before_anything_runs(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "known.toml").write_text('required = ["sbp -> age"]\nforbidden = ["* -> age"]\n')
    done = fedperi_here("run", "sites", "--exclude", "id", "--knowledge", "known.toml", *arguments, cwd=folder)
    assert done.returncode == 2
    assert "the edge sbp -> age is required, and forbidden too: drop one of the two" in done.stderr
    assert not (folder / "results").exists()


def test_init_writes_files_that_work_and_never_overwrites(folder: Path) -> None:
    done = fedperi_here("init", "sites", cwd=folder)
    assert done.returncode == 0, done.stderr
    schema, knowledge = (folder / f"sites/{name}.toml" for name in ("schema", "knowledge"))
    assert '[columns."id"]\nkind = "ignore"' in schema.read_text()
    assert '    ["age"],\n    ["sbp", "dose"],\n' in knowledge.read_text()
    command = ("run", "sites", "--schema", "sites/schema.toml", "--knowledge", "sites/knowledge.toml", "--dry-run")
    assert fedperi_here(*command, cwd=folder).returncode == 0
    again = fedperi_here("init", "sites", cwd=folder)
    assert again.returncode == 2
    assert "'sites/schema.toml' already exists; remove it, or choose another folder with --out" in again.stderr


def test_a_run_hands_findings_to_its_result_and_report(folder: Path) -> None:
    file = folder / "sites/lyon.csv"
    frame = pd.read_csv(file)
    frame.loc[:19, "sbp"] = -999
    frame.to_csv(file, index=False)
    command = ("run", "sites", "--exclude", "id", "--out", "results")
    refused = fedperi_here(*command, cwd=folder, columns=400)
    assert refused.returncode == 2
    assert "if the values are right, use --accept sbp" in refused.stderr
    assert not (folder / "results").exists()
    done = fedperi_here(*command, "--accept", "sbp", cwd=folder, columns=400)
    assert done.returncode == 0, done.stderr
    said = "Column 'sbp': the value -999 at 'lyon' (20 of 120 rows) is far from all other values: probably a code for "
    said += "missing; if so, declare missing_values = [-999] for sbp in the schema."
    assert said in json.loads((folder / "results/result.json").read_text())["warnings"]
    assert "the value -999 at" in (folder / "results/report.html").read_text()
    assert "missing_values = [-999]" in done.stdout
