"""`fedperi run` as a user meets it, on real files; the main ways in real processes."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from helpers.command import COMMAND, fedperi, fedperi_here

import fedperi as fp


@pytest.fixture
def hospitals(tmp_path: Path) -> Path:
    truth = fp.PDAG.from_edges([("age", "weight"), ("age", "pressure"), ("weight", "pressure")])
    sim = fp.simulate(truth, clients=3, samples=2000, weights=(0.5, 1.0), seed=1)
    sim.save(tmp_path / "data")
    return tmp_path


def files(place: Path) -> list[str]:
    return sorted(str(path) for path in (place / "data").glob("*.csv"))


IPERI = ("--method", "iperi")


def words(text: str) -> str:
    """Without line breaks, which depend on the width of the terminal."""
    return " ".join(text.split())


def test_run_says_how_sure_it_is_and_what_sites_do_differently(hospitals: Path) -> None:
    done = fedperi("run", *files(hospitals), "--out", "results", cwd=hospitals)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b[" not in done.stdout
    result = fp.load(hospitals / "results")
    assert result.method["name"] == "M-PERI"
    assert result.graph == fp.MPERI().fit(files(hospitals)).graph
    said = words(done.stdout)
    assert said.startswith("3 sites, 6000 rows, 3 variables. Edge Probability How sure Direction")
    frame = result.to_frame().set_index(["a", "b"])
    for edge in result.robustness:
        sign = "->" if edge.grade else "--"
        grade = {"": "open", "confirmed": "confirmed", "one site": f"rests on {edge.site} alone"}[edge.grade]
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"{edge.a} {sign} {edge.b} ")]
        assert line.rstrip().endswith(grade)
        row = frame.loc[(edge.a, edge.b)]
        assert f" {row.probability:.2f} " in line and f" {row.how_sure} " in line
    place = said.index("What the sites do differently")
    assert result.differences
    for part in (*(one.words for one in result.differences), *result.warnings):
        assert place < said.index(part)
    assert said.endswith("Wrote report.html, edges.csv, result.json, manifest.json and graph.* to results.")
    assert (hospitals / "results" / "report.html").exists()


def test_the_words_of_a_result_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import replace

    from rich.console import Console

    from fedperi.cli.common.outcome import say_mechanisms
    from fedperi.methods.parts import Difference, PairProbability, Robustness

    graph = fp.PDAG.from_edges([("age", "dose"), ("dose", "[red]")], [("age", "sex")], ["age", "dose", "sex", "[red]"])
    sim = fp.simulate(graph.names, clients=3, samples=100, seed=1)
    result = replace(
        fp.MPERI().fit(sim.sites),
        graph=graph,
        probable=(
            PairProbability("age", "dose", 0.98, 0.02, 0.0),
            PairProbability("dose", "[red]", 0.05, 0.9, 0.05),
            PairProbability("age", "sex", 0.4, 0.55, 0.05),
        ),
        robustness=(
            Robustness("age", "dose", "confirmed", "", ()),
            Robustness("dose", "[red]", "one site", "Lyon", ("without Lyon: no edge",)),
            Robustness("sex", "age", "", "", ()),
        ),
        differences=(Difference("Lyon", "dose", "shifted", 9.0, "At Lyon, dose is higher by 1 than elsewhere."),),
        warnings=("1 direction rests on Lyon alone.",),
    )
    say_mechanisms(Console(highlight=False, width=100), result)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "Edge           Probability  How sure             Direction",
        "age -> dose    0.98         practically certain  confirmed",
        "dose -> [red]  0.05         leaning              rests on Lyon alone",
        "sex -- age     0.55         open                 open",
        "Probability: of the direction shown, or of the more probable one where it is open. The rest is the",
        "other direction, or no edge. Practically certain: probability 0.95 or more. Likely: 0.8 or more.",
        "Leaning: 0.6 or more. (Above 0.8 too if the graph leaves the direction open, below 0.6 if it has an",
        "arrow.) Open: less.",
        "3 edges: 1 confirmed (the direction holds whichever site is left out), 1 that rests on one site, 1",
        "with an open direction.",
        "",
        "What the sites do differently",
        " - At Lyon, dose is higher by 1 than elsewhere.",
        "",
        "Warnings",
        " - 1 direction rests on Lyon alone.",
        "",
    ]


def test_run_writes_everything_and_says_it_in_words(hospitals: Path) -> None:
    done = fedperi_here("run", *files(hospitals), *IPERI, "--out", "results", "--bootstrap", "5", cwd=hospitals)
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
    again = fedperi_here("run", *files(hospitals), "--out", "results", cwd=hospitals)
    assert again.returncode == 2
    assert again.stderr == (
        "error: --out 'results' holds the results of an earlier run; choose another, or add --force to write over it\n"
    )


def test_force_replaces_the_files_of_an_earlier_run_and_leaves_none_of_them(hospitals: Path) -> None:
    assert fedperi_here("run", *files(hospitals), "--out", "results", cwd=hospitals).returncode == 0
    mine = hospitals / "results" / "notes.txt"
    mine.write_text("kept")
    done = fedperi_here("run", *files(hospitals), "--method", "fci", "--out", "results", "--force", cwd=hospitals)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in mine.parent.iterdir()}
    assert "notes.txt" in names
    assert not names & {"summaries.json", "graph.gml", "graph.csv", "graph.dagitty.txt"}  # M-PERI's
    assert json.loads((mine.parent / "result.json").read_text())["format"] == "fedperi.pag"


def test_json_and_dry_run_write_nothing(hospitals: Path) -> None:
    done = fedperi_here("run", *files(hospitals), "--json", cwd=hospitals)
    assert done.returncode == 0
    assert json.loads(done.stdout)["format"] == "fedperi.result"
    assert fp.Result.from_json(done.stdout).method["name"] == "M-PERI"
    plan = fedperi_here("run", *files(hospitals), *IPERI, "--dry-run", cwd=hospitals)
    assert plan.returncode == 0
    assert "3 variables x 4 parent sets = 12 numbers" in plan.stdout
    assert "Nothing was requested: this was a dry run." in plan.stdout
    both = fedperi_here("run", *files(hospitals), "--dry-run", "--json", cwd=hospitals)
    assert (both.returncode, both.stdout) == (2, "")
    assert "--dry-run has no result to print: leave out --json" in both.stderr
    assert [path.name for path in hospitals.iterdir()] == ["data"]


def test_a_dry_run_says_what_each_site_would_say(hospitals: Path) -> None:
    plan = fedperi_here("run", *files(hospitals), "--dry-run", cwd=hospitals)
    assert plan.returncode == 0, plan.stderr
    assert plan.stdout.splitlines()[2:] == [
        "Each site would make one statement:",
        "  its row count, 6 means, and 21 variances and covariances of the columns and their squares: "
        "at most 28 numbers",
        "No further question is asked, and no row leaves a site.",
        "But exact means and covariances are not private. For a private run: --epsilon 1 --bounds FILE",
        "Nothing was requested: this was a dry run.",
    ]
    assert fp.MPERI().fit(files(hospitals)).queries == 28
    other = fedperi_here("run", *files(hospitals), "--method", "fedcdh", "--dry-run", cwd=hospitals)
    assert other.returncode == 0 and "NOT PRIVATE" in other.stdout and "Nothing was requested" in other.stdout


def test_a_dry_run_counts_the_indicators_of_categories(tmp_path: Path) -> None:
    tables = fp.clinic(sites=2, rows=200, policies=1, seed=1).sites
    for k, table in enumerate(tables):
        table.assign(arm=[("low", "medium", "high")[i % 3] for i in range(200)]).to_csv(
            tmp_path / f"{k}.csv", index=False
        )
    result = fp.MPERI().fit([str(tmp_path / f"{k}.csv") for k in range(2)])
    plan = fedperi_here("run", "0.csv", "1.csv", "--dry-run", cwd=tmp_path)
    assert f": at most {result.queries} numbers" in plan.stdout


def test_config_file_and_options_that_override_it(hospitals: Path) -> None:
    (hospitals / "run.toml").write_text(
        'method = "iperi"\nmasking = "consensus"\naggregate = "worst"\nlocal = "pc"\nseed = 3\n'
    )
    done = fedperi_here("run", *files(hospitals), "--config", "run.toml", "--seed", "4", "--json", cwd=hospitals)
    method = json.loads(done.stdout)["method"]
    assert (method["masking"], method["aggregate"], method["local"], method["seed"]) == ("consensus", "worst", "pc", 4)


def test_jobs_on_the_command_line_and_in_a_file(hospitals: Path) -> None:
    (hospitals / "run.toml").write_text("jobs = 2\n")
    alone, shared, configured = (
        json.loads(fedperi_here("run", *files(hospitals), *IPERI, *extra, "--json", cwd=hospitals).stdout)
        for extra in ([], ["--jobs", "2"], ["--config", "run.toml"])
    )
    assert (alone["method"].pop("jobs"), shared["method"].pop("jobs")) == (None, 2)
    assert (alone["manifest"]["method"].pop("jobs"), shared["manifest"]["method"].pop("jobs")) == (None, 2)
    assert alone == shared
    assert configured["method"]["jobs"] == 2
    done = fedperi_here("coordinate", "--insecure", "--sites", "2", "--out", "x", "--config", "run.toml", cwd=hospitals)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the configuration 'run.toml' has the key 'jobs', which is for `fedperi run`")


def test_knowledge_file(hospitals: Path) -> None:
    (hospitals / "known.toml").write_text('tiers = [["age"], ["weight", "pressure"]]\n')
    done = fedperi_here("run", *files(hospitals), "--knowledge", "known.toml", "--json", cwd=hospitals)
    directed = json.loads(done.stdout)["graph"]["directed"]
    assert sorted(directed) == [["age", "pressure"], ["age", "weight"], ["weight", "pressure"]]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([*IPERI, "--masking", "x"], "error: masking must be one of none, consensus, adaptive; not 'x'"),
        (
            ["--method", "x"],
            "error: method must be one of mperi, iperi, peri, fci, notears-admm, feddag, fedcdh; not 'x'\n",
        ),
        (["--confidence", "2"], "error: confidence must lie between 0.5 and 1, not 2.0\n"),
        (["--sharing", "x"], "error: sharing must be one of auto, exact, none; not 'x'\n"),
        (["--config", "none.toml"], "error: the configuration 'none.toml' cannot be read"),
        (["--knowledge", "none.toml"], "error: the knowledge file 'none.toml' cannot be read"),
        ([*IPERI, "--jobs", "0"], "error: jobs must be a whole number, 1 or more, not 0"),
        (["none.csv"], "error: the tables do not pass the check above; nothing was computed"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(hospitals: Path, extra: list[str], message: str) -> None:
    done = fedperi_here("run", *files(hospitals), *extra, "--out", "results", cwd=hospitals)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (hospitals / "results").exists()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--masking", "none"],
            "error: --masking is an option of iperi and peri, not of mperi, the default method; leave it out, or add "
            "--method iperi\n",
        ),
        (
            ["--method", "mperi", "--masking", "none"],
            "error: --masking is an option of iperi and peri, not of mperi; leave it out, or add --method iperi\n",
        ),
        (
            [*IPERI, "--confidence", "0.9"],
            "error: --confidence is an option of mperi, not of iperi; leave it out, or add --method mperi\n",
        ),
        (
            ["--method", "feddag", "--alpha", "0.1"],
            "error: --alpha is an option of iperi, peri, fci and fedcdh, not of feddag; leave it out, or "
            "add --method iperi\n",
        ),
        (
            ["--config", "strange.toml"],
            "error: 'jobs' in 'strange.toml' is an option of iperi and peri, not of mperi, the default method; leave "
            "it out, or add --method iperi\n",
        ),
        (
            ["--bounds", "bounds.toml"],
            "error: --bounds concerns privacy, which needs a price: add --epsilon 1\n",
        ),
        (
            ["--method", "fedcdh", "--epsilon", "1"],
            "error: --epsilon concerns privacy, and fedcdh has no private form; for a private run omit --method\n",
        ),
    ],
)
def test_options_that_a_method_does_not_have_are_refused(hospitals: Path, extra: list[str], message: str) -> None:
    (hospitals / "strange.toml").write_text("jobs = 2\n")
    done = fedperi_here("run", *files(hospitals), *extra, "--out", "results", cwd=hospitals)
    assert (done.returncode, done.stderr) == (2, message)
    assert done.stdout == ""
    assert not (hospitals / "results").exists()


def test_options_of_mperi_on_the_command_line_and_in_a_file(hospitals: Path) -> None:
    (hospitals / "run.toml").write_text('confidence = 0.9\nsharing = "exact"\nseed = 3\n')
    done = fedperi_here(
        "run", *files(hospitals), "--config", "run.toml", "--confidence", "0.8", "--json", cwd=hospitals
    )
    method = json.loads(done.stdout)["method"]
    assert (method["confidence"], method["sharing"], method["seed"]) == (0.8, "exact", 3)
    questions = ("coordinate", "--channel", "regrets", "--insecure", "--sites", "2", "--out", "x")
    done = fedperi_here(*questions, "--config", "run.toml", cwd=hospitals)
    assert done.returncode == 2
    assert done.stderr.endswith("is not an option of iperi where sites answer questions; leave it out\n")
    done = fedperi_here(*questions, "--method", "mperi", cwd=hospitals)
    assert done.returncode == 2
    assert done.stderr.endswith("error: M-PERI asks no questions: leave out --channel regrets, or use --method iperi\n")


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("mperi", "M-PERI"),
        ("peri", "PERI"),
        ("notears-admm", "NOTEARS-ADMM"),
        ("fedcdh", "FedCDH"),  # FedDAG trains networks, which takes long
    ],
)
def test_every_method_runs_on_tables(hospitals: Path, method: str, name: str) -> None:
    done = fedperi_here("run", *files(hospitals), "--method", method, "--seed", "2", "--out", "results", cwd=hospitals)
    assert done.returncode == 0, done.stderr
    result = fp.load(hospitals / "results")
    assert (result.method["name"], result.method["seed"]) == (name, 2)
    assert result.sites == ("site_0", "site_1", "site_2")
    assert ("is NOT PRIVATE" in done.stdout) == (method in ("notears-admm", "fedcdh"))
    assert fedperi_here("report", "results", cwd=hospitals).returncode == 0


def test_every_method_takes_the_options_it_has() -> None:
    from dataclasses import fields

    from fedperi.cli.common.methods import HERE, PRIVACY, make_method

    kinds = {
        "mperi": fp.MPERI,
        "iperi": fp.IPERI,
        "peri": fp.PERI,
        "fci": fp.FCI,
        "notears-admm": fp.NotearsADMM,
        "feddag": fp.FedDAG,
        "fedcdh": fp.FedCDH,
    }
    assert set(HERE) == set(kinds)
    for name, kind in kinds.items():
        given = {"missing": "drop", **({"seed": 2} if "seed" in HERE[name] else {})}
        made = make_method({"method": name, **given}, {})
        assert type(made) is kind and {option: getattr(made, option) for option in given} == given
        assert set(HERE[name]) - set(PRIVACY) <= {field.name for field in fields(kind)}


def test_a_column_that_is_constant_at_one_site_is_a_policy(hospitals: Path) -> None:
    import pandas as pd

    first = Path(files(hospitals)[0])
    pd.read_csv(first).assign(pressure=1.5).to_csv(first, index=False)
    done = fedperi_here("run", *files(hospitals), "--out", "results", cwd=hospitals)
    assert done.returncode == 0, done.stderr
    assert "1 warning: see `fedperi check`." in done.stdout
    assert "At site_0, pressure has one value only." in done.stdout
    refused = fedperi_here("run", *files(hospitals), *IPERI, "--out", "other", cwd=hospitals)
    assert refused.returncode == 2
    assert "'site_0', column 'pressure': all values are the same (1.5)" in refused.stderr
    assert refused.stderr.endswith("error: the tables do not pass the check above; nothing was computed\n")
    for name in files(hospitals)[1:]:
        pd.read_csv(name).assign(pressure=1.5).to_csv(name, index=False)
    everywhere = fedperi_here("run", *files(hospitals), "--out", "other", cwd=hospitals)
    assert everywhere.returncode == 2
    assert "column 'pressure': all values are the same at every site" in everywhere.stderr
    assert not (hospitals / "other").exists()


def test_out_is_needed(hospitals: Path) -> None:
    done = fedperi("run", *files(hospitals), cwd=hospitals)
    assert done.returncode == 2
    assert done.stderr.startswith("error: give a directory for the results: --out results")


def test_interrupting_leaves_a_clear_line_and_no_files(hospitals: Path) -> None:
    command = [*COMMAND, "run", *files(hospitals)]
    process = subprocess.Popen(
        [*command, *IPERI, "--out", "results", "--bootstrap", "100000"],
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
    assert errors == "interrupted: no result was written\n"
    assert not (hospitals / "results").exists()


# -- privacy ------------------------------------------------------------------------------------------------------


def with_bounds(place: Path) -> list[str]:
    (place / "bounds.toml").write_text("age = [-10, 10]\nweight = [-10, 10]\npressure = [-10, 10]\n")
    return [*files(place), *IPERI, "--epsilon", "4", "--bounds", "bounds.toml", "--store", "store"]


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
    *tables, _, _, epsilon, price, bounds, place, store, folder = with_bounds(hospitals)
    options = [epsilon, price, bounds, place, store, folder]
    for table in tables:
        done = fedperi_here("release", table, *options, "--out", f"{Path(table).stem}.fedperi", cwd=hospitals)
        assert done.returncode == 0, done.stderr
    inside = fedperi_here("run", *tables, *IPERI, *options, "--json", cwd=hospitals)
    for file in tables:
        Path(file).unlink()
    releases = sorted(path.name for path in hospitals.glob("*.fedperi"))
    outside = fedperi_here("run", *releases, *IPERI, "--json", cwd=hospitals)
    assert (inside.returncode, outside.returncode) == (0, 0), outside.stderr
    one, other = (fp.Result.from_json(done.stdout) for done in (inside, outside))
    assert one.graph == other.graph and one.regrets == other.regrets
    dry = fedperi_here("run", *releases, *IPERI, "--dry-run", cwd=hospitals)
    assert "3 statements: these sites are asked nothing and pay nothing." in dry.stdout
    assert "site_0: a private release, epsilon 4, delta 1e-06." in dry.stdout
    refused = fedperi_here("run", *releases, "--method", "feddag", "--out", "results", cwd=hospitals)
    assert refused.stderr == (
        "error: 'site_0.fedperi' is a statement, and feddag computes with rows; leave --method out\n"
    )
    assert not (hospitals / "results").exists()


def test_private_runs_that_are_refused(hospitals: Path) -> None:
    arguments = with_bounds(hospitals)
    for extra, message in (
        (["--epsilon", "0"], "error: epsilon must be a positive, finite number, not 0.0; 1 is usual"),
        (["--mechanism", "exact"], "error: mechanism must be one of statistics, regret; not 'exact'"),
        (["--delta", "0.01"], "must be below one over the number of rows"),
        (["--data", "discrete"], "error: data='discrete' counts combinations of levels"),
        (["--ceiling", "3"], "above its ceiling of epsilon 3"),
    ):
        done = fedperi_here("run", *arguments, *extra, "--out", "results", cwd=hospitals)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    done = fedperi_here("run", *files(hospitals), *IPERI, "--bounds", "bounds.toml", "--out", "results", cwd=hospitals)
    assert done.stderr == "error: --bounds concerns privacy, which needs a price: add --epsilon 1\n"
    done = fedperi_here("run", *files(hospitals), *IPERI, "--epsilon", "1", "--out", "results", cwd=hospitals)
    assert "column 'age': no public bounds" in done.stderr
    assert not (hospitals / "results").exists()
