"""The command line as a user meets it: exit codes, what is printed where; each command in a real process once."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.command import fedperi, fedperi_here, start
from helpers.forked import can_fork

import fedperi as fp
from fedperi.cli.demo import HOSPITALS


def test_demo_finds_what_no_hospital_could(tmp_path: Path) -> None:
    done = fedperi("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b[" not in done.stdout  # no colour codes in a pipe
    lines = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("│")}
    count = {name: int(line.split("│")[2]) for name, line in lines.items() if "alone" in name or "all" in name}
    assert count["fedperi, all hospitals"] >= 7 > max(count[f"{name} alone"] for name in HOSPITALS)
    result = fp.load(tmp_path / "fedperi-demo")
    assert result.method["name"] == "M-PERI" and len(result.graph) == 10 and result.sites == HOSPITALS
    truth = json.loads((tmp_path / "fedperi-demo" / "data" / "truth.json").read_text())
    policies = {(HOSPITALS[k], target) for k, targets in enumerate(truth["targets"]) for target in targets}
    found = {(one.site, one.variable) for one in result.differences}
    assert len(policies) == 4 and len(policies & found) >= 3  # named, though nobody wrote them down
    assert {path.name for path in (tmp_path / "fedperi-demo" / "data").glob("*.csv")} == {f"{n}.csv" for n in HOSPITALS}
    again = fedperi("demo", cwd=tmp_path)
    assert again.returncode == 2 and "not empty; choose another directory, or add --force" in again.stderr
    assert fedperi("demo", "--force", cwd=tmp_path).returncode == 0
    report = (tmp_path / "fedperi-demo" / "report.html").read_text(encoding="utf-8")
    assert all(one.words in report for one in result.differences)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_demo_is_not_a_lucky_seed(tmp_path: Path, seed: int) -> None:
    done = fedperi_here("demo", "--seed", str(seed), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "fedperi, all hospitals" in line]
    right, _, wrong = (int(part) for part in line.split("│")[2:5])
    assert right >= 7 and wrong <= 1


def test_help_and_version() -> None:
    assert "simulate" in fedperi("--help").stdout
    assert "One table per site" in fedperi("run", "--help").stdout
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
    assert again.stderr.startswith("error: ") and "--overwrite" in again.stderr
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
    done = fedperi_here("simulate", "--out", "data", *text.split(), *more, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    truth = json.loads((tmp_path / "data" / "truth.json").read_text())
    sim = fp.simulate(8, 4, 20, observational=False, shared_mechanisms="nothing", **options)
    assert truth["config"] == sim.config and truth["targets"] == [list(t) for t in sim.targets]
    assert truth["changes"] == [dict(c) for c in sim.changes] and set(truth["groups"]) == set(sim.dag.names)


def test_simulate_writes_clinics(tmp_path: Path) -> None:
    options = ["--clinic", "sepsis", "--samples", "30", "--drift", "0.1", "--no-case-mix", "--log", "--seed", "2"]
    done = fedperi_here("simulate", "--out", "data", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ward = fp.clinic(rows=30, graph="sepsis", drift=0.1, case_mix=False, log=True, seed=2)
    truth = json.loads((tmp_path / "data" / "truth.json").read_text())
    assert truth["config"] == ward.config and truth["targets"] == [list(t) for t in ward.targets]
    assert truth["kinds"] == list(ward.kinds) and set(truth["groups"]) == set(ward.names)
    assert len((tmp_path / "data" / "site_5.csv").read_text().splitlines()) == 31
    assert (
        fedperi_here("simulate", "--out", "two", "--clinic", "random", "--clients", "2", cwd=tmp_path).returncode == 0
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clinic", "covid"], "error: graph must be one of 'stroke', 'diabetes', 'sepsis', 'random', not 'covid'"),
        (["--clinic", "stroke", "--noise", "uniform"], "error: --noise has no meaning with --clinic"),
        (["--log"], "error: --log has a meaning only with --clinic"),
        (["--nothing-shared", "--no-shared-mechanisms"], "error: --nothing-shared says more than"),
        (["--samples", "many"], "error: --samples is one number, or one per site separated by commas; got 'many'"),
        (
            ["--samples", "10,20"],
            "error: samples has 2 entries for 4 sites; give one number for all sites or one for each",
        ),
        (["--intervention", "magic"], "'magic'"),
    ],
)
def test_bad_options_give_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = fedperi_here("simulate", "--out", str(tmp_path / "data"), *arguments)
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


@pytest.mark.skipif(not can_fork(), reason="commands are not forked here")
def test_a_forked_command_does_what_one_of_a_user_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`helpers/forked.py` saves the imports of a command, and changes nothing else."""
    for name, table in zip("ab", fp.simulate(3, clients=2, samples=100, seed=1).sites, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    for arguments in (["check", "a.csv", "b.csv", "--json"], ["run", "missing.csv"], ["run", "--magic"]):
        monkeypatch.delenv("FEDPERI_TESTS_FORK", raising=False)
        forked = fedperi(*arguments, cwd=tmp_path)
        monkeypatch.setenv("FEDPERI_TESTS_FORK", "0")
        assert fedperi(*arguments, cwd=tmp_path) == forked
        assert forked.returncode == (0 if "--json" in arguments else 2)


@pytest.mark.skipif(not can_fork(), reason="commands are not forked here")
def test_how_a_forked_command_ended_is_known(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        started = start(["site", "--help"], tmp_path, log, log)
        assert (started.wait(60), started.poll(), started.wait(1)) == (0, 0, 0)
        waiting = start(["check", "-"], tmp_path, log, log, talking=True)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(0.2)
        assert waiting.poll() is None
        waiting.kill()
        assert waiting.wait(60) == -signal.SIGKILL
    assert "site [OPTIONS] [FILE]" in (tmp_path / "log").read_text(encoding="utf-8")


def test_the_old_spelling_of_a_site_still_works_and_says_what_to_write(tmp_path: Path) -> None:
    fp.simulate(3, clients=1, samples=100, seed=1).sites[0].to_csv(tmp_path / "north.csv", index=False)
    bounds = "".join(f"X{i} = [-9, 9]\n" for i in range(3))
    (tmp_path / "bounds.toml").write_text(bounds)
    price = ("--epsilon", "1", "--bounds", "bounds.toml", "--store", "s", "--dry-run")
    new = fedperi("site", "north.csv", "--data", "linear", *price, cwd=tmp_path)
    old = fedperi("site", "--data", "north.csv", "--data-type", "linear", *price, cwd=tmp_path)
    assert (new.returncode, old.returncode) == (0, 0), old.stderr
    assert new.stdout == old.stdout
    assert new.stderr == ""
    assert old.stderr == "--data is the type of the columns now; write: fedperi site north.csv\n"
    for arguments, message in (
        (["--data", "linear"], "give the site's table: fedperi site north.csv"),
        (["north.csv", "--data", "cubic"], "data must be one of auto, linear, nonlinear, discrete, mixed; not 'cubic'"),
    ):
        done = fedperi("site", *arguments, "--dry-run", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"error: {message}\n")


def test_python_m_is_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "fedperi", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"fedperi {fp.__version__}"


def test_a_warning_is_one_line_without_a_place_in_the_code() -> None:
    told = "import warnings; from fedperi import cli; cli.app = lambda: warnings.warn('it is slow'); cli.main()"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["warning: it is slow"]
