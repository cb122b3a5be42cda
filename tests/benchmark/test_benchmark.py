"""Grids: every cell is saved, stopped runs resume, a failing cell stops nothing; the privacy experiment works."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here

import fedperi as fp
from fedperi.benchmark import scale
from fedperi.benchmark.contenders import CONTENDERS
from fedperi.benchmark.experiments import NAMES, experiment, results_page, work
from fedperi.benchmark.grid import run_grid, summarize_cells
from fedperi.benchmark.page import Page, Request
from fedperi.errors import InputError

CALLS: list[Any] = []


def double(cell: Any) -> Any:
    CALLS.append(cell["x"])
    if cell["x"] == 3:
        raise ValueError("three")
    return {"y": 2.0 * cell["x"]}


def test_a_stopped_run_resumes(tmp_path: Path) -> None:
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
    # What failed is tried again, nothing else.
    assert run_grid(cells, double, tmp_path) == rows and CALLS == [0, 1, 2, 3, 4, 3]


def test_processes_give_the_same(tmp_path: Path) -> None:
    from fedperi.benchmark.grid import _square

    cells = [{"x": float(x)} for x in range(6)]
    assert run_grid(cells, _square, tmp_path / "a", jobs=2) == run_grid(cells, _square, tmp_path / "b")


def test_failed_cells_are_counted_and_not_averaged() -> None:
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


def test_another_engine_of_joblib_gives_the_same(tmp_path: Path) -> None:
    import joblib

    from fedperi.benchmark.grid import _square

    cells = [{"x": float(x)} for x in range(4)]
    with joblib.parallel_config(backend="threading"):
        found = run_grid(cells, _square, tmp_path / "a", jobs=2)
    assert found == run_grid(cells, _square, tmp_path / "b")


def test_what_is_saved_can_be_written_again_without_running(tmp_path: Path) -> None:
    CALLS.clear()
    cells = [{"x": x} for x in (1, 2)]
    run_grid(cells, double, tmp_path)
    found = run_grid([*cells, {"x": 4}], double, tmp_path, saved=True)
    assert [row["y"] for row in found] == [2.0, 4.0] and CALLS == [1, 2]


def test_bad_options(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--jobs must be a positive number"):
        run_grid([], double, tmp_path, jobs=0)
    (tmp_path / "file").write_text("")
    for arguments, message in (
        (["nonsense"], "there is no benchmark 'nonsense'; there are: table1, table2, "),
        (["privacy", "--seeds", "0"], "--seeds must be a positive number"),
        (["privacy", "--out", str(tmp_path / "file")], "is a file; give a directory"),
        (
            ["table1", "--methods", "iperi,magic", "--out", str(tmp_path)],
            "there is no method 'magic'; there are: mperi, mperi-75, iperi",
        ),
        (["table1", "--saved", "--out", str(tmp_path)], "has no cells of table1: run it without --saved"),
        (["table1", "--at", "3,x"], "--at takes positive whole numbers with commas, like 3,8; not '3,x'"),
        (["real"], "benchmark real needs --tables DIR"),
        (
            ["real", "--tables", str(tmp_path / "none"), "--out", str(tmp_path)],
            "is not a folder; give one with one table per site",
        ),
        (
            ["real", "--tables", str(tmp_path), "--out", str(tmp_path / "o")],
            "holds 0 site files (.csv, .csv.gz, .parquet)",
        ),
        (["settings", "--settings", "cut,easy"], "there is no setting 'easy'; there are: cut, some cut, "),
        (["table1", "--limit", "0"], "--limit must be a positive number of CPU seconds, not 0"),
        (["cell"], "benchmark cell needs --cell JSON"),
        (["cell", "--cell", "{"], "--cell is not JSON"),
        (["cell", "--cell", "3"], "--cell must be an object with a task"),
        (["cell", "--cell", '{"task": "fly"}'], "a cell has a 'task', one of fit, filter, "),
        (["cell", "--cell", '{"task": "fit"}'], "--cell lacks 'setting'"),
    ):
        done = fedperi_here("benchmark", *arguments)
        assert done.returncode == 2 and message in done.stderr, (arguments, done)


def run(*arguments: Any) -> Any:
    done = fedperi_here("benchmark", *arguments)
    assert done.returncode == 0, done
    return done.stdout


def test_the_privacy_experiment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("privacy", "--quick", "--seeds", "1", "--out", out)
    names = {"cells.jsonl", "privacy.csv", "privacy.md", "privacy-p5.png", "privacy-p5.svg"}
    assert {file.name for file in out.iterdir()} == names
    cells = [json.loads(line) for line in (out / "cells.jsonl").read_text().splitlines()]
    assert len(cells) == 5 and not any("error" in cell["found"] for cell in cells)
    assert {cell["cell"]["mechanism"] for cell in cells} == {"none", "statistics", "regret"}
    assert "| 5 | 2000 | statistics | 2 |" in said


def test_a_table_has_our_numbers_beside_those_of_the_paper(tmp_path: Path) -> None:
    said = run("table1", "--quick", "--methods", "iperi,peri,oracle-phi", "--out", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        "cells.jsonl", "table1.csv", "table1.md", "table1.png", "table1.svg"
    }  # fmt: skip
    assert "| *PERI, printed in the paper* | *10, picked* | *3.16 ± 0.55* | *8.40 ± 0.51* |" in said
    table = pd.read_csv(tmp_path / "table1.csv").set_index(["method", "p"])
    for p in (3, 8):
        sims = [fp.simulate(p, 4, 1000, shared_mechanisms=False, seed=seed) for seed in (0, 1)]
        found = [fp.shd(fp.PERI().fit(sim.sites).graph, sim.dag) for sim in sims]
        assert table.loc[("peri", p), "shd"] == pytest.approx(np.mean(found))
        assert table.loc[("peri", p), "shd_sd"] == pytest.approx(np.std(found, ddof=1), rel=1e-5)
        limits = [fp.f1(fp.meek_closure(sim.phi_cpdag), sim.dag) for sim in sims]
        assert table.loc[("oracle-phi", p), "f1"] == pytest.approx(np.mean(limits), rel=1e-5)
    # Another experiment in the same folder uses the cells that are there.
    before = (tmp_path / "cells.jsonl").read_text()
    run("time", "--quick", "--methods", "iperi,peri,oracle-phi", "--out", tmp_path)
    assert (tmp_path / "cells.jsonl").read_text() == before
    assert "| PERI | " in (tmp_path / "time.md").read_text()


def test_any_number_can_be_had_again_from_its_cell(tmp_path: Path) -> None:
    run("clients", "--quick", "--seeds", "1", "--methods", "peri", "--out", tmp_path)
    lines = (tmp_path / "cells.jsonl").read_text().splitlines()
    mixed = next(line for line in lines if '"mixed"' in line and '"fit"' in line)
    then, now = json.loads(mixed)["found"], json.loads(run("cell", "--cell", mixed))["found"]
    assert {**then, "cpu_s": 0} == {**now, "cpu_s": 0}
    assert {file.name for file in tmp_path.glob("*.png")} == {"clients-same.png", "clients-mixed.png"}


def test_the_filter_of_the_paper(tmp_path: Path) -> None:
    options = ("samples", "--quick", "--seeds", "2", "--methods", "peri", "--out", tmp_path)
    said = run(*options)
    told = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text().splitlines()]
    filters = [t for t in told if t["cell"]["task"] == "filter"]
    kept = {
        n: np.mean([t["found"]["client_f1"] > 0.85 for t in filters if t["cell"]["samples"] == n]) for n in (500, 2000)
    }
    assert f"It would keep {kept[500]:.0%} at n = 500, {kept[2000]:.0%} at n = 2000. All seeds are used here" in said
    filtered = run(*options, "--filter")
    assert "Only these are used here" in filtered
    sim = fp.simulate(8, 4, 500, shared_mechanisms=False, seed=0)
    one = next(t for t in told if t["cell"] | {"task": "filter", "samples": 500, "seed": 0} == t["cell"])
    by_hand = [fp.f1(fp.pc(t), fp.cpdag(g)) for t, g in zip(sim.sites, sim.client_dags, strict=True)]
    assert one["found"]["client_f1"] == pytest.approx(np.mean(by_hand))


def test_one_failing_method_does_not_stop_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(problem: Any) -> None:
        raise ValueError("it broke")

    broken = replace(CONTENDERS["peri"], fit=fails)
    monkeypatch.setitem(CONTENDERS, "peri", broken)
    said = run("table1", "--quick", "--jobs", "1", "--methods", "peri,oracle-cpdag", "--out", tmp_path)
    assert "| PERI | 0 | failed (2) | failed (2) |" in said
    assert "- PERI, 4 fits (seeds 0, 1): ValueError: it broke" in said
    assert "| oracle CPDAG | 2 | 3.00" in said


def test_exactness_counts_what_is_exact() -> None:
    found = work({"task": "exactness", "masking": "adaptive", "aggregate": "sum", "first": 0, "cases": 10})
    assert (found["cpdag"], found["phi"], found["wrong"]) == (10, 10, [])


@pytest.mark.parametrize("search", ["one order", "GES"])
def test_without_a_mask_all_searches_of_the_ablation_agree_on_many_rows(search: str) -> None:
    cell = {"task": "ablation", "setting": "cut", "p": 5, "clients": 2, "samples": 20_000}
    cell |= {"masking": "none", "aggregate": "sum", "seed": 3}
    a, b = (work({**cell, "search": which}) for which in ("orders", search))
    assert {**a, "rounds": 0} == {**b, "rounds": 0}
    assert search != "GES" or b["rounds"] > a["rounds"]


def test_the_closure_is_measured_on_the_same_run() -> None:
    cell = {"task": "ablation", "setting": "own strengths", "p": 8, "clients": 4, "samples": 1000}
    found = work(cell | {"masking": "adaptive", "aggregate": "sum", "search": "orders", "seed": 2})
    sim = fp.simulate(8, 4, 1000, shared_mechanisms=False, seed=2)
    result = fp.IPERI(local="pc").fit(sim.sites)
    assert (found["shd"], found["shd_open"]) == (fp.shd(result.graph, sim.dag), fp.shd(result.phi_cpdag, sim.dag))


def test_scale_counts_and_fits_powers(tmp_path: Path) -> None:
    cells = [{"task": "scale", "axis": "p", "p": p, "clients": 2, "samples": 200, "seed": 0} for p in (5, 12)]
    found = run_grid(cells, work, tmp_path)
    page = scale.write(found, tmp_path, Request())
    assert "Fitted growth of time: variables to the " in page.text and (tmp_path / "scale.png").exists()
    assert found[0]["rounds"] == fp.IPERI().fit(fp.simulate(5, 2, 200, shared_mechanisms=False, seed=0).sites).rounds


def test_real_files_with_a_truth(tmp_path: Path) -> None:
    sim = fp.simulate(4, clients=3, samples=500, seed=1)
    sim.save(tmp_path / "data")
    out = tmp_path / "out"
    said = run("real", "--tables", tmp_path / "data", "--methods", "iperi,peri,pooled", "--out", out)
    result = fp.IPERI().fit([tmp_path / "data" / f"site_{k}.csv" for k in range(3)])
    table = pd.read_csv(out / "real.csv").set_index("method")
    assert table.loc["I-PERI (ours)", "shd"] == fp.shd(result.graph, sim.dag)
    assert fp.PDAG.from_json((out / "real-iperi.json").read_text()) == result.graph
    assert table.loc["our GES, pooled", "adjacent"] == len(fp.ges(pd.concat(sim.sites)))
    assert "3 sites." in said
    distances = pd.read_csv(out / "real-distances.csv", index_col="method")
    assert distances.index.tolist() == distances.columns.tolist() and np.array_equal(distances, distances.T)
    assert distances.loc["I-PERI (ours)", "our GES, pooled"] > 0 and not np.diag(distances).any()


def test_real_files_without_a_truth_and_with_categories(tmp_path: Path) -> None:
    sim = fp.simulate(4, clients=2, samples=500, seed=1, discretize=3)
    for k, table in enumerate(sim.sites):
        table.replace({0: "low", 1: "mid", 2: "high"}).to_csv(tmp_path / f"ward{k}.csv", index=False)
    said = run("real", "--tables", tmp_path, "--methods", "iperi,notears-admm", "--out", tmp_path / "out")
    assert "of the truth" not in said and "| NOTEARS-ADMM | failed |" in said
    assert "What failed, and why:\n\n- NOTEARS-ADMM: InputError: " in said
    (tmp_path / "truth.csv").write_text("from,to,type\nX0,X9,->\n")
    done = fedperi_here("benchmark", "real", "--tables", tmp_path, "--out", tmp_path / "out")
    assert "the truth and site 'ward0' differ in the variable 'X9'" in done.stderr
    (tmp_path / "truth.csv").write_text("nonsense")
    done = fedperi_here("benchmark", "real", "--tables", tmp_path, "--out", tmp_path / "out")
    assert "the truth file 'truth.csv' cannot be read: " in done.stderr


def test_all_results_on_one_page(tmp_path: Path) -> None:
    pages = [Page("One", "text\n", (tmp_path / "one.png",))]
    text = results_page("all", pages, "Notes.\n\n", "results/", Request(range(5, 8)))
    assert "Seeds 5 to 7" in text and "Notes." in text and "![One](results/one.png)" in text


def test_a_page_of_all_that_is_saved(tmp_path: Path) -> None:
    out, page = tmp_path / "numbers", tmp_path / "results.md"
    run("table1", "--seeds", "1", "--methods", "oracle-cpdag", "--out", out)
    (out / "notes.md").write_text("Our words.\n")
    said = run("all", "--saved", "--seeds", "1", "--out", out, "--page", page)
    assert "privacy: skipped, nothing is saved." in said
    text = page.read_text()
    assert "Our words." in text and "![Table 1: variables, linear data](numbers/table1.png)" in text
    assert (out / "time.md").exists() and not (out / "privacy.md").exists()


def test_values_of_the_axis_can_be_chosen() -> None:
    cells = experiment("clients").cells(Request(range(1), methods=("peri",), at=(3,)))
    assert {cell["clients"] for cell in cells} == {3}


def test_every_experiment_lists_cells_that_differ() -> None:
    for name in NAMES:
        for quick in (False, True):
            cells = [json.dumps(cell) for cell in experiment(name).cells(Request(range(2), quick))]
            assert cells and len(set(cells)) == len(cells), name
