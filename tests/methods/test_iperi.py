"""I-PERI end to end: what theory promises on populations, what must not matter, and what samples of all kinds give.

`test_exactness.py` has the theorem itself on many random cases; here are its edges: other sites, other orders, more
variables, declared targets, missing observational sites, and tables.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.graphs import permuted, random_dag
from helpers.oracles import NOMINAL, intervened, oracle_sites, random_case
from helpers.refusals import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.coordinator.coordinator import Coordinator
from fedperi.methods.federate import as_transport
from fedperi.protocol.messages import Families
from fedperi.simulation import implied_covariance

PAPER: dict[str, Any] = {"masking": "consensus", "aggregate": "worst"}
SETTINGS: list[dict[str, Any]] = [{}, {"aggregate": "worst"}, PAPER, {"masking": "consensus"}]


def name_of(options: dict[str, Any]) -> str:
    return "-".join(options.values()) or "default"


def covariances(rng: np.random.Generator, clients: list[fp.PDAG]) -> list[np.ndarray]:
    p = len(clients[0].names)
    weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p))
    return [implied_covariance(weights * c.adjacency, np.ones(p)) for c in clients]


def populations(
    rng: np.random.Generator, clients: list[fp.PDAG], *, told: bool = False, targets: Any = None
) -> list[fp.OracleSite]:
    return oracle_sites(clients, covariances(rng, clients), told=told, targets=targets)


# -- populations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", SETTINGS, ids=name_of)
def test_all_kinds_of_sites_at_once(options: dict[str, Any]) -> None:
    """Two to six sites, some untouched, some changed in all their weights, some with edges removed."""
    rng = np.random.default_rng(11)
    for case in range(25):
        p = int(rng.integers(3, 8))
        dag = random_dag(rng, p, rng.uniform(0.5, 2) * p)
        clients = [dag, *(dag if rng.random() < 0.3 else intervened(rng, dag) for _ in range(rng.integers(1, 6)))]
        moments = [covariances(rng, [client])[0] for client in clients]  # new weights at every site
        result = fp.IPERI(**options).fit(oracle_sites(clients, moments, told=case % 2 == 0))
        assert result.cpdag == fp.cpdag(dag)
        assert result.phi_cpdag == fp.phi_cpdag(dag, clients)
        assert result.graph == fp.meek_closure(result.phi_cpdag)
        assert result.graph.directed <= dag.directed


@pytest.mark.parametrize("options", SETTINGS[:3], ids=name_of)
def test_exact_beyond_the_exact_search(options: dict[str, Any]) -> None:
    """More than twelve variables: candidates are screened, orders are searched."""
    rng = np.random.default_rng(12)
    for _ in range(4):
        dag, clients, moments = random_case(rng, 13, 16)
        result = fp.IPERI(**options).fit(oracle_sites(clients, moments, told=True))
        assert result.cpdag == fp.cpdag(dag)
        assert result.phi_cpdag == fp.phi_cpdag(dag, clients)


def test_regrets_are_small_where_the_sites_agree() -> None:
    rng = np.random.default_rng(13)
    for _ in range(20):
        dag, clients, moments = random_case(rng)
        paper = fp.IPERI(**PAPER).fit(oracle_sites(clients, moments, told=True))
        assert max(map(abs, paper.regrets.values())) < 1e-2  # zero is the certificate
        ours = fp.IPERI().fit(oracle_sites(clients, moments))
        assert abs(ours.regrets["site 0"]) < 1e-2
        assert max(ours.regrets.values()) <= 2 * 3 + 1e-2  # two interventions at most, each at its price
        assert ours.graph == paper.graph
        assert fp.includes(dag, ours.graph)


def test_peri_is_phase_1_without_a_mask() -> None:
    rng = np.random.default_rng(14)
    for _ in range(15):
        dag = random_dag(rng, 5, 6)
        given_ = populations(rng, [dag, dag])
        for method in (fp.PERI(), fp.IPERI(masking="none")):
            result = method.fit(given_)
            assert result.graph == result.phi_cpdag == result.cpdag == fp.cpdag(dag)
    assert fp.PERI().masking == "none"
    assert fp.PERI().aggregate == "worst"


def test_without_a_mask_nothing_is_directed_by_differences() -> None:
    """An arbitrary member of the class must not decide what a site's own graph looks like."""
    rng = np.random.default_rng(15)
    for seed in range(20):
        sim = fp.simulate(4, 3, 200, seed=seed)
        result = fp.IPERI(masking="none").fit(sim.sites)
        assert result.graph == result.cpdag
        order = rng.permutation(sim.dag.names).tolist()
        assert fp.IPERI(masking="none").fit([table[order] for table in sim.sites]).graph == result.graph


