"""CPDAGs, extensions, Meek's rules, d-separation, members: by hand, by property, and against other programs."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import dags, federations, pdags, permuted, random_dag, relabellings
from hypothesis import given
from hypothesis import strategies as st

import fedperi as fp


def brute_force_members(graph: fp.PDAG) -> set[fp.PDAG]:
    """Every orientation of the undirected edges, kept if acyclic and without a new v-structure."""
    lines = sorted(graph.undirected)
    found = set()
    for flips in product([False, True], repeat=len(lines)):
        arrows = [(b, a) if flip else (a, b) for (a, b), flip in zip(lines, flips, strict=True)]
        try:
            dag = fp.PDAG.from_edges([*graph.directed, *arrows], names=graph.names)
        except fp.InputError:
            continue
        if fp.v_structures(dag) == fp.v_structures(graph):
            found.add(dag)
    return found


# -- by hand -------------------------------------------------------------------------------------------------------


def test_v_structures_by_hand() -> None:
    g = fp.PDAG.from_edges([("A", "C"), ("B", "C"), ("C", "D"), ("E", "D"), ("A", "B")])
    assert fp.v_structures(g) == {("C", "D", "E")}


@pytest.mark.parametrize(
    ("before", "tail", "head", "rule"),
    [
        (fp.PDAG.from_edges([("c", "a")], [("a", "b")]), "a", "b", 1),
        (fp.PDAG.from_edges([("a", "c"), ("c", "b")], [("a", "b")]), "a", "b", 2),
        (fp.PDAG.from_edges([("c", "b"), ("d", "b")], [("a", "b"), ("a", "c"), ("a", "d")]), "a", "b", 3),
        (fp.PDAG.from_edges([("c", "d"), ("d", "b")], [("a", "b"), ("a", "c"), ("a", "d")]), "a", "b", 4),
    ],
)
def test_meek_rules_by_hand(before: fp.PDAG, tail: str, head: str, rule: int) -> None:
    steps = fp.meek_steps(before)
    assert (tail, head, rule) in {(s.tail, s.head, s.rule) for s in steps}
    assert (tail, head) in fp.meek_closure(before).directed


def test_meek_rule_2_witness() -> None:
    step = fp.meek_steps(fp.PDAG.from_edges([("a", "c"), ("c", "b")], [("a", "b")]))[0]
    assert step == fp.MeekStep("a", "b", 2, ("c",))


def test_no_consistent_extension_is_an_error_that_names_the_edges() -> None:
    square = fp.PDAG.from_edges(undirected=[("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])
    for refuse in (fp.consistent_extension, fp.count_members, lambda g: list(fp.members(g))):
        with pytest.raises(fp.InputError) as caught:
            refuse(square)
        assert str(caught.value) == (
            "the graph has no consistent extension: however the undirected edges A -- B, A -- D, B -- C, C -- D are "
            "directed, a cycle or a new v-structure appears"
        )
    assert not fp.is_cpdag(square)


def test_meek_closure_of_a_contradiction_is_an_error() -> None:
    # Rule 1 makes B -> C and C -> D..., which closes the cycle A -> B -> C -> D -> A.
    g = fp.PDAG.from_edges([("A", "B"), ("D", "A")], [("B", "C"), ("C", "D")])
    with pytest.raises(
        fp.InputError, match="no consistent extension: under Meek's rules the directed edges form a cycle"
    ):
        fp.meek_closure(g)


def test_a_dag_is_needed() -> None:
    line = fp.PDAG.from_edges(undirected=[("A", "B")])
    for refuse in (fp.cpdag, lambda g: fp.d_separated(g, "A", "B"), lambda g: fp.mutilate(g, "A")):
        with pytest.raises(fp.InputError, match="a DAG is needed, but A -- B is undirected"):
            refuse(line)


def test_d_separation_refuses_overlapping_sets() -> None:
    g = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    with pytest.raises(fp.InputError, match="'B' is in two of the sets"):
        fp.d_separated(g, "A", "B", ["B"])
    with pytest.raises(fp.InputError, match="unknown variable 'Z'"):
        fp.d_separated(g, "A", "Z")


def test_mutilate_refuses_edges_that_are_not_there() -> None:
    g = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    with pytest.raises(fp.InputError, match="the intervention on 'C' removes A -> C, which is not in the DAG"):
        fp.mutilate(g, {"C": ["A"]})
    assert fp.mutilate(g, ["B", "C"]).directed == set()
    assert fp.mutilate(g, {"B": None}).directed == {("B", "C")}


# -- properties ----------------------------------------------------------------------------------------------------


@given(dags())
def test_property_members_have_the_cpdag_and_are_all_of_them(dag: fp.PDAG) -> None:
    c = fp.cpdag(dag)
    assert fp.is_cpdag(c)
    members = list(fp.members(c))
    assert dag in members
    assert len(set(members)) == len(members) == fp.count_members(c)
    if len(c.undirected) <= 8:
        assert set(members) == brute_force_members(c)
    for member in members[:30]:
        assert fp.cpdag(member) == c


@given(pdags())
def test_property_extension_exists_exactly_if_there_is_a_member(g: fp.PDAG) -> None:
    if len(g.undirected) > 10:
        return
    truth = brute_force_members(g)
    if truth:
        assert fp.consistent_extension(g) in truth
        assert set(fp.members(g)) == truth
        assert fp.count_members(g) == len(truth)
    else:
        with pytest.raises(fp.InputError, match="no consistent extension"):
            fp.consistent_extension(g)


@given(pdags())
def test_property_closure_is_what_all_members_share(g: fp.PDAG) -> None:
    truth = brute_force_members(g) if len(g.undirected) <= 10 else set()
    if not truth:
        return
    shared = np.logical_or.reduce([m.adjacency for m in truth])
    assert fp.meek_closure(g) == fp.PDAG(shared, g.names)


@given(federations())
def test_property_closure_is_idempotent_sound_and_never_looser(federation: tuple[fp.PDAG, list[fp.PDAG]]) -> None:
    dag, clients = federation
    c, phi = fp.cpdag(dag), fp.phi_cpdag(dag, clients)
    closed = fp.meek_closure(phi)
    assert fp.meek_closure(closed) == closed
    assert fp.meek_closure(c) == c
    assert fp.includes(dag, closed)
    assert fp.includes(closed, phi)
    assert fp.includes(phi, c)
    assert closed.skeleton == dag.skeleton
    assert fp.v_structures(fp.consistent_extension(closed)) == fp.v_structures(dag)


@given(dags(2, 7), st.data())
def test_property_relabelling_equivariance(dag: fp.PDAG, data: st.DataObject) -> None:
    order = data.draw(relabellings(dag.names))
    moved = permuted(dag, order)
    names = dict(zip(dag.names, order, strict=True))
    target = data.draw(st.sampled_from(dag.names))
    assert fp.cpdag(moved) == permuted(fp.cpdag(dag), order)
    assert fp.mutilate(moved, names[target]) == permuted(fp.mutilate(dag, target), order)
    clients, moved_clients = [fp.mutilate(dag, target)], [fp.mutilate(moved, names[target])]
    phi, moved_phi = fp.phi_cpdag(dag, clients), fp.phi_cpdag(moved, moved_clients)
    assert moved_phi == permuted(phi, order)
    assert fp.meek_closure(moved_phi) == permuted(fp.meek_closure(phi), order)
    assert fp.count_members(moved_phi) == fp.count_members(phi)
    assert fp.i_cpdag(moved, [[names[target]]]) == permuted(fp.i_cpdag(dag, [[target]]), order)
    assert fp.shd(moved, moved_phi) == fp.shd(dag, phi)
    assert {(a, c, b) for a, c, b in fp.v_structures(moved)} | {(b, c, a) for a, c, b in fp.v_structures(moved)} == {
        (names[a], names[c], names[b]) for a, c, b in fp.v_structures(dag)
    } | {(names[b], names[c], names[a]) for a, c, b in fp.v_structures(dag)}


@given(dags(2, 7), dags(2, 7))
def test_property_no_function_changes_its_argument(first: fp.PDAG, second: fp.PDAG) -> None:
    second = second if second.names == first.names else first
    before = first.adjacency.copy(), second.adjacency.copy()
    c = fp.cpdag(first)
    fp.meek_closure(c), fp.consistent_extension(c), list(fp.members(c)), fp.count_members(c)
    fp.mu(c, second), fp.nu(c, second), fp.includes(c, second), fp.shd(c, second), fp.f1(c, second)
    fp.mutilate(first, first.names[0]), fp.phi_cpdag(first, [first]), fp.v_structures(first)
    fp.i_cpdag(first, [[first.names[0]]]), fp.d_separated(first, first.names[0], first.names[1])
    assert np.array_equal(first.adjacency, before[0])
    assert np.array_equal(second.adjacency, before[1])


# -- against other programs ----------------------------------------------------------------------------------------


def test_cpdag_agrees_with_ges_and_causallearn() -> None:
    import ges.utils
    from causallearn.graph.Dag import Dag
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.utils.DAG2CPDAG import dag2cpdag

    rng = np.random.default_rng(2)
    for _ in range(500):
        p = int(rng.integers(1, 31))
        dag = random_dag(rng, p, p * rng.uniform(0.3, 2))
        ours = fp.cpdag(dag)
        assert np.array_equal(ours.adjacency, ges.utils.dag_to_cpdag(dag.adjacency.astype(int)).astype(bool))
        nodes = [GraphNode(name) for name in dag.names]
        other = Dag(nodes)
        for a, b in dag.directed:
            other.add_directed_edge(nodes[dag.index(a)], nodes[dag.index(b)])
        # Their convention: graph[j, i] = 1 and graph[i, j] = -1 is i -> j; -1 twice is undirected.
        theirs = dag2cpdag(other).graph
        arrows = (theirs == -1) & (theirs.T == 1)
        lines = (theirs == -1) & (theirs.T == -1)
        assert np.array_equal(ours.adjacency, arrows | lines)


def test_extension_agrees_with_ges() -> None:
    import ges.utils

    rng = np.random.default_rng(3)
    for _ in range(200):
        p = int(rng.integers(2, 16))
        c = fp.cpdag(random_dag(rng, p, p * 1.2))
        theirs = fp.PDAG(ges.utils.pdag_to_dag(c.adjacency.astype(int)))
        assert fp.cpdag(theirs) == fp.cpdag(fp.consistent_extension(c)) == c


def test_d_separation_agrees_with_networkx() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        p = int(rng.integers(2, 12))
        dag = random_dag(rng, p, p * rng.uniform(0.5, 1.5))
        other = nx.DiGraph()
        other.add_nodes_from(dag.names)
        other.add_edges_from(dag.directed)
        for _ in range(5):
            labels = rng.integers(0, 4, p)
            x, y, z = ({n for n, k in zip(dag.names, labels, strict=True) if k == s} for s in range(3))
            if x and y:
                assert fp.d_separated(dag, x, y, z) == nx.is_d_separator(other, x, y, z)


def test_equivalent_dags_have_the_same_d_separations() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        dag = random_dag(rng, 5, 5)
        for member in list(fp.members(fp.cpdag(dag)))[:6]:
            for a, b in combinations(dag.names, 2):
                rest = [n for n in dag.names if n not in (a, b)]
                for size in range(4):
                    for z in combinations(rest, size):
                        assert fp.d_separated(dag, a, b, z) == fp.d_separated(member, a, b, z)
