"""FedDAG: gradients by finite differences, the schedule by hand; the result is always a graph."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

import fedperi as fp
from fedperi.baselines.baseline import work_transport
from fedperi.baselines.feddag import method as feddag
from fedperi.baselines.feddag.networks import CHUNK, Networks, initial_weights, layer_shapes, split, weight_count
from fedperi.baselines.feddag.schedule import LINEAR, MASKED, PUBLISHED, raise_cycle_penalty
from fedperi.baselines.feddag.worker import Adam, FedDAGWorker, acyclicity, sigmoid
from fedperi.coordinator.work import WorkCoordinator
from fedperi.protocol.workers import worker_class

SHORT = {"steps": 20, "every": 10, "passes": 2}
ORDER = {
    "alpha": 0.1,
    "rho": 0.5,
    "steps": 7,
    "sparsity": 0.002,
    "rate": 0.03,
    "temperature": 0.2,
    "seed": 3,
    "faithful": False,
    "send": "logits",
}


def chain(rows: int, seed: int, noise: float = 1.0) -> pd.DataFrame:
    """A -> B -> C, linear, equal noise."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, rows)) * noise
    b = b + 1.2 * a
    return pd.DataFrame({"A": a, "B": b, "C": c - 1.1 * b})


def curved(rows: int, seed: int) -> pd.DataFrame:
    """A -> B by a square: only this direction has independent noise of equal size."""
    a, b = np.random.default_rng(seed).standard_normal((2, rows))
    return pd.DataFrame({"A": a, "B": a * a + 0.5 * b})


# What a site computes.


def plain_loss(rows: np.ndarray, weights: np.ndarray, mask: np.ndarray, hidden: list[int]) -> float:
    """Network by network and layer by layer, as in the specification."""
    n, p = rows.shape
    layers = split(weights, layer_shapes(p, hidden))
    total = 0.0
    for j in range(p):
        values = rows * mask[:, j]
        for at, layer in enumerate(layers):
            values = values @ layer[j, :, :-1].T + layer[j, :, -1]
            if at < len(layers) - 1:
                values = np.where(values > 0, values, 0.05 * values)
        total += float(((values[:, 0] - rows[:, j]) ** 2).sum())
    return total / (2 * n)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("rows", "hidden"), [(5, [3]), (30, [4, 3]), (CHUNK + 37, [16, 16, 16, 16])])
def test_loss_and_gradients_of_networks(rows: int, hidden: list[int]) -> None:
    rng = np.random.default_rng(rows)
    table, p = rng.standard_normal((rows, 3)), 3
    weights = rng.normal(0, 0.5, weight_count(p, hidden))
    mask = rng.uniform(0.1, 1, (p, p)) * (1 - np.eye(p))
    networks = Networks(table, hidden, np.float64)
    loss, by_weights, by_mask = networks.loss(weights, mask)
    assert loss == pytest.approx(plain_loss(table, weights, mask, hidden), rel=1e-12)
    for at in rng.choice(len(weights), 40):
        step = np.zeros_like(weights)
        step[at] = 1e-6
        up, down = (plain_loss(table, weights + s, mask, hidden) for s in (step, -step))
        assert by_weights[at] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-7)
    for i, j in itertools.permutations(range(p), 2):
        step = np.zeros_like(mask)
        step[i, j] = 1e-6
        up, down = (plain_loss(table, weights, mask + s, hidden) for s in (step, -step))
        assert by_mask[i, j] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-7)