# -- no observational site --------------------------------------------------------------------------------------------


def meet_somewhere(dag: fp.PDAG, clients: list[fp.PDAG]) -> bool:
    """Whether every edge, and every two edges with a common end, are left together at some site."""
    edges = sorted(dag.directed)
    alone = all(any(edge in client.directed for client in clients) for edge in edges)
    return alone and all(
        any({first, second} <= client.directed for client in clients)
        for first, second in combinations(edges, 2)
        if set(first) & set(second)
    )


@pytest.mark.parametrize("options", SETTINGS, ids=name_of)
def test_exact_without_an_observational_site_if_neighbouring_edges_meet(options: dict[str, Any]) -> None:
    """Then every unshielded triple, v-structure or not, is visible at some site: the class is C(G)."""
    rng = np.random.default_rng(16)
    tried = 0
    while tried < 25:
        p = int(rng.integers(3, 7))
        dag = random_dag(rng, p, 1.2 * p)
        clients = [intervened(rng, dag) for _ in range(3)]
        if dag in clients or not meet_somewhere(dag, clients):
            continue
        tried += 1
        result = fp.IPERI(**options).fit(populations(rng, clients, told=True))
        assert result.cpdag == fp.cpdag(dag)
        assert result.phi_cpdag == fp.phi_cpdag(dag, clients)


def test_three_sites_with_disjoint_targets_are_as_good() -> None:
    """An edge is lost at one site at most, so that any two edges are both present at some site."""
    rng = np.random.default_rng(17)
    for _ in range(20):
        dag = random_dag(rng, 6, 9)
        able = rng.permutation([name for name in dag.names if dag.parents(name)]).tolist()
        if len(able) < 3:
            continue
        clients = [fp.mutilate(dag, [name]) for name in able[:3]]
        assert meet_somewhere(dag, clients)
        for options in SETTINGS[:3]:
            result = fp.IPERI(**options).fit(populations(rng, clients, told=True))
            assert result.phi_cpdag == fp.phi_cpdag(dag, clients)


CHAIN = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
COLLIDER = fp.PDAG.from_edges([("A", "B"), ("C", "B")], names=["A", "B", "C"])


def test_two_sites_that_never_show_two_edges_together() -> None:
    """Chain or collider? No data can decide. The default takes the smaller intervention; `consensus` cannot choose."""
    rng = np.random.default_rng(18)
    clients = [fp.mutilate(CHAIN, "B"), fp.mutilate(CHAIN, "C")]
    assert not meet_somewhere(CHAIN, clients)
    for aggregate in ("sum", "worst"):
        assert fp.IPERI(aggregate=aggregate).fit(populations(rng, clients)).graph == fp.cpdag(CHAIN)
    paper = fp.IPERI(**PAPER).fit(populations(rng, clients, told=True))
    assert paper.graph.skeleton == CHAIN.skeleton
    assert max(map(abs, paper.regrets.values())) < 1e-2  # whatever it says, no site objects
    # Partial interventions: the same sites come from a collider, and the chain is the simpler story, but false.
    partial = [fp.mutilate(COLLIDER, {"B": ["A"]}), fp.mutilate(COLLIDER, {"B": ["C"]})]
    assert fp.IPERI().fit(populations(rng, partial)).graph == fp.cpdag(CHAIN)


