"""Shares of directions among the members of a class, and the directions that they exclude from phase 2."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from helpers.graphs import random_dag
from helpers.oracles import oracle_sites, random_case
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import fedperi as fp
from fedperi.graph import bits
from fedperi.graph.knowledge import Constraints, unconstrained
from fedperi.search import confidence
from fedperi.search.confidence import CONFIDENCE, direction_shares
from fedperi.search.families import ParentSets
from fedperi.search.phase2 import Direction, directed_as

Floats = NDArray[np.float64]


def as_bits(positions: NDArray[np.int64]) -> int:
    return sum(1 << int(i) for i in positions)


class Table:
    """A federation of one site whose regrets are a function of node and parents; counts rounds and questions."""

    def __init__(self, names: Sequence[str], regret: Callable[[int, int], float]) -> None:
        self.names = tuple(names)
        self.regret = regret
        self.rounds = 0
        self.asked: list[tuple[int, int]] = []

    def regrets(self, families: Sequence[tuple[NDArray[np.int64], ...]]) -> list[Floats]:
        self.rounds += 1
        out = []
        for nodes, fixed, free in families:
            lattices = [
                [(int(node), as_bits(always) | as_bits(some[at >> np.arange(len(some)) & 1 == 1])) for at in places]
                for places in [range(1 << free.shape[1])]
                for node, always, some in zip(nodes, fixed, free, strict=True)
            ]
            self.asked += [query for lattice in lattices for query in lattice]
            out.append(np.array([[[self.regret(*query) for query in lattice] for lattice in lattices]]))
        return out


def random_regrets(seed: int) -> Callable[[int, int], float]:
    return lambda node, into: float(np.random.default_rng([seed, node, into]).normal(scale=2))


def listed(graph: fp.PDAG, regret: Callable[[int, int], float], constraints: Constraints) -> Floats:
    """Shares by listing every member of a class."""
    total = np.zeros(graph.adjacency.shape)
    weights = 0.0
    for member in fp.members(graph):
        parents = bits.columns(member.adjacency)
        if all(constraints(i, into) for i, into in enumerate(parents)):
            weight = np.exp(-sum(regret(i, into) for i, into in enumerate(parents)))
            total += weight * member.adjacency
            weights += weight
    return total / weights


def shares_of(dag: fp.PDAG, oracle: Table, constraints: Constraints | None = None) -> Floats:
    sets = ParentSets(oracle, 0.0, constraints or unconstrained(dag.names))
    return direction_shares(sets, bits.columns(dag.adjacency), (1 << len(dag.names)) - 1)


def undirected(graph: fp.PDAG) -> NDArray[np.bool_]:
    return np.asarray(graph.adjacency & graph.adjacency.T)


# -- shares -----------------------------------------------------------------------------------------------------------


def test_by_hand_two_variables() -> None:
    """B -> A costs log 3 more than A -> B, so its share is one quarter."""
    dag = fp.PDAG.from_edges([("A", "B")])
    oracle = Table("AB", lambda node, into: float(np.log(3)) if (node, into) == (0, 0b10) else 0.0)
    assert shares_of(dag, oracle) == pytest.approx(np.array([[0, 0.75], [0.25, 0]]))


def test_by_hand_a_triangle_with_a_collider_that_one_site_reveals() -> None:
    """The two members where C comes last weigh 8 each, the other four 1 each; one of those has A -> C, one B -> C."""
    dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    oracle = Table("ABC", lambda node, into: -float(np.log(8)) if (node, into) == (2, 0b011) else 0.0)
    shares = shares_of(dag, oracle)
    assert shares[0, 2] == pytest.approx(17 / 20)
    assert shares[1, 2] == pytest.approx(17 / 20)
    assert shares[0, 1] == pytest.approx(1 / 2)


def test_large_scores_neither_overflow_nor_lose_the_difference() -> None:
    dag = fp.PDAG.from_edges([("A", "B")])
    oracle = Table("AB", lambda node, into: 1e9 + (2.0 if (node, into) == (0, 0b10) else 0.0))
    assert shares_of(dag, oracle)[0, 1] == pytest.approx(1 / (1 + np.exp(-2)))
    oracle = Table("AB", lambda node, into: 1e5 if (node, into) == (0, 0b10) else 0.0)
    assert shares_of(dag, oracle)[0, 1] == 1.0


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 7), st.floats(0.5, 3), st.integers(0, 10**6))
def test_property_shares_are_those_of_the_listed_members(p: int, density: float, seed: int) -> None:
    dag = random_dag(np.random.default_rng(seed), p, density * p)
    regret = random_regrets(seed)
    graph = fp.cpdag(dag)
    expected = listed(graph, regret, unconstrained(dag.names)) * undirected(graph)
    assert shares_of(dag, Table(dag.names, regret)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_property_members_that_knowledge_excludes_have_no_weight(p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, p, 1.5 * p)
    # Knowledge that the DAG obeys: some of its arrows required, some reversed ones forbidden.
    required = [edge for edge in sorted(dag.directed) if rng.random() < 0.2]
    forbidden = [edge[::-1] for edge in sorted(dag.directed) if rng.random() < 0.2]
    constraints = fp.Knowledge(forbidden, required).constraints(dag.names)
    regret = random_regrets(seed)
    graph = fp.cpdag(dag)
    expected = listed(graph, regret, constraints) * undirected(graph)
    oracle = Table(dag.names, regret)
    assert shares_of(dag, oracle, constraints) == pytest.approx(expected, abs=1e-9)
    assert all(constraints(*query) for query in oracle.asked)  # what is excluded is not asked either


def test_one_round_for_all_components_and_none_if_all_is_known() -> None:
    dag = fp.PDAG.from_edges([("A", "B"), ("B", "C"), ("D", "E")])
    oracle = Table(dag.names, random_regrets(1))
    sets = ParentSets(oracle, 0.0, unconstrained(dag.names))
    parents = bits.columns(dag.adjacency)
    first = direction_shares(sets, parents, 0b11111)
    assert oracle.rounds == 1
    assert len(oracle.asked) == len(set(oracle.asked))
    assert (direction_shares(sets, parents, 0b11111) == first).all()
    assert oracle.rounds == 1


def test_only_components_that_matter_are_asked() -> None:
    dag = fp.PDAG.from_edges([("A", "B"), ("C", "D")])
    oracle = Table(dag.names, random_regrets(1))
    sets = ParentSets(oracle, 0.0, unconstrained(dag.names))
    shares = direction_shares(sets, bits.columns(dag.adjacency), 0b0001)
    assert {node for node, _ in oracle.asked} == {0, 1}
    assert shares[0, 1] + shares[1, 0] == pytest.approx(1)
    assert shares[2, 3] == shares[3, 2] == 0


def clique(p: int) -> fp.PDAG:
    names = [f"X{i}" for i in range(p)]
    return fp.PDAG.from_edges(list(combinations(names, 2)), names=names)


def test_a_component_with_too_many_parts_is_not_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its shares are zero, so that it stays undirected; other components are weighed."""
    monkeypatch.setattr(confidence, "MOST_PARTS", 14)
    four = clique(4)  # 2^4 - 1 parts
    both = fp.PDAG.from_edges([*four.directed, ("A", "B")], names=[*four.names, "A", "B"])
    oracle = Table(both.names, lambda node, into: 0.0)
    shares = shares_of(both, oracle)
    assert {node for node, _ in oracle.asked} == {4, 5}
    assert (shares[:4, :4] == 0).all()
    assert shares[4, 5] == 0.5
    monkeypatch.setattr(confidence, "MOST_PARTS", 15)
    assert shares_of(four, Table(four.names, lambda node, into: 0.0))[0, 1] == pytest.approx(0.5)


