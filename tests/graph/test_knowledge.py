"""Background knowledge: read, contradicted, and respected in every graph of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refusals import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.graph.knowledge import Constraints, as_knowledge, unconstrained

NAMES = ("A", "B", "C", "D")


# -- what it means, by hand -------------------------------------------------------------------------------------------


def test_pairs_and_tiers_become_bit_sets() -> None:
    known = fp.Knowledge(forbidden=[("A", "B")], required=[("C", "D")], tiers=[["A", "C"], ["B"]])
    constraints = known.constraints(NAMES)
    # B may not cause A or C, which are of an earlier tier; D is in no tier and free.
    assert constraints.forbidden == [0b0010, 0b0001, 0b0010, 0]
    assert constraints.required == [0, 0, 0, 0b0100]
    assert constraints(3, 0b0100)
    assert not constraints(3, 0b0000)  # C -> D is missing
    assert not constraints(1, 0b0001)  # A -> B is forbidden
    assert not constraints.free
    assert unconstrained(NAMES).free


def test_required_edges_give_an_order() -> None:
    order = fp.Knowledge(required=[("D", "A"), ("C", "D")]).constraints(NAMES).order
    assert order is not None
    assert order.index(2) < order.index(3) < order.index(0)
    assert fp.Knowledge(forbidden=[("D", "A")]).constraints(NAMES).order is None


def test_direct_leaves_other_edges_alone() -> None:
    graph = fp.PDAG.from_edges([("A", "B")], [("B", "C"), ("C", "D")], NAMES)
    directed = fp.Knowledge(forbidden=[("B", "C")], required=[("C", "D")]).constraints(NAMES).direct(graph)
    assert directed == fp.PDAG.from_edges([("A", "B"), ("C", "B"), ("C", "D")], names=NAMES)
    assert graph == fp.PDAG.from_edges([("A", "B")], [("B", "C"), ("C", "D")], NAMES)


def test_knowledge_is_a_value() -> None:
    known = fp.Knowledge([("A", "B")], [["C", "D"]], [["A"], ["B", "C"]])  # type: ignore[list-item]
    assert known == fp.Knowledge([("A", "B")], [("C", "D")], (("A",), ("B", "C")))
    assert hash(known) == hash(fp.Knowledge([("A", "B")], [("C", "D")], [["A"], ["B", "C"]]))


@given(st.permutations(NAMES), st.integers(1, 3))
@settings(max_examples=50)
def test_property_tiers_allow_exactly_what_points_forward(order: list[str], cut: int) -> None:
    constraints = fp.Knowledge(tiers=[order[:cut], order[cut:]]).constraints(NAMES)
    for cause in NAMES:
        for effect in NAMES:
            backward = order.index(cause) >= cut > order.index(effect)
            forbidden = constraints.forbidden[NAMES.index(effect)] >> NAMES.index(cause) & 1
            assert bool(forbidden) == backward


# -- contradictions and bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"required": [("A", "B")], "forbidden": [("A", "B")]},
            "the edge A -> B is required, and forbidden too: drop one of the two",
        ),
        (
            {"required": [("B", "A")], "tiers": [["A"], ["B"]]},
            "the edge B -> A is required, and forbidden by tiers: drop one of the two",
        ),
        ({"required": [("A", "B"), ("B", "C"), ("C", "A")]}, "the required edges form a cycle: A -> B -> C -> A"),
        ({"required": [("A", "B"), ("B", "A")]}, "the required edges form a cycle: A -> B -> A"),
        ({"required": [("A", "A")]}, "the edge A -> A is required, but joins a variable with itself"),
        ({"required": [("A", "Q")]}, "a required edge names 'Q', which is not a variable; known: A, B, C, D"),
        ({"forbidden": [("Q", "A")]}, "a forbidden edge names 'Q', which is not a variable; known: A, B, C, D"),
        ({"tiers": [["A"], ["Q"]]}, "a tier names 'Q', which is not a variable; known: A, B, C, D"),
        ({"tiers": [["A", "B"], ["C", "A"]]}, "'A' is in two tiers: 1 and 2"),
    ],
)
def test_contradictions_are_shown(options: dict[str, Any], message: str) -> None:
    assert_refused(lambda: fp.Knowledge(**options).constraints(NAMES), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"required": ["AB"]}, "an edge is a pair of names, not 'AB'"),
        ({"forbidden": [("A", "B", "C")]}, "an edge is a pair of names, not ('A', 'B', 'C')"),
        ({"forbidden": [("A", 3)]}, "an edge is a pair of names; ('A', 3) holds 3, which is not a string"),
        ({"tiers": ["AB"]}, "a tier is a list of variables, not the single string 'AB'"),
        ({"tiers": [["A", 3]]}, "a tier is a list of variables; ['A', 3] holds 3, which is not a string"),
        ({"tiers": [3]}, "a tier is a list of variables, not 3"),
        ({"tiers": 3}, "tiers must be a list of lists of variables, not 3"),
        ({"required": 3}, "required must be a list of pairs of names, not 3"),
        ({"forbidden": "AB"}, "forbidden must be a list of pairs of names, not 'AB'"),
    ],
)
def test_bad_knowledge(options: dict[str, Any], message: str) -> None:
    assert_refused(lambda: fp.Knowledge(**options), message)


def test_from_file(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text('required = [["A", "B"]]\nforbidden = [["C", "A"]]\ntiers = [["A"], ["B", "C"]]\n')
    known = fp.Knowledge([("C", "A")], [("A", "B")], [["A"], ["B", "C"]])
    assert fp.Knowledge.from_file(path) == known
    assert as_knowledge(path) == as_knowledge(str(path)) == as_knowledge(known) == known
    assert as_knowledge(None) is None
    assert fp.IPERI(knowledge=path).knowledge == known
    path.write_text("")
    assert fp.Knowledge.from_file(path) == fp.Knowledge()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("required = [", r"the knowledge file '.*known.toml' cannot be read: .*"),
        (
            'requires = [["A", "B"]]',
            r"the knowledge file '.*' has the key 'requires'; known: forbidden, required, tiers",
        ),
        ('required = "A"', r"'required' in .* must be a list of lists of names .or of arrows such as .*"),
        ('required = ["A", "B"]', r"'required' in .* must be a list of lists of names .or of arrows such as .*"),
        ('required = [["A"]]', r"an edge is a pair of names, not \['A'\]"),
        ("tiers = [[1]]", r"a tier is a list of variables; \[1\] holds 1, which is not a string"),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(fp.InputError, match=f"^{message}$"):
        fp.Knowledge.from_file(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(fp.InputError, match=r"^the knowledge file '.*none.toml' cannot be read: .*No such file"):
        fp.IPERI(knowledge=tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"tiers = [['\xe4']]")
    with pytest.raises(fp.InputError, match=r"^the knowledge file '.*latin.toml' cannot be read: "):
        fp.Knowledge.from_file(tmp_path / "latin.toml")
    with pytest.raises(fp.InputError, match=r"^knowledge is a fedperi.Knowledge or the path of a file, not dict$"):
        fp.IPERI(knowledge={"required": []})


# -- kept to in a run -------------------------------------------------------------------------------------------------


def keeps_to(result: fp.Result, constraints: Constraints) -> bool:
    for graph in (result.dag, result.cpdag, result.phi_cpdag, result.graph):
        for node in range(len(graph.names)):
            for other in range(len(graph.names)):
                if constraints.forbidden[node] >> other & 1 and graph.adjacency[other, node]:
                    return False
                needed = constraints.required[node] >> other & 1
                if needed and not (graph.adjacency[other, node] and not graph.adjacency[node, other]):
                    return False
    return True


def random_knowledge(rng: np.random.Generator, names: tuple[str, ...]) -> fp.Knowledge:
    """Knowledge that some DAG satisfies, chosen independently of the data."""
    order = rng.permutation(names).tolist()
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    rng.shuffle(pairs)
    required = [tuple(pair) for pair in pairs[: int(rng.integers(0, 3))]]
    forbidden = [tuple(pair) for pair in pairs[3 : 3 + int(rng.integers(0, 4))]]
    forbidden += [(b, a) for a, b in pairs[5 : 5 + int(rng.integers(0, 4))]]
    cut = int(rng.integers(1, len(order)))
    tiers = [order[:cut], order[cut:]] if rng.random() < 0.5 else []
    return fp.Knowledge(forbidden, required, tiers)


@pytest.mark.parametrize("masking", ["adaptive", "consensus", "none"])
@pytest.mark.parametrize("aggregate", ["sum", "worst"])
def test_every_graph_keeps_to_random_knowledge(masking: Any, aggregate: Any) -> None:
    rng = np.random.default_rng(len(masking) + len(aggregate))
    for seed in range(15):
        sim = fp.simulate(int(rng.integers(3, 8)), 3, 60, seed=seed)
        known = random_knowledge(rng, sim.dag.names)
        result = fp.IPERI(masking=masking, aggregate=aggregate, knowledge=known).fit(sim.sites)
        assert keeps_to(result, known.constraints(sim.dag.names))
        assert fp.includes(result.dag, result.graph)
        assert result.graph == fp.meek_closure(result.graph)


@pytest.mark.parametrize("aggregate", ["sum", "worst"])
def test_beyond_exact_search_too(aggregate: Any) -> None:
    rng = np.random.default_rng(5)
    for seed in range(4):
        sim = fp.simulate(15, 2, 150, seed=seed)
        known = random_knowledge(rng, sim.dag.names)
        result = fp.IPERI(aggregate=aggregate, knowledge=known).fit(sim.sites)
        assert keeps_to(result, known.constraints(sim.dag.names))


def test_many_required_parents_beyond_exact_search() -> None:
    sim = fp.simulate(16, 2, 150, seed=1)
    *others, last = sim.dag.names
    for count in (9, 13):  # more than the candidates that the first look leaves out
        known = fp.Knowledge(required=[(name, last) for name in others[:count]])
        assert set(fp.IPERI(knowledge=known).fit(sim.sites).graph.parents(last)) >= set(others[:count])
    assert_refused(
        lambda: fp.IPERI(knowledge=fp.Knowledge(required=[(name, last) for name in others])).fit(sim.sites),
        "15 edges into 'X15' are required; with more than 12 variables at most 13 can be",
    )


def test_knowledge_spreads_by_meeks_rules() -> None:
    chain = np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
    site = fp.OracleSite(chain, 1e10, ["A", "B", "C"])
    assert fp.IPERI().fit([site]).graph == fp.PDAG.from_edges([], [("A", "B"), ("B", "C")])
    for known in (fp.Knowledge(required=[("A", "B")]), fp.Knowledge(tiers=[["A"], ["B"]])):
        result = fp.IPERI(knowledge=known).fit([site])
        assert result.cpdag == result.graph == fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    # What is required is there even if no site asks for it; what is forbidden is not, even if all do.
    required = fp.IPERI(knowledge=fp.Knowledge(required=[("A", "C")])).fit([site])
    assert ("A", "C") in required.graph.directed
    forbidden = fp.IPERI(knowledge=fp.Knowledge(forbidden=[("A", "B"), ("B", "A")])).fit([site])
    assert ("A", "B") not in forbidden.graph.skeleton.undirected


def test_unknown_variables_are_an_error_before_any_question() -> None:
    sim = fp.simulate(4, 2, 100, seed=1)
    known = fp.Knowledge(required=[("X0", "Q")])
    assert_refused(
        lambda: fp.IPERI(knowledge=known).fit(sim.sites),
        "a required edge names 'Q', which is not a variable; known: X0, X1, X2, X3",
    )
