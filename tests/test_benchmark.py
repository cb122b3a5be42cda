"""Grids: every cell is saved, a stopped run goes on, one failing cell stops nothing; the privacy experiment works."""

import json

import pytest
from typer.testing import CliRunner

from fedperi.benchmark.grid import run_grid, summarize_cells
from fedperi.cli import app
from fedperi.errors import InputError

CALLS = []


def double(cell):
    CALLS.append(cell["x"])
    if cell["x"] == 3:
        raise ValueError("three")
    return {"y": 2.0 * cell["x"]}


def test_a_stopped_run_goes_on(tmp_path):
    CALLS.clear()
    cells = [{"x": x} for x in range(5)]
    first = run_grid(cells[:2], double, tmp_path)
    assert [row["y"] for row in first] == [0.0, 2.0]
    file = tmp_path / "cells.jsonl"
    file.write_text(file.read_text() + '{"cell": {"x": 2, "ver')  # stopped while writing
    seen = []
    rows = run_grid(cells, double, tmp_path, note=lambda done, of: seen.append((done, of)))
    assert CALLS == [0, 1, 2, 3, 4]
    assert [row.get("y") for row in rows] == [0.0, 2.0, 4.0, None, 8.0]
    assert rows[3]["error"] == "ValueError: three"
    assert seen[0] == (2, 5) and seen[-1] == (5, 5)
    assert run_grid(cells, double, tmp_path) == rows and len(CALLS) == 5


def test_processes_give_the_same(tmp_path):
    from fedperi.benchmark.grid import _square

    cells = [{"x": float(x)} for x in range(6)]
    assert run_grid(cells, _square, tmp_path / "a", jobs=2) == run_grid(cells, _square, tmp_path / "b")


def test_failed_cells_are_counted_and_not_averaged():
    rows = [
        {"p": 1, "y": 1.0},
        {"p": 1, "y": 2.0},
        {"p": 1, "y": 6.0},
        {"p": 1, "error": "no"},
        {"p": 2, "error": "no"},
    ]
    one, two = summarize_cells(rows, ["p"], ["y"])
    assert (one["cells"], one["failed"], one["y"]) == (3, 1, 3.0)
    assert one["y_sd"] == pytest.approx(7**0.5) and one["y_ci"] == pytest.approx(4.302653 * (7 / 3) ** 0.5)
    assert (two["cells"], two["failed"]) == (0, 1) and two["y"] != two["y"]


def test_bad_options(tmp_path):
    with pytest.raises(InputError, match="--jobs must be a positive number"):
        run_grid([], double, tmp_path, jobs=0)
    (tmp_path / "file").write_text("")
    for arguments, message in (
        (["nonsense"], "there is no benchmark 'nonsense'; there are: privacy"),
        (["privacy", "--seeds", "0"], "--seeds must be a positive number"),
        (["privacy", "--out", str(tmp_path / "file")], "is a file; give a directory"),
    ):
        error = CliRunner().invoke(app, ["benchmark", *arguments]).exception
        assert isinstance(error, InputError) and message in str(error)


def test_the_privacy_experiment(tmp_path):
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["benchmark", "privacy", "--quick", "--seeds", "1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    names = {"cells.jsonl", "privacy.csv", "privacy.md", "privacy-p5.png", "privacy-p5.svg"}
    assert {file.name for file in out.iterdir()} == names
    cells = [json.loads(line) for line in (out / "cells.jsonl").read_text().splitlines()]
    assert len(cells) == 5 and not any("error" in cell["found"] for cell in cells)
    assert {cell["cell"]["mechanism"] for cell in cells} == {"none", "statistics", "regret"}
    assert "| 5 | 2000 | statistics | 2 |" in done.output