def test_up_to_twelve_variables_every_component_is_weighed() -> None:
    """The clique of 12 has 479,001,600 members, and 4095 parts."""
    twelve = clique(12)
    oracle = Table(twelve.names, lambda node, into: 0.0)
    sets = ParentSets(oracle, 0.0, unconstrained(twelve.names))
    everyone = (1 << 12) - 1
    sets.fetch((node, 0, everyone ^ 1 << node) for node in range(12))  # as phase 1 does
    shares = direction_shares(sets, bits.columns(twelve.adjacency), everyone)
    assert shares == pytest.approx(0.5 * (1 - np.eye(12)))
    assert oracle.rounds == 1


# -- what phase 2 takes -----------------------------------------------------------------------------------------------


def direction(graph: fp.PDAG, tail: str, head: str) -> Direction:
    return Direction(graph.index(tail), graph.index(head), 1.0, np.ones(1))


def test_a_direction_with_too_small_a_share_is_left_out() -> None:
    graph = fp.PDAG.from_edges(undirected=[("A", "B"), ("C", "D")])
    shares = np.zeros((4, 4))
    shares[0, 1], shares[2, 3] = CONFIDENCE, CONFIDENCE - 0.01
    found, taken = directed_as(graph, [direction(graph, "A", "B"), direction(graph, "C", "D")], shares)
    assert found == fp.PDAG.from_edges([("A", "B")], [("C", "D")])
    assert [(d.tail, d.head) for d in taken] == [(0, 1)]