# -- declared targets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", SETTINGS, ids=name_of)
def test_declared_targets_of_any_variables(options: dict[str, Any]) -> None:
    """Single and double targets, variables without causes included: what is set from outside is a cause."""
    rng = np.random.default_rng(19)
    for _ in range(20):
        p = int(rng.integers(2, 7))
        dag = random_dag(rng, p, 1.3 * p)
        targets = [[], *(rng.permutation(dag.names)[: int(rng.integers(1, 3))].tolist() for _ in range(2))]
        clients = [fp.mutilate(dag, target) for target in targets]
        result = fp.IPERI(**options).fit(populations(rng, clients, told=True, targets=targets))
        assert result.graph == fp.i_cpdag(dag, targets)
        assert result.cpdag == fp.cpdag(dag)


def test_by_hand_a_cause_that_is_set_stays_a_cause() -> None:
    rng = np.random.default_rng(20)
    for dag in (fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("B", "A")], names=["A", "B"])):
        for target in ("A", "B"):
            given_ = populations(rng, [dag, fp.mutilate(dag, target)], targets=[[], [target]])
            assert fp.IPERI().fit(given_).graph == dag
            assert fp.PERI().fit(given_).graph == fp.cpdag(dag)  # which looks at no target
        assert fp.IPERI().fit(populations(rng, [dag, dag], targets=[[], []])).graph == fp.cpdag(dag)


