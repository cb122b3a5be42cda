"""I-PERI on populations: exact where the theorem says so, for any order of sites and variables."""

from typing import Any

import numpy as np
import pytest
from helpers.oracles import NOMINAL, oracle_sites, random_case

import fedperi as fp
from fedperi.simulation import implied_covariance

SETTINGS: list[dict[str, Any]] = [
    {"masking": "adaptive", "aggregate": "sum"},
    {"masking": "adaptive", "aggregate": "worst"},
    {"masking": "consensus", "aggregate": "worst"},
    {"masking": "consensus", "aggregate": "sum"},
]


@pytest.mark.parametrize(
    ("options", "told"),
    # Sites under consensus are told their CPDAG, or learn it; under adaptive they have none.
    [(o, told) for o in SETTINGS for told in ([False, True] if o["masking"] == "consensus" else [False])],
)
def test_cpdag_and_phi_cpdag_are_exact(options: dict[str, Any], told: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(150):
        dag, clients, covariances = random_case(rng)
        result = fp.IPERI(**options).fit(oracle_sites(clients, covariances, told=told))
        assert result.cpdag == fp.cpdag(dag)
        assert result.phi_cpdag == fp.phi_cpdag(dag, clients)
        assert result.graph == fp.meek_closure(result.phi_cpdag)
        assert fp.includes(result.dag, result.graph)


def test_neither_the_order_of_sites_nor_that_of_variables_matters() -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        _, clients, covariances = random_case(rng)
        sites = oracle_sites(clients, covariances)
        result = fp.IPERI().fit(sites)
        other = fp.IPERI().fit([sites[k] for k in rng.permutation(4)])
        assert other.graph == result.graph
        assert other.regrets == pytest.approx(result.regrets, abs=1e-3)
        at = rng.permutation(len(clients[0].names))
        names = [clients[0].names[i] for i in at]
        moved = [fp.OracleSite(s[np.ix_(at, at)], NOMINAL, names, name=f"s{k}") for k, s in enumerate(covariances)]
        assert fp.IPERI().fit(moved).graph == result.graph


def test_order_of_sites_on_samples_to_the_last_bit() -> None:
    sim = fp.simulate(8, 5, 300, shared_mechanisms=False, seed=4)
    named = {f"h{k}": table for k, table in enumerate(sim.sites)}
    first = fp.IPERI().fit(named)
    second = fp.IPERI().fit(dict(reversed(named.items())))
    assert first.graph == second.graph
    assert first.dag == second.dag
    assert {k: second.regrets[k] for k in first.regrets} == first.regrets


def test_columns_may_come_in_another_order_at_each_site() -> None:
    sim = fp.simulate(6, 3, 400, seed=5)
    shuffled = [sim.sites[0], sim.sites[1][list(reversed(sim.dag.names))], sim.sites[2]]
    assert fp.IPERI().fit(shuffled).graph == fp.IPERI().fit(sim.sites).graph


def test_copies_of_one_site_give_its_cpdag() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        dag, clients, covariances = random_case(rng)
        result = fp.IPERI().fit(oracle_sites([clients[1]] * 3, [covariances[1]] * 3))
        assert result.graph == fp.cpdag(clients[1])
        assert fp.IPERI().fit(oracle_sites([dag], [covariances[0]])).graph == fp.cpdag(dag)


def test_parametric_interventions_give_the_cpdag() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        dag, _, _ = random_case(rng)
        p = len(dag.names)
        covariances = []
        for _ in range(3):
            weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p)) * dag.adjacency
            covariances.append(implied_covariance(weights, rng.uniform(0.5, 2, p)))
        for options in SETTINGS:
            assert fp.IPERI(**options).fit(oracle_sites([dag] * 3, covariances)).graph == fp.cpdag(dag)
        assert fp.PERI().fit(oracle_sites([dag] * 3, covariances)).graph == fp.cpdag(dag)


def test_declared_targets_give_the_i_cpdag() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        dag, _, _ = random_case(rng)
        p = len(dag.names)
        targets = [[], *([str(t)] for t in rng.choice(dag.names, 2))]
        clients = [fp.mutilate(dag, t) for t in targets]
        weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p))
        covariances = [implied_covariance(weights * c.adjacency, np.ones(p)) for c in clients]
        result = fp.IPERI().fit(oracle_sites(clients, covariances, targets=targets))
        assert result.graph == fp.i_cpdag(dag, targets)


def test_triangle_evidence_by_hand() -> None:
    triangle = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    clients = [triangle, fp.mutilate(triangle, "B")]
    weights = np.array([[0, 0.7, 0.6], [0, 0, 0.8], [0, 0, 0]])
    covariances = [implied_covariance(weights * c.adjacency, np.ones(3)) for c in clients]
    result = fp.IPERI().fit(oracle_sites(clients, covariances))
    found = {(e.a, e.b): e for e in result.edges}
    assert result.graph == fp.PDAG.from_edges([("A", "C"), ("B", "C")], [("A", "B")])
    assert {pair: e.reason for pair, e in found.items()} == {
        ("A", "B"): "",
        ("A", "C"): "difference",
        ("B", "C"): "difference",
    }
    assert found["A", "B"].sites == ("site 0",)
    assert found["A", "C"].sites == ("site 0", "site 1")
    assert "site 1" in found["A", "C"].words


def test_without_an_observational_site_the_answer_is_sound() -> None:
    """Two sites with disjoint targets: every edge survives at one, and the fewest interventions explain the rest."""
    rng = np.random.default_rng(6)
    for _ in range(80):
        dag, _, _ = random_case(rng)
        able = [name for name in dag.names if dag.parents(name)]
        if len(able) < 2:
            continue
        clients = [fp.mutilate(dag, target) for target in rng.permutation(able)[:2].tolist()]
        p = len(dag.names)
        weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p))
        covariances = [implied_covariance(weights * c.adjacency, np.ones(p)) for c in clients]
        result = fp.IPERI().fit(oracle_sites(clients, covariances))
        assert fp.includes(dag, result.graph)
        assert result.graph.skeleton == dag.skeleton
