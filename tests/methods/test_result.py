"""Results: evidence for every edge, history, what is written and read back, and runs that are interrupted."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.command import fedperi_here
from helpers.oracles import oracle_sites, random_case

import fedperi as fp
from fedperi import cli
from fedperi.cli import Interrupted
from fedperi.methods.interruption import respecting_interrupts
from fedperi.protocol.messages import Families
from fedperi.simulation import implied_covariance


def sites(dag: fp.PDAG, *interventions: Any, targets: list[Any] | None = None) -> list[fp.OracleSite]:
    """One observational oracle site called "plain", and one called after each intervention."""
    p = len(dag.names)
    weights = np.random.default_rng(1).uniform(0.5, 0.9, (p, p))
    clients = {"plain": dag, **{f"do {what}": fp.mutilate(dag, what) for what in interventions}}
    return [
        fp.OracleSite(
            implied_covariance(weights * client.adjacency, np.ones(p)),
            1e10,
            dag.names,
            name=name,
            targets=None if targets is None else targets[k],
        )
        for k, (name, client) in enumerate(clients.items())
    ]


def reasons(result: fp.Result) -> dict[tuple[str, str], str]:
    return {(edge.a, edge.b): edge.reason for edge in result.edges}


TRIANGLE = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])


# -- evidence, by hand ------------------------------------------------------------------------------------------------


def test_a_triangle_with_an_intervention() -> None:
    result = fp.IPERI().fit(sites(TRIANGLE, "B"))
    assert result.graph == fp.PDAG.from_edges([("A", "C"), ("B", "C")], [("A", "B")])
    assert reasons(result) == {("A", "B"): "", ("A", "C"): "difference", ("B", "C"): "difference"}
    edges = {(edge.a, edge.b): edge for edge in result.edges}
    words = "at do B a link is missing, as if a local policy set a variable; if so, the arrow points this way: ask do B"
    assert edges["A", "C"].words == edges["B", "C"].words == words
    assert edges["A", "B"].sites == ("plain",)  # the site that lost the edge does not ask for it
    assert edges["A", "C"].sites == edges["B", "C"].sites == ("plain", "do B")
    assert [edge.directed for edge in result.edges] == [False, True, True]
    assert all(edge.gain > 1e6 for edge in result.edges)


def test_a_collider_and_what_follows_from_it() -> None:
    dag = fp.PDAG.from_edges([("A", "C"), ("B", "C"), ("C", "D")])
    result = fp.IPERI().fit(sites(dag))
    assert reasons(result) == {("A", "C"): "v-structure", ("B", "C"): "v-structure", ("C", "D"): "Meek"}
    words = {(edge.a, edge.b): edge.words for edge in result.edges}
    assert words["A", "C"] == "A and B are both causes of C and are not adjacent"
    assert words["C", "D"] == "Meek's rule 1: otherwise C would be a collider of A and D, which it is not"


def test_a_difference_and_what_follows_from_it() -> None:
    # D hangs on C, which is shielded by A -- B; the intervention on B lays the collider bare, and D follows.
    dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C"), ("C", "D")])
    result = fp.IPERI().fit(sites(dag, "B"))
    assert reasons(result) == {
        ("A", "B"): "",
        ("A", "C"): "difference",
        ("B", "C"): "difference",
        ("C", "D"): "difference",  # the intervened site's own CPDAG directs it too
    }
    partial = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C"), ("A", "D"), ("B", "D")], names=list("ABCD"))
    assert fp.IPERI().fit(sites(partial, "B")).graph.directed >= {("A", "C"), ("B", "C"), ("A", "D"), ("B", "D")}


def test_what_only_the_closure_directs_is_meeks() -> None:
    """Phi(G) is not closed: find random cases, and check that the reason of such edges is Meek's rules."""
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(40):
        _, clients, covariances = random_case(rng, 4, 6)
        result = fp.IPERI().fit(oracle_sites(clients, covariances))
        for edge in result.graph.directed - result.phi_cpdag.directed:
            assert reasons(result)[edge] == "Meek"
            found += 1
        for edge in result.phi_cpdag.directed - result.cpdag.directed:
            assert reasons(result)[edge] == "difference"
        for edge in result.cpdag.directed:
            assert reasons(result)[edge] in ("v-structure", "Meek")
    assert found > 0


def test_declared_targets_and_knowledge_as_reasons() -> None:
    chain = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    result = fp.IPERI().fit(sites(chain, "B", targets=[[], ["B"]]))
    assert result.phi_cpdag == fp.cpdag(chain)
    assert result.graph == chain
    assert reasons(result) == {("A", "B"): "target", ("B", "C"): "target"}
    result = fp.IPERI(knowledge=fp.Knowledge(tiers=[["A"], ["B"]])).fit(sites(chain))
    assert reasons(result) == {("A", "B"): "knowledge", ("B", "C"): "Meek"}
    assert result.edges[0].words == "background knowledge excludes the other direction"


