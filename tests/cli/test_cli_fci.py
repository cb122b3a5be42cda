"""FCI on the command line: `run --method fci`, its files, and `report`."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.command import fedperi_here

import fedperi as fp


def sites(folder: Path) -> None:
    sim = fp.simulate(4, clients=3, samples=600, seed=5)
    for name, table in zip(("lyon", "metz", "nice"), sim.sites, strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)


def test_a_run_of_fci(tmp_path: Path) -> None:
    sites(tmp_path)
    command = ("run", "lyon.csv", "metz.csv", "nice.csv", "--method", "fci")
    done = fedperi_here(*command, "--alpha", "0.02", "--no-context", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "out/result.json").read_text())
    assert kept["method"]["alpha"] == 0.02
    assert kept["method"]["context"] is False
    for a, symbol, b in kept["edges"]:
        assert f"{a} {symbol} {b}" in done.stdout
    (tmp_path / "out/report.html").unlink()
    assert fedperi_here("report", "out", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out/report.html").is_file()
    refused = fedperi_here("effect", "out", cwd=tmp_path)
    assert refused.returncode == 2
    assert "holds a PAG of FCI" in refused.stderr


def test_options_that_fci_does_not_have(tmp_path: Path) -> None:
    sites(tmp_path)
    done = fedperi_here("run", "lyon.csv", "metz.csv", "--method", "fci", "--confidence", "0.9", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert "confidence" in done.stderr
