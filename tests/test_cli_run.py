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


def test_jobs_on_the_command_line_and_in_a_file(hospitals: Path) -> None:
    (hospitals / "run.toml").write_text("jobs = 2\n")
    alone, shared, configured = (
        json.loads(fedperi("run", *files(hospitals), *extra, "--json", cwd=hospitals).stdout)
        for extra in ([], ["--jobs", "2"], ["--config", "run.toml"])
    )
    assert (alone["method"].pop("jobs"), shared["method"].pop("jobs")) == (None, 2)
    assert (alone["manifest"]["method"].pop("jobs"), shared["manifest"]["method"].pop("jobs")) == (None, 2)
    assert alone == shared
    assert configured["method"]["jobs"] == 2
    done = fedperi("coordinate", "--insecure", "--sites", "2", "--out", "x", "--config", "run.toml", cwd=hospitals)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the configuration 'run.toml' has the key 'jobs', which is for `fedperi run`")


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
        (["--jobs", "0"], "error: jobs must be a whole number, 1 or more, not 0"),
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


# -- privacy ------------------------------------------------------------------------------------------------------


def with_bounds(place: Path) -> list[str]:
    (place / "bounds.toml").write_text("age = [-10, 10]\nweight = [-10, 10]\npressure = [-10, 10]\n")
    return [*files(place), "--epsilon", "4", "--bounds", "bounds.toml", "--store", "store"]


def test_a_private_run_from_price_to_result(hospitals: Path) -> None:
    arguments = with_bounds(hospitals)
    plan = fedperi("run", *arguments, "--dry-run", cwd=hospitals)
    assert plan.returncode == 0, plan.stderr
    assert "epsilon = 4, delta = 1e-06 for each site, for the whole run." in plan.stdout
    assert not (hospitals / "store").exists()  # looking begins no ledger
    done = fedperi("run", *arguments, "--out", "results", "--bootstrap", "3", cwd=hospitals)
    assert done.returncode == 0, done.stderr
    assert "Differential privacy for one row of 3 sites: epsilon = 4, delta = 1e-06" in done.stdout
    result = fp.Result.from_json((hospitals / "results" / "result.json").read_text())
    assert result.privacy is not None and all(told["private"] for told in result.privacy.values())
    again = fedperi("run", *arguments, "--dry-run", cwd=hospitals)
    assert again.stdout.count("0 (drawn before)") == 3
    assert 'id="privacy"' in (hospitals / "results" / "report.html").read_text()


def test_a_run_from_release_files_alone(hospitals: Path) -> None:
    *tables, epsilon, price, bounds, place, store, folder = with_bounds(hospitals)
    options = [epsilon, price, bounds, place, store, folder]
    for table in tables:
        done = fedperi("release", table, *options, "--out", f"{Path(table).stem}.fedperi", cwd=hospitals)
        assert done.returncode == 0, done.stderr
    inside = fedperi("run", *tables, *options, "--json", cwd=hospitals)
    for file in tables:
        Path(file).unlink()
    releases = sorted(path.name for path in hospitals.glob("*.fedperi"))
    outside = fedperi("run", *releases, "--json", cwd=hospitals)
    assert (inside.returncode, outside.returncode) == (0, 0), outside.stderr
    one, other = (fp.Result.from_json(done.stdout) for done in (inside, outside))
    assert one.graph == other.graph and one.regrets == other.regrets
    dry = fedperi("run", *releases, "--dry-run", cwd=hospitals)
    assert "3 releases: they are paid for, and a run costs nothing more." in dry.stdout


def test_private_runs_that_are_refused(hospitals: Path) -> None:
    arguments = with_bounds(hospitals)
    for extra, message in (
        (["--epsilon", "0"], "error: epsilon must be a positive, finite number, not 0.0; 1 is usual"),
        (["--mechanism", "exact"], "error: mechanism is one of statistics, regret; not 'exact'"),
        (["--delta", "0.01"], "is not below one over the number of rows"),
        (["--data", "discrete"], "error: data='discrete' counts combinations of levels"),
        (["--ceiling", "3"], "above its ceiling of epsilon 3"),
    ):
        done = fedperi("run", *arguments, *extra, "--out", "results", cwd=hospitals)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    done = fedperi("run", *files(hospitals), "--bounds", "bounds.toml", "--out", "results", cwd=hospitals)
    assert done.stderr == "error: --bounds is about privacy, which needs a price: add --epsilon 1\n"
    done = fedperi("run", *files(hospitals), "--epsilon", "1", "--out", "results", cwd=hospitals)
    assert "column 'age': no public bounds" in done.stderr
    assert not (hospitals / "results").exists()
