"""Other packages are compared like our methods: left out with a reason if missing, stopped if they are slow."""

import importlib.util
import json
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.command import fedperi_here

import fedperi as fp
from fedperi.benchmark.contenders import CONTENDERS, PEERS, Problem, TooSlowError, left_out, solve
from fedperi.benchmark.contenders.peers import _from_marks, _without_cycles
from fedperi.benchmark.fitting import fit_cell
from fedperi.benchmark.grid import run_grid

CELL = {"task": "fit", "setting": "shift", "p": 4, "clients": 4, "samples": 500, "seed": 3}


def test_every_contender_has_a_colour_and_a_label_of_its_own() -> None:
    for what in ("label", "colour"):
        found = [getattr(one, what) for one in CONTENDERS.values()]
        assert len(set(found)) == len(found), what


@pytest.mark.parametrize("name", PEERS)
def test_packages_find_something_in_rows_of_all_sites(name: str) -> None:
    if CONTENDERS[name].missing():
        pytest.skip(CONTENDERS[name].missing())
    sim = fp.simulate(4, clients=4, samples=500, intervention="shift", seed=3)
    found, seconds = solve(name, Problem(sim.sites, world=sim), 60)
    assert set(found.graph.names) == set(sim.dag.names) and len(found.graph) > 0 and seconds > 0
    assert fp.skeleton_f1(found.graph, sim.dag) > 0.5
    assert (found.named is not None) == (name == "ut-igsp")
    assert (found.changing is not None) == (name in ("gnies", "cd-nod"))


def test_packages_are_silent(capfd: pytest.CaptureFixture[str]) -> None:
    sim = fp.simulate(4, clients=2, samples=300, seed=1)
    for name in ("fci", "cd-nod"):  # both print whatever they are asked
        if importlib.util.find_spec("causallearn") is not None:
            solve(name, Problem(sim.sites), 60)
    assert capfd.readouterr() == ("", "")


def test_a_package_that_is_not_installed_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = replace(CONTENDERS["gnies"], needs=("no_such_package",))
    monkeypatch.setitem(CONTENDERS, "gnies", gone)
    assert left_out(["mperi", "gnies"]) == {"gnies": "ModuleNotFoundError: No module named 'no_such_package'"}
    done = fedperi_here(
        "benchmark", "table1", "--at", "3", "--seeds", "1", "--methods", "gnies,peri", "--jobs", "1", "--out", tmp_path
    )
    assert done.returncode == 0, done
    assert "| GnIES | 0 | not installed |" in done.stdout and "| PERI | 1 | " in done.stdout
    assert (
        "- GnIES, 1 fit (seed 0): not installed (ModuleNotFoundError: No module named 'no_such_package'): "
        "the extra 'peers' brings it"
    ) in done.stdout
    # It is no failed fit: with the package installed it runs.
    assert "gnies" not in (tmp_path / "cells.jsonl").read_text()


def test_a_slow_fit_is_stopped_and_tried_again_only_with_more_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def slow(problem: Problem) -> Any:
        calls.append(1)
        while True:
            with suppress(Exception):  # some packages go on whatever goes wrong
                np.linalg.svd(np.eye(20))

    monkeypatch.setitem(CONTENDERS, "peri", replace(CONTENDERS["peri"], fit=slow))
    solve_ = fit_cell
    monkeypatch.setattr("fedperi.benchmark.contenders.solving._warm", lambda name, curved: None)
    start = time.process_time()
    cell = {**CELL, "method": "peri", "limit": 0.2}
    assert run_grid([cell], solve_, tmp_path)[0]["error"] == "stopped after 0.2 CPU s"
    assert time.process_time() - start < 5
    assert run_grid([cell], solve_, tmp_path)[0]["limit"] == 0.2 and len(calls) == 1
    assert run_grid([{**cell, "limit": 0.1}], solve_, tmp_path) and len(calls) == 1
    assert run_grid([{**cell, "limit": 0.3}], solve_, tmp_path)[0]["limit"] == 0.3 and len(calls) == 2
    with pytest.raises(TooSlowError, match=r"more than 0\.1 CPU s"):
        solve("peri", Problem([]), 0.1)


def test_a_cell_has_all_numbers_and_the_same_again() -> None:
    found = fit_cell({**CELL, "method": "mperi"})
    sim = fp.simulate(4, 4, 500, intervention="shift", seed=3)
    result = fp.MPERI().fit({f"site {k}": table for k, table in enumerate(sim.sites)})
    assert found["shd"] == fp.shd(result.graph, sim.dag)
    assert found["right"] + found["wrong"] == len(result.graph.directed)
    assert found["adjustment"] == fp.adjustment_distance(result.graph, sim.dag)[0]
    true = {(f"site {k}", name) for k, names in enumerate(sim.targets) for name in names}
    said = {(one.site, one.variable) for one in result.differences}
    assert (found["policies"], found["named"]) == (len(true), len(said & true))
    assert found["named_wrongly"] == len(said - true)
    assert len(found["stated"]) == sum(
        max(forward, backward) >= 0.5 for _, _, forward, backward, _ in result.probabilities.itertuples(index=False)
    )
    again = fit_cell(json.loads(json.dumps({**CELL, "method": "mperi"})))
    assert {**again, "cpu_s": 0} == {**found, "cpu_s": 0}


def test_two_arrowheads_and_cycles_become_lines() -> None:
    marks = np.array([[0, 1, 0], [1, 0, -1], [0, 1, 0]])  # a <-> b in conflict; b -> c
    assert _from_marks(marks, ["a", "b", "c"]) == fp.PDAG.from_edges([("b", "c")], [("a", "b")])
    cycle = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    found = _without_cycles(cycle, ["a", "b", "c", "d"])
    assert found.directed == {("c", "d")} and len(found.undirected) == 3
