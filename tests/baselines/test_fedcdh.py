"""FedCDH: its tests against plain pooled formulas, its search on known graphs; graphs are always valid."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.special import chdtri
from scipy.stats import gamma as gamma_distribution

import fedperi as fp
from fedperi.baselines.fedcdh import tests as fedcdh_tests
from fedperi.baselines.fedcdh.change import dependence_of_change
from fedperi.baselines.fedcdh.layout import Batch, Widths
from fedperi.baselines.fedcdh.orient import Orientation, close_under_meek, direct_by_change, direct_colliders
from fedperi.baselines.fedcdh.random_features import (
    GIVEN,
    JOINT,
    SINGLE,
    frequencies,
    null_moments,
    p_values,
    pair_products,
    solve,
    standardised,
)
from fedperi.baselines.fedcdh.skeleton import Bound, SkeletonSearch, find_skeleton, group_by_set, join_site
from fedperi.baselines.fedcdh.tests import Features, FeatureTests
from fedperi.baselines.fedcdh.worker import FedCDHWorker
from fedperi.coordinator.work import WorkCoordinator
from fedperi.errors import InputError
from fedperi.report.paper.methods import methods_text
from fedperi.transports.in_process import WorkInProcess

SEED = 3
SMALL = {"marginal_features": 3, "features": 4, "conditioning_features": 6}


def tables(p: Any = 5, samples: Any = (400, 700, 500), **options: Any) -> Any:
    sim = fp.simulate(p, clients=len(samples), samples=list(samples), shared_mechanisms=False, **{"seed": 1, **options})
    return {f"s{i}": frame.to_numpy() for i, frame in enumerate(sim.sites)}


def asking(rows: Any, faithful: Any = False, features: Any = (5, 25, 100)) -> Any:
    names = [f"X{i}" for i in range(next(iter(rows.values())).shape[1])]
    coordinator = WorkCoordinator(WorkInProcess(rows, names), "fedcdh")
    return FeatureTests(coordinator, Features(*features, SEED, faithful))


def batch(*tests: Any) -> Any:
    return group_by_set(iter(tests), len(tests[0][2]))


# -- the tests ------------------------------------------------------------------------------------------------------


def pooled_formula(rows: Any, tests: Any, faithful: Any) -> Any:
    """Part A of the specification, on stacked rows, with all products of four residuals: (statistic, trace, norm)."""
    stacked, k = np.vstack(list(rows.values())), len(rows)
    index = np.repeat(np.arange(k), [len(r) for r in rows.values()]).astype(float)
    x = np.column_stack([stacked, index])
    n, site = len(x), stacked.shape[1]
    scaled = standardised(x)

    def features(columns: Any, count: Any, role: Any) -> Any:
        if columns == [site] and not faithful:
            return standardised((index[:, None] == np.arange(k)).astype(float))
        first = x[: min(500, len(rows["s0"]))]
        width = (np.median(pdist(first[:, columns])) or 1.0) if faithful else np.sqrt(2 * chdtri(len(columns), 0.5))
        w, b = frequencies(SEED, role, len(columns), count, faithful)
        return standardised(np.sqrt(2) * np.cos(scaled[:, columns] @ w / width + b))

    out = []
    for i, j, g in zip(tests.x.tolist(), tests.y.tolist(), tests.group, strict=True):
        z = tests.given[g].tolist()
        fx = features([i], 25 if z else 5, SINGLE)
        fy = features([j, *z], 25 if z else 5, JOINT if z else SINGLE)
        cross = fx.T @ fy / (n - 1)
        if z:
            u, s, _ = np.linalg.svd(features(z, 100, GIVEN) / np.sqrt(n - 1), full_matrices=False)
            fitted = (u * (s**2 / (s**2 + 1e-10))) @ u.T
            cross = fx.T @ (fy - fitted @ fy) / (n - 1)
            fx, fy = fx - fitted @ fx, fy - fitted @ fy
        products = (fx[:, :, None] * fy[:, None, :]).reshape(n, -1)
        v = products.T @ products / n
        out.append((n * (cross**2).sum(), np.trace(v), (v**2).sum()))
    return np.array(out).T


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize(
    "tests",
    [
        batch((0, 1, ()), (1, 2, ()), (3, 4, ())),
        batch((0, 1, (2,)), (1, 0, (2,)), (1, 3, (0,))),
        batch((0, 1, (2, 3)), (1, 0, (2, 3))),
        batch((5, 1, ()), (5, 2, ())),
        batch((5, 1, (2, 3)), (5, 0, (2, 3))),
    ],
    ids=["pairs", "given one", "given two", "site", "site given two"],
)
def test_sums_over_unequal_sites_give_the_pooled_statistics(
    monkeypatch: pytest.MonkeyPatch, tests: Any, faithful: bool
) -> None:
    rows, seen = tables(), []
    monkeypatch.setattr(fedcdh_tests, "p_values", lambda *parts: (seen.append(parts), p_values(*parts))[1])  # type: ignore[func-returns-value]
    found = asking(rows, faithful).pooled(tests)
    wanted = pooled_formula(rows, tests, faithful)
    assert np.abs(np.array(seen[0]) / wanted - 1).max() < 1e-6
    assert np.abs(found - p_values(*wanted)).max() < 1e-6


def test_messages_in_parts_give_the_same_p_values(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tables(4, (300, 260))
    tests = batch(*[(x, y, (z,)) for x, y in combinations(range(4), 2) for z in range(4) if z not in (x, y)])
    whole = asking(rows)
    at_once, at_sites = whole.pooled(tests), whole.within(tests)
    assert whole.coordinator.rounds == 4  # moments, sums, products of four, tests at the sites
    monkeypatch.setattr(fedcdh_tests.runs, "__defaults__", (20_000,))
    parts = asking(rows)
    assert np.array_equal(parts.pooled(tests), at_once)
    assert np.array_equal(parts.within(tests), at_sites)
    assert parts.coordinator.rounds > 8


def test_no_message_grows_with_the_rows_or_beyond_its_bound() -> None:
    """The numbers a site sends depend on features and tests; a group of tests is bounded, so is a message."""
    pairs = [(x, y, (20,)) for x in range(20) for y in range(20) if x != y]
    tests = group_by_set(iter(pairs), 1)
    assert len(tests) == 380
    assert np.bincount(tests.group).max() <= 64
    assert (tests.given == 20).all()


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_tests_that_share_a_set_are_those_made_alone(depth: int) -> None:
    """Sets are merged, cosines of sums are computed from parts, and only requested pairs are multiplied."""
    rows = tables(8, (300, 260))
    given = tuple(range(depth))
    pairs = [(x, y, given) for x in range(depth, 8) for y in range(depth, 8) if x != y and (x + y) % 3]
    split = group_by_set(iter(pairs), depth)
    split = Batch(np.repeat(split.given, 2, axis=0), np.arange(len(split)) * 2 // len(split), split.x, split.y)
    together = asking(rows, features=(5, 8, 12)).within(split)
    alone = [
        asking(rows, features=(5, 8, 12)).within(batch((x, y, given)))[0]
        for x, y in zip(split.x.tolist(), split.y.tolist(), strict=True)
    ]
    assert len(split.given) == 2 and np.ptp(alone) > 0.1
    assert np.abs(together - alone).max() < 1e-6


def test_a_worker_forgets_everything_between_steps() -> None:
    rows = tables(3, (300,))["s0"]
    asked = asking({"s0": rows})
    payload = asked._payload(batch((0, 1, (2,))))
    first, state = FedCDHWorker(rows, "s0").perform("within", payload, {})
    second, _ = FedCDHWorker(rows, "s0").perform("within", payload, {})
    assert state == {}
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_site_alone_statistic_follows_the_formula() -> None:
    """One site: T = n |C|^2 of standardised features, V from all products; only the mean is fitted."""
    rows = tables(3, (300,))
    tests = batch(
        (0, 1, ()),
    )
    payload = asking(rows)._payload(tests)
    answer, _ = FedCDHWorker(rows["s0"], "s0").perform("within", payload, {})
    statistic, trace, norm = pooled_formula(rows, tests, False)[:, 0]
    n = 300
    # Variances by n here, covariances by n - 1 there; directions with a thousandth of the variance are left out here.
    assert answer["statistic"][0] == pytest.approx(statistic * ((n - 1) / n) ** 2, rel=5e-3)
    assert answer["trace"][0] == pytest.approx(trace * n / (n - 1), rel=5e-3)
    assert answer["norm"][0] == pytest.approx(norm * (n / (n - 1)) ** 2, rel=5e-3)


def test_gamma_by_hand() -> None:
    statistic, trace, norm = np.array([5.0]), np.array([2.0]), np.array([1.5])
    wanted = 1 - gamma_distribution.cdf(5.0, a=4 / 3, scale=1.5)
    assert p_values(statistic, trace, norm)[0] == pytest.approx(wanted, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=100)
def test_pairs_of_products_hold_all_of_v(seed: Any, x: Any, y: Any) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(7, x)), rng.normal(size=(7, y))
    products = (a[:, :, None] * b[:, None, :]).reshape(7, -1)
    v = products.T @ products / 7
    trace, norm = null_moments(pair_products(a).T @ pair_products(b) / 7, x, y)
    assert trace == pytest.approx(np.trace(v))
    assert norm == pytest.approx((v**2).sum())


def test_solve_counts_what_it_fits() -> None:
    covariance = np.diag([1.0, 2.0, 0.0])
    coefficients, fitted = solve(covariance, np.array([[1.0], [1.0], [0.0]]))
    assert fitted == pytest.approx(2.0, abs=1e-6)
    assert coefficients.ravel() == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)


@pytest.mark.parametrize("n", [250, 600])
def test_p_values_are_level_within_sites_and_pooled(n: int) -> None:
    """x and y depend on z, differently at each of two sites; given z they are independent."""
    rejected = {"within": 0, "site": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = {}
        for site, w in (("s0", 1.0), ("s1", -0.7)):
            z = rng.normal(size=n)
            rows[site] = np.column_stack([z * w + rng.normal(size=n), z + rng.normal(size=n), z])
        asked = asking(rows)
        rejected["within"] += asked.within(batch((0, 1, (2,))))[0] < 0.05
        rejected["site"] += asked.pooled(batch((3, 1, (2,))))[0] < 0.05
    assert max(rejected.values()) <= 7  # 2 expected; more than 7 of 40 at level .05 has probability .0007


def test_a_difference_between_sites_is_found_where_it_is() -> None:
    """The mechanism of the second variable differs; that of the third, its effect, does not."""
    rng = np.random.default_rng(0)
    rows = {}
    for site, w in (("s0", 0.9), ("s1", -0.9)):
        a = rng.normal(size=500)
        b = w * a + rng.normal(size=500) + (w > 0)
        rows[site] = np.column_stack([a, b, b + rng.normal(size=500)])
    asked = asking(rows)
    assert asked.pooled(batch((3, 0, ()), (3, 1, ()), (3, 2, ()))).round(3)[1:].max() < 0.01
    assert asked.pooled(batch((3, 2, (1,))))[0] > 0.05
    assert asked.pooled(batch((3, 1, (0,))))[0] < 0.001


def test_moments_are_those_of_all_rows() -> None:
    rows = tables(3, (200, 333))
    asked, stacked = asking(rows), np.vstack(list(rows.values()))
    assert np.allclose(asked.centre, stacked.mean(axis=0))
    assert np.allclose(asked.scale, stacked.std(axis=0))


# -- the search -----------------------------------------------------------------------------------------------------


class Separation:
    """Answers tests from a DAG over p variables and, last, the site."""

    def __init__(self, dag: Any) -> None:
        self.dag = dag

    def __call__(self, tests: Any) -> Any:
        names = self.dag.names
        return np.array(
            [
                float(fp.d_separated(self.dag, names[x], names[y], [names[v] for v in tests.given[g]]))
                for x, y, g in zip(tests.x, tests.y, tests.group, strict=True)
            ]
        )


def quiet(words: Any, edges: Any) -> None:
    assert words
    assert edges >= 0


@st.composite
def dags(draw: st.DrawFn, most: Any = 5) -> Any:
    p = draw(st.integers(2, most))
    order = draw(st.permutations(range(p)))
    matrix = np.zeros((p + 1, p + 1), dtype=bool)
    for i, j in combinations(range(p), 2):
        matrix[order[i], order[j]] = draw(st.booleans())
    matrix[p, :p] = draw(st.lists(st.booleans(), min_size=p, max_size=p))
    return fp.PDAG(matrix, [*(f"X{i}" for i in range(p)), "site"])


@given(dags())
@settings(max_examples=150)
def test_population_skeleton_changes_and_directions_are_right(dag: Any) -> None:
    """Given the site in every test, as `within` does, the oracle finds the skeleton, the changing ones, true arrows."""
    p = len(dag.names) - 1
    truth = fp.PDAG(dag.adjacency[:p, :p], dag.names[:p])
    skeleton = find_skeleton(p, Separation(truth), 0.05, Bound(), quiet)
    assert np.array_equal(skeleton.adjacent[:p, :p], truth.adjacency | truth.adjacency.T)
    join_site(skeleton, Separation(dag), 0.05, Bound(), quiet, faithful=False)
    assert np.array_equal(skeleton.adjacent[p], dag.adjacency[p])
    marks = Orientation(skeleton.adjacent)
    for v in np.flatnonzero(skeleton.adjacent[p]):
        marks.orient(p, v)
    assert direct_colliders(marks, skeleton, faithful=False) == []
    close_under_meek(marks)
    arrows = marks.matrix & ~marks.matrix.T
    assert not (arrows & ~dag.adjacency).any()
    assert set(fp.cpdag(truth).directed) <= set(fp.PDAG(marks.matrix[:p, :p], truth.names).directed)


def test_faithful_looks_among_the_changing_only_for_what_separates_the_site() -> None:
    """site -> A -> D, U -> A, U -> D: only {A, U} separates, and U does not change."""
    dag = fp.PDAG.from_edges([("site", "A"), ("A", "D"), ("U", "A"), ("U", "D")], names=["A", "D", "U", "site"])
    found = {}
    for faithful in (False, True):
        skeleton = find_skeleton(3, Separation(fp.PDAG(dag.adjacency[:3, :3], dag.names[:3])), 0.05, Bound(), quiet)
        join_site(skeleton, Separation(dag), 0.05, Bound(), quiet, faithful)
        found[faithful] = skeleton.adjacent[3, :3].tolist()
    assert found == {False: [True, False, False], True: [True, True, False]}


def test_deepest_bounds_the_sets() -> None:
    dag = fp.PDAG.from_edges([("a", "b"), ("b", "c")], names=["a", "b", "c"])
    assert find_skeleton(3, Separation(dag), 0.05, Bound(0), quiet).adjacent[0, 2]
    assert not find_skeleton(3, Separation(dag), 0.05, Bound(1), quiet).adjacent[0, 2]


def test_a_bound_on_tests_ends_the_search_before_a_size_and_says_so() -> None:
    """0 - 1 - 2 - 3, tested from the complete graph: 6 tests without a set, then 24 given one."""
    dag = fp.PDAG.from_edges([("a", "b"), ("b", "c"), ("c", "d")], names=["a", "b", "c", "d"])
    whole = find_skeleton(4, Separation(dag), 0.05, Bound(tests=30), quiet)
    free = find_skeleton(4, Separation(dag), 0.05, Bound(), quiet)
    assert whole.stopped == free.stopped == []
    assert np.array_equal(whole.adjacent, free.adjacent)
    seen = []
    cut = find_skeleton(4, Separation(dag), 0.05, Bound(tests=29), lambda words, edges: seen.append(words))
    assert cut.stopped == ["tests given 1 or more variables left out: 6 made, 24 more given 1"]
    assert seen == ["6 tests given 0 variables", *cut.stopped]
    assert cut.edges == 6
    assert find_skeleton(4, Separation(dag), 0.05, Bound(tests=1), quiet).stopped == cut.stopped


def test_the_result_says_what_the_bound_left_out() -> None:
    sim = fp.simulate(4, clients=2, samples=300, weights=(0.7, 1.0), shared_mechanisms=False, seed=0)
    free, cut = fp.FedCDH().fit(sim.sites), fp.FedCDH(most_tests=6).fit(sim.sites)
    assert free.method["stopped"] == []
    tests, comparisons = cut.method["stopped"]  # a tenth of 6 is less than 4, but tests without a set are always made
    assert tests.startswith("tests given 1 or more variables left out: 6 made, ")
    assert comparisons.startswith("comparisons of sites given 1 or more variables left out: 4 made, ")
    assert {tests, comparisons} <= {step.what for step in cut.history}
    assert cut.method["tests"] == 6 + 4
    assert f"A limit ended the search early: {tests}; {comparisons}." in methods_text(cut)
    assert "bound" not in methods_text(free)
    assert fp.Result.from_json(cut.to_json()).method["stopped"] == cut.method["stopped"]


def test_rounding_does_not_direct_edges() -> None:
    """With two sites both directions have the same score, up to rounding."""
    marks = Orientation(np.array([[False, True], [True, False]]))
    direct_by_change(marks, [0, 1], lambda pairs: [0.0024925698877081136, 0.002492569887708113], faithful=False)
    assert marks.line(0, 1)


def test_the_default_bound_cannot_be_reached_with_ten_variables() -> None:
    """Nothing is ever separated: the largest possible number of tests."""
    made = {"tests": 0, "comparisons": 0}

    def never(kind: Any) -> Any:
        def ask(tests: Any) -> Any:
            made[kind] += len(tests)
            return np.zeros(len(tests))

        return ask

    skeleton = find_skeleton(10, never("tests"), 0.05, Bound(), quiet)
    join_site(skeleton, never("comparisons"), 0.05, Bound(), quiet, faithful=False)
    assert made == {"tests": 90 * 2**8 - 45, "comparisons": 10 * 2**9}
    assert made["tests"] <= fp.FedCDH().most_tests
    assert made["comparisons"] <= fp.FedCDH().most_tests / 10


def joined(*edges: Any, nodes: Any) -> Any:
    out = np.zeros((nodes, nodes), dtype=bool)
    for i, j in edges:
        out[i, j] = out[j, i] = True
    return out


def test_the_site_gives_directions() -> None:
    """site -> 0 - 1, site and 1 apart given 0: 0 -> 1."""
    adjacent = joined((0, 1), (2, 0), nodes=3)
    marks, skeleton = Orientation(adjacent), SkeletonSearch(adjacent, {(1, 2): [(frozenset({0}), 0.5)]})
    marks.orient(2, 0)
    direct_colliders(marks, skeleton, faithful=False)
    close_under_meek(marks)
    assert marks.arrow(0, 1)


def test_of_contradicting_v_structures_the_clearer_one_is_kept() -> None:
    """0 - 1 - 2 - 3: 0 -> 1 <- 2 and 1 -> 2 <- 3 cannot both be true."""
    adjacent = joined((0, 1), (1, 2), (2, 3), nodes=5)
    sets = {(0, 2): [(frozenset(), 0.2)], (1, 3): [(frozenset(), 0.9)]}  # type: ignore[var-annotated]
    marks = Orientation(adjacent)
    assert direct_colliders(marks, SkeletonSearch(adjacent, sets), faithful=False) == [(0, 1, 2)]
    assert marks.arrow(1, 2) and marks.arrow(3, 2)
    marks = Orientation(adjacent)
    assert direct_colliders(marks, SkeletonSearch(adjacent, sets), faithful=True) == [(1, 2, 3)]


def test_change_directs_lines_or_faithfully_joins_what_is_apart() -> None:
    def first_less(pairs: Any) -> Any:
        return [0.1 if x < y else 0.5 for x, y in pairs]

    adjacent = joined((0, 1), nodes=4)
    marks = Orientation(adjacent)
    assert direct_by_change(marks, [0, 1, 2], first_less, faithful=False) == []
    assert marks.arrow(0, 1) and not marks.adjacent(0, 2)
    marks = Orientation(adjacent)
    assert sorted(direct_by_change(marks, [0, 1, 2], first_less, faithful=True)) == [(0, 2), (1, 2)]
    assert marks.line(0, 1) and marks.arrow(0, 2) and marks.arrow(1, 2)


@pytest.mark.parametrize("faithful", [False, True])
def test_change_score_by_rows_is_that_by_sites(faithful: bool) -> None:
    """The published N x N matrix, and a plain covariance over rows, give what sums by site give."""
    rows = tables(2, (30, 50, 20))
    asked = asking(rows, faithful)
    stacked = np.vstack(list(rows.values()))
    values = stacked if faithful else (stacked - asked.centre) / asked.scale
    marks = np.random.default_rng(SEED).normal(size=(5, 2))
    spots = marks * asked.scale + asked.centre if faithful else marks

    def embedded(columns: Any) -> Any:
        at = (marks[:, :1] * asked.scale[columns] + asked.centre[columns]) if faithful else marks[:, :1]
        points = spots if len(columns) == 2 else at
        kernel = lambda a: np.exp(-0.2 * ((a[:, None] - points[None]) ** 2).sum(axis=2))  # noqa: E731
        values_of, vectors = np.linalg.eigh(kernel(points))
        f = kernel(values[:, columns]) @ (vectors / np.sqrt(np.maximum(values_of, 1e-6))) @ vectors.T
        ends = np.cumsum([len(r) for r in rows.values()])[:-1]
        return np.vstack([np.tile(part.mean(axis=0), (len(part), 1)) for part in np.split(f, ends)])

    def score(one: Any, both: Any) -> Any:
        if faithful:
            a, b = one - one.mean(axis=1, keepdims=True), both - both.mean(axis=1, keepdims=True)
            return ((a @ b.T / 4) ** 2).sum() / np.trace(a @ a.T / 4)
        a, b = one - one.mean(axis=0), both - both.mean(axis=0)
        return ((a.T @ b / len(a)) ** 2).sum() / np.trace(a.T @ a / len(a))

    found = dependence_of_change(asked, [(0, 1), (1, 0)])
    both = embedded([0, 1])
    assert found == pytest.approx([score(embedded([0]), both), score(embedded([1]), both)], rel=1e-8)


# -- the method -----------------------------------------------------------------------------------------------------


def test_recovers_a_collider_mostly() -> None:
    """At level .05 some test of the eight or so is wrong in about every fourth run."""
    truth = fp.PDAG.from_edges([("a", "c"), ("b", "c")], names=["a", "b", "c"])
    right = 0
    for seed in range(12):
        sim = fp.simulate(truth, clients=2, samples=[600, 400], weights=(0.7, 1.0), intervention="none", seed=seed)
        result = fp.FedCDH().fit(sim.sites)
        right += result.graph == truth
        assert fp.skeleton_f1(result.graph, truth) >= 0.8
        assert result.method["name"] == "FedCDH" and result.method["dropped"] == []
        assert result.regrets == {} and result.edges == ()
        assert result.rounds > 0 and result.bytes > 0
    assert right >= 8


def test_pooled_heterogeneity_joins_variables_only_when_faithful() -> None:
    """Two independent variables whose means differ between sites: the site explains it, or an edge does."""
    rng = np.random.default_rng(0)
    sites = [pd.DataFrame(rng.normal(3 * k, 1, size=(400, 2)), columns=["a", "b"]) for k in range(2)]
    default, published = fp.FedCDH().fit(sites), fp.FedCDH(faithful=True).fit(sites)
    assert len(default.graph) == 0
    assert default.method["changing"] == ["a", "b"]
    assert len(published.graph) == 1


def test_one_site_is_plain_pc() -> None:
    sim = fp.simulate(3, clients=1, samples=300, seed=0)
    result = fp.FedCDH().fit(sim.sites)
    assert result.method["changing"] == []
    assert len(result.graph.names) == 3


@pytest.mark.parametrize("faithful", [False, True])
def test_same_seed_same_graph_and_json_round_trip(faithful: bool) -> None:
    sim = fp.simulate(4, clients=3, samples=[300, 260, 240], seed=5)
    method = fp.FedCDH(faithful=faithful, conditioning_features=30, seed=2)
    one, two = method.fit(sim.sites), method.fit(sim.sites)
    assert one.graph == two.graph
    assert one.to_json() == two.to_json()
    back = fp.Result.from_json(one.to_json())
    assert back.graph == one.graph and back.method == json.loads(json.dumps(one.method))


def test_order_of_sites_does_not_matter() -> None:
    sim = fp.simulate(4, clients=3, samples=[300, 260, 240], seed=6)
    named = dict(zip("abc", sim.sites, strict=True))
    method = fp.FedCDH(conditioning_features=30)
    assert method.fit(named).graph == method.fit(dict(reversed(named.items()))).graph


@given(
    seed=st.integers(0, 10_000),
    p=st.integers(2, 5),
    samples=st.lists(st.integers(12, 40), min_size=1, max_size=3),
    alpha=st.sampled_from([0.01, 0.2, 0.7]),
    faithful=st.booleans(),
    kind=st.sampled_from(["structural", "none", "shifted"]),
)
@settings(max_examples=60)
def test_the_result_is_always_a_valid_graph(
    seed: Any, p: Any, samples: Any, alpha: Any, faithful: Any, kind: Any
) -> None:
    intervention = "structural" if kind == "structural" else "none"
    sim = fp.simulate(p, clients=len(samples), samples=samples, intervention=intervention, seed=seed)
    sites = [frame + 2.0 * k * (kind == "shifted") for k, frame in enumerate(sim.sites)]
    result = fp.FedCDH(alpha=alpha, faithful=faithful, seed=seed, **SMALL).fit(sites)
    fp.PDAG(result.graph.adjacency, result.graph.names)  # raises on a directed cycle
    assert result.graph.names == sim.dag.names
    assert result.dag.is_dag
    assert result.complete


def test_saves_a_report(tmp_path: Path) -> None:
    sim = fp.simulate(3, clients=2, samples=100, seed=0)
    place = fp.FedCDH(**SMALL).fit(sim.sites).save(tmp_path / "out")
    assert "FedCDH" in (place / "report.html").read_text(encoding="utf-8")


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0}, "alpha must lie between 0 and 1, not 0"),
        ({"alpha": True}, "alpha must lie between 0 and 1, not True"),
        ({"deepest": -1}, "deepest must be a whole number, zero or positive, not -1"),
        ({"most_tests": 0}, "most_tests must be a whole number, 1 or more, not 0"),
        ({"features": 1}, "features must be a whole number, 2 or more, not 1"),
        ({"faithful": "yes"}, "faithful must be True or False, not 'yes'"),
        ({"missing": "fill"}, "missing must be one of error, drop; not 'fill'"),
        ({"seed": 1.5}, "seed must be a whole number, zero or positive, not 1.5"),
    ],
)
def test_bad_options(options: Any, words: str) -> None:
    assert_refused(lambda: fp.FedCDH(**options), words)


def test_too_few_rows_names_the_site() -> None:
    sim = fp.simulate(3, clients=2, samples=[300, 150], seed=0)
    assert_refused(
        lambda: fp.FedCDH().fit({"north": sim.sites[0], "south": sim.sites[1]}),
        "site 'south' has 150 rows, and FedCDH needs at least 200, twice as many as random features: ask for fewer "
        "(conditioning_features), or leave the site out",
    )
    with pytest.raises(InputError, match="the sites have 120 rows together, and FedCDH needs at least 200"):
        fp.FedCDH(faithful=True).fit([sim.sites[0][:60], sim.sites[1][:60]])


def test_categories_unequal_columns_and_single_columns_are_refused() -> None:
    numbers = fp.simulate(3, clients=2, samples=300, seed=0).sites
    words = [frame.assign(X0=np.where(frame.X0 > 0, "high", "low")) for frame in numbers]
    with pytest.raises(InputError, match="FedCDH needs continuous numbers"):
        fp.FedCDH().fit(words)
    with pytest.raises(InputError, match="X2"):
        fp.FedCDH().fit([numbers[0], numbers[1].drop(columns="X2")])
    with pytest.raises(InputError, match="FedCDH needs at least two variables"):
        fp.FedCDH().fit([frame[["X0"]] for frame in numbers])
    with pytest.raises(InputError, match="has no rows, and FedCDH computes with rows"):
        fp.FedCDH().fit([fp.OracleSite(np.eye(2), n=100)])


def test_a_site_refuses_steps_that_are_none() -> None:
    rows = tables(3, (300,))["s0"]
    worker = FedCDHWorker(rows, "s0")
    asked = asking({"s0": rows})
    good = asked._payload(batch((0, 1, (2,))))
    with pytest.raises(InputError, match="FedCDH has no step 'rows'; it has moments"):
        worker.perform("rows", {}, {})
    with pytest.raises(InputError, match="holds no tests"):
        worker.perform("sums", {}, {})
    with pytest.raises(InputError, match="names a variable that is not among the 3"):
        worker.perform("sums", {**good, "y": np.array([7])}, {})
    with pytest.raises(InputError, match="does not list site 's0'"):
        worker.perform("sums", {**good, "x": np.array([3])}, {})
    with pytest.raises(InputError, match="at most 1000 features"):
        worker.perform("sums", {**good, "widths": np.array([25, 25, 5000])}, {})


def test_widths_say_what_a_message_holds() -> None:
    rows = tables(3, (300,))["s0"]
    asked = asking({"s0": rows})
    tests = batch((0, 1, (2,)), (1, 0, (2,)))
    answer, _ = FedCDHWorker(rows, "s0").perform("sums", asked._payload(tests), {})
    from fedperi.baselines.fedcdh.layout import groups

    sizes = Widths(25, 25, 100).sizes(groups(tests)[0])
    assert {name: len(part) for name, part in answer.items()} == sizes
    assert isinstance(tests, Batch)
