"""NOTEARS-ADMM and the controls: closed forms, gradients, messages, recovery, bad input."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

import fedperi as fp
from fedperi.baselines.baseline import acyclic, member, work_transport
from fedperi.baselines.notears_admm.method import MOST
from fedperi.baselines.notears_admm.mlp import NotearsMLPWorker, first_parameters, parameter_count, squared_error
from fedperi.baselines.notears_admm.server import ParameterLayout, ServerState, _Smooth
from fedperi.baselines.notears_admm.worker import NotearsWorker, local_weights, second_moments
from fedperi.coordinator.work import WorkCoordinator
from fedperi.methods.controls import each_alone
from fedperi.transports.in_process import WorkInProcess

CHAIN = fp.PDAG.from_edges([("A", "B"), ("B", "C")])


def easy(p: Any = 4, seed: Any = 0, clients: Any = 3, samples: Any = 1500, **options: Any) -> Any:
    given = {"intervention": "none", "weights": (0.5, 1.0), **options}
    return fp.simulate(p, clients, samples, seed=seed, **given)


def positive_definite(rng: Any, p: Any) -> Any:
    root = rng.normal(size=(p, p))
    return root @ root.T / p + 0.1 * np.eye(p)


# -- the site ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loops", [True, False])
def test_a_sites_weights_minimise_its_objective(loops: bool) -> None:
    rng = np.random.default_rng(0)
    p, rho = 4, 0.3
    S, W, D = positive_definite(rng, p), rng.normal(size=(p, p)), rng.normal(size=(p, p))

    def objective(flat: Any) -> Any:
        B = flat.reshape(p, p)
        fit = np.trace((np.eye(p) - B).T @ S @ (np.eye(p) - B)) / 2
        return fit + (D * (B - W)).sum() + rho / 2 * ((B - W) ** 2).sum()

    found = local_weights(S, W, D, rho, loops)
    slope = approx_fprime(found.ravel(), objective, 1e-7).reshape(p, p)
    free = np.ones((p, p), bool) if loops else ~np.eye(p, dtype=bool)
    assert np.abs(slope[free]).max() < 1e-5
    assert loops or not np.diag(found).any()


def test_without_a_pull_the_weights_are_regressions() -> None:
    rows = np.random.default_rng(1).normal(size=(200, 3)) @ np.array([[1, 0.5, 0], [0, 1, -0.7], [0, 0, 1]])
    S = second_moments(rows, "north")
    B = local_weights(S, np.zeros((3, 3)), np.zeros((3, 3)), 1e-12, loops=False)
    centred = rows - rows.mean(axis=0)
    by_hand = np.linalg.lstsq(centred[:, [0, 2]], centred[:, 1], rcond=None)[0]
    assert B[[0, 2], 1] == pytest.approx(by_hand)
    assert np.allclose(S, np.cov(rows.T, bias=True))


def test_the_coordinator_can_compute_a_sites_covariance_from_two_answers() -> None:
    """The attack in the docstring: with loops one answer reveals the moments, without loops two do."""
    rng = np.random.default_rng(2)
    p, rho = 4, 0.001
    S, W = positive_definite(rng, p), np.zeros((p, p))
    B = local_weights(S, W, np.zeros((p, p)), rho, loops=True)
    assert rho * (B - W) @ np.linalg.inv(np.eye(p) - B) == pytest.approx(S, rel=1e-6)
    upper = [(i, j) for i in range(p) for j in range(i, p)]
    equations, right = [], []
    D = np.zeros((p, p))
    for _ in range(2):
        B = local_weights(S, W, D, rho, loops=False)
        for i in range(p):
            for j in range(p):
                if i != j:  # [S (I - B)]_ij = [rho (B - W) + D]_ij, linear in the entries of S
                    line = np.zeros(len(upper))
                    for k in range(p):
                        line[upper.index((min(i, k), max(i, k)))] += float(k == j) - B[k, j]
                    equations.append(line)
                    right.append((rho * (B - W) + D)[i, j])
        W = np.triu(rng.normal(size=(p, p)), 1)
        D, rho = D + rho * (B - W), 1.25 * rho
    found = np.linalg.lstsq(np.array(equations), np.array(right), rcond=None)[0]
    assert found == pytest.approx([S[pair] for pair in upper], rel=1e-6)


def test_a_site_keeps_its_dual_between_processes() -> None:
    """A worker is a function of rows, state and step: a new one continues where the last one stopped."""
    rows = np.random.default_rng(3).normal(size=(50, 3))
    payload = {"parameters": np.zeros((1, 9)), "rho": np.array([0.1]), "total": 50.0, "loops": False}
    one = NotearsWorker(rows, "north")
    first, state = one.perform("update", payload, {})
    again, _ = one.perform("update", {**payload, "rho": np.array([0.2])}, state)
    copied = {name: np.array(value) for name, value in state.items()}
    other, _ = NotearsWorker(rows, "north").perform("update", {**payload, "rho": np.array([0.2])}, copied)
    assert np.array_equal(again["parameters"], other["parameters"])
    # The dual of the second step counts the first disagreement, with the price it had then.
    dual = (0.1 * first["parameters"]).reshape(3, 3)
    by_hand = local_weights(second_moments(rows, ""), np.zeros((3, 3)), dual, 0.2, loops=False)
    assert again["parameters"] == pytest.approx(by_hand.reshape(1, 9))


def test_starts_do_not_touch_each_other() -> None:
    """Two starts in one message give the same as two messages, each with its own penalty and dual."""
    rng = np.random.default_rng(9)
    worker, W = NotearsWorker(rng.normal(size=(50, 3)), "north"), rng.normal(size=(2, 9))
    rho, rest = np.array([0.1, 3.0]), {"total": 50.0, "loops": False}
    _, both = worker.perform("update", {"parameters": W, "rho": rho, **rest}, {})
    together = worker.perform("update", {"parameters": W / 2, "rho": rho, **rest}, both)[0]["parameters"]
    for at in (0, 1):
        one = {"rho": rho[[at]], **rest}
        _, state = worker.perform("update", {"parameters": W[[at]], **one}, {})
        alone = worker.perform("update", {"parameters": W[[at]] / 2, **one}, state)[0]["parameters"]
        assert np.array_equal(alone[0], together[at])
    with pytest.raises(fp.InputError, match="NOTEARS-ADMM continues with 1 starts; it began with 2"):
        worker.perform("update", {"parameters": W[:1], "rho": rho[:1], **rest}, both)


@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_the_loss_of_a_start_is_half_the_squared_error_over_all_rows(model: str) -> None:
    rng = np.random.default_rng(10)
    rows, total = rng.normal(3.0, 1.0, size=(40, 3)), 100.0
    centred = rows - rows.mean(axis=0)
    if model == "linear":
        W = rng.normal(size=(2, 9))
        by_hand = [((centred - centred @ w.reshape(3, 3)) ** 2).sum() / 2 / total for w in W]
        worker, more = NotearsWorker(rows, "north"), {}
    else:
        W = rng.normal(size=(2, parameter_count(3, 1)))
        by_hand = []
        for first, bias, second, offset in (np.split(w, [9, 12, 15]) for w in W):
            fitted = second / (1 + np.exp(-(centred @ first.reshape(3, 3) + bias))) + offset
            by_hand.append(((centred - fitted) ** 2).sum() / 2 / total)
        worker, more = NotearsMLPWorker(rows, "north"), {"hidden": 1, "seed": 0}  # type: ignore[assignment]
    answer, _ = worker.perform("loss", {"parameters": W, "total": total, "loops": False, **more}, {})
    assert answer["loss"] == pytest.approx(by_hand)


def test_sites_count_by_their_rows() -> None:
    rows = np.random.default_rng(4).normal(size=(60, 2))
    payload = {"parameters": np.zeros((1, 4)), "rho": np.array([0.1]), "total": 240.0, "loops": True}
    answer, _ = NotearsWorker(rows, "north").perform("update", payload, {})
    S = second_moments(rows, "") * 60 / 240
    assert answer["parameters"].reshape(2, 2) == pytest.approx(np.linalg.solve(S + 0.1 * np.eye(2), S))


# -- the server -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [1, 3])
def test_gradient_of_the_measure_of_cycles(units: int) -> None:
    rng = np.random.default_rng(5)
    layout = ParameterLayout(3, units, 9 * units + 5)
    x = rng.normal(size=layout.size) / 2
    h, slope = layout.acyclicity(x)
    assert slope == pytest.approx(approx_fprime(x, lambda v: layout.acyclicity(v)[0], 1e-7), abs=1e-4)  # type: ignore[misc]
    assert not slope[layout.edges :].any()
    assert h > 0


def test_the_measure_is_zero_for_acyclic_weights() -> None:
    W = np.triu(np.random.default_rng(6).normal(size=(5, 5)), 1)
    assert ParameterLayout(5, size=25).acyclicity(W.ravel())[0] == pytest.approx(0, abs=1e-12)


def test_another_scale_measures_cycles_in_another_unit_of_weight() -> None:
    rng = np.random.default_rng(11)
    x = rng.normal(size=9) / 2
    h, slope = ParameterLayout(3, size=9, scale=16.0).acyclicity(x)
    plain, its_slope = ParameterLayout(3, size=9).acyclicity(4 * x)
    assert h == pytest.approx(plain)
    assert slope == pytest.approx(4 * its_slope)
    assert ParameterLayout(3, size=9, scale=16.0).acyclicity(np.triu(x.reshape(3, 3), 1).ravel())[0] == pytest.approx(0)


def test_gradient_of_the_servers_objective() -> None:
    rng = np.random.default_rng(7)
    layout = ParameterLayout(3, 2, 18 + 4)
    server = ServerState(layout, np.zeros(22), rng.normal(size=22), rho1=0.7, rho2=0.4, alpha=0.3)
    smooth = _Smooth(server, rng.normal(size=(3, 22)), l2=0.05)
    x = rng.normal(size=22) / 2
    assert smooth(x)[1] == pytest.approx(approx_fprime(x, lambda v: smooth(v)[0], 1e-7), rel=1e-3, abs=1e-4)  # type: ignore[misc]


def test_points_beyond_the_range_of_numbers_cost_much_and_raise_nothing() -> None:
    layout = ParameterLayout(2, size=4)
    server = ServerState(layout, np.zeros(4), np.zeros(4), 1.0, 1.0)
    smooth = _Smooth(server, np.zeros((1, 4)), 0.0)
    for size in (40.0, 1e10, 1e200):
        value, slope = smooth(np.array([0, size, size, 0]))
        assert value >= 1e300 or np.isfinite(value)
        assert np.isfinite(slope).all()


def test_gradient_of_the_networks() -> None:
    rng = np.random.default_rng(8)
    rows, units = rng.normal(size=(20, 3)), 2
    x = rng.normal(size=parameter_count(3, units))
    total, slope = squared_error(x, rows, units)
    assert slope == pytest.approx(
        approx_fprime(x, lambda v: squared_error(v, rows, units)[0], 1e-7),  # type: ignore[misc]
        rel=1e-3,
        abs=1e-3,
    )
    # By hand, variable 1: sigmoids of all columns, weighted.
    first, bias, second = x[:18].reshape(3, 3, 2), x[18:24].reshape(3, 2), x[24:30].reshape(3, 2)
    fitted = (1 / (1 + np.exp(-(rows @ first[:, 1] + bias[1])))) @ second[1] + x[31]
    moved = x.copy()
    moved[31] += 1.0  # the offset of variable 1 changes its own error alone
    change = ((fitted + 1 - rows[:, 1]) ** 2).sum() / 2 - ((fitted - rows[:, 1]) ** 2).sum() / 2
    assert squared_error(moved, rows, units)[0] - total == pytest.approx(change)


# -- the run ----------------------------------------------------------------------------------------------------------


def single_process(tables: Any, faithful: Any, scale: Any = 1.0, rounds: Any = 200) -> Any:
    """One start with everything in one place: explicit duals of every site, no messages, no states."""
    total, p = sum(map(len, tables)), tables[0].shape[1]
    S = [second_moments(rows, "") * (len(rows) / total) for rows in tables]
    D = [np.zeros((p, p)) for _ in S]
    server = ServerState(ParameterLayout(p, size=p * p, scale=scale), np.zeros(p * p), np.zeros(p * p), 1e-3, 1e-3)
    for _ in range(rounds):
        W = server.parameters.reshape(p, p)
        B = [local_weights(s, W, d, server.rho2, faithful) for s, d in zip(S, D, strict=True)]
        server = server.step([b.ravel() for b in B], 0.01, 0.0, faithful)
        new = server.parameters.reshape(p, p)
        D = [d + server.rho2 * (b - new) for d, b in zip(D, B, strict=True)]
        apart = max(np.abs(b - new).max() for b in B)
        if not faithful and server.h <= 1e-8 and apart <= 1e-3:
            break
        dearer = faithful or apart > np.abs(new - W).max()
        server = server.tightened(1.75, 1.25 if dearer else 1.0, MOST)
        if min(server.rho1, server.rho2) >= MOST:
            break
    W = server.parameters.reshape(p, p)
    return W, sum(np.trace((np.eye(p) - W).T @ s @ (np.eye(p) - W)) / 2 for s in S) + 0.01 * np.abs(W).sum()


@pytest.mark.parametrize("faithful", [True, False])
def test_messages_give_what_one_process_gives(faithful: bool) -> None:
    sim = fp.simulate(4, 3, 300, seed=1)
    transport = work_transport(sim.sites)
    coordinator, method = WorkCoordinator(transport, "notears-admm"), fp.NotearsADMM(faithful=faithful)
    starts, _, _ = method._rounds(coordinator)
    tables = list(transport._rows.values())  # type: ignore[attr-defined]
    alone = [single_process(tables, faithful, scale) for scale in ([1.0] if faithful else [1.0, 16.0, 1 / 16])]
    for start, (weights, _) in zip(starts, alone, strict=True):
        assert start.parameters.reshape(4, 4) == pytest.approx(weights, abs=1e-6)
    best = min(alone, key=lambda pair: pair[1])[0]
    assert method._best(coordinator, starts).parameters.reshape(4, 4) == pytest.approx(best, abs=1e-6)


def test_a_start_that_is_still_cyclic_is_not_chosen() -> None:
    sim = easy(3, clients=2, samples=200)
    coordinator, method = WorkCoordinator(work_transport(sim.sites), "notears-admm"), fp.NotearsADMM(starts=2)
    starts, _, _ = method._rounds(coordinator)
    losses = [single_process(list(coordinator.transport._rows.values()), False, scale)[1] for scale in (1.0, 16.0)]  # type: ignore[attr-defined]
    better = int(np.argmin(losses))
    starts[better] = replace(starts[better], h=1.0)
    assert method._best(coordinator, starts) is starts[1 - better]


def test_several_starts_find_what_one_misses() -> None:
    """A case where the published measure of cycles leads to a local minimum, and another unit does not."""
    sim = fp.simulate(4, 4, 1000, seed=152, intervention="none")
    assert fp.NotearsADMM().fit(sim.sites).graph == sim.dag
    assert fp.f1(fp.NotearsADMM(starts=1).fit(sim.sites).graph, sim.dag) < 0.7


@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_easy_data_give_the_skeleton_and_most_directions(seed: Any, faithful: bool) -> None:
    truth = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")])
    sim = fp.simulate(truth, 3, 2000, intervention="none", weights=(0.7, 1.0), seed=seed)
    result = fp.NotearsADMM(faithful=faithful).fit(sim.sites)
    assert fp.skeleton_f1(result.graph, truth) == 1
    assert fp.f1(result.graph, truth) >= 0.75


def test_the_published_run_takes_197_rounds_and_with_networks_176() -> None:
    sim = easy(3, clients=2, samples=100)
    result = fp.NotearsADMM(faithful=True).fit(sim.sites)
    assert (result.rounds, result.method["ended"]) == (197, "prices at their limit")
    assert fp.NotearsADMM(model="mlp", hidden=2, faithful=True).fit(sim.sites).rounds == 176


def test_it_stops_when_sites_agree_on_an_acyclic_graph() -> None:
    result = fp.NotearsADMM().fit(easy().sites)
    assert result.method["ended"] == "converged"
    assert result.rounds < 120
    assert result.history[-1].objective <= 1e-8
    assert fp.NotearsADMM(max_rounds=3).fit(easy().sites).method["ended"] == "most rounds"


def test_unequal_sizes_are_weighed_and_the_published_code_has_none() -> None:
    sim = fp.simulate(CHAIN, 3, [300, 1000, 3000], intervention="none", weights=(0.6, 1.0), seed=2)
    assert fp.skeleton_f1(fp.NotearsADMM().fit(sim.sites).graph, sim.dag) == 1
    with pytest.raises(fp.InputError, match="needs equally many rows at all sites, not 300 to 3000; leave faithful"):
        fp.NotearsADMM(faithful=True).fit(sim.sites)


def test_two_copies_of_a_site_are_one_site_of_twice_the_rows() -> None:
    """The loss is over rows, not over sites; both runs end with nearly the same weights."""
    table = easy(3, clients=1).sites[0]
    twice = fp.NotearsADMM().fit([pd.concat([table, table])]).graph
    assert fp.NotearsADMM().fit([table]).graph == twice


def test_the_order_of_sites_changes_nothing() -> None:
    sim = easy(5, intervention="structural", weights=(0.1, 1.0))
    tables = {f"site {k}": table for k, table in enumerate(sim.sites)}
    backwards = dict(reversed(tables.items()))
    one, other = fp.NotearsADMM().fit(tables), fp.NotearsADMM().fit(backwards)
    assert one.graph == other.graph
    assert one.history == other.history


def test_networks_find_a_curved_chain() -> None:
    rng = np.random.default_rng(0)

    def table(n: Any) -> Any:
        a = rng.uniform(-2, 2, n)
        b = 2 * np.tanh(2 * a) + rng.normal(0, 0.5, n)
        c = np.sin(b) * 2 + rng.normal(0, 0.5, n)
        return pd.DataFrame({"A": a, "B": b, "C": c})

    result = fp.NotearsADMM(model="mlp", hidden=5).fit([table(300), table(500)])
    assert {frozenset(pair) for pair in result.graph.directed} >= {frozenset("AB"), frozenset("BC")}
    again = fp.NotearsADMM(model="mlp", hidden=5, max_rounds=2, seed=3).fit([table(300)]).history
    assert again != fp.NotearsADMM(model="mlp", hidden=5, max_rounds=2, seed=4).fit([table(300)]).history


def test_the_threshold_that_was_used_is_kept() -> None:
    sites = easy(3, clients=2, samples=100).sites
    short = {"hidden": 2, "max_rounds": 2}
    for options, used in (({}, 0.1), ({"model": "mlp"}, 0.3), ({"model": "mlp", "faithful": True}, 0.1)):
        assert fp.NotearsADMM(**options, **short).fit(sites).method["threshold"] == used
    free = fp.NotearsADMM(model="mlp", threshold=0.0, **short).fit(sites)
    assert (free.method["threshold"], len(free.graph.directed)) == (0.0, 3)  # all that a DAG can have


def test_networks_begin_the_same_for_a_seed_and_without_loops() -> None:
    one = first_parameters(3, 4, seed=1, loops=False)
    assert np.array_equal(one, first_parameters(3, 4, seed=1, loops=False))
    assert len(one) == parameter_count(3, 4)
    assert not ParameterLayout(3, 4, len(one)).strength(one).diagonal().any()


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(2, 5),
    faithful=st.booleans(),
    model=st.sampled_from(["linear", "mlp"]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    threshold=st.sampled_from([0.0, 0.1]),
)
def test_property_every_result_is_a_dag(
    seed: Any, p: Any, faithful: Any, model: Any, scale: Any, threshold: Any
) -> None:
    rng = np.random.default_rng(seed)
    tables = [pd.DataFrame(scale * rng.normal(size=(p + 5, p)) @ rng.normal(size=(p, p))).add_prefix("V") for _ in "ab"]
    method = fp.NotearsADMM(model=model, hidden=2, max_rounds=4, faithful=faithful, threshold=threshold)
    result = method.fit(tables)
    assert result.graph.is_dag
    assert result.graph == result.dag == result.phi_cpdag
    assert fp.cpdag(result.dag) == result.cpdag
    assert np.isfinite([step.objective for step in result.history]).all()


# -- the result -------------------------------------------------------------------------------------------------------


def test_a_result_without_regrets_keeps_its_contract(tmp_path: Path) -> None:
    result = fp.NotearsADMM().fit({"north": easy(3).sites[0], "south": easy(3).sites[1]})
    assert result.sites == ("north", "south")
    assert result.regrets == {}
    assert result.edges == ()
    numbers = 3 * 9 * (result.rounds - 1) + 3  # three starts; at the end the loss of each
    assert (result.queries, result.bytes) == (numbers, 8 * numbers)
    assert repr(result).startswith("Result(NOTEARS-ADMM: ")
    back = fp.Result.from_json(result.to_json())
    assert (back.graph, back.sites, back.history) == (result.graph, result.sites, result.history)
    assert json.loads(result.to_json())["manifest"]["sites"][0]["sha256"]
    page = (result.save(tmp_path) / "report.html").read_text()
    for lie in ("only because sites differ", "regret", "Baldo and Assaad, 2026) as", "nats", "CPDAG"):
        assert lie not in _shown(page), lie


def _shown(page: Any) -> Any:
    """What the page says of the run: no style, no script, no reference to the paper."""
    import re

    body = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.S)
    return re.sub(r'<p id="citation">.*?</p>', "", body, flags=re.S)


def test_an_interruption_keeps_what_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(5))
    perform = WorkInProcess.perform

    def stops(self: Any, kind: Any, payload: Any) -> Any:
        if next(calls) == 4:
            raise KeyboardInterrupt
        return perform(self, kind, payload)

    monkeypatch.setattr(WorkInProcess, "perform", stops)
    result = fp.NotearsADMM().fit(easy(3).sites)
    assert (result.complete, result.rounds, result.method["ended"]) == (False, 4, "interrupted")


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "forest"}, "model must be one of linear, mlp; not 'forest'"),
        ({"threshold": -1}, "threshold must be a finite number, zero or positive, not -1"),
        ({"l1": float("nan")}, "l1 must be a finite number, zero or positive, not nan"),
        ({"max_rounds": 0}, "max_rounds must be a whole number, 1 or more, not 0"),
        ({"starts": 0}, "starts must be a whole number, 1 or more, not 0"),
        ({"hidden": 2.5}, "hidden must be a whole number, 1 or more, not 2.5"),
        ({"seed": True}, "seed must be a whole number, zero or positive, not True"),
        ({"faithful": "yes"}, "faithful must be True or False, not 'yes'"),
        ({"missing": "guess"}, "missing must be one of error, drop; not 'guess'"),
    ],
)
def test_bad_options(options: Any, words: str) -> None:
    with pytest.raises(fp.InputError, match=words):
        fp.NotearsADMM(**options)


def test_bad_tables() -> None:
    good = easy(3).sites
    words = good[0].assign(X0=["a", "b", "c"] * 500)
    with pytest.raises(fp.InputError, match="column 'X0': NOTEARS-ADMM needs continuous numbers, and these are categ"):
        fp.NotearsADMM().fit([words, words])
    with pytest.raises(fp.InputError, match="X2"):
        fp.NotearsADMM().fit([good[0], good[1].drop(columns="X2")])
    with pytest.raises(fp.InputError, match="site 'site 2' has 2 rows for 3 variables, too few to learn from: give"):
        fp.NotearsADMM().fit([good[0], good[1].head(2)])
    with pytest.raises(fp.InputError, match="NOTEARS-ADMM needs at least two variables; there is only 'X0'"):
        fp.NotearsADMM().fit([good[0][["X0"]]])
    with pytest.raises(fp.InputError, match=r"column 'X0': values range from .*, too extreme to be squared"):
        fp.NotearsADMM().fit([good[0] * 1e200])
    with pytest.raises(fp.InputError, match="at least one site; the list is empty"):
        fp.NotearsADMM().fit([])
    with pytest.raises(fp.InputError, match="site 'oracle' has no rows, and NOTEARS-ADMM computes with rows"):
        fp.NotearsADMM().fit([fp.OracleSite(np.eye(3), n=100)])


def test_releases_have_no_rows(tmp_path: Path) -> None:
    from fedperi.privacy import release_table
    from fedperi.site.released import ReleasedSite

    table = fp.simulate(3, clients=1, samples=200, seed=1).sites[0]
    privacy = fp.Privacy(5.0, bounds=dict.fromkeys(table.columns, (-10, 10)), store=tmp_path)
    site = ReleasedSite(release_table(table, privacy, name="north")[0])
    with pytest.raises(fp.InputError, match="site 'north' is a release, and NOTEARS-ADMM computes with rows; give it"):
        fp.NotearsADMM().fit([site])


def test_a_site_refuses_steps_that_are_none() -> None:
    worker = NotearsWorker(np.random.default_rng(0).normal(size=(9, 2)), "north")
    with pytest.raises(fp.InputError, match="NOTEARS-ADMM has no step 'rows'"):
        worker.perform("rows", {}, {})
    good = {"parameters": np.zeros((1, 4)), "rho": np.array([0.1]), "total": 9, "loops": False}
    worker.perform("update", good, {})
    for bad in (
        {"parameters": np.zeros((1, 3))},
        {"parameters": np.zeros(4)},
        {"parameters": np.zeros((2, 4))},
        {"parameters": np.zeros((0, 4)), "rho": np.zeros(0)},
        {"rho": np.array([-1.0])},
        {"rho": 0.1},
        {"total": 1},
        {"parameters": [["a"] * 4]},
        {"rho": None},
        {"loops": 2},
    ):
        with pytest.raises(fp.InputError, match="site 'north' got a step 'update' of NOTEARS-ADMM that it cannot read"):
            worker.perform("update", {**good, **bad}, {})


# -- shared glue and controls -----------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_property_repair_leaves_no_cycle_and_drops_what_it_says(seed: Any, p: Any, anywhere: Any) -> None:
    rng = np.random.default_rng(seed)
    strength = np.where(rng.random((p, p)) < 0.5, rng.normal(size=(p, p)), 0.0)
    kept, dropped = acyclic(strength, anywhere=anywhere)
    fp.PDAG(kept)
    expected = strength != 0
    for i, j in dropped:
        expected[i, j] = False
    assert np.array_equal(kept, expected)


def test_an_acyclic_graph_is_left_alone() -> None:
    strength = np.triu(np.ones((4, 4)), 1)
    assert acyclic(strength)[1] == acyclic(strength, anywhere=True)[1] == []


def test_a_member_keeps_arrows_even_where_no_extension_exists() -> None:
    graph = fp.PDAG.from_edges([("A", "E")], [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])
    dag = member(graph)
    assert dag.is_dag
    assert dag.skeleton == graph.skeleton
    assert graph.directed <= dag.directed


def test_best_single_site_is_the_nearest_to_the_truth() -> None:
    sim = fp.simulate(4, 3, 500, seed=4)
    method = fp.NotearsADMM(max_rounds=40)
    distances = {name: fp.shd(r.graph, sim.dag) for name, r in each_alone(method, sim.sites).items()}
    best = fp.best_single_site(method, sim.sites, sim.dag)
    assert distances[best.sites[0]] == min(distances.values())
    assert fp.shd(best.graph, sim.dag) == min(distances.values())
    with pytest.raises(fp.InputError, match="the list is empty"):
        each_alone(method, [])


def test_pooled_is_one_table(tmp_path: Path) -> None:
    sim = easy(4)
    path = tmp_path / "one.csv"
    sim.sites[0].to_csv(path, index=False)
    shuffled = sim.sites[1][["X2", "X0", "X1", "X3"]]
    result = fp.pooled(fp.NotearsADMM(), [path, shuffled, fp.Site(sim.sites[2], name="south")])
    assert result.sites == ("pooled",)
    assert result.graph == fp.NotearsADMM().fit([pd.concat(sim.sites, ignore_index=True)]).graph
    assert fp.pooled(fp.IPERI(), sim.sites).sites == ("pooled",)
    with pytest.raises(fp.InputError, match="site 'oracle' has no rows that could be pooled; give it a table"):
        fp.pooled(fp.NotearsADMM(), [fp.OracleSite(np.eye(3), n=100)])
