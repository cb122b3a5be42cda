"""Greedy equivalence search: exact on populations, the same as `ges` on samples, valid in every case."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.graphs import random_dag
from helpers.networks import ASIA, CANCER, Network, dag, sample

import fedperi as fp
from fedperi.discovery.ges.ges import ges_fit
from fedperi.graph import bits
from fedperi.scores.discrete import DiscreteScore
from fedperi.scores.gaussian import GaussianScore
from fedperi.scores.score import ScoreCache
from fedperi.tables import summarize


def draw(rng: np.random.Generator, graph: fp.PDAG, low: float, high: float) -> np.ndarray:
    """Total effects of a random linear model with unit noise: data are noise times this, its Gram is the covariance."""
    p = len(graph.names)
    weights = graph.adjacency * rng.uniform(low, high, (p, p)) * rng.choice([-1, 1], (p, p))
    return np.linalg.inv(np.eye(p) - weights)


def weakest_dependence(graph: fp.PDAG, covariance: np.ndarray) -> float:
    """Smallest partial correlation in absolute value that the DAG does not make zero."""
    found = [1.0]
    for x, y in combinations(range(len(graph.names)), 2):
        rest = [v for v in range(len(graph.names)) if v not in (x, y)]
        for size in range(len(rest) + 1):
            for given in combinations(rest, size):
                if not fp.d_separated(graph, graph.names[x], graph.names[y], [graph.names[v] for v in given]):
                    at = [x, y, *given]
                    precision = np.linalg.inv(covariance[np.ix_(at, at)])
                    found.append(abs(precision[0, 1]) / np.sqrt(precision[0, 0] * precision[1, 1]))
    return min(found)


def test_exact_on_500_populations() -> None:
    """At n = 10^6 every miss is a draw of weights that is nearly unfaithful at this n; at n = 10^10 there is none."""
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(500):
        p = int(rng.integers(2, 10))
        truth = random_dag(rng, p, p * rng.uniform(0.5, 1.5))
        effects = draw(rng, truth, 0.5, 1.5)
        covariance = effects.T @ effects
        assert ges_fit(GaussianScore(covariance, 1e10)).graph == fp.cpdag(truth)
        if ges_fit(GaussianScore(covariance, 1e6)).graph != fp.cpdag(truth):
            misses += 1
            # What BIC weighs: a dependence below this is worth less than the price of its edge.
            assert 1e6 * weakest_dependence(truth, covariance) ** 2 < np.log(1e6)
    assert misses <= 10


def test_the_same_graphs_as_ges_on_200_samples() -> None:
    import ges

    rng = np.random.default_rng(2)
    same = 0
    for _ in range(200):
        p, n = int(rng.integers(3, 11)), int(rng.choice([200, 1000, 3000]))
        truth = random_dag(rng, p, p * rng.uniform(0.5, 1.5))
        x = rng.standard_normal((n, p)) @ draw(rng, truth, 0.2, 1.2)
        theirs, _ = ges.fit_bic(x)
        ours = ges_fit(GaussianScore(np.corrcoef(x.T), n))
        same += np.array_equal(ours.graph.adjacency, theirs.astype(bool))
    assert same == 200


def test_result_is_a_cpdag_whose_score_is_its_members() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        p = int(rng.integers(2, 9))
        x = rng.standard_normal((60, p)) @ rng.standard_normal((p, p))
        score = GaussianScore(np.corrcoef(x.T), 60)
        found = ges_fit(score)
        assert fp.is_cpdag(found.graph)
        total = ScoreCache(score).total(bits.columns(fp.consistent_extension(found.graph).adjacency))
        assert found.score == pytest.approx(total)


def test_relabelling_relabels_the_result() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        p = int(rng.integers(3, 9))
        x = rng.standard_normal((300, p)) @ draw(rng, random_dag(rng, p, p), 0.2, 1)
        names = [f"v{i}" for i in range(p)]
        order = rng.permutation(p)
        first = ges_fit(GaussianScore(np.corrcoef(x.T), 300, names)).graph
        second = ges_fit(GaussianScore(np.corrcoef(x[:, order].T), 300, [names[i] for i in order])).graph
        assert first == second


def test_phases_and_start() -> None:
    rng = np.random.default_rng(5)
    truth = random_dag(rng, 7, 8)
    effects = draw(rng, truth, 0.5, 1.0)
    score = GaussianScore(effects.T @ effects, 1e8, truth.names)
    dense = fp.PDAG(np.ones((7, 7)) - np.eye(7), truth.names)
    assert ges_fit(score, start=dense, phases=["backward"]).graph == fp.cpdag(truth)
    assert ges_fit(score, start=fp.cpdag(truth)).moves == 0
    assert ges_fit(score, phases=[]).graph == fp.PDAG(np.zeros((7, 7)), truth.names)
    with pytest.raises(fp.InputError, match="phases are forward, backward, turning; 'sideways' is not one of them"):
        ges_fit(score, phases=["sideways"])


@pytest.mark.parametrize(("network", "name"), [(ASIA, "asia"), (CANCER, "cancer")])
def test_discrete_networks_as_well_as_causallearn(network: Network, name: str) -> None:
    from causallearn.search.ScoreBased.GES import ges

    rng = np.random.default_rng(6)
    ours, theirs = [], []
    for _ in range(5):
        table = sample(network, 5000, rng)
        found = ges_fit(DiscreteScore(summarize(table), "bdeu")).graph
        ours.append(fp.skeleton_f1(found, dag(network)))
        codes = table.apply(lambda c: (c == "yes").astype(int)).to_numpy()
        other = fp.PDAG.from_causallearn(ges(codes, "local_score_BDeu")["G"].graph, names=list(network))
        theirs.append(fp.skeleton_f1(other, dag(network)))
    assert np.mean(ours) >= np.mean(theirs) - 1e-9, name


def test_mixed_and_nonlinear_tables() -> None:
    """A category between two measurements, and a square that a linear model does not detect."""
    rng = np.random.default_rng(7)
    a = rng.standard_normal(3000)
    group = np.where(a + rng.standard_normal(3000) > 0, "high", "low")
    b = (group == "high") * 2.0 + rng.standard_normal(3000)
    mixed = ges_fit(GaussianScore.of(summarize(pd.DataFrame({"a": a, "group": group, "b": b})))).graph
    assert mixed.skeleton == fp.PDAG.from_edges(undirected=[("a", "group"), ("group", "b")], names=["a", "group", "b"])
    square = pd.DataFrame({"x": a, "y": a**2 + 0.5 * rng.standard_normal(3000)})
    assert len(ges_fit(GaussianScore.of(summarize(square, data="linear"))).graph) == 0
    assert len(ges_fit(GaussianScore.of(summarize(square, data="nonlinear"))).graph) == 1