def test_gradients_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    table, p = rng.standard_normal((700, 4)), 4
    weights = initial_weights(p, rng).astype(np.float64)
    mask = rng.uniform(0, 1, (p, p)) * (1 - np.eye(p))
    w = torch.tensor(weights, requires_grad=True)
    m = torch.tensor(mask, requires_grad=True)
    x = torch.tensor(table)
    start, values = 0, x[None] * m.T[:, None, :]
    shapes = layer_shapes(p)
    for at, shape in enumerate(shapes):
        size = int(np.prod(shape))
        layer = w[start : start + size].reshape(shape)
        start += size
        values = values @ layer[:, :, :-1].transpose(1, 2) + layer[:, None, :, -1]
        if at < len(shapes) - 1:
            values = torch.nn.functional.leaky_relu(values, 0.05)
    loss = ((values[:, :, 0].T - x) ** 2).sum() / 1400
    loss.backward()
    ours = Networks(table, dtype=np.float64).loss(weights, mask)
    assert ours[0] == pytest.approx(loss.item(), rel=1e-12)
    np.testing.assert_allclose(ours[1], w.grad.numpy(), atol=1e-12)
    off = ~np.eye(p, dtype=bool)
    np.testing.assert_allclose(ours[2][off], m.grad.numpy()[off], atol=1e-12)


def test_a_network_does_not_see_its_own_variable() -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((50, 3))
    networks, weights = Networks(table, [4], np.float64), rng.standard_normal(weight_count(3, [4]))
    by_weights = networks.loss(weights, 1 - np.eye(3))[1]
    first = split(by_weights, layer_shapes(3, [4]))[0]
    assert all((first[j, :, j] == 0).all() for j in range(3))


def test_first_weights_are_glorots_and_alike_on_request() -> None:
    p = 5
    layers = split(initial_weights(p, np.random.default_rng(0)), layer_shapes(p))
    assert [np.abs(layer[:, :, :-1]).max() <= np.sqrt(6 / (a + b)) for layer, a, b in zip(
        layers, (4, 16, 16, 16, 16), (16, 16, 16, 16, 1), strict=True
    )] == [True] * 5  # fmt: skip
    assert all((layer[:, :, -1] == 0).all() for layer in layers)
    assert not np.array_equal(layers[1][0], layers[1][1])
    same = split(initial_weights(p, np.random.default_rng(0), alike=True), layer_shapes(p))
    kernels = [np.delete(same[0][j, :, :-1], j, axis=1) for j in range(p)]
    assert all(np.array_equal(kernel, kernels[0]) for kernel in kernels)
    assert all((layer == layer[:1]).all() for layer in same[1:])


