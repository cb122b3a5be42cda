"""The value type: what it holds, that nothing changes it, and what it refuses."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from helpers.graphs import dags, pdags
from hypothesis import given
from hypothesis import strategies as st

import fedperi as fp


def test_edge_convention_by_hand() -> None:
    g = fp.PDAG([[0, 1, 0], [0, 0, 1], [0, 1, 0]], ["A", "B", "C"])
    assert g.directed == {("A", "B")}
    assert g.undirected == {("B", "C")}
    assert g.parents("B") == ("A",)
    assert g.children("A") == ("B",)
    assert g.neighbors("B") == ("C",)
    assert g.adjacent("B") == ("A", "C")
    assert len(g) == 2
    assert not g.is_dag
    assert g.skeleton.undirected == {("A", "B"), ("B", "C")}


def test_equality_ignores_the_order_of_variables() -> None:
    g = fp.PDAG.from_edges([("A", "B")], [("B", "C")])
    h = fp.PDAG.from_edges([("A", "B")], [("C", "B")], names=["C", "B", "A"])
    assert g == h
    assert hash(g) == hash(h)
    assert g != fp.PDAG.from_edges([("B", "A")], [("B", "C")])
    assert g != fp.PDAG.from_edges([("A", "B")], [("B", "D")])
    assert g != "A -> B"


def test_nothing_changes_a_pdag() -> None:
    matrix = np.array([[False, True], [False, False]])
    g = fp.PDAG(matrix)
    matrix[0, 1] = False
    assert g.directed == {("X0", "X1")}
    with pytest.raises(ValueError, match="read-only"):
        g.adjacency[0, 1] = False
    with pytest.raises(ValueError, match="WRITEABLE"):
        g.adjacency.setflags(write=True)
    with pytest.raises(AttributeError, match="immutable"):
        g.names = ("a", "b")  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del g._names


@given(pdags())
def test_property_copies_are_equal(g: fp.PDAG) -> None:
    assert pickle.loads(pickle.dumps(g)) == g
    assert fp.PDAG.from_edges(g.directed, g.undirected, g.names) == g
    assert fp.PDAG(g.adjacency, g.names) == g


@given(pdags(), st.randoms())
def test_property_reordering_keeps_the_graph(g: fp.PDAG, random: object) -> None:
    names = list(g.names)
    random.shuffle(names)  # type: ignore[attr-defined]
    h = g.reordered(names)
    assert h == g
    assert h.names == tuple(names)
    assert hash(h) == hash(g)
    assert h.directed == g.directed


def test_renamed() -> None:
    g = fp.PDAG.from_edges([("A", "B")]).renamed({"A": "age", "B": "bmi"})
    assert g.directed == {("age", "bmi")}


def test_graphs_without_edges_or_variables() -> None:
    empty = fp.PDAG(np.zeros((0, 0)))
    assert empty.names == ()
    assert fp.cpdag(empty) == empty
    assert fp.consistent_extension(empty) == empty
    assert fp.meek_closure(empty) == empty
    assert list(fp.members(empty)) == [empty]
    assert fp.count_members(empty) == 1
    assert fp.phi_cpdag(empty, []) == empty
    alone = fp.PDAG([[0]], ["A"])
    assert fp.cpdag(alone) == alone
    assert fp.shd(alone, alone) == 0
    assert fp.f1(alone, alone) == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: fp.PDAG.from_edges([("A", "B"), ("B", "C"), ("C", "A")]),
            "the directed edges form a cycle: A -> B -> C -> A; a causal graph must have none",
        ),
        (
            lambda: fp.PDAG.from_edges([("A", "B"), ("B", "A")]),
            "edges A -> B and B -> A are both given: list the pair once, or as undirected",
        ),
        (
            lambda: fp.PDAG.from_edges([("A", "B")], [("B", "A")]),
            "B and A are given both a directed and an undirected edge: keep one",
        ),
        (lambda: fp.PDAG.from_edges([("A", "A")]), "edge A -> A joins a variable with itself"),
        (
            lambda: fp.PDAG.from_edges([("A", "Z")], names=["A", "B"]),
            "edge A -> Z uses unknown variable 'Z'; known: A, B",
        ),
        (lambda: fp.PDAG.from_edges(["AB"]), "an edge is a pair of names, not 'AB'"),  # type: ignore[list-item]
        (
            lambda: fp.PDAG([[0, 1]]),
            "adjacency must be a square matrix, one row and one column per variable; got 1 x 2",
        ),
        (lambda: fp.PDAG([[0, 1], [0]]), "adjacency is not a matrix: its rows have different lengths"),
        (lambda: fp.PDAG(7), "adjacency must be a square matrix, one row and one column per variable; got a scalar"),
        (
            lambda: fp.PDAG([[0, 0.7], [0, 0]]),
            "adjacency[0, 1] is 0.7; only 0 and 1 are edges (threshold weights first, e.g. abs(w) > 0.1; "
            "for other tools' codes see PDAG.from_causallearn and its neighbours)",
        ),
        (lambda: fp.PDAG([[0, np.nan], [0, 0]]), "adjacency[0, 1] is nan"),
        (lambda: fp.PDAG([["a"]]), "adjacency must hold booleans or 0 and 1, not <U1 values"),
        (lambda: fp.PDAG([[1]]), "adjacency[0, 0] is set: a variable cannot have an edge to itself"),
        (lambda: fp.PDAG([[0]], ["A", "B"]), "2 names for 1 variables"),
        (
            lambda: fp.PDAG(np.zeros((2, 2)), ["A", "A"]),
            "duplicate variable name 'A': names must be unique",
        ),
        (lambda: fp.PDAG([[0]], [3]), "names must be non-empty strings; position 0 holds 3"),  # type: ignore[list-item]
        (lambda: fp.PDAG([[0]], "A"), "names must be a list of strings, not 'A'"),
        (lambda: fp.PDAG([[0]], 5), "names must be a list of strings, not 5"),
        (lambda: fp.PDAG.from_edges([("A", "B")], names="AB"), "names must be a list of strings, not 'AB'"),
        (lambda: fp.PDAG.from_edges([5]), "an edge is a pair of names, not 5"),  # type: ignore[list-item]
        (
            lambda: fp.PDAG.from_edges([(["A"], "B")]),  # type: ignore[list-item]
            "an edge is a pair of names; (['A'], 'B') holds ['A'], which is not a string",
        ),
        (lambda: fp.PDAG([[0]], ["A"]).parents("B"), "unknown variable 'B'; known: A"),
        (lambda: fp.PDAG([[0]], ["A"]).renamed({"B": "C"}), "unknown variable 'B'; known: A"),
        (
            lambda: fp.mu(fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("A", "C")])),
            "the graphs are over different variables (only in the first: B; only in the second: C)",
        ),
    ],
)
def test_bad_graphs_get_one_clear_error(make: object, message: str) -> None:
    with pytest.raises(fp.InputError) as caught:
        make()
    assert message in str(caught.value)


@given(dags(3, 7), st.data())
def test_property_a_cycle_is_named(dag: fp.PDAG, data: st.DataObject) -> None:
    """Close a path of a random DAG; the message must name a real cycle of the resulting graph."""
    order = [n for n in dag.names if dag.children(n)]
    if not order:
        return
    start = data.draw(st.sampled_from(order))
    path = [start]
    while dag.children(path[-1]) and len(path) < 4:
        path.append(dag.children(path[-1])[0])
    if len(path) < 3 or path[-1] in dag.adjacent(start):
        return
    matrix = np.array(dag.adjacency)
    matrix[dag.index(path[-1]), dag.index(start)] = True
    with pytest.raises(fp.InputError) as caught:
        fp.PDAG(matrix)
    cycle = str(caught.value).split("cycle: ")[1].split(";")[0].split(" -> ")
    assert cycle[0] == cycle[-1]
    assert len(cycle) > 2
    assert all(matrix[dag.index(a), dag.index(b)] for a, b in pairwise(cycle))
