"""The Phi-CPDAG: every figure of the paper derived by hand, its theorem against its definition, properties."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations, product

import numpy as np
import pytest
from helpers.graphs import dags, federations, pdags, random_dag
from helpers.phi_definition import signature_by_definition, signature_by_theorem
from hypothesis import given
from hypothesis import strategies as st

import fedperi as fp

ABC = ("A", "B", "C")
TRIANGLE = fp.PDAG.from_edges([("A", "B"), ("B", "C"), ("A", "C")])
LINES = fp.PDAG.from_edges(undirected=[("A", "B"), ("B", "C"), ("A", "C")])
COLLIDER = fp.PDAG.from_edges([("A", "C"), ("B", "C")], names=ABC)

# -- the paper's figures -------------------------------------------------------------------------------------------


def test_figure_1_triangle_under_an_intervention_on_b() -> None:
    assert fp.cpdag(TRIANGLE) == LINES
    client = fp.mutilate(TRIANGLE, "B")
    assert client == COLLIDER
    assert fp.cpdag(client) == COLLIDER


def test_figure_2_directed_masks() -> None:
    server = COLLIDER  # (a): an intermediate server graph
    assert fp.mu(server, LINES) == COLLIDER  # (b)
    assert fp.mu(server, COLLIDER) == COLLIDER  # (c)
    assert fp.mu(LINES, COLLIDER) == COLLIDER  # at convergence (d), the mask is the client's graph
    assert fp.mu(LINES, LINES) == LINES


def test_figure_3_undirected_masks() -> None:
    server = fp.PDAG.from_edges([("B", "C")], [("A", "B"), ("A", "C")])  # (a)
    assert fp.nu(server, LINES) == LINES  # (b)
    assert fp.nu(server, COLLIDER) == fp.PDAG.from_edges([("B", "C")], [("A", "C")], ABC)  # (c)
    target = fp.PDAG.from_edges([("B", "C"), ("A", "C")], [("A", "B")])  # (d)
    assert fp.phi_cpdag(TRIANGLE, [TRIANGLE, fp.mutilate(TRIANGLE, "B")]) == target
    assert fp.nu(target, COLLIDER) == COLLIDER


@pytest.mark.parametrize(
    ("edges1", "target1", "edges2", "target2"),
    [
        ([("B", "A")], "A", [("A", "B")], "B"),
        ([("C", "A"), ("C", "B")], None, [("A", "C"), ("C", "B")], "C"),
        ([("A", "B"), ("A", "C"), ("B", "C")], "B", [("B", "A"), ("A", "C"), ("B", "C")], "A"),
    ],
)
def test_figure_4_equivalent_pairs(
    edges1: list[tuple[str, str]], target1: str | None, edges2: list[tuple[str, str]], target2: str | None
) -> None:
    (dag1, clients1), (dag2, clients2) = _family(edges1, target1), _family(edges2, target2)
    assert fp.phi_equivalent(dag1, clients1, dag2, clients2)
    assert signature_by_definition(dag1, clients1) == signature_by_definition(dag2, clients2)
    assert fp.phi_cpdag(dag1, clients1) == fp.phi_cpdag(dag2, clients2)


def test_not_equivalent() -> None:
    observational = _family([("A", "B"), ("A", "C"), ("B", "C")], None)
    intervened = _family([("A", "B"), ("A", "C"), ("B", "C")], "B")
    assert not fp.phi_equivalent(*observational, *intervened)
    assert not fp.phi_equivalent(*_family([("A", "B"), ("B", "C")], None), *_family([("A", "B"), ("C", "B")], None))
    assert not fp.phi_equivalent(*_family([("A", "B"), ("B", "C")], None), *observational)


def test_figure_5_cpdag_phi_cpdag_i_cpdag() -> None:
    pair = fp.PDAG.from_edges([("A", "B")])
    line = fp.PDAG.from_edges(undirected=[("A", "B")])
    assert fp.cpdag(pair) == line
    assert fp.phi_cpdag(pair, [pair, fp.mutilate(pair, "B")]) == line
    assert fp.i_cpdag(pair, [[], ["B"]]) == pair
    phi = fp.PDAG.from_edges([("A", "C"), ("B", "C")], [("A", "B")])
    assert fp.cpdag(TRIANGLE) == LINES
    assert fp.phi_cpdag(TRIANGLE, [TRIANGLE, fp.mutilate(TRIANGLE, "B")]) == phi
    assert fp.i_cpdag(TRIANGLE, [[], ["B"]]) == TRIANGLE


def _family(edges: list[tuple[str, str]], target: str | None) -> tuple[fp.PDAG, list[fp.PDAG]]:
    dag = fp.PDAG.from_edges(edges, names=sorted({n for e in edges for n in e}))
    return dag, [dag, fp.mutilate(dag, target) if target else dag]


# -- masks: the case the paper leaves open, and their algebra --------------------------------------------------------


def test_edges_directed_oppositely_are_missing_from_both_masks() -> None:
    ab, ba = fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("B", "A")])
    none = fp.PDAG(np.zeros((2, 2)), ["A", "B"])
    assert fp.mu(ab, ba) == none
    assert fp.nu(ab, ba) == none


@given(dags(2, 6), dags(2, 6))
def test_property_masks_of_cpdags(first: fp.PDAG, second: fp.PDAG) -> None:
    if first.names != second.names:
        return
    h, c = fp.cpdag(first), fp.cpdag(second)
    mu, nu = fp.mu(h, c), fp.nu(h, c)  # never cyclic: the constructor would have raised
    assert mu == fp.mu(c, h)
    assert nu == fp.nu(c, h)
    assert mu.skeleton == nu.skeleton
    assert fp.includes(mu, nu)
    assert fp.includes(mu, h)
    assert fp.includes(mu, c)
    assert fp.includes(c, h) == (mu == c)
    assert fp.mu(h, h) == fp.nu(h, h) == h


@given(pdags(), pdags(), pdags())
def test_property_inclusion_is_a_partial_order(a: fp.PDAG, b: fp.PDAG, c: fp.PDAG) -> None:
    assert fp.includes(a, a)
    if a.names == b.names:
        assert (fp.includes(a, b) and fp.includes(b, a)) == (a == b)
        if b.names == c.names and fp.includes(a, b) and fp.includes(b, c):
            assert fp.includes(a, c)


# -- the Phi-CPDAG --------------------------------------------------------------------------------------------------


@given(federations())
def test_property_phi_cpdag_is_its_definition(federation: tuple[fp.PDAG, list[fp.PDAG]]) -> None:
    dag, clients = federation
    phi = fp.phi_cpdag(dag, clients)
    compelled = fp.cpdag(dag).directed.union(*(fp.cpdag(c).directed for c in clients))
    assert phi.directed == compelled & dag.directed == compelled
    assert fp.phi_cpdag(dag, clients[::-1]) == phi
    assert fp.phi_cpdag(dag, [*clients, *clients]) == phi
    assert fp.phi_cpdag(dag, []) == fp.cpdag(dag)


@given(dags(2, 6), st.data())
def test_property_closed_phi_cpdag_is_no_tighter_than_the_i_cpdag(dag: fp.PDAG, data: st.DataObject) -> None:
    targets = data.draw(st.lists(st.sets(st.sampled_from(dag.names)), max_size=4))
    closed = fp.meek_closure(fp.phi_cpdag(dag, [fp.mutilate(dag, t) for t in targets]))
    assert fp.includes(dag, fp.i_cpdag(dag, targets))
    assert fp.includes(fp.i_cpdag(dag, targets), closed)


def test_a_client_with_an_edge_the_dag_has_not_is_an_error() -> None:
    dag = fp.PDAG.from_edges([("A", "B")], names=ABC)
    client = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    for refuse in (fp.phi_cpdag, fp.revealed_v_structures):
        with pytest.raises(fp.InputError) as caught:
            refuse(dag, [dag, client])
        assert str(caught.value) == (
            "client DAG 1 has the edge B -> C, which the DAG does not have: an intervention can only remove edges"
        )


def test_i_cpdag_of_an_unknown_target_is_an_error() -> None:
    with pytest.raises(fp.InputError, match="unknown variable 'Z'; known: A, B, C"):
        fp.i_cpdag(TRIANGLE, [["Z"]])


# -- the graphical criterion against the definition; docs/explanation/theory.md reports what this shows ----------------


def all_dags(names: tuple[str, ...]) -> Iterator[fp.PDAG]:
    pairs = list(combinations(names, 2))
    for marks in product(range(3), repeat=len(pairs)):
        edges = [(a, b) if mark == 1 else (b, a) for (a, b), mark in zip(pairs, marks, strict=True) if mark]
        try:
            yield fp.PDAG.from_edges(edges, names=names)
        except fp.InputError:
            continue


def sub_dags(dag: fp.PDAG) -> Iterator[fp.PDAG]:
    edges = sorted(dag.directed)
    for kept in product([True, False], repeat=len(edges)):
        yield fp.PDAG.from_edges([e for e, keep in zip(edges, kept, strict=True) if keep], names=dag.names)


def disagreements(families: Iterable[tuple[fp.PDAG, list[fp.PDAG]]]) -> tuple[int, int, int, int]:
    """Count the classes of one relation that the other one splits, both ways, and of the theorem's classes those with
    more than one Phi-CPDAG (which the paper's corollary excludes), before and after Meek's rules."""
    by_definition, by_theorem, phi, closed = (defaultdict(set) for _ in range(4))
    for dag, clients in families:
        definition, theorem = signature_by_definition(dag, clients), signature_by_theorem(dag, clients)
        by_definition[definition].add(theorem)
        by_theorem[theorem].add(definition)
        phi[theorem].add(fp.phi_cpdag(dag, clients))
        closed[theorem].add(fp.meek_closure(fp.phi_cpdag(dag, clients)))
    return tuple(sum(len(v) > 1 for v in d.values()) for d in (by_definition, by_theorem, phi, closed))  # type: ignore[return-value]


def test_theorem_holds_for_all_families_over_3_variables() -> None:
    families = []
    for dag in all_dags(ABC):
        others = list(sub_dags(dag))[1:]
        families += [(dag, [dag, *f]) for size in range(len(others) + 1) for f in combinations(others, size)]
    assert len(families) == 877
    assert disagreements(families) == (0, 0, 0, 0)


def test_theorem_fails_over_4_variables() -> None:
    names = ("A", "B", "C", "D")
    dags_ = list(all_dags(names))
    assert len(dags_) == 543
    # One intervened client that lost any set of edges; random pairs of them below.
    assert disagreements([(dag, [dag, client]) for dag in dags_ for client in sub_dags(dag)]) == (6, 264, 54, 18)
    # One target that lost all its incoming edges: the paper's experiments.
    perfect = [(dag, [dag, fp.mutilate(dag, name)]) for dag in dags_ for name in names]
    assert disagreements(perfect) == (0, 96, 0, 0)


def test_theorem_on_random_pairs_over_4_variables() -> None:
    """With several clients a family, definition and criterion agree on most pairs and fail in both directions."""
    rng = np.random.default_rng(6)
    counts: dict[tuple[bool, bool], int] = defaultdict(int)
    for _ in range(3000):
        dag = random_dag(rng, 4, 5)
        twins = list(fp.members(fp.cpdag(dag)))
        pair = [(dag, _random_clients(rng, dag)), (twin := twins[rng.integers(len(twins))], _random_clients(rng, twin))]
        definition = signature_by_definition(*pair[0]) == signature_by_definition(*pair[1])
        theorem = signature_by_theorem(*pair[0]) == signature_by_theorem(*pair[1])
        assert theorem == fp.phi_equivalent(*pair[0], *pair[1])
        counts[definition, theorem] += 1
    assert counts[True, True] > 0
    assert counts[False, False] > 0
    assert counts[False, True] > 0  # the criterion calls pairs equivalent that the definition does not


def _random_clients(rng: np.random.Generator, dag: fp.PDAG) -> list[fp.PDAG]:
    edges = sorted(dag.directed)
    clients = [dag]
    for _ in range(2):
        keep = rng.random(len(edges)) < 0.7
        clients.append(fp.PDAG.from_edges([e for e, k in zip(edges, keep, strict=True) if k], names=dag.names))
    return clients


def test_counterexample_criterion_without_definition() -> None:
    dag = fp.PDAG.from_edges([("A", "D"), ("B", "D"), ("D", "C")])
    cut = fp.mutilate(dag, "C")
    assert fp.phi_equivalent(dag, [dag], dag, [dag, cut])
    # {A, C} and B are separated at the cut client, and connected given D; never so in the DAG itself.
    assert fp.d_separated(cut, {"A", "C"}, "B")
    assert not fp.d_separated(cut, {"A", "C"}, "B", "D")
    assert not fp.d_separated(dag, {"A", "C"}, "B")
    assert signature_by_definition(dag, [dag]) != signature_by_definition(dag, [dag, cut])


def test_counterexample_definition_without_criterion() -> None:
    dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("A", "D"), ("B", "C"), ("B", "D"), ("C", "D")])
    first, second = fp.mutilate(dag, {"B": ["A"]}), fp.mutilate(dag, {"B": ["A"], "D": ["B"]})
    assert signature_by_definition(dag, [dag, first]) == signature_by_definition(dag, [dag, second])
    assert not fp.phi_equivalent(dag, [dag, first], dag, [dag, second])


def test_counterexample_to_the_corollary() -> None:
    """Equivalent by the criterion, different Phi-CPDAGs; in the second case even after Meek's rules."""
    dag = fp.PDAG.from_edges([("B", "C"), ("B", "D"), ("C", "D"), ("D", "A")])
    first, second = fp.mutilate(dag, {"C": ["B"]}), fp.mutilate(dag, {"C": ["B"], "A": ["D"]})
    assert fp.phi_equivalent(dag, [dag, first], dag, [dag, second])
    assert fp.phi_cpdag(dag, [dag, first]) != fp.phi_cpdag(dag, [dag, second])
    dag = fp.PDAG.from_edges([("A", "C"), ("A", "D"), ("B", "C"), ("B", "D"), ("C", "D")])
    cut = fp.mutilate(dag, {"D": ["B"]})
    assert fp.phi_equivalent(dag, [dag], dag, [dag, cut])
    closed = fp.meek_closure(fp.phi_cpdag(dag, [dag, cut]))
    assert closed != fp.meek_closure(fp.phi_cpdag(dag, [dag])) == fp.cpdag(dag)
    assert ("C", "D") in closed.directed