def test_every_edge_has_evidence() -> None:
    rng = np.random.default_rng(2)
    for seed in range(20):
        sim = fp.simulate(int(rng.integers(2, 9)), 3, 150, seed=seed)
        result = fp.IPERI().fit(sim.sites)
        assert {(e.a, e.b) for e in result.edges if e.directed} == result.graph.directed
        assert {(e.a, e.b) for e in result.edges if not e.directed} == result.graph.undirected
        for edge in result.edges:
            assert (edge.reason in ("v-structure", "Meek", "difference")) == edge.directed == bool(edge.words)
            assert set(edge.sites) <= set(result.sites)
            assert edge.sites  # an edge that nobody asks for would not be there
            assert edge.gain > 0


def test_the_gain_is_what_the_objective_would_lose() -> None:
    """Forbidding an edge costs at least its gain, which is measured with the other parents as they are."""
    pair = fp.PDAG.from_edges([("A", "B")])
    (site,) = sites(pair)
    with_it = fp.IPERI().fit([site])
    without = fp.IPERI(knowledge=fp.Knowledge(forbidden=[("A", "B"), ("B", "A")])).fit([site])
    lost = without.history[-1].objective - with_it.history[-1].objective
    assert with_it.edges[0].gain == pytest.approx(lost)


# -- the other fields -------------------------------------------------------------------------------------------------


def test_graphs_get_tighter() -> None:
    for seed in range(10):
        sim = fp.simulate(6, 4, 200, seed=seed)
        for options in ({}, {"masking": "consensus", "aggregate": "worst"}):
            result = fp.IPERI(**options).fit(sim.sites)
            assert fp.is_cpdag(result.cpdag)
            assert result.cpdag.directed <= result.phi_cpdag.directed <= result.graph.directed
            assert result.graph == fp.meek_closure(result.phi_cpdag)
            assert result.dag.is_dag
            assert fp.includes(result.dag, result.graph)
            assert fp.v_structures(result.dag) == fp.v_structures(result.cpdag)


def test_history_goes_down_and_ends_at_the_regrets() -> None:
    sim = fp.simulate(16, 3, 200, seed=3)
    result = fp.IPERI().fit(sim.sites)
    objectives = [step.objective for step in result.history]
    assert objectives == sorted(objectives, reverse=True)
    assert result.history[0].what == "first search"
    assert 0 < result.history[-1].rounds <= result.rounds
    edges = len(result.dag)
    price = np.log(600) / 2
    assert objectives[-1] == pytest.approx(sum(result.regrets.values()) + price * edges)
    worst = fp.IPERI(aggregate="worst").fit(sim.sites)
    steps = {step.what: step.worst_regret for step in worst.history}
    assert steps["worst regrets"] <= steps["first search"] + 1e-9
    assert max(worst.regrets.values()) == pytest.approx(steps["worst regrets"] - 0.01 * len(worst.dag))


def test_the_manifest_names_everything_that_matters() -> None:
    tables = fp.simulate(4, 2, 100, seed=1).sites
    result = fp.IPERI(seed=5).fit({"north": tables[0], "south": fp.Site(tables[1], targets=["X1"])})
    assert result.manifest["fedperi"] == fp.__version__
    assert result.manifest["method"] == result.method
    assert result.method["seed"] == 5
    assert result.manifest["variables"] == ["X0", "X1", "X2", "X3"]
    north, south = result.manifest["sites"]
    assert (north["site"], north["n"], north["targets"]) == ("north", 100, None)
    assert (south["site"], south["n"], south["targets"]) == ("south", 100, ["X1"])
    assert len(north["sha256"]) == 64
    assert north["sha256"] != south["sha256"]
    again = fp.IPERI(seed=5).fit({"north": tables[0].copy(), "south": tables[1]})
    assert again.manifest["sites"][0] == north
    other = fp.IPERI(seed=5).fit({"north": tables[0] * 2 + tables[1], "south": tables[1]})
    assert other.manifest["sites"][0]["sha256"] != north["sha256"]


def test_repr() -> None:
    result = fp.IPERI().fit(sites(TRIANGLE, "B"))
    assert repr(result) == "Result(I-PERI: 3 edges, 2 directed; 2 sites, 2 rounds)"
    assert repr(fp.PERI().fit(sites(TRIANGLE))) == "Result(PERI: 3 edges, 0 directed; 1 site, 1 round)"


# -- written and read back --------------------------------------------------------------------------------------------


