"""Sites, messages, coordinator, transcript: what is asked, what is answered, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.graphs import dags, random_dag, subdags
from helpers.questions import families, one_parent_set
from helpers.refusals import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.coordinator.coordinator import Coordinator
from fedperi.coordinator.record import Replay
from fedperi.graph import bits
from fedperi.graph.equivalence import consistent_extension
from fedperi.protocol.messages import (  # type: ignore[attr-defined]
    CHILD,
    LINE,
    MAX_SET,
    NOT_ADJACENT,
    PARENT,
    Families,
    Orientations,
    Settings,
    Welcome,
)
from fedperi.scores.gaussian import GaussianScore
from fedperi.scores.masking import (
    INTERVENTION_PRICE,
    PARTIAL_PRICE,
    adaptive_mask,
    consensus_mask,
    supported_subsets,
)
from fedperi.simulation import implied_covariance
from fedperi.transports.in_process import InProcess

TRIANGLE = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])


def covariance(rng: np.random.Generator, dag: fp.PDAG) -> np.ndarray:
    p = len(dag.names)
    weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p))
    return implied_covariance(weights * dag.adjacency, np.ones(p))


def opened(dag: fp.PDAG, masking: str, *, seed: int = 0, n: float = 1e10, **options: Any) -> fp.OracleSite:
    site = fp.OracleSite(covariance(np.random.default_rng(seed), dag), n, dag.names, **options)
    site.open(Settings(masking), dag.names)
    return site


def regret(site: fp.OracleSite, dag: fp.PDAG) -> float:
    """Total regret of a DAG at a site, asked one parent set at a time."""
    parents = [tuple(np.flatnonzero(dag.adjacency[:, i]).tolist()) for i in range(len(dag.names))]
    return float(sum(site.answer(one_parent_set(i, *into))[0, 0] for i, into in enumerate(parents)))


# -- masks, by hand ---------------------------------------------------------------------------------------------------


def test_masks_on_a_lattice_of_two_candidates() -> None:
    # Sets {}, {a}, {b}, {a, b}.
    lattice = np.array([[0.0, 10.0, -5.0, 6.0]])
    assert consensus_mask(lattice, np.array([[True, False]])).tolist() == [[0, 10, 0, 10]]
    assert consensus_mask(lattice, np.array([[False, True]])).tolist() == [[0, 0, -5, -5]]
    assert consensus_mask(lattice, np.array([[False, False]])).tolist() == [[0, 0, 0, 0]]
    assert consensus_mask(lattice, np.array([[True, True]])).tolist() == lattice.tolist()
    # {b}: nothing instead, for the price of an intervention; {a, b}: {a} instead, for that of a partial one.
    assert adaptive_mask(lattice).tolist() == [[0, 10, -INTERVENTION_PRICE, 10 - PARTIAL_PRICE]]
    assert supported_subsets(lattice[0]) == 1
    assert supported_subsets(np.array([0.0, 10.0, -5.0, 10.0 - PARTIAL_PRICE / 2])) == 3
    assert supported_subsets(np.array([0.0, 0.0, 0.0, -INTERVENTION_PRICE / 2])) == 3
    assert supported_subsets(np.array([0.0, 0.0, 0.0, -INTERVENTION_PRICE * 2])) == 0


def test_masks_of_the_empty_candidate_set() -> None:
    lattice = np.array([[3.0]])
    assert adaptive_mask(lattice).tolist() == [[3]]
    assert consensus_mask(lattice, np.zeros((1, 0), dtype=bool)).tolist() == [[3]]
    assert supported_subsets(lattice[0]) == 0


@given(st.integers(0, 4), st.integers(0, 10**6))
@settings(max_examples=200)
def test_property_adaptive_is_the_best_subset_at_its_price(m: int, seed: int) -> None:
    lattice = np.random.default_rng(seed).normal(0, 4, 1 << m)
    before = lattice.copy()
    masked = adaptive_mask(lattice[None])[0]
    for whole in range(1 << m):
        priced = {}
        for part in range(1 << m):
            if not part & ~whole:
                price = 0.0 if part == whole else INTERVENTION_PRICE if part == 0 else PARTIAL_PRICE
                priced[part] = lattice[part] - price
        assert masked[whole] == max(priced.values())
        if whole == (1 << m) - 1:
            assert supported_subsets(lattice) == max(priced, key=lambda part: priced[part])
    assert (lattice == before).all()


# -- regrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("masking", ["none", "consensus", "adaptive"])
def test_regrets_by_brute_force(masking: str) -> None:
    rng = np.random.default_rng(3)
    for seed in range(10):
        dag = random_dag(rng, 5, 6)
        n = 500.0
        site = opened(dag, masking, seed=seed, n=n, cpdag=fp.cpdag(dag))
        score = GaussianScore(site._covariance, n, dag.names)
        own = fp.cpdag(dag).adjacency
        base: dict[int, float] = {}
        for node in range(5):
            others = [j for j in range(5) if j != node]
            for parents in (s for k in range(5) for s in combinations(others, k)):
                given_ = site.answer(one_parent_set(node, *parents))[0, 0]

                def local(inside: tuple[int, ...], node: int = node, score: GaussianScore = score) -> float:
                    return float(score.local([(node, sum(1 << j for j in inside))])[0])

                if masking == "none":
                    value = local(parents)
                elif masking == "consensus":
                    value = local(tuple(j for j in parents if own[j, node]))
                else:
                    some = [local(s) - PARTIAL_PRICE for k in range(len(parents)) for s in combinations(parents, k)]
                    value = max([local(parents), local(()) - INTERVENTION_PRICE, *some] if parents else [local(())])
                # Regret and value differ by a constant of the node: the site's own optimum.
                assert given_ + value == pytest.approx(base.setdefault(node, given_ + value), abs=1e-8)


def test_fixed_and_free_variables_give_the_same_numbers() -> None:
    rng = np.random.default_rng(0)
    for masking in ("none", "consensus", "adaptive"):
        site = opened(random_dag(rng, 6, 8), masking, n=300)
        whole = site.answer(families([2, 0], np.zeros((2, 0), dtype=np.int64), [[0, 1, 4, 5], [5, 1, 2, 3]]))
        assert whole.shape == (2, 16)
        part = site.answer(families([2, 0], [[1, 5], [1, 3]], [[0, 4], [5, 2]]))
        # Candidates 0, 1, 4, 5 are bits 1, 2, 4, 8; candidates 5, 1, 2, 3 likewise.
        np.testing.assert_allclose(part[0], whole[0, [10, 11, 14, 15]], atol=1e-9)
        np.testing.assert_allclose(part[1], whole[1, [10, 11, 14, 15]], atol=1e-9)


@pytest.mark.parametrize("masking", ["none", "consensus", "adaptive"])
def test_a_sites_own_dag_is_without_regret(masking: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(20):
        dag = random_dag(rng, 5, 6)
        site = opened(dag, masking, seed=seed)
        assert regret(site, dag) == pytest.approx(0, abs=1e-3)
        empty = fp.PDAG(np.zeros((5, 5)), dag.names)
        assert regret(site, empty) > 10 or len(dag) == 0


def test_a_declared_target_has_no_parents_and_the_others_keep_theirs() -> None:
    site = opened(TRIANGLE, "adaptive", targets=["C"])
    nothing, both = site.answer(one_parent_set(2))[0, 0], site.answer(one_parent_set(2, 0, 1))[0, 0]
    assert both == nothing
    assert site.answer(one_parent_set(1, 0))[0, 0] < site.answer(one_parent_set(1))[0, 0]
    # B is declared intact, so that a parent which explains nothing has its full price.
    cut = opened(fp.mutilate(TRIANGLE, "B"), "adaptive", targets=[])
    assert cut.answer(one_parent_set(1, 0))[0, 0] - cut.answer(one_parent_set(1))[0, 0] == pytest.approx(
        np.log(1e10) / 2
    )
    unknown = opened(fp.mutilate(TRIANGLE, "B"), "adaptive")
    assert unknown.answer(one_parent_set(1, 0))[0, 0] - unknown.answer(one_parent_set(1))[0, 0] == INTERVENTION_PRICE


# -- phase 2 ----------------------------------------------------------------------------------------------------------


def marks_of(graph: fp.PDAG) -> np.ndarray:
    a = graph.adjacency
    return np.where(a & a.T, LINE, np.where(a.T, PARENT, np.where(a, CHILD, NOT_ADJACENT))).astype(np.int64)


def discrepancies(site: fp.OracleSite, dag: fp.PDAG, marks: np.ndarray) -> np.ndarray:
    return site.answer(Orientations(np.array(dag.adjacency), np.arange(len(marks)), marks))


@given(st.data())
@settings(max_examples=150)
def test_property_discrepancy_is_zero_iff_the_sets_agree(data: st.DataObject) -> None:
    dag = data.draw(dags(2, 5))
    client = data.draw(subdags(dag))
    own = fp.cpdag(client).adjacency
    site = opened(client, "consensus", seed=data.draw(st.integers(0, 100)), cpdag=fp.cpdag(client))
    lines = data.draw(st.lists(st.sampled_from(sorted(dag.directed)), unique=True)) if dag.directed else []
    graph = fp.PDAG.from_edges([e for e in dag.directed if e not in set(lines)], lines, dag.names)
    found = discrepancies(site, dag, marks_of(graph))
    a = graph.adjacency
    for node in range(len(dag.names)):
        mine = {j for j in range(len(own)) if own[j, node]}
        # nu: an edge in both, not directed oppositely; j counts for i unless both say i -> j.
        kept = set()
        for j in range(len(own)):
            both = (own | own.T)[j, node] and (a | a.T)[j, node]
            opposed = (own[j, node] and not own[node, j] and a[node, j] and not a[j, node]) or (
                own[node, j] and not own[j, node] and a[j, node] and not a[node, j]
            )
            out = own[node, j] and not own[j, node] and a[node, j] and not a[j, node]
            if both and not opposed and not out:
                kept.add(j)
        assert found[node] >= -1e-4
        assert (found[node] > 1e-4) == (kept != mine)


@given(st.data())
@settings(max_examples=150)
def test_property_directing_as_the_site_does_always_gains(data: st.DataObject) -> None:
    dag = data.draw(dags(3, 6))
    client = data.draw(subdags(dag))
    own = fp.cpdag(client)
    site = opened(client, "consensus", seed=data.draw(st.integers(0, 100)), cpdag=own)
    lines = data.draw(st.lists(st.sampled_from(sorted(dag.directed)), unique=True)) if dag.directed else []
    for tail, head in [edge for edge in lines if edge in own.directed]:
        i, j = dag.index(tail), dag.index(head)
        marks = marks_of(fp.PDAG.from_edges([e for e in dag.directed if e not in set(lines)], lines, dag.names))
        before = discrepancies(site, dag, marks).sum()
        right, wrong = marks.copy(), marks.copy()
        right[i, j], right[j, i] = CHILD, PARENT
        wrong[i, j], wrong[j, i] = PARENT, CHILD
        assert discrepancies(site, dag, right).sum() < before - 1
        assert discrepancies(site, dag, right).sum() < discrepancies(site, dag, wrong).sum() - 1


def test_more_neighbours_than_the_rows_can_score_together() -> None:
    """A hub with eight children at a site with twelve rows: every number is finite, and the run ends well."""
    star = fp.PDAG.from_edges([("H", f"x{i}") for i in range(8)])
    tables = fp.simulate(star, 3, [3000, 3000, 12], weights=(2, 3), intervention="none", seed=0).sites
    result = fp.IPERI().fit(tables)
    assert result.graph == fp.cpdag(star)
    site = opened(star, "consensus", n=12, cpdag=fp.cpdag(star))
    assert discrepancies(site, star, marks_of(fp.cpdag(star))).tolist() == [0] * 9
    surer = opened(star, "consensus", n=12, cpdag=star)  # says that all of them are children
    found = discrepancies(surer, star, marks_of(fp.cpdag(star)))
    assert np.isfinite(found).all()
    assert found[0] > 0
    assert discrepancies(surer, star, marks_of(star)).tolist() == [0] * 9


def test_directions_of_a_site_without_a_graph_come_from_the_dag_and_its_data() -> None:
    site = opened(fp.mutilate(TRIANGLE, "B"), "adaptive")
    graph = fp.cpdag(TRIANGLE)
    found = discrepancies(site, TRIANGLE, marks_of(graph))
    assert (found[:2] > 1).all()  # A and B: the site says that C is their child
    assert found[2] == pytest.approx(0, abs=1e-6)
    phi = fp.PDAG.from_edges([("A", "C"), ("B", "C")], [("A", "B")], TRIANGLE.names)
    np.testing.assert_allclose(discrepancies(site, TRIANGLE, marks_of(phi)), 0, atol=1e-6)


# -- messages that a site refuses -------------------------------------------------------------------------------------

NONE = np.zeros((1, 0), dtype=np.int64)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (families([-1], [[1]], [[2]]), "a question names a variable that is not among the 3 of this run"),
        (families([3], [[1]], [[2]]), "a question names a variable that is not among the 3 of this run"),
        (families([0], [[1]], [[3]]), "a question names a variable that is not among the 3 of this run"),
        (families([0.0], [[1]], [[2]]), "a question names a variable that is not among the 3 of this run"),
        (families([0], [[1]], [[1]]), "a question names a variable twice"),
        (families([0], [[0]], NONE), "a question names a variable twice"),
        (families([0, 1], [[1]], [[2]]), "the arrays of a question have different lengths"),
        (families([0], [1], [2]), "a question must have one row per node"),
        (families([[0]], [[1]], [[2]]), "a question must have one row per node"),
    ],
)
def test_families_that_are_no_question(question: Families, message: str) -> None:
    assert_refused(lambda: opened(TRIANGLE, "adaptive").answer(question), message)


def test_sets_that_are_too_large() -> None:
    families([0], [[1]], [list(range(2, MAX_SET + 1))]).check(20)
    with pytest.raises(fp.InputError) as caught:
        families([0], [[1]], [list(range(2, MAX_SET + 2))]).check(20)
    assert str(caught.value) == "a question is about 17 variables; at most 16 are allowed"
    dag = np.zeros((20, 20), dtype=bool)
    dag[: MAX_SET + 1, 19] = True
    assert_refused(
        lambda: Orientations(dag, np.array([0]), np.zeros((1, 20), dtype=np.int64)).check(20),
        "a question holds a DAG with a node of more than 16 parents",
    )


@pytest.mark.parametrize(
    ("dag", "nodes", "marks", "message"),
    [
        (np.eye(2), [0], [[0, 1, 2]], "the arrays of a question do not fit the 3 variables of this run"),
        (TRIANGLE.adjacency, [0], [[0, 1]], "the arrays of a question do not fit the 3 variables of this run"),
        (TRIANGLE.adjacency, [3], [[0, 1, 2]], "a question names a variable that is not among the 3 of this run"),
        (TRIANGLE.adjacency, [-1], [[0, 1, 2]], "a question names a variable that is not among the 3 of this run"),
        (TRIANGLE.adjacency, [0.5], [[0, 1, 2]], "a question names a variable that is not among the 3 of this run"),
        (
            TRIANGLE.adjacency,
            [0],
            [[0, 4, 2]],
            "a question has an unknown mark (four are known), or joins a node to itself",
        ),
        (
            TRIANGLE.adjacency,
            [0],
            [[2, 1, 2]],
            "a question has an unknown mark (four are known), or joins a node to itself",
        ),
        (np.roll(np.eye(3), 1, axis=1), [0], [[0, 1, 2]], "a question holds a graph that is not a DAG"),
        (np.eye(3), [0], [[0, 1, 2]], "a question holds a graph that is not a DAG"),
    ],
)
def test_orientations_that_are_no_question(dag: Any, nodes: Any, marks: Any, message: str) -> None:
    assert_refused(lambda: Orientations(np.array(dag, dtype=bool), np.array(nodes), np.array(marks)).check(3), message)


# -- the coordinator --------------------------------------------------------------------------------------------------


class Odd(fp.OracleSite):
    """A site that changes the right answer by a given function."""

    change: Callable[[np.ndarray], Any]

    def answer(self, question: Any) -> Any:
        return type(self).change(super().answer(question))


def with_nan(answer: np.ndarray) -> np.ndarray:
    return np.where(np.arange(answer.size).reshape(answer.shape) == 1, np.nan, answer)


@pytest.mark.parametrize(
    "change",
    [
        with_nan,
        np.ravel,
        np.transpose,
        np.ndarray.tolist,
        lambda a: a[:1],
        lambda a: a[..., None],
        lambda a: a.astype(str),
        lambda a: a + 0j,
        lambda a: None,
    ],
)
def test_answers_that_do_not_fit(change: Callable[[np.ndarray], Any]) -> None:
    kind = type("Odd", (Odd,), {"change": staticmethod(change)})
    sites = [fp.OracleSite(np.eye(3), 100, name="good"), kind(np.eye(3), 100, name="odd")]
    assert_refused(lambda: fp.IPERI().fit(sites), "site 'odd' gave an answer that does not fit the question")


class Fixed(Replay):
    """A transport with fixed answers."""

    def __init__(self, welcomes: list[Welcome], answers: Any = ()) -> None:
        self.welcomes, self.answers = welcomes, answers
        self._sites = welcomes

    def open(self, settings: Settings) -> list[Welcome]:
        return self.welcomes

    def ask(self, questions: Any) -> Any:
        return self.answers


CHECK = "ask the people there to check their table and their software"


@pytest.mark.parametrize(
    ("welcomes", "message"),
    [
        ([], "a federation needs at least one site; the list is empty"),
        ([Welcome("a", ("X",), 5)] * 2, "two sites are called 'a': give each a name of its own"),
        (
            [Welcome("a", ("X", "Y"), 5), Welcome("b", ("Y", "X"), 5)],
            "site 'b' lists the variables in another order than 'a'",
        ),
        (
            [Welcome("a", ("X", "Y"), 5), Welcome("b", ("X", "Z"), 5)],
            "site 'b' lacks the column Y, which 'a' has, and has the column Z, which 'a' lacks",
        ),
        (
            [Welcome("a", ("X",), float("nan"))],
            "site 'a' says that it has nan rows: a table has between 1 and 1e+12; " + CHECK,
        ),
        (
            [Welcome("a", ("X",), 0)],
            "site 'a' says that it has 0 rows: a table has between 1 and 1e+12; " + CHECK,
        ),
        (
            [Welcome("a", ("X",), "many")],
            "site 'a' says that it has 'many' rows: a table has between 1 and 1e+12; " + CHECK,
        ),
    ],
)
def test_welcomes_that_do_not_fit(welcomes: list[Welcome], message: str) -> None:
    assert_refused(lambda: fp.IPERI().fit(Fixed(welcomes)), message)


def test_a_site_that_keeps_silent() -> None:
    transport = Fixed([Welcome("a", ("X",), 5), Welcome("b", ("X",), 5)], [[np.zeros((1, 1))]])
    with pytest.raises(fp.InputError, match=r"^1 of 2 sites answered$"):
        fp.IPERI().fit(transport)
    transport.answers = [[np.zeros((1, 1))], []]
    with pytest.raises(fp.InputError, match=r"^site 'b' gave an answer that does not fit the question$"):
        fp.IPERI().fit(transport)


def test_rounds_and_queries_are_counted() -> None:
    sites = [fp.OracleSite(np.eye(3), 100, name=name) for name in "ab"]
    coordinator = Coordinator(InProcess(sites), Settings("adaptive"))
    assert coordinator.names == ("X0", "X1", "X2")
    assert coordinator.ask([]) == []
    empty = families(np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.int64))
    assert coordinator.ask([empty]) == []
    assert (coordinator.rounds, coordinator.queries) == (0, 0)
    first, second = coordinator.ask([families([0, 1], [[1], [2]], [[2], [0]]), one_parent_set(2)])
    assert first.shape == (2, 2, 2)
    assert second.shape == (2, 1, 1)
    assert (coordinator.rounds, coordinator.queries, coordinator.bytes) == (1, 5, 40)
    assert len(coordinator.transcript.rounds) == 1


# -- transcripts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"aggregate": "worst"}, {"masking": "consensus", "aggregate": "worst", "local": "pc"}],
)
@pytest.mark.parametrize("p", [5, 15])
def test_a_transcript_gives_the_same_result(options: dict[str, Any], p: int) -> None:
    sim = fp.simulate(p, 3, 200, seed=7)
    result = fp.IPERI(**options).fit(sim.sites)
    assert result.transcript is not None
    replay = Replay(result.transcript.to_json())
    for _ in range(2):  # it can be repeated as often as one likes
        again = fp.IPERI(**options).fit(replay)
        assert again.transcript is not None
        assert again.transcript.to_json() == result.transcript.to_json()
        for field in ("graph", "phi_cpdag", "cpdag", "dag", "regrets", "rounds", "queries", "history", "edges"):
            assert getattr(again, field) == getattr(result, field)


def test_a_transcript_holds_every_round_and_number() -> None:
    result = fp.IPERI().fit(fp.simulate(15, 3, 200, seed=7).sites)
    assert result.transcript is not None
    record = json.loads(result.transcript.to_json())
    assert len(record["rounds"]) == result.rounds
    numbers = sum(np.size(answer) for spoken in record["rounds"] for answer in spoken["answers"])
    assert numbers == 3 * result.queries
    assert result.bytes == 8 * result.queries
    assert [site["site"] for site in record["sites"]] == list(result.sites)
    assert record["settings"]["masking"] == "adaptive"


@pytest.fixture(scope="module")
def spoken() -> dict[str, Any]:
    transcript = fp.IPERI().fit(fp.simulate(4, 2, 200, seed=7).sites).transcript
    assert transcript is not None
    record: dict[str, Any] = json.loads(transcript.to_json())
    return record


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "3", '{"format": "fedperi.transcript", "version": 1}', b"\xff", None]
)
def test_text_that_is_no_transcript(text: Any) -> None:
    with pytest.raises(fp.InputError, match=r"^this is not a transcript of fedperi: the text is damaged$"):
        Replay(text)


@pytest.mark.parametrize(
    "damage",
    [
        lambda r: r.pop("rounds"),
        lambda r: r.pop("settings"),
        lambda r: r.update(settings=3),
        lambda r: r.update(rounds=3),
        lambda r: r.update(rounds=[3]),
        lambda r: r["rounds"][0].pop("answers"),
        lambda r: r["rounds"][0].pop("questions"),
        lambda r: r["rounds"][0]["answers"][0].pop(),
        lambda r: r["rounds"][0]["answers"][0][0].pop(),
        lambda r: r["rounds"][0]["answers"][0][0][0].__setitem__(0, "x"),
        lambda r: r["sites"].pop(),
        lambda r: r["sites"][0].pop("targets"),
        lambda r: r["sites"].__setitem__(0, "north"),
    ],
)
def test_damaged_transcripts(damage: Callable[[dict[str, Any]], Any], spoken: dict[str, Any]) -> None:
    record = json.loads(json.dumps(spoken))
    damage(record)
    with pytest.raises(fp.InputError, match=r"^this is not a transcript of fedperi: the text is damaged$"):
        Replay(json.dumps(record))


def test_transcripts_of_another_run(spoken: dict[str, Any]) -> None:
    text = json.dumps(spoken)
    for options, message in (
        ({"masking": "none"}, "the transcript is of a run with masking='adaptive', not 'none': repeat it as it was"),
        ({"penalty": 2.0}, "the transcript is of a run with penalty=1.0, not 2.0: repeat it as it was"),
        (
            {"knowledge": fp.Knowledge(forbidden=[("X0", "X1")])},
            "the transcript does not hold this question: it belongs to a run with other settings",
        ),
    ):
        with pytest.raises(fp.InputError) as caught:
            fp.IPERI(**options).fit(Replay(text))
        assert str(caught.value) == message
    shorter = {**spoken, "rounds": spoken["rounds"][:1]}
    with pytest.raises(fp.InputError, match=r"^the transcript does not hold this question: it belongs to a run with"):
        fp.IPERI().fit(Replay(json.dumps(shorter)))
    with pytest.raises(fp.InputError, match=r"^this is not a transcript of fedperi, version 1$"):
        Replay(json.dumps({**spoken, "version": 2}))
    with pytest.raises(fp.InputError, match=r"^this is not a transcript of fedperi, version 1$"):
        Replay(json.dumps({**spoken, "format": "fedperi.result"}))


# -- sites, as a user makes them --------------------------------------------------------------------------------------


def tables(count: int = 2, p: int = 4, n: int = 100) -> list[pd.DataFrame]:
    return list(fp.simulate(p, count, n, seed=1).sites)


def fit(sites: Any, **options: Any) -> fp.Result:
    return fp.IPERI(**options).fit(sites)


def test_what_is_no_list_of_sites() -> None:
    first, second = tables()
    assert_refused(lambda: fit([]), "a federation needs at least one site; the list is empty")
    assert_refused(lambda: fit({}), "a federation needs at least one site; the list is empty")
    assert_refused(lambda: fit(first), "give a list of tables, one per site, not a single table")
    assert_refused(lambda: fit("north.csv"), "give a list of tables, one per site, not a single table")
    assert_refused(lambda: fit(fp.Site(first)), "give a list of sites, even if there is only one")
    assert_refused(lambda: fit(None), "sites must be a list of tables, files or sites, not NoneType")
    assert_refused(lambda: fit(5), "sites must be a list of tables, files or sites, not int")
    assert_refused(
        lambda: fit([first, 5]), "a table must be a pandas DataFrame or the path of a CSV or Parquet file, not int"
    )
    assert_refused(
        lambda: fit([fp.Site(first, name="north"), fp.Site(second, name="north")]),
        "two sites are called 'north': give each a name of its own",
    )
    assert_refused(
        lambda: fit(
            [fp.OracleSite(first.cov(), 100, list(first.columns), name="north"), fp.Site(second, name="north")]
        ),
        "two sites are called 'north': give each a name of its own",
    )
    assert_refused(
        lambda: fit([fp.OracleSite(np.eye(2), 9)] * 2), "two sites are called 'oracle': give each a name of its own"
    )


def test_sites_that_do_not_fit_together() -> None:
    first, second = tables()
    assert_refused(
        lambda: fit([first, second.rename(columns={"X0": "Z"})]),
        "2 problems:\n"
        "  - column 'X0': present at 'site 1' but not at 'site 2'; give all sites the same columns\n"
        "  - column 'Z': present at 'site 2' but not at 'site 1'; give all sites the same columns",
    )
    assert_refused(
        lambda: fit([first, second.assign(X1=np.where(second.X1 > 0, "u", "v"))]),
        "column 'X1': numbers at 'site 1' but text such as 'u', 'v' at 'site 2'; use the same type at all sites, or "
        "declare the column in the schema",
    )
    assert_refused(
        lambda: fit([fp.OracleSite(np.eye(2), 9, ["X0", "Z"], name="theory"), first[["X0", "X1"]]]),
        "site 'site 1' lacks the column Z, which 'theory' has, and has the column X1, which 'theory' lacks",
    )


def test_sites_with_too_few_rows() -> None:
    first, second = tables()
    for options in ({}, {"masking": "consensus"}, {"masking": "none"}):
        assert_refused(
            lambda options=options: fit([first, second[:3]], **options),  # type: ignore[misc]
            "site 'site 2' has 3 rows for 4 variables, too few to learn from: give it more rows, or leave the site or "
            "some variables out",
        )
        for rows in range(4, 12):  # few, but no nonsense
            regrets = fp.IPERI(**options).fit([first, second[:rows]]).regrets
            assert np.isfinite(list(regrets.values())).all()
    assert_refused(
        lambda: fit([first, second[:5]], data="nonlinear"),
        "site 'site 2' has 5 rows for 4 variables of up to 3 columns each, too few to learn from: give it more rows, "
        "or leave the site or some variables out",
    )
    assert_refused(
        lambda: fit([first, second[:1]]),
        "site 'site 2': only 1 row; a site needs at least 2 (and many more to learn from)",
    )


@pytest.mark.parametrize(
    ("covariance", "n", "message"),
    [
        (np.ones((2, 3)), 9, "the covariance at site 'oracle' must be a square matrix; got 2 x 3"),
        (3, 9, "the covariance at site 'oracle' must be a square matrix; got a scalar"),
        ([[1, 2], [3]], 9, "the covariance and n at site 'oracle' must be numbers, in rows of equal length"),
        ([["a", 0], [0, 1]], 9, "the covariance and n at site 'oracle' must be numbers, in rows of equal length"),
        (np.eye(2), "many", "the covariance and n at site 'oracle' must be numbers, in rows of equal length"),
        ([[1, 0.5], [0.4, 1]], 9, "the covariance at site 'oracle' is not symmetric"),
        ([[1, np.nan], [np.nan, 1]], 9, "the covariance at site 'oracle' holds values that are not finite"),
        ([[1, 0], [0, 0]], 9, "the covariance at site 'oracle' has a variance that is not positive, in row 1"),
        ([[1, 2], [2, 1]], 9, "the covariance at site 'oracle' is not positive definite: no distribution has it"),
        (np.eye(2), 1, "a score needs more than one row; got n = 1.0 at site 'oracle'"),
        (np.eye(2), np.nan, "a score needs more than one row; got n = nan at site 'oracle'"),
        (np.eye(2), np.inf, "n at site 'oracle' must be finite, not inf; 1e10 is large enough for an oracle"),
    ],
)
def test_moments_that_are_no_moments(covariance: Any, n: Any, message: str) -> None:
    assert_refused(lambda: fp.OracleSite(covariance, n), message)


def test_oracles_with_a_bad_graph_or_names() -> None:
    square = fp.PDAG.from_edges([], [("X0", "X1"), ("X1", "X2"), ("X2", "X3"), ("X3", "X0")])
    for options, message in (
        ({"names": ["a"]}, r"^1 names for 4 variables$"),
        ({"cpdag": "x"}, r"^the cpdag at site 'oracle' must be a fedperi.PDAG, not str$"),
        ({"cpdag": TRIANGLE}, r"^the graphs are over different variables \("),
        ({"cpdag": square}, r"^the graph has no consistent extension: "),
    ):
        with pytest.raises(fp.InputError, match=message):
            fp.OracleSite(np.eye(4), 9, **options)


def test_targets_that_are_no_variables() -> None:
    (table,) = tables(1)
    with pytest.raises(
        fp.InputError, match=r"^site 'north' declares the target 'Q', which is not one of its variables$"
    ):
        fp.Site(table, name="north", targets=["X0", "Q"])
    with pytest.raises(
        fp.InputError, match=r"^site 'oracle' declares the target 'Q', which is not one of its variables$"
    ):
        fp.OracleSite(np.eye(2), 9, targets="Q")
    with pytest.raises(fp.InputError, match=r"^the targets of site 'oracle' must be a list of variables, not 3$"):
        fp.OracleSite(np.eye(2), 9, targets=3)
    assert fp.Site(table, targets="X0").targets == ("X0",)
    assert fp.Site(table, targets=[]).targets == ()
    assert fp.Site(table).targets is None


def cyclic(statistics: Any) -> fp.PDAG:
    return fp.PDAG.from_edges([("X0", "X1"), ("X1", "X2"), ("X2", "X0")], names=statistics.names)


def foreign(statistics: Any) -> fp.PDAG:
    return fp.PDAG.from_edges([("X0", "b")])


def matrix(statistics: Any) -> Any:
    return np.eye(4)


def endless(statistics: Any) -> fp.PDAG:
    return fp.PDAG.from_edges([], [("X0", "X1"), ("X1", "X2"), ("X2", "X3"), ("X3", "X0")], statistics.names)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            cyclic,
            "site 'site 1': local method 'cyclic': the directed edges form a cycle: X0 -> X1 -> X2 -> X0; a causal "
            "graph must have none",
        ),
        (
            foreign,
            "site 'site 1': local method 'foreign' returned a graph without 'X1', 'X2', 'X3' and with 'b' that the "
            "table has not; its variables must be the table's columns",
        ),
        (matrix, "site 'site 1': local method 'matrix' returned ndarray; it must return a fedperi.PDAG"),
        (
            endless,
            "site 'site 1': local method 'endless': the graph has no consistent extension: however the undirected "
            "edges X0 -- X1, X0 -- X3, X1 -- X2, X2 -- X3 are directed, a cycle or a new v-structure appears; it must "
            "return a CPDAG, or a DAG",
        ),
    ],
)
def test_local_methods_that_return_no_graph(method: Callable[[Any], Any], message: str) -> None:
    assert_refused(lambda: fit(tables(), masking="consensus", local=method), message)


def test_a_local_method_of_ones_own() -> None:
    sim = fp.simulate(5, 3, 500, seed=3)
    truth = iter([fp.cpdag(dag) for dag in sim.client_dags])
    result = fp.IPERI(masking="consensus", aggregate="worst", local=lambda statistics: next(truth)).fit(sim.sites)
    assert result.phi_cpdag == sim.phi_cpdag
    assert result.method["local"] == "<lambda>"


def test_the_penalty_reaches_the_local_graph_and_is_refused_where_it_means_nothing() -> None:
    sim = fp.simulate(5, 2, 200, seed=3)
    options: dict[str, Any] = {"masking": "consensus", "penalty": 20.0}
    assert len(fp.IPERI(**options).fit(sim.sites[:1]).graph) == len(fp.ges(sim.sites[0], penalty=20)) < len(sim.dag)
    words = pd.DataFrame({"a": ["u", "v"] * 20, "b": ["x", "x", "y", "y"] * 10})
    assert_refused(
        lambda: fit([words], penalty=2.0),
        "site 'site 1' has categories only, and their score has no penalty term that penalty=2 could multiply; use "
        "data='mixed', or leave penalty at 1",
    )


def test_names_files_and_mappings(tmp_path: Any) -> None:
    first, second = tables()
    first.to_csv(tmp_path / "north.csv", index=False)
    second.to_parquet(tmp_path / "south.parquet")
    frames = fp.IPERI().fit([first, second])
    files = fp.IPERI().fit([tmp_path / "north.csv", str(tmp_path / "south.parquet")])
    named = fp.IPERI().fit({"north": first, "south": fp.Site(second)})
    assert (frames.sites, files.sites, named.sites) == (("site 1", "site 2"), ("north", "south"), ("north", "south"))
    assert frames.graph == files.graph == named.graph
    mixed = fp.IPERI().fit([fp.OracleSite(first.cov(), 100, list(first.columns), name="theory"), second])
    assert mixed.sites == ("theory", "site 1")


def test_the_reference_is_the_score_of_a_dag() -> None:
    """Otherwise no graph could bring a site's regret to zero."""
    rng = np.random.default_rng(4)
    for seed in range(10):
        dag = random_dag(rng, 5, 6)
        site = opened(dag, "consensus", seed=seed, n=200, cpdag=fp.cpdag(dag))
        score = GaussianScore(site._covariance, 200, dag.names)
        member = consistent_extension(fp.cpdag(dag))
        total = float(score.local(list(enumerate(bits.columns(member.adjacency)))).sum())
        assert float(site._reference.sum()) == pytest.approx(total)
        assert regret(site, member) == pytest.approx(0, abs=1e-9)