@pytest.mark.parametrize("options", SETTINGS, ids=name_of)
def test_some_declare_and_some_do_not(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(21)
    tighter = 0
    for _ in range(25):
        p = int(rng.integers(3, 7))
        dag = random_dag(rng, p, 1.3 * p)
        targets = [[], *([str(t)] for t in rng.choice(dag.names, 3))]
        clients = [fp.mutilate(dag, target) for target in targets]
        declared = [target if rng.random() < 0.5 else None for target in targets]
        result = fp.IPERI(**options).fit(populations(rng, clients, told=True, targets=declared))
        closed = fp.meek_closure(fp.phi_cpdag(dag, clients))
        assert closed.directed <= result.graph.directed <= dag.directed
        tighter += closed != result.graph
    assert tighter > 0


def test_false_declarations_end_in_a_graph_too() -> None:
    """Sites may contradict each other and the common DAG; there is always a graph with a member."""
    rng = np.random.default_rng(22)
    for seed in range(40):
        sim = fp.simulate(int(rng.integers(2, 7)), 3, 40, seed=seed)
        given_ = []
        for k, table in enumerate(sim.sites):
            some = rng.permutation(sim.dag.names)[: int(rng.integers(0, 3))].tolist()
            given_.append(fp.Site(table, name=f"s{k}", targets=some if rng.random() < 0.7 else None))
        for options in (SETTINGS[seed % 4], {"masking": "none"}):
            result = fp.IPERI(**options).fit(given_)
            assert fp.includes(result.dag, result.graph)
            assert result.graph == fp.meek_closure(result.graph)


# -- what must not matter ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [*SETTINGS, {"masking": "none"}], ids=name_of)
@pytest.mark.parametrize("p", [6, 14])
def test_the_order_of_sites_does_not_matter_to_the_last_bit(options: dict[str, Any], p: int) -> None:
    sim = fp.simulate(p, 4, 150, shared_mechanisms=False, seed=23)
    named = {f"h{k}": table for k, table in enumerate(sim.sites)}
    first = fp.IPERI(**options).fit(named)
    for turn in (1, 2, 3):
        keys = list(named)[turn:] + list(named)[:turn]
        other = fp.IPERI(**options).fit({key: named[key] for key in keys})
        for graph in ("graph", "phi_cpdag", "cpdag", "dag"):
            assert getattr(other, graph) == getattr(first, graph)
        assert {key: other.regrets[key] for key in first.regrets} == first.regrets


@given(st.integers(3, 10), st.integers(0, 10**6))
@settings(max_examples=25)
def test_property_reordering_the_columns_changes_nothing(p: int, seed: int) -> None:
    sim = fp.simulate(p, 3, 200, shared_mechanisms=False, seed=seed)
    order = np.random.default_rng(seed).permutation(sim.dag.names).tolist()
    first = fp.IPERI().fit(sim.sites)
    second = fp.IPERI().fit([table[order] for table in sim.sites])
    assert second.graph.names == tuple(order)
    assert (second.graph, second.phi_cpdag, second.cpdag) == (first.graph, first.phi_cpdag, first.cpdag)


@given(st.integers(2, 8), st.integers(0, 10**6))
@settings(max_examples=20)
def test_property_relabelling_the_variables_relabels_the_result(p: int, seed: int) -> None:
    sim = fp.simulate(p, 3, 200, seed=seed)
    names = np.random.default_rng(seed).permutation(sim.dag.names).tolist()
    first = fp.IPERI().fit(sim.sites)
    second = fp.IPERI().fit([table.set_axis(names, axis=1) for table in sim.sites])
    assert second.graph == permuted(first.graph, names)
    assert second.phi_cpdag == permuted(first.phi_cpdag, names)


@pytest.mark.parametrize("options", SETTINGS, ids=name_of)
def test_the_order_of_variables_does_not_matter_to_populations(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(24)
    for _ in range(15):
        _, clients, moments = random_case(rng, 3, 7)
        at = rng.permutation(len(clients[0].names))
        names = [clients[0].names[i] for i in at]
        moved = [fp.OracleSite(m[np.ix_(at, at)], NOMINAL, names, name=f"site {k}") for k, m in enumerate(moments)]
        first, second = (fp.IPERI(**options).fit(s) for s in (oracle_sites(clients, moments), moved))
        assert (first.graph, first.cpdag) == (second.graph, second.cpdag)


@pytest.mark.parametrize("options", [{}, PAPER, {"data": "nonlinear"}], ids=name_of)
def test_each_site_may_list_the_columns_in_its_own_order(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(25)
    sim = fp.simulate(5, 3, 300, seed=25)
    shuffled = [sim.sites[0], *(table[rng.permutation(sim.dag.names).tolist()] for table in sim.sites[1:])]
    first, second = fp.IPERI(**options).fit(sim.sites), fp.IPERI(**options).fit(shuffled)
    assert second.graph == first.graph
    assert second.regrets == pytest.approx(first.regrets, abs=1e-6)
    words = [table.gt(0).replace({True: "high", False: "low"}) for table in shuffled]
    ordered = [table[list(sim.dag.names)] for table in words]
    assert fp.IPERI().fit(words).graph == fp.IPERI().fit(ordered).graph


def test_copies_of_one_site() -> None:
    for seed in range(5):
        table = fp.simulate(6, 1, 300, seed=seed).sites[0]
        for count in (1, 4):
            # The paper's variant finds what the site finds alone, however often it is there.
            assert fp.IPERI(masking="consensus").fit([table] * count).graph == fp.ges(table)
        # The default adds a price of half the logarithm of all rows to each edge. A single site pays it alone, so that
        # a weak edge is lost; of many copies each pays little, and they find the best graph of the site's BIC.
        best = fp.IPERI(masking="none", aggregate="sum").fit([table]).graph
        assert fp.IPERI().fit([table] * 40).graph == best
        alone = fp.IPERI().fit([table])
        assert alone.graph == alone.cpdag
        assert len(alone.graph) <= len(best)


def test_the_same_seed_gives_the_same_run() -> None:
    sim = fp.simulate(16, 3, 150, seed=26)
    first, second = (fp.IPERI(seed=3).fit(sim.sites) for _ in range(2))
    assert first.transcript is not None
    assert second.transcript is not None
    assert first.transcript.to_json() == second.transcript.to_json()
    assert first.to_json() == second.to_json()


def test_small_numbers_of_variables() -> None:
    table = fp.simulate(3, 1, 100, seed=1).sites[0]
    for options in SETTINGS:
        lonely = fp.IPERI(**options).fit([table[["X0"]], table[["X0"]]])
        assert lonely.graph == fp.PDAG([[0]], ["X0"])
        assert lonely.edges == ()
        assert fp.IPERI(**options).fit([table[["X0", "X1"]]]).graph.names == ("X0", "X1")


def test_nothing_is_written_into_what_is_given() -> None:
    sim = fp.simulate(4, 2, 100, seed=1)
    copies = [table.copy() for table in sim.sites]
    fp.IPERI(bootstrap=1).fit(sim.sites)
    for table, copy in zip(sim.sites, copies, strict=True):
        pd.testing.assert_frame_equal(table, copy)


# -- samples ----------------------------------------------------------------------------------------------------------


def objective(sites: Any, dag: fp.PDAG) -> float:
    """The objective of the default run for one DAG: regrets plus the penalty on edges."""
    coordinator = Coordinator(as_transport(sites), fp.IPERI()._settings())
    questions = []
    for node, name in enumerate(dag.names):
        inside = np.array([[dag.index(parent) for parent in dag.parents(name)]], dtype=np.int64).reshape(1, -1)
        questions.append(Families(np.array([node]), inside, np.zeros((1, 0), dtype=np.int64)))
    rows = sum(site.n for site in coordinator.sites)
    return sum(float(answer.sum()) for answer in coordinator.ask(questions)) + len(dag) * float(np.log(rows)) / 2


@pytest.mark.parametrize("p", [8, 15, 20])
def test_the_search_finds_no_worse_than_the_truth(p: int) -> None:
    for seed in range(4):
        sim = fp.simulate(p, 4, 300, shared_mechanisms=False, seed=seed)
        result = fp.IPERI().fit(sim.sites)
        assert result.history[-1].objective <= objective(sim.sites, sim.dag) + 1e-6
        assert result.rounds <= 10


def test_the_objective_in_the_history_is_that_of_the_dag() -> None:
    for p in (5, 14):
        sim = fp.simulate(p, 3, 200, seed=p)
        result = fp.IPERI().fit(sim.sites)
        assert result.history[-1].objective == pytest.approx(objective(sim.sites, result.dag))


def test_twenty_variables_in_ten_rounds() -> None:
    result = fp.IPERI().fit(fp.simulate(20, 3, 500, seed=27).sites)
    assert result.rounds <= 10
    assert result.transcript is not None
    assert len(result.transcript.rounds) == result.rounds


def test_large_samples_with_strong_edges_give_the_population_graph() -> None:
    right = 0
    for seed in range(10):
        sim = fp.simulate(6, 4, 20000, weights=(0.4, 1.0), seed=seed)
        right += fp.IPERI().fit(sim.sites).phi_cpdag == sim.phi_cpdag
    assert right >= 9


def noisy(rng: np.random.Generator, label: np.ndarray, flip: float) -> np.ndarray:
    return np.where(rng.random(len(label)) < flip, ~label, label)


def test_categories() -> None:
    def table(rng: np.random.Generator) -> pd.DataFrame:
        a, b = rng.random((2, 1500)) < 0.5
        c = noisy(rng, a & b, 0.1)
        return pd.DataFrame({"a": a, "b": b, "c": c, "d": noisy(rng, c, 0.1)}).replace({True: "yes", False: "no"})

    sites = [table(np.random.default_rng(seed)) for seed in range(3)]
    expected = fp.PDAG.from_edges([("a", "c"), ("b", "c"), ("c", "d")], names=list("abcd"))
    for options in ({}, PAPER, {**PAPER, "local": "pc"}, {"data": "mixed"}):
        assert fp.IPERI(**options).fit(sites).graph == expected


def test_an_intervention_on_categories() -> None:
    def table(rng: np.random.Generator, cut: bool) -> pd.DataFrame:
        a = rng.random(4000) < 0.5
        b = rng.random(4000) < 0.5 if cut else noisy(rng, a, 0.2)
        c = rng.random(4000) < 0.15 + 0.3 * a + 0.4 * b
        return pd.DataFrame({"a": a, "b": b, "c": c}).replace({True: "yes", False: "no"})

    sites = [table(np.random.default_rng(seed), seed == 2) for seed in range(3)]
    assert fp.IPERI().fit(sites).graph == fp.PDAG.from_edges([("a", "c"), ("b", "c")], [("a", "b")])


def test_mixed_columns() -> None:
    def table(rng: np.random.Generator) -> pd.DataFrame:
        dose, age = rng.normal(size=(2, 1500))
        ill = dose + age + rng.logistic(size=1500) * 0.5 > 0
        stay = 2.0 * ill + rng.normal(size=1500)
        return pd.DataFrame({"dose": dose, "age": age, "ill": np.where(ill, "yes", "no"), "stay": stay})

    sites = [table(np.random.default_rng(seed)) for seed in range(3)]
    expected = fp.PDAG.from_edges([("dose", "ill"), ("age", "ill"), ("ill", "stay")])
    for options in ({}, PAPER):
        assert fp.IPERI(**options).fit(sites).graph == expected


def test_curves() -> None:
    def table(rng: np.random.Generator) -> pd.DataFrame:
        a, b, noise = rng.normal(size=(3, 800))
        return pd.DataFrame({"a": a, "b": b, "c": a**2 + b**2 + 0.5 * noise})

    sites = [table(np.random.default_rng(seed)) for seed in range(2)]
    assert len(fp.IPERI().fit(sites).graph) == 0  # no line, no edge
    assert fp.IPERI(data="nonlinear").fit(sites).graph == fp.PDAG.from_edges([("a", "c"), ("b", "c")])


def test_simulated_curves_and_codes_run_through() -> None:
    curves = fp.simulate(5, 3, 400, mechanism="nonlinear", seed=2)
    assert fp.skeleton_f1(fp.IPERI(data="nonlinear").fit(curves.sites).graph, curves.dag) > 0.6
    codes = fp.simulate(5, 3, 1500, discretize=3, weights=(0.6, 1.0), seed=2)
    assert fp.skeleton_f1(fp.IPERI().fit(codes.sites).graph, codes.dag) > 0.6


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("masking", "all", "masking must be one of none, consensus, adaptive; not 'all'"),
        ("aggregate", "mean", "aggregate must be one of sum, worst; not 'mean'"),
        ("local", "fci", "local must be one of ges, pc; not 'fci'"),
        ("local", 3, "local must be one of ges, pc; not 3"),
        ("data", "text", "data must be one of auto, linear, nonlinear, discrete, mixed; not 'text'"),
        ("missing", "impute", "missing must be one of error, drop; not 'impute'"),
        ("alpha", 1, "alpha must lie between 0 and 1, not 1"),
        ("alpha", "small", "alpha must lie between 0 and 1, not 'small'"),
        ("penalty", -1, "penalty must be a finite number, zero or positive, not -1"),
        ("penalty", float("inf"), "penalty must be a finite number, zero or positive, not inf"),
        ("penalty", float("nan"), "penalty must be a finite number, zero or positive, not nan"),
        ("penalty", "high", "penalty must be a finite number, zero or positive, not 'high'"),
        ("seed", -1, "seed must be a whole number, zero or positive, not -1"),
        ("seed", 1.5, "seed must be a whole number, zero or positive, not 1.5"),
        ("seed", True, "seed must be a whole number, zero or positive, not True"),
        ("bootstrap", -1, "bootstrap must be a whole number, zero or positive, not -1"),
        ("knowledge", 3, "knowledge is a fedperi.Knowledge or the path of a file, not int"),
    ],
)
@pytest.mark.parametrize("method", [fp.IPERI, fp.PERI])
def test_options_out_of_range(method: Any, option: str, value: Any, message: str) -> None:
    assert_refused(lambda: method(**{option: value}), message)