def test_a_direction_left_out_does_not_come_back_by_meek() -> None:
    """A -> B and B -> C have large enough shares; A -> C, which follows, does not. So only the first is taken."""
    graph = fp.PDAG.from_edges(undirected=[("A", "B"), ("B", "C"), ("A", "C")])
    shares = np.zeros((3, 3))
    shares[0, 1], shares[1, 2], shares[0, 2] = 0.8, 0.8, 0.6
    both = [direction(graph, "A", "B"), direction(graph, "B", "C")]
    found, taken = directed_as(graph, both, shares)
    assert fp.meek_closure(found) == fp.PDAG.from_edges([("A", "B")], [("B", "C"), ("A", "C")])
    assert len(taken) == 1
    shares[0, 2] = 0.9
    assert len(directed_as(graph, both, shares)[1]) == 2


def test_what_is_directed_already_needs_no_share() -> None:
    graph = fp.PDAG.from_edges([("A", "C"), ("B", "C")], [("C", "D"), ("D", "E")])
    closed = fp.meek_closure(graph)
    assert closed.directed == {("A", "C"), ("B", "C"), ("C", "D"), ("D", "E")}
    two = fp.PDAG.from_edges([*closed.directed], [("F", "G")])
    shares = np.zeros((7, 7))
    shares[two.index("F"), two.index("G")] = 1.0
    assert len(directed_as(two, [direction(two, "F", "G")], shares)[1]) == 1


def recorded(result: fp.Result) -> Callable[[int, int], float]:
    """Regrets of all parent sets, added up over sites, from the transcript of a run up to 12 variables."""
    assert result.transcript is not None
    questions, answers = result.transcript.rounds[0]
    known = {
        (int(node), sum(1 << int(v) for t, v in enumerate(free) if at >> t & 1)): float(answer[:, row, at].sum())
        for block, answer in zip(questions, answers, strict=True)
        for row, (node, free) in enumerate(zip(block.nodes, block.free, strict=True))
        for at in range(1 << len(free))
    }
    return lambda node, into: known[node, into]


def test_every_new_direction_of_a_run_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those by Meek's rules too. Without shares there are more directions, and the wrong ones are most of the rest."""
    wrong = {"with": 0, "without": 0}
    for seed in range(12):
        sim = fp.simulate(6, 4, 300, shared_mechanisms=False, intervention="none", seed=seed)
        result = fp.IPERI().fit(sim.sites)
        shares = listed(result.cpdag, recorded(result), unconstrained(sim.dag.names))
        new = result.graph.adjacency & ~result.graph.adjacency.T & undirected(result.cpdag)
        assert (shares[new] >= CONFIDENCE - 1e-9).all()
        with monkeypatch.context() as patch:
            patch.setattr(confidence, "CONFIDENCE", 0.0)
            without = fp.IPERI().fit(sim.sites)
        assert without.cpdag == result.cpdag
        assert result.phi_cpdag.directed <= without.phi_cpdag.directed
        wrong["with"] += len(result.graph.directed - sim.dag.directed)
        wrong["without"] += len(without.graph.directed - sim.dag.directed)
    assert 2 * wrong["with"] < wrong["without"]


def test_shares_count_under_the_adaptive_mask_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for more than any direction can have: the default directs nothing by differences, the paper's mask as before.

    docs/explanation/paper-methods.md has the measurement: under consensus, shares made hardly any difference.
    """
    sim = fp.simulate(6, 4, 1000, shared_mechanisms=False, seed=2)
    methods = fp.IPERI(), fp.IPERI(masking="consensus", local="pc")
    default, paper = (method.fit(sim.sites) for method in methods)
    assert len(default.phi_cpdag.directed) > len(default.cpdag.directed)
    assert len(paper.phi_cpdag.directed) > len(paper.cpdag.directed)
    monkeypatch.setattr(confidence, "CONFIDENCE", 1.1)
    assert methods[0].fit(sim.sites).graph == default.cpdag
    assert methods[1].fit(sim.sites).graph == paper.graph


def test_no_more_than_one_extra_round() -> None:
    assert fp.IPERI().fit(fp.simulate(9, 4, 500, seed=1).sites).rounds == 2
    for seed in range(3):
        assert fp.IPERI().fit(fp.simulate(16, 4, 500, seed=seed).sites).rounds <= 10


@pytest.mark.parametrize("aggregate", ["sum", "worst"])
def test_in_the_population_nothing_is_left_out(aggregate: str) -> None:
    rng = np.random.default_rng(77)
    for _ in range(40):
        dag, clients, moments = random_case(rng)
        result = fp.IPERI(aggregate=aggregate).fit(oracle_sites(clients, moments))
        assert result.phi_cpdag == fp.phi_cpdag(dag, clients)
