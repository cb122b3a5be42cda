"""Simulations: what a seed determines, that the data follow the DAGs, and which sites are intervened on."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.simulation import implied_covariance, simulate
from fedperi.simulation.dags import most_edges, random_dag, random_order, shield_colliders
from fedperi.simulation.interventions.plan import plan_sites
from fedperi.simulation.interventions.targets import (
    parametric_targets,
    removed_parents,
    shielding_parents,
    structural_targets,
)
from fedperi.simulation.mechanisms import FUNCTIONS, Mechanism, generate
from fedperi.simulation.writing import truth

TRIANGLE = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
seeds = st.integers(0, 2**32)
sizes = st.integers(1, 9)


def new_v_structures(dag: fp.PDAG, removed: dict[str, tuple[str, ...]]) -> frozenset[tuple[str, str, str]]:
    return fp.v_structures(fp.mutilate(dag, removed)) - fp.v_structures(dag)


def nonempty_subsets(items: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [c for r in range(1, len(items) + 1) for c in itertools.combinations(items, r)]


def linear(weights: list[list[float]]) -> Mechanism:
    p = len(weights)
    return Mechanism(np.array(weights, dtype=float), np.zeros((p, p), dtype=int), np.ones(p), np.ones(p))


# -- one seed, one simulation -----------------------------------------------------------------------------------------

OPTIONS = [
    {},
    {"intervention": "mixed", "removal": "some", "shared_mechanisms": False, "targets_per_client": 2},
    {"intervention": "parametric", "mechanism": "nonlinear", "noise": "uniform"},
    {"mechanism": "nonlinear", "discretize": 5, "shared_mechanisms": False, "graph": "scale-free", "edges": 9},
    {"intervention": "none", "discretize": 3, "shield_colliders": False},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_same_seed_same_simulation_and_other_seed_another(options: Any) -> None:
    first, second = simulate(6, 3, 50, seed=7, **options), simulate(6, 3, 50, seed=7, **options)
    other = simulate(6, 3, 50, seed=8, **options)
    for k in range(3):
        pd.testing.assert_frame_equal(first.sites[k], second.sites[k], check_exact=True)
        assert not first.sites[k].equals(other.sites[k])
    assert truth(first) == truth(second)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_site_depends_neither_on_later_sites_nor_on_other_sizes(options: Any) -> None:
    few = simulate(6, 3, 50, seed=3, **options)
    many = simulate(6, 7, [11, 50, 80, 1, 2000, 3, 4], seed=3, **options)
    assert few.dag == many.dag
    assert few.targets == many.targets[:3] and few.kinds == many.kinds[:3] and few.client_dags == many.client_dags[:3]
    assert few.bins == many.bins
    pd.testing.assert_frame_equal(few.sites[1], many.sites[1], check_exact=True)
    for k in (0, 2):  # a smaller table is the beginning of a larger one
        n = min(len(few.sites[k]), len(many.sites[k]))
        pd.testing.assert_frame_equal(few.sites[k][:n], many.sites[k][:n], check_exact=True)


def test_site_streams_differ() -> None:
    sim = simulate(4, 3, 20, intervention="none")
    assert not sim.sites[0].equals(sim.sites[1]) and not sim.sites[1].equals(sim.sites[2])


def test_the_global_random_state_is_neither_read_nor_moved() -> None:
    np.random.seed(1)  # noqa: NPY002
    first = simulate(5, 2, 20).sites[1]
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    second = simulate(5, 2, 20).sites[1]
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert first.equals(second)


def test_a_seed_keeps_its_meaning() -> None:
    # Pinned: a change here changes every published simulation. Raise the version and say so in the changelog.
    sim = simulate(4, 3, 2, seed=1)
    assert sorted(sim.dag.directed) == [("X0", "X3"), ("X2", "X0"), ("X2", "X1"), ("X2", "X3")]
    assert sim.targets == ((), ("X0",), ("X1",))
    assert sim.sites[2].to_numpy().tolist() == [
        pytest.approx([0.5318126185309375, -1.3289478244626822, 0.7185850200199503, 1.4976771037722625], rel=1e-12),
        pytest.approx([0.4577588477615402, 0.36561163436348476, -1.3921831862826883, -0.464808762923143], rel=1e-12),
    ]


@pytest.mark.parametrize(
    ("options", "sums"),
    list(
        zip(
            OPTIONS,
            [
                [35.156447017, -3.220104577, -13.004804878, -19.522887357, -22.822319106],
                [35.156447017, 7.686396752, -29.953887671, -22.738905551, -52.348848225],
                [262.757439148, 128.634312001, 14.989659623, 136.68624346, -1.546871301],
                [1481.0, 1213.0, 666.0, 365.0, 149.0],
                [838.0, 575.0, 387.0, 192.0, 79.0],
            ],
            strict=True,
        )
    ),
)
def test_every_option_keeps_the_data_of_a_seed(options: Any, sums: Any) -> None:
    # Pinned before simulations could shift means and hide variables. One number per site: columns weighted 1..6.
    sim = simulate(6, 5, [40, 30, 20, 10, 5], seed=12, **options)
    found = [float((table.to_numpy() * np.arange(1, 7)).sum()) for table in sim.sites]
    assert found == pytest.approx(sums, rel=1e-9, abs=2e-9)


def test_names_do_not_change_the_numbers() -> None:
    plain, named = simulate(4, 3, 30, seed=5), simulate(["d", "c", "b", "a"], 3, 30, seed=5)
    names = dict(zip(plain.dag.names, named.dag.names, strict=True))
    assert plain.dag.renamed(names) == named.dag
    assert [tuple(names[t] for t in site) for site in plain.targets] == list(named.targets)
    for a, b in zip(plain.sites, named.sites, strict=True):
        assert np.array_equal(a.to_numpy(), b.to_numpy()) and b.columns.tolist() == ["d", "c", "b", "a"]


def test_config_repeats_the_simulation_and_is_json() -> None:
    sim = simulate(["a", "b", "c", "d"], 3, np.array([5, 6, 7]), edges=np.float64(3), weights=[1, 2], seed=np.int64(4))
    again = simulate(**json.loads(json.dumps(sim.config)))
    assert all(a.equals(b) for a, b in zip(sim.sites, again.sites, strict=True)) and sim.config == again.config
    assert simulate(3, 2, 5).config["variables"] == 3 and simulate(3, 2, 5).config["samples"] == 5
    ready = simulate(TRIANGLE, 2, 5).config["variables"]
    assert fp.PDAG.from_edges(**json.loads(json.dumps(ready))) == TRIANGLE


# -- graphs -----------------------------------------------------------------------------------------------------------


@given(p=sizes, share=st.floats(0, 1), seed=seeds, graph=st.sampled_from(["erdos-renyi", "scale-free"]))
@settings(max_examples=60, deadline=None)
def test_property_random_dags_follow_the_order(p: Any, share: Any, seed: Any, graph: Any) -> None:
    rng = np.random.default_rng(seed)
    names = [f"X{i}" for i in range(p)]
    order = random_order(names, rng)
    edges = share * most_edges(p)
    dag = random_dag(names, order, edges, rng, graph)
    assert dag.names == tuple(names) and dag.is_dag
    assert all(order.index(a) < order.index(b) for a, b in dag.directed)
    if graph == "scale-free":
        assert len(dag) in (int(edges), int(edges) + 1)


@given(p=st.integers(3, 12), seed=seeds)
@settings(max_examples=60, deadline=None)
def test_property_shielding_leaves_no_v_structure_of_the_initial_dag(p: Any, seed: Any) -> None:
    rng = np.random.default_rng(seed)
    names = [f"X{i}" for i in range(p)]
    order = random_order(names, rng)
    dag = random_dag(names, order, p, rng)
    before = dag.adjacency.copy()
    shielded = shield_colliders(dag, order)
    assert not fp.v_structures(shielded) & fp.v_structures(dag)
    assert dag.directed <= shielded.directed
    joined = {frozenset((a, b)) for a, _, b in fp.v_structures(dag)}
    assert {frozenset(e) for e in shielded.directed - dag.directed} == joined
    assert all(order.index(a) < order.index(b) for a, b in shielded.directed)
    assert np.array_equal(dag.adjacency, before)


@pytest.mark.parametrize("graph", ["erdos-renyi", "scale-free"])
def test_expected_number_of_edges_is_met(graph: str) -> None:
    counts = [len(simulate(10, 1, 1, edges=7.5, graph=graph, shield_colliders=False, seed=s).dag) for s in range(400)]
    # 45 pairs: the standard deviation of the mean is at most sqrt(7.5 * (1 - 7.5/45) / 400) = 0.125; five of them.
    assert np.mean(counts) == pytest.approx(7.5, abs=0.63)


def test_default_is_one_edge_a_variable_as_far_as_there_are_pairs() -> None:
    assert [len(simulate(p, 1, 1, shield_colliders=False).dag) for p in (1, 2, 3)] == [0, 1, 3]
    counts = [len(simulate(8, 1, 1, shield_colliders=False, seed=s).dag) for s in range(400)]
    assert np.mean(counts) == pytest.approx(8, abs=5 * np.sqrt(8 * (1 - 8 / 28) / 400))


def test_shielding_adds_edges_to_the_same_random_dag() -> None:
    for seed in range(20):
        bare, shielded = (simulate(8, 1, 1, shield_colliders=flag, seed=seed).dag for flag in (False, True))
        assert bare.directed <= shielded.directed
        assert not fp.v_structures(bare) & fp.v_structures(shielded)


def test_scale_free_graphs_have_hubs() -> None:
    def largest(graph: str) -> float:
        dags = [simulate(30, 1, 1, edges=30, graph=graph, shield_colliders=False, seed=s).dag for s in range(40)]
        return float(np.mean([dag.adjacency.sum(axis=1).max() for dag in dags]))

    assert largest("scale-free") > 1.5 * largest("erdos-renyi")


def test_no_index_bias_in_the_topological_order() -> None:
    forward = [(i < j) for s in range(200) for i, j in np.argwhere(simulate(6, 1, 1, seed=s).dag.adjacency).tolist()]
    assert np.mean(forward) == pytest.approx(0.5, abs=0.1)


def test_a_ready_graph_is_taken_as_it_is() -> None:
    collider = fp.PDAG.from_edges([("A", "C"), ("B", "C")])
    sim = simulate(collider, 3, 10)
    assert sim.dag == collider and sim.client_dags[0] is sim.dag
    assert sim.sites[0].columns.tolist() == ["A", "C", "B"]


# -- who is intervened on ---------------------------------------------------------------------------------------------


@given(p=sizes, seed=seeds)
@settings(max_examples=60, deadline=None)
def test_property_shielding_parents_are_those_whose_removal_creates_a_v_structure(p: Any, seed: Any) -> None:
    dag = simulate(p, 1, 1, seed=seed).dag
    for target in dag.names:
        shields = set(shielding_parents(dag, target))
        for removed in nonempty_subsets(dag.parents(target)):
            assert bool(new_v_structures(dag, {target: removed})) == bool(shields & set(removed))


@given(p=sizes, seed=seeds)
@settings(max_examples=60, deadline=None)
def test_property_targets_that_create_a_v_structure_come_first(p: Any, seed: Any) -> None:
    dag = simulate(p, 1, 1, seed=seed).dag
    ranking = structural_targets(dag, np.random.default_rng(seed))
    assert sorted(ranking) == sorted(name for name in dag.names if dag.parents(name))
    creates = [bool(new_v_structures(dag, {name: dag.parents(name)})) for name in ranking]
    assert creates == sorted(creates, reverse=True)


def test_targets_go_through_the_ranking_and_begin_again() -> None:
    for seed in range(30):
        sim = simulate(5, 12, 1, seed=seed)
        single = [target for targets in sim.targets[1:] for target in targets]
        with_parents = {name for name in sim.dag.names if sim.dag.parents(name)}
        count = len(with_parents)
        assert len(single) == (11 if count else 0)
        assert set(single[:count]) == with_parents
        assert all(single[k] == single[k + count] for k in range(len(single) - count))
        creates = [bool(new_v_structures(sim.dag, {name: sim.dag.parents(name)})) for name in single[:count]]
        assert creates == sorted(creates, reverse=True)


def test_rankings_are_random_within_their_groups() -> None:
    fan = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("A", "D")])
    rankings = {structural_targets(fan, np.random.default_rng(s)) for s in range(100)}
    assert rankings == set(itertools.permutations(["B", "C", "D"]))
    assert {parametric_targets(fan, np.random.default_rng(s)) for s in range(100)} == {(*r, "A") for r in rankings}


def test_structural_sites_lose_the_edges_into_their_targets() -> None:
    sim = simulate(TRIANGLE, 3, 10)
    assert sim.targets == ((), ("B",), ("C",))
    assert sim.kinds == ("none", "structural", "structural")
    assert [sorted(dag.directed) for dag in sim.client_dags] == [
        [("A", "B"), ("A", "C"), ("B", "C")],
        [("A", "C"), ("B", "C")],
        [("A", "B")],
    ]
    assert sorted(sim.phi_cpdag.directed) == [("A", "C"), ("B", "C")] and not sim.cpdag.directed


@given(seed=seeds)
@settings(max_examples=60, deadline=None)
def test_property_partial_removal_keeps_what_matters(seed: Any) -> None:
    sim = simulate(7, 6, 1, removal="some", seed=seed)
    for dag, targets in zip(sim.client_dags[1:], sim.targets[1:], strict=True):
        for target in targets:
            lost = set(sim.dag.parents(target)) - set(dag.parents(target))
            assert lost
            if shielding_parents(sim.dag, target):
                assert fp.v_structures(dag) - fp.v_structures(sim.dag)
        untouched = [name for name in sim.dag.names if name not in targets]
        assert all(dag.parents(name) == sim.dag.parents(name) for name in untouched)


def test_partial_removal_reaches_every_subset_it_may() -> None:
    dag = fp.PDAG.from_edges([("A", "T"), ("B", "T"), ("C", "T"), ("A", "D"), ("T", "D")])
    drawn = {removed_parents(dag, "T", "some", np.random.default_rng(s)) for s in range(200)}
    assert drawn == {s for s in nonempty_subsets(("A", "B", "C")) if "A" in s}
    free = fp.PDAG.from_edges([("A", "T"), ("B", "T")])
    drawn = {removed_parents(free, "T", "some", np.random.default_rng(s)) for s in range(100)}
    assert drawn == {("A",), ("B",), ("A", "B")}


def test_mixed_sites_alternate_and_use_both_rankings_from_the_top() -> None:
    mixed, structural, parametric = (
        simulate(6, 5, 10, intervention=kind, seed=2) for kind in ("mixed", "structural", "parametric")
    )
    assert mixed.kinds == ("none", "structural", "parametric", "structural", "parametric")
    assert mixed.targets[1::2] == structural.targets[1:3] and mixed.targets[2::2] == parametric.targets[1:3]
    assert mixed.client_dags[2] == mixed.dag and mixed.client_dags[1] != mixed.dag


def test_without_interventions_all_sites_are_observational() -> None:
    sim = simulate(5, 3, 10, intervention="none")
    assert sim.kinds == ("none",) * 3 and sim.targets == ((),) * 3 and sim.client_dags == [sim.dag] * 3
    assert all(np.array_equal(w, sim.weights[0]) for w in sim.weights)


def test_a_graph_without_edges_has_no_structural_target_but_a_parametric_one() -> None:
    assert simulate(3, 2, 5, edges=0).kinds == ("none", "none")
    assert simulate(1, 2, 5).targets == ((), ())
    sim = simulate(1, 2, 5, intervention="parametric")
    assert sim.targets == ((), ("X0",)) and sim.noise_scales[1][0] != 1


def test_several_targets_a_site() -> None:
    dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C"), ("C", "D")])
    plans = plan_sites(dag, 4, targets_per_client=2)
    flat = [target for plan in plans for target in plan.targets]
    assert [len(plan.targets) for plan in plans] == [0, 2, 2, 2]
    assert flat[0] == "B" and set(flat[:3]) == {"B", "C", "D"} and flat[:3] == flat[3:]
    assert [len(plan.targets) for plan in plan_sites(dag, 2, targets_per_client=4)] == [0, 3]


def test_parametric_sites_keep_the_edges_and_change_the_mechanism() -> None:
    for seed in range(20):
        sim = simulate(5, 4, 10, intervention="parametric", seed=seed)
        for k in range(1, 4):
            assert sim.client_dags[k] == sim.dag
            (target,) = sim.targets[k]
            j = sim.dag.index(target)
            others = np.arange(5) != j
            assert np.array_equal(sim.weights[k][:, others], sim.weights[0][:, others])
            assert np.array_equal(sim.weights[k] != 0, sim.dag.adjacency)
            changed = np.abs(np.log(sim.noise_scales[k]))
            assert (changed[others] == 0).all() and np.log(1.5) <= changed[j] <= np.log(3.0)
            if sim.dag.parents(target):
                assert not np.array_equal(sim.weights[k][:, j], sim.weights[0][:, j])


# -- mechanisms and data ----------------------------------------------------------------------------------------------


def test_weights_lie_where_the_edges_are_and_in_their_range() -> None:
    for shared in (True, False):
        sims = [simulate(6, 3, 1, weights=(0.3, 0.4), shared_mechanisms=shared, seed=s) for s in range(20)]
        values = []
        for sim in sims:
            for k, (dag, weights) in enumerate(zip(sim.client_dags, sim.weights, strict=True)):
                assert np.array_equal(weights != 0, dag.adjacency)
                values.extend(weights[weights != 0])
                same = weights[dag.adjacency] == sim.weights[0][dag.adjacency]
                assert same.all() if shared or k == 0 else not same.any()
        assert np.min(np.abs(values)) >= 0.3 and np.max(np.abs(values)) <= 0.4
        assert 0.3 < np.mean(np.array(values) > 0) < 0.7


def test_structural_targets_keep_remaining_weights_and_unit_noise() -> None:
    sim = simulate(7, 5, 1, removal="some", seed=1)
    for dag, weights, scales in zip(sim.client_dags, sim.weights, sim.noise_scales, strict=True):
        assert np.array_equal(weights, np.where(dag.adjacency, sim.weights[0], 0))
        assert (scales == 1).all()


def test_generation_is_topological_by_hand() -> None:
    # 2 -> 0 -> 1 with weights 2 and 3, and 2 -> 1 with weight -1; noise 1, 10, 100.
    model = linear([[0, 3, 0], [0, 0, 0], [2, -1, 0]])
    assert model.order == (2, 0, 1)
    assert generate(model, np.array([[1.0, 10.0, 100.0]])).tolist() == [[201.0, 10.0 + 603.0 - 100.0, 100.0]]


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
def test_regression_on_parents_recovers_the_weights_against_index_order(noise: str) -> None:
    chain = fp.PDAG.from_edges([("X3", "X2"), ("X2", "X1"), ("X3", "X1"), ("X1", "X0")], names=["X0", "X1", "X2", "X3"])
    n = 20_000
    sim = simulate(chain, 3, n, noise=noise, weights=(0.5, 1.0), seed=3)
    for table, dag, weights in zip(sim.sites, sim.client_dags, sim.weights, strict=True):
        for name in dag.names:
            x, y = table[list(dag.parents(name))].to_numpy(), table[name].to_numpy()
            found = np.linalg.lstsq(x, y, rcond=None)[0]
            true = weights[[dag.index(parent) for parent in dag.parents(name)], dag.index(name)]
            # Standard errors are at most 1 / sqrt(n) times the root of a variance inflation below 4.
            assert found == pytest.approx(true, abs=5 * 2 / np.sqrt(n))
            assert np.var(y - x @ found) == pytest.approx(1.0, abs=5 * np.sqrt(2 / n))


@pytest.mark.parametrize("intervention", ["structural", "parametric"])
def test_sample_covariances_converge_to_the_implied_ones(intervention: str) -> None:
    n = 200_000
    sim = simulate(6, 3, n, intervention=intervention, seed=11)
    for table, true in zip(sim.sites, sim.covariances, strict=True):
        found = np.cov(table.to_numpy(), rowvar=False)
        # Gaussian data: var of a sample covariance is (s_ii s_jj + s_ij^2) / n. Five standard errors.
        error = np.sqrt((np.outer(np.diag(true), np.diag(true)) + true**2) / n)
        assert (np.abs(found - true) <= 5 * error).all()
        assert (np.abs(table.mean().to_numpy()) <= 5 * np.sqrt(np.diag(true) / n)).all()


def test_uniform_noise_is_uniform_with_variance_one() -> None:
    x = simulate(1, 1, 50_000, noise="uniform").sites[0]["X0"]
    assert x.abs().max() <= np.sqrt(3)
    assert x.var() == pytest.approx(1, abs=5 * np.sqrt(0.8 / 50_000))  # kurtosis 1.8
    assert (x**4).mean() == pytest.approx(1.8, abs=0.05)


def test_implied_covariance_by_hand() -> None:
    # A -> B (2), A -> C (1), B -> C (-1); noise variances 1, 3, 5: B = 2A + b, C = A - B + c = -A - b + c.
    expected = [[1, 2, -1], [2, 7, -5], [-1, -5, 9]]
    assert implied_covariance([[0, 2, 1], [0, 0, -1], [0, 0, 0]], [1, 3, 5]).tolist() == expected


@given(p=sizes, seed=seeds)
@settings(max_examples=40, deadline=None)
def test_property_implied_covariance_is_the_matrix_formula(p: Any, seed: Any) -> None:
    sim = simulate(p, 2, 1, intervention="parametric", seed=seed)
    for weights, scales, found in zip(sim.weights, sim.noise_scales, sim.covariances, strict=True):
        inverse = np.linalg.inv(np.eye(p) - weights)
        np.testing.assert_allclose(found, inverse.T @ np.diag(scales**2) @ inverse, rtol=1e-9, atol=1e-12)


@given(p=st.integers(2, 5), seed=seeds, removal=st.sampled_from(["all", "some"]), shield=st.booleans())
@settings(max_examples=40, deadline=None)
def test_property_partial_correlations_vanish_exactly_where_the_sites_dag_separates(
    p: Any, seed: Any, removal: Any, shield: Any
) -> None:
    sim = simulate(p, 3, 1, removal=removal, shield_colliders=shield, weights=(0.5, 1.0), seed=seed)
    for dag, covariance in zip(sim.client_dags, sim.covariances, strict=True):
        for i, j in itertools.combinations(range(p), 2):
            rest = [m for m in range(p) if m not in (i, j)]
            for given_set in itertools.chain.from_iterable(itertools.combinations(rest, r) for r in range(p - 1)):
                at = [i, j, *given_set]
                precision = np.linalg.inv(covariance[np.ix_(at, at)])
                partial = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
                separated = fp.d_separated(dag, dag.names[i], dag.names[j], [dag.names[m] for m in given_set])
                assert (abs(partial) < 1e-11) == separated


def test_nonlinear_values_are_finite_and_sane_for_200_seeds() -> None:
    for seed in range(200):
        p = 1 + seed % 20
        kind = ("structural", "parametric", "mixed")[seed % 3]
        sim = simulate(p, 3, 200, mechanism="nonlinear", intervention=kind, seed=seed)
        for table, weights, scales in zip(sim.sites, sim.weights, sim.noise_scales, strict=True):
            values = table.to_numpy()
            assert np.isfinite(values).all()
            bound = 9 * np.abs(weights).sum(axis=0) + 6 * scales  # 6: no normal draw of 240,000 is beyond
            assert (np.abs(values) <= bound).all()
            assert (values.std(axis=0) > 0.2).all()


def test_nonlinear_chain_of_squares_stays_tame() -> None:
    chain = fp.PDAG.from_edges([(f"X{i}", f"X{i + 1}") for i in range(19)])
    for seed in range(10):
        sim = simulate(chain, 2, 500, mechanism="nonlinear", weights=(1.0, 1.0), seed=seed)
        assert np.abs(sim.sites[0].to_numpy()).max() <= 9 + 6


@pytest.mark.parametrize(("function", "limit"), [("tanh", None), ("sin", None), ("square", 3.0)])
def test_nonlinear_functions_by_hand(function: str, limit: Any) -> None:
    functions = np.array([[0, FUNCTIONS.index(function)], [0, 0]])
    model = Mechanism(np.array([[0, 0.5], [0, 0]]), functions, np.array([2.0, 1.0]), np.array([1.0, 3.0]))
    values = generate(model, np.array([[1.0, 1.0], [-20.0, 0.0]]))
    plain = {"tanh": np.tanh, "sin": np.sin, "square": np.square}[function]
    far = plain(-10.0) if limit is None else limit**2
    assert values[:, 1].tolist() == pytest.approx([0.5 * plain(0.5) + 3.0, 0.5 * far])


def test_nonlinear_edges_use_all_three_functions_and_sites_share_them() -> None:
    seen = set()
    for seed in range(10):
        sim = simulate(6, 3, 1, mechanism="nonlinear", seed=seed)
        for dag, mechanism in zip(sim.client_dags, sim.mechanisms, strict=True):
            assert np.array_equal(mechanism.functions != 0, dag.adjacency)
            assert np.array_equal(mechanism.functions[dag.adjacency], sim.mechanisms[0].functions[dag.adjacency])
            assert np.array_equal(mechanism.input_scales, sim.mechanisms[0].input_scales)
        seen |= {FUNCTIONS[f] for f in sim.mechanisms[0].functions.ravel()}
    assert seen == set(FUNCTIONS)


def test_unequal_sizes() -> None:
    assert [len(site) for site in simulate(3, 3, [5, 1, 7]).sites] == [5, 1, 7]
    assert [len(site) for site in simulate(3, 2, (4, 4)).sites] == [4, 4]


# -- discretisation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["linear", "nonlinear"])
@pytest.mark.parametrize("bins", [2, 5])
def test_codes_are_the_bins_of_the_values_with_the_same_edges_everywhere(mechanism: str, bins: int) -> None:
    plain = simulate(5, 3, 800, mechanism=mechanism, seed=4)
    cut = simulate(5, 3, 800, mechanism=mechanism, discretize=bins, seed=4)
    low, high = np.array(cut.bins).T
    for values, codes in zip(plain.sites, cut.sites, strict=True):
        assert all(kind == np.int64 for kind in codes.dtypes)
        inner = low + (high - low) * np.arange(1, bins)[:, None] / bins
        expected = (values.to_numpy() >= inner[:, None, :]).sum(axis=0)
        assert np.array_equal(codes.to_numpy(), expected)
    assert set(np.unique(cut.sites[0])) == set(range(bins))


def test_values_outside_the_range_go_to_the_outer_bins() -> None:
    sim = simulate(1, 1, 20_000, discretize=5)
    plain = simulate(1, 1, 20_000)
    ((low, high),) = sim.bins  # type: ignore[misc]
    x, codes = plain.sites[0]["X0"], sim.sites[0]["X0"]
    assert (x < low).any() and (x > high).any()
    assert (codes[x < low] == 0).all() and (codes[x > high] == 4).all()


# -- the result -------------------------------------------------------------------------------------------------------


def test_covariances_of_other_models_are_an_error() -> None:
    with pytest.raises(fp.InputError, match=r"^a non-linear simulation has no population covariance in closed form"):
        simulate(3, 2, 5, mechanism="nonlinear").covariances  # noqa: B018
    with pytest.raises(fp.InputError, match=r"^a discretised simulation has no population covariance in closed form"):
        simulate(3, 2, 5, discretize=2).covariances  # noqa: B018


def test_a_simulation_is_frozen_and_its_arrays_read_only() -> None:
    sim = simulate(3, 2, 5)
    with pytest.raises(AttributeError):
        sim.dag = TRIANGLE  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        sim.weights[0][0, 0] = 1.0


def test_repr_is_short() -> None:
    text = "Simulation(3 variables, 3 edges, 2 sites, 5 to 7 rows, no interventions, seed 3)"
    assert repr(simulate(3, 2, [5, 7], intervention="none", seed=3)) == text
    text = "Simulation(1 variable, 0 edges, 1 site, 2 rows each, structural interventions, seed 0)"
    assert repr(simulate(1, 1, 2)) == text


@pytest.mark.parametrize("options", OPTIONS)
def test_save_writes_tables_and_truth_that_read_back(tmp_path: Path, options: Any) -> None:
    sim = simulate(["a", "b", "café", "d,e"], 3, 20, **{"seed": 9} | options | {"edges": 4})
    place = sim.save(tmp_path / "new" / "data")
    assert sorted(path.name for path in place.iterdir()) == ["site_0.csv", "site_1.csv", "site_2.csv", "truth.json"]
    assert [path.name for path in place.parent.iterdir()] == ["data"]
    for k, site in enumerate(sim.sites):
        back = pd.read_csv(place / f"site_{k}.csv", dtype=str).astype(site.dtypes)
        pd.testing.assert_frame_equal(back, site, check_exact=True)
    known = json.loads((place / "truth.json").read_text(encoding="utf-8"))
    assert known["fedperi"] == fp.__version__ and known["seed"] == 9 and known["config"] == sim.config
    for name in ("dag", "cpdag", "phi_cpdag"):
        assert fp.PDAG.from_edges(**known[name], names=known["names"]) == getattr(sim, name)
    assert [fp.PDAG.from_edges(**g, names=known["names"]) for g in known["client_dags"]] == sim.client_dags
    assert known["targets"] == [list(t) for t in sim.targets] and known["kinds"] == list(sim.kinds)
    assert all(np.array_equal(a, b) for a, b in zip(known["weights"], sim.weights, strict=True))


def test_save_pads_the_numbers_of_more_than_ten_sites(tmp_path: Path) -> None:
    names = sorted(path.name for path in simulate(2, 11, 2).save(tmp_path / "eleven").iterdir())
    assert names == [f"site_{k:02}.csv" for k in range(11)] + ["truth.json"]
    names = sorted(path.name for path in simulate(2, 10, 2).save(tmp_path / "ten").iterdir())
    assert names == [f"site_{k}.csv" for k in range(10)] + ["truth.json"]


def test_save_refuses_to_mix_and_replaces_on_request(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    simulate(3, 11, 4).save(place)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    assert_refused(
        lambda: simulate(3, 2, 4, seed=1).save(place),
        f"{place} already holds a simulation (site_00.csv, site_01.csv, site_02.csv, ...); "
        "choose another directory, or replace it with overwrite=True (--overwrite)",
    )
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    simulate(3, 2, 4, seed=1).save(place, overwrite=True)
    assert sorted(path.name for path in place.iterdir()) == ["notes.txt", "site_0.csv", "site_1.csv", "truth.json"]
    assert json.loads((place / "truth.json").read_text())["seed"] == 1


@pytest.mark.parametrize("fails_after", [0, 1, 3, 5])
def test_a_failed_save_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_after: int
) -> None:
    place = simulate(3, 2, 4).save(tmp_path / "data")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    rename, calls = Path.rename, []

    def fragile(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == fails_after + 1:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fragile)
    with pytest.raises(fp.InputError, match=r"^cannot write the simulation to .*: No space left on device$"):
        simulate(3, 2, 4, seed=1).save(place, overwrite=True)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    calls[:] = [Path()] * fails_after
    with pytest.raises(fp.InputError, match="No space left on device"):
        simulate(3, 2, 4, seed=1).save(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_save_onto_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(fp.InputError, match=r"^cannot write the simulation to .*file: Not a directory$"):
        simulate(2, 1, 2).save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"


# -- bad input --------------------------------------------------------------------------------------------------------

MIXED_GRAPH = fp.PDAG.from_edges(undirected=[("A", "B")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variables": 0}, "variables must be at least 1, not 0"),
        ({"variables": []}, "variables must be at least 1, but the list of names is empty"),
        ({"variables": fp.PDAG([])}, "variables must be at least 1, but the graph has none"),
        ({"variables": 2.5}, "variables must be a whole number, a list of names or a DAG, not 2.5"),
        ({"variables": True}, "variables must be a whole number, a list of names or a DAG, not True"),
        ({"variables": "age"}, "variables must be a whole number, a list of names or a DAG, not 'age'"),
        ({"variables": {"a"}}, "variables must be a whole number, a list of names or a DAG, not {'a'}"),
        ({"variables": np.array(2.5)}, "variables must be a whole number, a list of names or a DAG, not 2.5"),
        ({"variables": ["a", "a"]}, "duplicate variable name 'a': names must be unique"),
        ({"variables": ["a", 1]}, "names must be non-empty strings; position 1 holds 1"),
        (
            {"variables": MIXED_GRAPH},
            "a DAG is needed, but A -- B is undirected (consistent_extension gives a member DAG)",
        ),
        (
            {"variables": TRIANGLE, "edges": 2},
            "edges has no meaning when variables is a ready graph; leave one of them out",
        ),
        ({"clients": 0}, "clients must be at least 1, not 0"),
        ({"clients": 2.0}, "clients must be a whole number, not 2.0"),
        ({"samples": 0}, "samples must be at least 1, not 0"),
        ({"samples": "many"}, "samples must be a whole number, not 'many'"),
        (
            {"samples": [5, 5, 5]},
            "samples has 3 entries for 2 sites; give one number for all sites or one for each",
        ),
        ({"samples": [5, -5]}, "samples[1] must be at least 1, not -5"),
        ({"samples": [5, 2.5]}, "samples[1] must be a whole number, not 2.5"),
        ({"edges": -1}, "edges must be from 0 to 3 for 3 variables, not -1"),
        ({"edges": 3.5}, "edges must be from 0 to 3 for 3 variables, not 3.5"),
        ({"edges": float("nan")}, "edges must be a finite number, not nan"),
        ({"edges": "few"}, "edges must be a finite number, not 'few'"),
        (
            {"intervention": "hard"},
            "intervention must be one of 'structural', 'parametric', 'mixed', 'strengths', 'shift', 'scale', 'varied', "
            "'none', not 'hard'",
        ),
        (
            {"intervention": None},
            "intervention must be one of 'structural', 'parametric', 'mixed', 'strengths', 'shift', 'scale', 'varied', "
            "'none', not None",
        ),
        ({"removal": "none"}, "removal must be one of 'all', 'some', not 'none'"),
        (
            {"removal": "some", "intervention": "parametric"},
            "removal='some' needs edges to remove, but intervention='parametric' removes none; "
            "use intervention='structural' or 'mixed', or leave removal out",
        ),
        ({"mechanism": "cubic"}, "mechanism must be one of 'linear', 'nonlinear', not 'cubic'"),
        ({"noise": "laplace"}, "noise must be one of 'gaussian', 'uniform', 'student', not 'laplace'"),
        ({"graph": "er"}, "graph must be one of 'erdos-renyi', 'scale-free', not 'er'"),
        ({"shield_colliders": "no"}, "shield_colliders must be True or False, not 'no'"),
        ({"shared_mechanisms": 1}, "shared_mechanisms must be True, False or 'nothing', not 1"),
        ({"discretize": 1}, "discretize must be at least 2, not 1"),
        ({"discretize": 2.5}, "discretize must be a whole number, not 2.5"),
        ({"targets_per_client": 0}, "targets_per_client must be at least 1, not 0"),
        ({"targets_per_client": 4}, "targets_per_client must be at most the number of variables, 3, not 4"),
        ({"weights": 0.5}, "weights must be a pair (low, high), not 0.5"),
        ({"weights": (0.1, 10**400)}, f"weights must be a finite number, not {10**400}"),
        ({"weights": (0, 1)}, "weights must satisfy 0 < low <= high, not (0, 1); signs are drawn at random"),
        ({"weights": (1, 0.5)}, "weights must satisfy 0 < low <= high, not (1, 0.5); signs are drawn at random"),
        ({"weights": (1e200, 1e200)}, "the data grow beyond 1e+150 along the arrows; use smaller weights"),
        ({"shift": 0}, "shift must be greater than 0, not 0"),
        ({"shift": "far"}, "shift must be a finite number, not 'far'"),
        ({"scale": -2}, "scale must be greater than 0, not -2"),
        ({"scale": 1}, "scale must not be 1, which changes nothing; 2 doubles the noise's standard deviation"),
        ({"noise_levels": (0, 1)}, "noise_levels must satisfy 0 < low <= high, not (0, 1)"),
        ({"units": 3}, "units must be a pair (low, high), not 3"),
        (
            {"units": (1, 2), "discretize": 3},
            "units has no meaning where discretize turns values into numbers of bins; leave one out",
        ),
        ({"drift": -0.1}, "drift must be at least 0, not -0.1"),
        ({"policies": 0}, "policies must be at least 1, not 0"),
        ({"observational": 1}, "observational must be True or False, not 1"),
        ({"hidden": -1}, "hidden must be at least 0, not -1"),
        ({"measurement_error": float("inf")}, "measurement_error must be a finite number, not inf"),
        (
            {"removal": "some", "intervention": "varied"},
            "removal='some' has no meaning with intervention='varied', which draws it; leave removal out",
        ),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"seed": None}, "seed must be a whole number, not None"),
    ],
)
def test_bad_arguments(arguments: Any, message: str) -> None:
    assert_refused(lambda: simulate(**{"variables": 3, "clients": 2, "samples": 5} | arguments), message)


@pytest.mark.parametrize(
    ("weights", "variances", "message"),
    [
        ([[0, 1], [1, 0]], [1, 1], "the weights form a cycle; a structural equation model must have none"),
        ([[0, 1]], [1], "weights must be a square matrix, not an array of shape (1, 2)"),
        ([[0, 1], [0, 0]], [1], "noise_variances must hold 2 values, not an array of shape (1,)"),
        ([[0, np.nan], [0, 0]], [1, 1], "weights must be finite numbers"),
        ([[0, 1], [0, 0]], [1, -1], "noise_variances must be finite and not negative"),
        ([[0, "x"], [0, 0]], [1, 1], "weights and noise_variances must hold numbers, in rows of equal length"),
        ([[0, 1], [0]], [1, 1], "weights and noise_variances must hold numbers, in rows of equal length"),
        ([[0, 1e200], [0, 0]], [1, 1], "the covariance implied by the weights overflows; use smaller weights"),
    ],
)
def test_bad_models_have_no_covariance(weights: Any, variances: Any, message: str) -> None:
    assert_refused(lambda: implied_covariance(weights, variances), message)
