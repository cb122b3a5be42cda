"""The command line as a user meets it: real processes, exit codes, what is printed where."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fedperi as fp


def fedperi(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fedperi.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


def test_demo_finds_what_no_hospital_could(tmp_path: Path) -> None:
    done = fedperi("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b[" not in done.stdout  # no colour codes in a pipe
    lines = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("│")}
    count = {name: int(line.split("│")[2]) for name, line in lines.items() if "hospital" in name}
    assert count["fedperi, all hospitals"] >= 6 > max(count[f"hospital {k}"] for k in range(5))
    result = fp.Result.from_json((tmp_path / "fedperi-demo" / "result.json").read_text())
    assert len(result.graph) == 10
    assert len(list((tmp_path / "fedperi-demo" / "data").glob("*.csv"))) == 5
    assert fedperi("demo", cwd=tmp_path).returncode == 0  # again, over the same files


def test_help_and_version() -> None:
    assert "simulate" in fedperi("--help").stdout
    assert fedperi("--version").stdout == f"fedperi {fp.__version__}\n"


def test_simulate_writes_tables_and_truth(tmp_path: Path) -> None:
    done = fedperi(
        "simulate", "--out", "data", "--variables", "5", "--clients", "3", "--samples", "10,20,30", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "data").iterdir()) == [
        "site_0.csv",
        "site_1.csv",
        "site_2.csv",
        "truth.json",
    ]
    truth = json.loads((tmp_path / "data" / "truth.json").read_text())
    assert fp.PDAG.from_edges(**truth["dag"], names=truth["names"]) == fp.simulate(5, 3, [10, 20, 30]).dag
    assert len((tmp_path / "data" / "site_1.csv").read_text().splitlines()) == 21
    again = fedperi("simulate", "--out", "data", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr.startswith("error: ")
    assert fedperi("simulate", "--out", "data", "--overwrite", cwd=tmp_path).returncode == 0


def test_simulate_passes_every_option_on(tmp_path: Path) -> None:
    options = {
        "intervention": "varied",
        "shift": 1.5,
        "scale": 3.0,
        "noise": "student",
        "noise_levels": (0.5, 2.0),
        "units": (0.1, 10.0),
        "drift": 0.1,
        "policies": 2,
        "hidden": 1,
        "measurement_error": 0.2,
        "seed": 4,
    }
    words = [f"--{name.replace('_', '-')} {value}" for name, value in options.items()]
    text = " ".join(words).replace("(", "").replace(",", "").replace(")", "")
    more = ["--samples", "20", "--no-observational", "--nothing-shared"]
    done = fedperi("simulate", "--out", "data", *text.split(), *more, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    truth = json.loads((tmp_path / "data" / "truth.json").read_text())
    sim = fp.simulate(8, 4, 20, observational=False, shared_mechanisms="nothing", **options)
    assert truth["config"] == sim.config and truth["targets"] == [list(t) for t in sim.targets]
    assert truth["changes"] == [dict(c) for c in sim.changes] and set(truth["groups"]) == set(sim.dag.names)


def test_simulate_writes_clinics(tmp_path: Path) -> None:
    options = ["--clinic", "sepsis", "--samples", "30", "--drift", "0.1", "--no-case-mix", "--log", "--seed", "2"]
    done = fedperi("simulate", "--out", "data", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ward = fp.clinic(rows=30, graph="sepsis", drift=0.1, case_mix=False, log=True, seed=2)
    truth = json.loads((tmp_path / "data" / "truth.json").read_text())
    assert truth["config"] == ward.config and truth["targets"] == [list(t) for t in ward.targets]
    assert truth["kinds"] == list(ward.kinds) and set(truth["groups"]) == set(ward.names)
    assert len((tmp_path / "data" / "site_5.csv").read_text().splitlines()) == 31
    assert fedperi("simulate", "--out", "two", "--clinic", "random", "--clients", "2", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clinic", "covid"], "error: graph must be one of 'stroke', 'diabetes', 'sepsis', 'random', not 'covid'"),
        (["--clinic", "stroke", "--noise", "uniform"], "error: --noise has no meaning with --clinic"),
        (["--log"], "error: --log has a meaning only with --clinic"),
        (["--nothing-shared", "--no-shared-mechanisms"], "error: --nothing-shared says more than"),
        (["--samples", "many"], "error: --samples is one number, or one a site separated by commas; got 'many'"),
        (
            ["--samples", "10,20"],
            "error: samples has 2 entries for 4 sites; give one number for all sites or one for each",
        ),
        (["--intervention", "magic"], "'magic'"),
    ],
)
def test_bad_options_give_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = fedperi("simulate", "--out", str(tmp_path / "data"), *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_import_is_quick() -> None:
    """The rooms that need pandas, scipy or matplotlib are not loaded by importing the package or asking for help."""
    slow = ("pandas", "scipy", "matplotlib", "opendp", "networkx")
    code = f"import sys, fedperi, fedperi.cli; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