def assert_same(first: fp.Result, second: fp.Result) -> None:
    for field in fields(fp.Result):
        if field.name != "transcript":
            assert getattr(first, field.name) == getattr(second, field.name), field.name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"masking": "consensus", "aggregate": "worst", "local": "pc"},
        {"knowledge": fp.Knowledge([("X0", "X1")], [("X2", "X3")], [["X0"], ["X4"]]), "bootstrap": 2},
    ],
)
def test_json_round_trip(options: dict[str, Any]) -> None:
    tables = fp.simulate(5, 3, 150, seed=2).sites
    given = [fp.Site(table, name=f"s{k}", targets=["X1"] if k == 2 else None) for k, table in enumerate(tables)]
    result = fp.IPERI(**options).fit(given)
    text = result.to_json()
    back = fp.Result.from_json(text)
    assert_same(back, result)
    assert back.transcript is None
    assert back.to_json() == text
    assert repr(back) == repr(result)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": "fedperi.result", "version": 1}'])
def test_text_that_is_no_result(text: str) -> None:
    with pytest.raises(fp.InputError, match=r"^this is not a result of fedperi: the text is damaged$"):
        fp.Result.from_json(text)


def test_damaged_results() -> None:
    record = json.loads(fp.IPERI().fit(sites(TRIANGLE, "B")).to_json())
    for name in record:
        if name not in ("format", "version"):
            less = {key: value for key, value in record.items() if key != name}
            with pytest.raises(fp.InputError, match=r"^this is not a result of fedperi: the text is damaged$"):
                fp.Result.from_json(json.dumps(less))
    for change in ({"version": 3}, {"format": "fedperi.transcript"}):
        with pytest.raises(fp.InputError, match=r"^this is not a result of fedperi, version 2$"):
            fp.Result.from_json(json.dumps({**record, **change}))
    for change in ({"graph": {}}, {"graph": 3}, {"edges": 3}, {"history": [{}]}, {"edges": [{}]}):  # type: ignore[assignment]
        with pytest.raises(fp.InputError):
            fp.Result.from_json(json.dumps({**record, **change}))


def test_results_of_the_first_version_are_still_read() -> None:
    result = fp.IPERI().fit(sites(TRIANGLE, "B"))
    record = json.loads(result.to_json())
    new = ("probable", "differences", "groups", "robustness", "warnings", "sampling")
    old = {**{key: value for key, value in record.items() if key not in new}, "version": 1}
    assert_same(fp.Result.from_json(json.dumps(old)), result)


def test_a_result_of_mperi_comes_back_whole(tmp_path: Path) -> None:
    tables = dict(zip(("Brest", "Lyon", "Metz"), fp.simulate(4, clients=3, samples=500, seed=1).sites, strict=True))
    tables["Metz"] = tables["Metz"].assign(X0=1.0)  # a constant has infinite evidence, which JSON cannot write
    result = fp.MPERI().fit(tables)
    back = fp.load(result.save(tmp_path / "result"))
    assert "Infinity" not in result.to_json()
    assert back.to_json() == result.to_json()
    for part in ("probable", "differences", "groups", "robustness", "warnings", "sampling", "edges", "manifest"):
        assert getattr(back, part) == getattr(result, part), part
    assert [one.site for one in back.differences if one.evidence == float("inf")] == ["Metz"]
    assert back.summary() == result.summary()


def test_save(tmp_path: Path) -> None:
    result = fp.IPERI().fit(sites(TRIANGLE, "B"))
    place = result.save(tmp_path / "deep" / "result")
    assert place == tmp_path / "deep" / "result"
    names = {"graph.csv", "graph.dagitty.txt", "graph.dot", "graph.gml", "manifest.json", "result.json"}
    assert {path.name for path in place.iterdir()} >= names
    assert not [path for path in place.iterdir() if path.name.endswith(".part")]
    assert_same(fp.Result.from_json((place / "result.json").read_text(encoding="utf-8")), result)
    assert json.loads((place / "manifest.json").read_text()) == result.manifest
    assert fp.PDAG.from_dot((place / "graph.dot").read_text()) == result.graph
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with pytest.raises(fp.InputError, match=r"already holds edges.csv and other files of a result; give another"):
        result.save(place)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    result.save(place, overwrite=True)
    (place / "summaries.json").write_text("of another result")
    result.save(place, overwrite=True)
    assert not (place / "summaries.json").exists()  # `load` would have read it with this result
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(fp.InputError, match=r"^cannot write the result to '.*file': File exists$"):
        result.save(tmp_path / "file")
    with pytest.raises(fp.InputError, match=r"^cannot write the result to '.*below': Not a directory$"):
        result.save(tmp_path / "file" / "below")


# -- interrupted ------------------------------------------------------------------------------------------------------


