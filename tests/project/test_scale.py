"""The search with many variables: how it finds candidates, which questions it asks, when it stops."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fedperi as fp
from fedperi.graph import bits
from fedperi.graph.knowledge import unconstrained
from fedperi.scores.gaussian import GaussianScore
from fedperi.scores.lattice import eliminate
from fedperi.search.families import ParentSets
from fedperi.search.phase1 import MANY_WIDENINGS, WIDENINGS
from fedperi.search.screening import FEWEST_CANDIDATES, GROWTH, MANY, MOST_CANDIDATES, candidate_parents
from fedperi.tables.readers.parquet_file import read_parquet

pytestmark = pytest.mark.usefixtures("each_kernel")


class OneSite:
    """Answers with the negative score of a covariance: what one site without a mask would say."""

    def __init__(self, covariance: NDArray[np.float64], n: float = 10_000) -> None:
        self._score = GaussianScore(covariance, n)
        self.names = self._score.names
        self.asked: list[int] = []

    def regrets(self, families: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]) -> list[NDArray[np.float64]]:
        out = []
        for nodes, fixed, free in families:
            lattice = self._score.lattice(nodes, np.column_stack([fixed, free]).astype(np.int64))
            f = fixed.shape[1]
            out.append(-lattice[None, :, (np.arange(1 << free.shape[1]) << f) | ((1 << f) - 1)])
        self.asked.append(sum(answer[0].size for answer in out))
        return out


def population(dag: fp.PDAG, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    p = len(dag.names)
    weights = dag.adjacency * rng.uniform(0.5, 1.0, (p, p)) * rng.choice([-1, 1], (p, p))
    root = np.linalg.inv(np.eye(p) - weights)
    return root.T @ root


@pytest.mark.parametrize("widths", [(1, 1, 1, 1), (2, 1), (1, 3), (4,), ()])
def test_elimination_is_the_schur_complement(widths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(5, 40, 6))
    gram = np.einsum("bni,bnj->bij", rows, rows) / 40
    residual, smallest = eliminate(gram, widths)
    own = np.arange(sum(widths), 6)
    starts = np.cumsum([0, *widths])
    assert residual.shape == (5, 1 << len(widths), len(own), len(own))
    assert (smallest > 0).all()
    for subset in range(1 << len(widths)):
        given = [c for t, w in enumerate(widths) if subset >> t & 1 for c in range(starts[t], starts[t] + w)]
        for b, one in enumerate(gram):
            expected = one[np.ix_(own, own)]
            if given:
                across = one[np.ix_(given, own)]
                expected = expected - across.T @ np.linalg.solve(one[np.ix_(given, given)], across)
            assert residual[b, subset] == pytest.approx(expected)


def test_elimination_reports_a_singular_matrix() -> None:
    twice = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    good = np.eye(3)
    smallest = eliminate(np.stack([twice, good]), (1, 1))[1]
    assert smallest[0] <= 1e-12 and smallest[1] == 1.0


def test_gains_cost_one_number_each() -> None:
    r = 0.6
    oracle = OneSite(np.array([[1, r, 0], [r, 1, 0], [0, 0, 1.0]]), n=100)
    sets = ParentSets(oracle, 1.5, unconstrained(oracle.names))
    sets.fetch([(0, 0, 0), (0, 0b100, 0)])
    gains, nodes, parents = sets.gains({(0, 0): 0b010, (0, 0b100): 0b010, (1, 0): 0})
    price = np.log(100) / 2 + 1.5
    assert oracle.asked[-1] == 2
    assert gains == pytest.approx([-50 * np.log(1 - r**2) - price] * 2)
    assert nodes.tolist() == [0, 0] and parents.tolist() == [1, 1]


def test_grown_candidates_hold_the_neighbours() -> None:
    # All variables are related to each other: none is far from any other in this family.
    dag = fp.simulate(MANY + 4, clients=1, samples=2, seed=3).dag
    oracle = OneSite(population(dag, 1))
    sets = ParentSets(oracle, 0.0, unconstrained(oracle.names))
    chosen = candidate_parents(sets)
    near = bits.rows(dag.adjacency | dag.adjacency.T)
    p = len(dag.names)
    missed = sum((mine & ~found).bit_count() for mine, found in zip(near, chosen, strict=True))
    assert missed <= 0.05 * sum(mine.bit_count() for mine in near)
    assert all(not found >> node & 1 for node, found in enumerate(chosen))
    assert all(found.bit_count() <= MOST_CANDIDATES for found in chosen)
    assert all(found.bit_count() >= FEWEST_CANDIDATES or sets.knows(node, found) for node, found in enumerate(chosen))
    # Singles; then subsets of the best few, and one number for each variable outside the best of them.
    assert len(oracle.asked) == 3
    assert oracle.asked[0] == 2 * p * (p - 1)
    assert oracle.asked[1] <= p << GROWTH
    assert oracle.asked[2] <= p * (p - 1)


def test_grown_candidates_hold_what_is_required() -> None:
    dag = fp.simulate(MANY + 1, clients=1, samples=2, seed=1).dag
    oracle = OneSite(population(dag, 1))
    names = oracle.names
    needed = [(names[j], names[0]) for j in range(1, 6)]
    chosen = candidate_parents(ParentSets(oracle, 0.0, fp.Knowledge(required=needed).constraints(names)))
    assert chosen[0] & 0b111110 == 0b111110
    many = [(names[j], names[0]) for j in range(1, MOST_CANDIDATES + 2)]
    with pytest.raises(fp.InputError, match=r"14 edges into .* are required; with more than 12 variables at most 13"):
        candidate_parents(ParentSets(oracle, 0.0, fp.Knowledge(required=many).constraints(names)))


@pytest.mark.parametrize("clients", [3, 10])
def test_rounds(clients: int) -> None:
    """Three to choose candidates, one for their subsets, two for each widening but the last, two for phase 2."""
    for seed in range(3):
        result = fp.IPERI().fit(fp.simulate(18, clients=clients, samples=500, seed=seed).sites)
        assert result.rounds <= 4 + 2 * WIDENINGS - 1 + 2 == 9
        objectives = [step.objective for step in result.history]
        assert objectives == sorted(objectives, reverse=True)
    assert 4 + 2 * MANY_WIDENINGS - 1 + 2 == 13


def test_a_parquet_file_is_not_held_in_memory(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    file = tmp_path / "site.parquet"
    names = [f"X{i}" for i in range(10)]
    with parquet.ParquetWriter(file, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for _ in range(20):
            writer.write_table(pa.table(dict(zip(names, rng.normal(size=(10, 20_000)), strict=True))))
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in read_parquet(file, tuple(names), 10_000)]
    assert len(held) == 40
    assert file.stat().st_size > 30e6
    assert max(held) < 10e6