@given(st.integers(1, 6), st.floats(0, 4), st.integers(0, 10**6))
@settings(max_examples=200)
def test_acyclicity_is_the_trace_of_the_exponential(p: int, scale: float, seed: int) -> None:
    matrix = np.random.default_rng(seed).uniform(0, scale, (p, p))
    value, slope = acyclicity(matrix)
    assert value == pytest.approx(np.trace(expm(matrix)) - p, rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(slope, expm(matrix).T, rtol=1e-10, atol=1e-13)


def test_acyclicity_is_zero_without_cycles_and_exact_when_tiny() -> None:
    assert acyclicity(np.triu(np.full((6, 6), 3.0), 1))[0] == 0
    tiny = np.array([[0, 1e-20], [1.0, 0]])
    assert acyclicity(tiny)[0] == pytest.approx(1e-20, rel=1e-12)  # 2 (cosh(sqrt(1e-20)) - 1)
    assert acyclicity(np.full((2, 2), 1e9))[0] == np.inf


def test_adam_by_hand() -> None:
    adam = Adam({}, "w", np.zeros(1))
    gradients, first, second = [2.0, -1.0, 0.5], 0.0, 0.0
    for at, gradient in enumerate(gradients, 1):
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        rate = 0.1 * np.sqrt(1 - 0.999**at) / (1 - 0.9**at)
        assert adam.move(np.array([gradient]), 0.1, at)[0] == pytest.approx(rate * first / (np.sqrt(second) + 1e-8))
    again = Adam(adam.state, "w", np.zeros(1))
    assert again.move(np.ones(1), 0.1, 4) == adam.move(np.ones(1), 0.1, 4)


def test_one_linear_step_by_hand() -> None:
    """From zero weights the gradient is minus the covariance, and Adam's first step is the rate against its sign."""
    rows = chain(200, seed=0).to_numpy() + 5.0  # the mean does not matter
    worker = FedDAGWorker(rows, "north")
    answer, state = worker.perform("linear", {**ORDER, "steps": 1, "weights": np.zeros((3, 3))}, {})
    signs = np.sign(np.cov(rows.T)) * (1 - np.eye(3))
    np.testing.assert_allclose(answer["weights"], 0.03 * signs, atol=1e-6)
    assert int(state["step"]) == 1


def test_linear_gradient_by_finite_differences() -> None:
    """With one step from given weights, the first running mean is a tenth of the gradient."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((40, 3))
    weights = rng.uniform(0.2, 1, (3, 3)) * (1 - np.eye(3))
    order = {**ORDER, "steps": 1, "sparsity": 0.3, "weights": weights}
    state = FedDAGWorker(rows, "north").perform("linear", order, {})[1]
    centred = rows - rows.mean(axis=0)

    def loss(w: np.ndarray) -> float:
        h = np.trace(expm(w * w)) - 3
        fit = ((centred - centred @ w) ** 2).sum() / 80
        return float(fit + 0.3 * np.abs(w).sum() + 0.1 * h + 0.25 * h * h)

    for i, j in itertools.permutations(range(3), 2):
        step = np.zeros((3, 3))
        step[i, j] = 1e-6
        expected = (loss(weights + step) - loss(weights - step)) / 2e-6
        assert state["weights_first"][i, j] == pytest.approx(0.1 * expected, rel=1e-5)


def test_gradient_by_logits_by_finite_differences() -> None:
    """The same for logits, under the mask that the site draws."""
    rows = chain(60, seed=2).to_numpy()
    rows = rows - rows.mean(axis=0)
    logits = np.random.default_rng(0).normal(0, 0.3, (3, 3))
    order = {**ORDER, "steps": 1, "logits": logits, "faithful": True}  # one stream for all sites, known here
    state = FedDAGWorker(rows, "north").perform("masked", order, {})[1]
    noise = np.random.default_rng([3, 1, 0, 0]).logistic(size=(3, 3))
    weights = initial_weights(3, np.random.default_rng([3, 0]), alike=True).astype(np.float64)

    def loss(u: np.ndarray) -> float:
        mask = sigmoid((u + noise) / 0.2) * (1 - np.eye(3))
        h = np.trace(expm(mask * mask)) - 3
        return plain_loss(rows, weights, mask, [16] * 4) + 0.002 * float(mask.sum()) + 0.1 * h + 0.25 * h * h  # type: ignore[no-any-return]

    for i, j in itertools.permutations(range(3), 2):
        step = np.zeros((3, 3))
        step[i, j] = 1e-6
        expected = (loss(logits + step) - loss(logits - step)) / 2e-6
        assert state["logits_first"][i, j] == pytest.approx(0.1 * expected, rel=1e-3, abs=1e-6)


def test_the_state_is_all_that_a_site_needs_to_go_on() -> None:
    """A site that starts a new process for every step answers the same; its rows and state are not changed."""
    rows = chain(100, seed=1).to_numpy()
    before = rows.copy()
    one, payload = FedDAGWorker(rows, "north"), {**ORDER, "logits": np.zeros((3, 3))}
    first, state = one.perform("masked", payload, {})
    kept = {name: value.copy() for name, value in state.items()}
    follow = {**payload, "logits": first["logits"]}
    second = one.perform("masked", follow, state)[0]
    again = worker_class("feddag")(rows.copy(), "north").perform("masked", follow, kept)[0]
    assert np.array_equal(second["logits"], again["logits"])
    assert all(np.array_equal(state[name], kept[name]) for name in state)
    assert np.array_equal(rows, before)


def test_sites_draw_different_masks_unless_faithful() -> None:
    rows = chain(100, seed=1).to_numpy()
    for faithful in (False, True):
        payload = {**ORDER, "logits": np.zeros((3, 3)), "faithful": faithful}
        north, south = (FedDAGWorker(rows, name).perform("masked", payload, {})[0] for name in ("north", "south"))
        assert np.array_equal(north["logits"], south["logits"]) == faithful


def test_what_a_site_sends() -> None:
    rows = chain(30, seed=1).to_numpy()
    for send, names in (("logits", {"logits"}), ("logits networks", {"logits", "networks"})):
        payload = {**ORDER, "logits": np.zeros((3, 3)), "send": send}
        assert set(FedDAGWorker(rows, "north").perform("masked", payload, {})[0]) == names


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("guess", {}, "FedDAG has no step 'guess'"),
        ("masked", {"logits": np.zeros((2, 2))}, r"'logits' of a step must be \(3, 3\) finite numbers"),
        ("masked", {"logits": np.full((3, 3), np.nan)}, r"'logits' of a step must be \(3, 3\) finite numbers"),
        ("masked", {"networks": np.zeros(5)}, r"'networks' of a step must be \(\d+,\) finite numbers"),
        ("masked", {"rate": "fast"}, "'rate' of a step must be a float, not 'fast'"),
        ("masked", {"alpha": np.inf}, "'alpha' of a step must be a float, not inf"),
        ("linear", {}, r"'weights' of a step must be \(3, 3\) finite numbers"),
        ("linear", {"steps": None}, "'steps' of a step must be a int, not None"),
        ("linear", {"steps": 10**9}, "trains for 1 to 100000 steps from a seed, not 1000000000"),
    ],
)
def test_a_site_refuses_steps_that_are_none(kind: str, change: dict[str, Any], message: str) -> None:
    payload = {**ORDER, "logits": np.zeros((3, 3)), **change}
    with pytest.raises(fp.InputError, match=message):
        FedDAGWorker(chain(30, seed=1).to_numpy(), "north").perform(kind, payload, {})


# The schedule, and what the server makes of the answers.


def test_schedule_by_hand() -> None:
    """Penalty and multiplier as in the specification, for an invented sequence of outcomes."""
    outcomes = iter([8.0, 4.0, 1.0, 1.0, 0.1, 1e-12])
    asked: list[tuple[float, float]] = []

    def solve(alpha: float, price: float) -> tuple[float, float]:
        asked.append((round(alpha, 9), round(price, 9)))
        value = next(outcomes)
        return value, value

    assert raise_cycle_penalty(solve, PUBLISHED) == "converged"
    assert asked == [
        (0.0, 0.001),  # 8: the first is always enough
        (0.008, 0.001),  # 4 > 8 / 4: dearer
        (0.008, 0.005),  # 1 <= 2: enough
        (0.013, 0.005),  # 1 > 1 / 4: dearer
        (0.013, 0.025),  # 0.1: enough
        (0.0155, 0.025),  # none left, in the fourth pass
    ]


def test_numbers_are_those_of_the_authors_script_or_of_the_experiments() -> None:
    used = {faithful: fp.FedDAG(faithful=faithful)._schedule() for faithful in (False, True)}
    assert [(p.sparsity, p.passes, p.every, p.price, p.growth) for p in used.values()] == [
        (0.01, 20, 100, 0.006, 10.0),
        (0.002, 25, 200, 0.001, 5.0),
    ]
    assert {(p.rate, p.steps, p.threshold, p.limit, p.tolerance) for p in used.values()} == {
        (0.03, 1000, 0.5, 1e14, 1e-10)
    }


def test_schedule_ends_at_the_limits() -> None:
    assert raise_cycle_penalty(lambda alpha, price: (1.0, 1.0), MASKED) == "price limit"
    falling = iter(0.1**k for k in range(100))
    assert raise_cycle_penalty(lambda alpha, price: (next(falling), 1.0), MASKED) == "passes"
    assert raise_cycle_penalty(lambda alpha, price: (0.0, 0.0), LINEAR) == "converged"


def test_one_exchange_is_the_mean_of_what_sites_compute() -> None:
    tables = {"north": chain(50, 1), "south": chain(80, 2), "west": chain(20, 3)}
    method = fp.FedDAG(steps=7, every=7, sparsity=0.002)
    coordinator = WorkCoordinator(work_transport(tables), "feddag")
    training = feddag._Training(method, method._schedule(), coordinator)
    start = training._final
    training._exchange(0.1, 0.5, 7)
    alone = [
        FedDAGWorker(table.to_numpy(), name).perform("masked", {**ORDER, "seed": 0, "logits": start}, {})[0]["logits"]
        for name, table in tables.items()
    ]
    np.testing.assert_allclose(training._final, np.mean(alone, axis=0), atol=1e-12)
    assert np.abs(start).max() <= 1e-10


def test_linear_with_equal_sites_is_one_site() -> None:
    """Copies of a site train alike, so their mean is each of them, to rounding."""
    table = chain(200, seed=4)
    options = {"variant": "linear", "passes": 2}
    one, three = (fp.FedDAG(**options).fit({f"s{k}": table for k in range(count)}) for count in (1, 3))
    assert one.graph == three.graph
    assert [step.objective for step in one.history] == pytest.approx([s.objective for s in three.history], rel=1e-6)


@pytest.mark.parametrize("variant", ["graph-shared", "all-shared", "linear"])
def test_seed_decides_and_order_of_sites_does_not(variant: str) -> None:
    tables = {"north": chain(60, 1), "south": chain(90, 2), "west": chain(45, 3)}
    turned = {name: tables[name] for name in ("west", "north", "south")}
    method = fp.FedDAG(variant=variant, **SHORT)
    results = [method.fit(sites) for sites in (tables, tables, turned)]
    assert len({result.graph for result in results}) == 1
    assert len({tuple(step.objective for step in result.history) for result in results}) == 1
    if variant != "linear":
        other = fp.FedDAG(variant=variant, seed=1, **SHORT).fit(tables)
        assert other.history[-1].objective != results[0].history[-1].objective


@pytest.mark.parametrize(
    ("p", "options", "price"),
    [(10, {}, "6.0e-03"), (12, {}, "1.7e-03"), (12, {"faithful": True}, "1.0e-03"), (12, {"variant": "linear"}, "1.0")],
)
def test_more_variables_begin_at_a_lower_price_of_cycles(p: int, options: dict[str, Any], price: str) -> None:
    """With the penalty for 10 variables, the first steps remove all edges. Published numbers stay unchanged."""
    sites = fp.simulate(p, clients=2, samples=60, seed=0).sites
    result = fp.FedDAG(steps=1, every=1, passes=1, **options).fit(sites)
    assert result.history[0].what.startswith(f"sub-problem 1, price {price}")


@pytest.mark.parametrize(
    ("variant", "numbers"), [("graph-shared", 9), ("all-shared", 9 + weight_count(3)), ("linear", 9)]
)
def test_rounds_and_bytes(variant: str, numbers: int) -> None:
    result = fp.FedDAG(variant=variant, steps=25, every=10, passes=1).fit([chain(40, 1), chain(40, 2)])
    assert result.rounds == 3  # 10, 10 and 5 steps
    assert result.bytes == 3 * 8 * numbers
    assert len(result.history) == 1


def test_all_shared_sends_the_mean_networks_back() -> None:
    seen = []

    class Watched:
        def __init__(self, inner: Any) -> None:
            self.begin, self._inner = inner.begin, inner
            self.fingerprints, self.close, self.dropped = inner.fingerprints, inner.close, ()

        def perform(self, kind: str, payload: dict[str, Any]) -> list[dict[str, Any]]:
            answers = self._inner.perform(kind, payload)
            seen.append((payload, answers))
            return answers  # type: ignore[no-any-return]

    method = fp.FedDAG(variant="all-shared", steps=20, every=10, passes=1)
    method.fit(Watched(work_transport({"north": chain(40, 1), "south": chain(70, 2)})))
    assert "networks" not in seen[0][0]
    mean = (seen[0][1][0]["networks"] + seen[0][1][1]["networks"]) / 2
    np.testing.assert_allclose(seen[1][0]["networks"], mean, rtol=1e-12)


def test_repair_drops_the_weakest_edge_on_a_cycle() -> None:
    names = ("A", "B", "C")
    strength = np.array([[0, 3.0, 0.1], [0, 0, 2.0], [1.0, 0.5, 0]])
    graph, told = feddag._dag(strength, names)
    assert told == {"repair": [["A", "C"], ["C", "B"], ["C", "A"]]}
    assert graph.directed == {("A", "B"), ("B", "C")}


def test_faithful_keeps_two_way_edges_and_lists_what_a_graph_cannot_hold() -> None:
    names = ("A", "B", "C", "D")
    strength = np.zeros((4, 4))
    strength[0, 1], strength[1, 2], strength[2, 0] = 3.0, 2.0, 1.0
    strength[2, 3], strength[3, 2] = 1.0, 5.0
    graph, told = feddag._published(strength, names)
    assert graph.undirected == {("C", "D")}
    assert graph.directed == {("A", "B"), ("B", "C")}
    assert told["repair"] == [["C", "A"]]
    assert len(told["published"]) == 5


def test_faithful_takes_the_first_site_before_the_last_exchange() -> None:
    tables = {"north": chain(50, 1), "south": chain(80, 2)}
    method = fp.FedDAG(faithful=True, steps=7, every=7)
    training = feddag._Training(method, method._schedule(), WorkCoordinator(work_transport(tables), "feddag"))
    start = training._final
    training._exchange(0.1, 0.5, 7)
    payload = {**ORDER, "seed": 0, "faithful": True, "logits": start, "send": "logits acyclicity"}
    alone = FedDAGWorker(tables["north"].to_numpy(), "any").perform("masked", payload, {})[0]
    assert np.array_equal(training._final, alone["logits"])
    assert training._sampled == alone["acyclicity"]
    assert not np.array_equal(training._common["logits"], alone["logits"])


# What comes out.


def test_linear_recovers_a_chain_from_sites_of_unequal_size() -> None:
    sites = [chain(300, 1), chain(900, 2), chain(150, 3) + 100.0]  # means are nobody's business
    for faithful in (False, True):
        used = sites if not faithful else sites[:2]
        result = fp.FedDAG(variant="linear", faithful=faithful, passes=3).fit(used)
        assert result.graph.directed == {("A", "B"), ("B", "C")}


@pytest.mark.parametrize("variant", ["graph-shared", "all-shared"])
def test_networks_recover_a_curve(variant: str) -> None:
    result = fp.FedDAG(variant=variant, steps=300, every=100).fit({"x": curved(150, 1), "y": curved(250, 2)})
    assert result.graph.directed == {("A", "B")}
    assert result.method["ended"] == "converged"
    assert result.complete


@given(
    st.integers(2, 4),
    st.lists(st.integers(2, 12), min_size=1, max_size=3),
    st.sampled_from(["graph-shared", "all-shared", "linear"]),
    st.booleans(),
    st.floats(0.01, 100),
    st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_result_is_always_a_graph(
    p: int, sizes: list[int], variant: str, faithful: bool, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sites = [pd.DataFrame(rng.standard_normal((n, p)) * scale, columns=[f"V{i}" for i in range(p)]) for n in sizes]
    result = fp.FedDAG(variant=variant, faithful=faithful, steps=6, every=3, passes=2, seed=seed).fit(sites)
    assert result.graph.names == tuple(f"V{i}" for i in range(p))
    assert result.dag.is_dag
    if not faithful:
        assert result.graph.is_dag
        assert result.graph == result.dag
    assert fp.Result.from_json(result.to_json()).graph == result.graph


def test_result_is_saved_with_a_report(tmp_path: Path) -> None:
    result = fp.FedDAG(variant="linear", **SHORT).fit({"north": chain(50, 1), "south": chain(50, 2)})
    assert result.method["name"] == "FedDAG"
    assert result.method["sparsity"] == 0.1  # what was used, not what was given
    assert result.sites == ("north", "south")
    assert (result.save(tmp_path) / "report.html").exists()


def test_an_interruption_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = feddag._Training.solve

    def solve(self: Any, alpha: float, price: float) -> tuple[float, float]:
        if self.history:
            raise KeyboardInterrupt
        return inner(self, alpha, price)

    monkeypatch.setattr(feddag._Training, "solve", solve)
    result = fp.FedDAG(variant="linear", steps=300).fit([chain(200, 1)])
    assert not result.complete
    assert result.method["ended"] == "interrupted"


def test_torch_is_not_needed() -> None:
    """A fit in a new process, where no other test has imported torch, does not import it."""
    program = (
        "import sys; sys.modules['torch'] = None; import numpy as np, pandas as pd, fedperi as fp\n"
        "rows = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 3)), columns=list('ABC'))\n"
        "print(fp.FedDAG(steps=20, every=10, passes=1).fit([rows]).rounds)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr  # one pass, two exchanges
    # Nothing in the two modules imports it either, not even where it is installed.
    for module in (
        feddag,
        sys.modules["fedperi.baselines.feddag.worker"],
        sys.modules["fedperi.baselines.feddag.networks"],
    ):
        assert "torch" not in vars(module)


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "none"}, "variant must be one of graph-shared, all-shared, linear; not 'none'"),
        ({"sparsity": -1}, "sparsity must be a finite number, zero or positive, not -1"),
        ({"rate": 0}, "rate must be a finite number, above zero, not 0"),
        ({"threshold": 1.0}, "threshold must lie between 0 and 1, not 1.0"),
        ({"steps": 0}, "steps must be a whole number, 1 or more, not 0"),
        ({"passes": 2.5}, "passes must be a whole number, 1 or more, not 2.5"),
        ({"every": True}, "every must be a whole number, 1 or more, not True"),
        ({"seed": -1}, "seed must be a whole number, zero or positive, not -1"),
        ({"faithful": 1}, "faithful must be True or False, not 1"),
        ({"missing": "fill"}, "missing must be one of error, drop; not 'fill'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fp.InputError, match=message):
        fp.FedDAG(**options)


def test_bad_tables_are_refused() -> None:
    method, good = fp.FedDAG(**SHORT), chain(30, 1)
    words = good.assign(B=["low", "high", "none"] * 10)
    for sites, message in (
        ([words, words], "'B': FedDAG needs continuous numbers"),
        ([good, good.rename(columns={"B": "Q"})], "Q"),
        ([good[["A"]]], "FedDAG needs at least two variables; there is only 'A'"),
        ([good, good.iloc[:1]], "row"),
        ([good.assign(A=np.nan)], "A"),
        ([], "at least one site"),
        ([fp.OracleSite(np.eye(3), n=100)], "has no rows, and FedDAG computes with rows"),
    ):
        with pytest.raises(fp.InputError, match=message):
            method.fit(sites)


def test_training_that_diverges_is_reported() -> None:
    message = r"site 'north': training diverged; bring all columns to a similar scale"
    with pytest.raises(fp.InputError, match=message):
        fp.FedDAG(**SHORT).fit({"north": chain(30, 1) * 1e25})  # squares of 4-byte numbers
    with pytest.raises(fp.InputError, match=message):
        fp.FedDAG(variant="linear", rate=1e160, **SHORT).fit({"north": chain(30, 1)})
