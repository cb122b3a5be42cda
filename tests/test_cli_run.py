"""`fedperi run` as a user meets it: real processes on real files."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_cli import fedperi

import fedperi as fp


@pytest.fixture
def hospitals(tmp_path: Path) -> Path:
    truth = fp.PDAG.from_edges([("age", "weight"), ("age", "pressure"), ("weight", "pressure")])
    sim = fp.simulate(truth, clients=3, samples=2000, weights=(0.5, 1.0), seed=1)
    sim.save(tmp_path / "data")
    return tmp_path


def files(place: Path) -> list[str]:
    return sorted(str(path) for path in (place / "data").glob("*.csv"))


def test_run_writes_everything_and_says_it_in_words(hospitals: Path) -> None:
    done = fedperi("run", *files(hospitals), "--out", "results", "--bootstrap", "5", cwd=hospitals)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "3 edges; 2 directed: 0 by the common structure, 2 only because sites differ." in done.stdout
    assert "\x1b[" not in done.stdout
    written = {path.name for path in (hospitals / "results").iterdir()}
    assert {"result.json", "manifest.json", "graph.dot", "graph.gml", "graph.csv", "graph.dagitty.txt"} <= written
    result = fp.Result.from_json((hospitals / "results" / "result.json").read_text())
    assert result.graph == fp.IPERI().fit(files(hospitals)).graph
    assert result.sites == ("site_0", "site_1", "site_2")
    assert result.replicates == 5
    assert all(site["sha256"] for site in result.manifest["sites"])
    again = fedperi("run", *files(hospitals), "--out", "results", cwd=hospitals)
    assert again.returncode == 2
    assert again.stderr == "error: --out 'results' holds the results of an earlier run; choose another, or remove it\n"


def test_json_and_dry_run_write_nothing(hospitals: Path) -> None:
    done = fedperi("run", *files(hospitals), "--json", cwd=hospitals)
    assert done.returncode == 0
    assert json.loads(done.stdout)["format"] == "fedperi.result"
    plan = fedperi("run", *files(hospitals), "--dry-run", cwd=hospitals)
    assert plan.returncode == 0
    assert "3 variables x 4 parent sets = 12 numbers" in plan.stdout
    assert "Nothing was asked: this was a dry run." in plan.stdout
    assert [path.name for path in hospitals.iterdir()] == ["data"]


def test_config_file_and_options_that_override_it(hospitals: Path) -> None:
    (hospitals / "run.toml").write_text('masking = "consensus"\naggregate = "worst"\nlocal = "pc"\nseed = 3\n')
    done = fedperi("run", *files(hospitals), "--config", "run.toml", "--seed", "4", "--json", cwd=hospitals)
    method = json.loads(done.stdout)["method"]
    assert (method["masking"], method["aggregate"], method["local"], method["seed"]) == ("consensus", "worst", "pc", 4)


def test_knowledge_file(hospitals: Path) -> None:
    (hospitals / "known.toml").write_text('tiers = [["age"], ["weight", "pressure"]]\n')
    done = fedperi("run", *files(hospitals), "--knowledge", "known.toml", "--json", cwd=hospitals)
    directed = json.loads(done.stdout)["graph"]["directed"]
    assert sorted(directed) == [["age", "pressure"], ["age", "weight"], ["weight", "pressure"]]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--masking", "x"], "error: masking is one of none, consensus, adaptive; not 'x'"),
        (["--method", "x"], "error: method is one of iperi, peri; not 'x'"),
        (["--config", "none.toml"], "error: the configuration 'none.toml' cannot be read"),
        (["--knowledge", "none.toml"], "error: the knowledge file 'none.toml' cannot be read"),
        (["none.csv"], "error: the tables do not pass the check above; nothing was run"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(hospitals: Path, extra: list[str], message: str) -> None:
    done = fedperi("run", *files(hospitals), *extra, "--out", "results", cwd=hospitals)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (hospitals / "results").exists()


def test_out_is_needed(hospitals: Path) -> None:
    done = fedperi("run", *files(hospitals), cwd=hospitals)
    assert done.returncode == 2
    assert done.stderr.startswith("error: give a directory for the results: --out results")


def test_interrupting_leaves_a_clear_line_and_no_files(hospitals: Path) -> None:
    command = [sys.executable, "-c", "from fedperi.cli import main; main()", "run", *files(hospitals)]
    process = subprocess.Popen(
        [*command, "--out", "results", "--bootstrap", "100000"],
        cwd=hospitals,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "3 sites" in process.stdout.readline()  # the check is done, the run has begun
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == "interrupted: nothing was written\n"
    assert not (hospitals / "results").exists()