def interrupt_at(site: fp.OracleSite, monkeypatch: pytest.MonkeyPatch, when: Any) -> None:
    answer = site.answer

    def answering(question: Any) -> Any:
        if when(question):
            raise KeyboardInterrupt
        return answer(question)

    monkeypatch.setattr(site, "answer", answering)


def test_interrupted_in_phase_2(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fp.IPERI().fit(sites(TRIANGLE, "B"))
    given = sites(TRIANGLE, "B")
    interrupt_at(given[1], monkeypatch, lambda question: not isinstance(question, Families))
    result = fp.IPERI().fit(given)
    assert whole.complete
    assert not result.complete
    assert result.cpdag == result.phi_cpdag == result.graph == whole.cpdag
    assert result.regrets == whole.regrets
    assert (result.rounds, whole.rounds) == (1, 2)
    assert repr(result) == "Result(I-PERI (interrupted): 3 edges, 0 directed; 2 sites, 1 round)"
    assert_same(fp.Result.from_json(result.to_json()), result)


def test_interrupted_in_a_later_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    _, clients, covariances = random_case(rng, 14, 14)
    whole = fp.IPERI().fit(oracle_sites(clients, covariances))
    assert whole.transcript is not None
    first = sum(len(questions) for questions, _ in whole.transcript.rounds[:4])  # candidates and their subsets
    given = oracle_sites(clients, covariances)
    asked: list[Any] = []
    interrupt_at(given[0], monkeypatch, lambda question: asked.append(question) or len(asked) > first)  # type: ignore[func-returns-value]
    result = fp.IPERI().fit(given)
    assert not result.complete
    assert len(result.history) == 1
    assert len(result.graph) > 0


@pytest.fixture
def usual_handler() -> Iterator[None]:
    """Of Ctrl-C in a terminal: programs that a shell starts in the background begin with one that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def swallowing(monkeypatch: pytest.MonkeyPatch) -> list[fp.OracleSite]:
    """Sites of which one interrupts itself, by a real signal, and swallows that, as libraries do here and there."""
    given = sites(TRIANGLE, "B")
    answer = given[1].answer

    def answering(question: Any) -> Any:
        with contextlib.suppress(KeyboardInterrupt, Interrupted):
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("no interruption")
        return answer(question)

    monkeypatch.setattr(given[1], "answer", answering)
    return given


@pytest.mark.usefixtures("usual_handler")
def test_an_interruption_that_got_lost_is_respected_in_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    result = fp.IPERI(bootstrap=3).fit(swallowing(monkeypatch))
    assert not result.complete
    assert (result.rounds, result.replicates) == (1, 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("usual_handler")
def test_the_same_at_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGINT, cli._interrupt)
    with pytest.raises(Interrupted):
        fp.IPERI().fit(swallowing(monkeypatch))
    assert signal.getsignal(signal.SIGINT) is cli._interrupt


@pytest.mark.usefixtures("usual_handler")
def test_a_program_that_handles_interruptions_itself_keeps_its_handler() -> None:
    caught: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    with respecting_interrupts() as look:
        signal.raise_signal(signal.SIGINT)
        look()
    assert caught == [signal.SIGINT]


def test_other_threads_leave_interruptions_to_the_main_one() -> None:
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(lambda: fp.IPERI().fit(sites(TRIANGLE)).complete).result()


def test_interrupted_before_anything_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    given = sites(TRIANGLE, "B")
    interrupt_at(given[1], monkeypatch, lambda question: True)
    with pytest.raises(KeyboardInterrupt):
        fp.IPERI().fit(given)


def test_progress_only_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    fp.IPERI().fit(sites(TRIANGLE))
    assert capsys.readouterr() == ("", "")
    fp.IPERI(progress=True).fit(sites(TRIANGLE))
    out, err = capsys.readouterr()
    assert out == ""
    assert "I-PERI" in err or err == ""  # rich shows a status only where there is a terminal


def test_notebooks_get_a_picture() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    result = fp.IPERI().fit(fp.simulate(4, clients=2, samples=300, seed=1).sites)
    axes = result.plot()
    assert axes.figure is not None
    assert result.plot(axes) is axes
    page = result._repr_html_()
    assert "<svg" in page
    assert all(name in page for name in result.graph.names)


def test_the_report_command_writes_the_page_again(tmp_path: Path) -> None:
    result = fp.IPERI().fit(fp.simulate(4, clients=2, samples=300, seed=1).sites)
    result.save(tmp_path)
    (tmp_path / "report.html").unlink()
    assert fedperi_here("report", tmp_path).returncode == 0
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")
    failed = fedperi_here("report", tmp_path / "nowhere")
    assert failed.returncode == 2
    assert "cannot be read" in failed.stderr
