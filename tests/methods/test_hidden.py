"""Signs of hidden causes: each kind is found if it is there, and only then."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.methods.mperi.hidden.latent import completed, first_guess, improved, refined
from fedperi.methods.mperi.hidden.reach import untold_changes, usual_site
from fedperi.methods.mperi.hidden.three import common_cause_of_three
from fedperi.methods.mperi.hidden.together import changing_together
from fedperi.methods.mperi.hidden.unexplained import failed_independences, repaired, unexplained
from fedperi.methods.mperi.hidden.versions import Versions
from fedperi.methods.parts import Groups
from fedperi.scores import _kernel as kernel
from fedperi.scores.mechanisms import Mechanisms
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.summary.summary import Summary


def said(tables: list[pd.DataFrame]) -> list[Summary]:
    return [part.straight() for part in summaries(tables)]


def confounded(shifts: list[tuple[float, float]], effect: float = 0.0, seed: int = 0) -> list[pd.DataFrame]:
    """Tables of a and b with a hidden common cause; sites shift a, b, or none. a may cause b, too."""
    rng = np.random.default_rng(seed)
    tables = []
    for of_a, of_b in shifts:
        hidden, one, two = rng.normal(size=(3, 2000))
        a = hidden + one + of_a
        tables.append(pd.DataFrame({"a": a, "b": hidden * (effect == 0) + effect * a + two + of_b}))
    return tables


def test_mechanisms_that_change_together() -> None:
    sites = [f"s{k}" for k in range(14)]
    parts = said([pd.DataFrame({"a": [0.5, 1.0, 2.5], "b": [1.5, 0.0, 3.0]})] * 14)
    rest = (tuple(sites[5:]),)
    both = [Groups("a", (*rest, tuple(sites[:5])), ()), Groups("b", (*rest, tuple(sites[:5])), ())]
    (sign,) = changing_together(parts, both)
    assert sign.variables == ("a", "b")
    assert sign.words.startswith("a and b may have a hidden common cause: their mechanisms change together at s0, s1")
    apart = [both[0], Groups("b", (tuple(sites[:9]), tuple(sites[9:])), ())]
    assert list(changing_together(parts, apart)) == []


def test_changes_that_reach_nobody() -> None:
    edge = fp.PDAG.from_edges([("a", "b")])
    (sign,) = untold_changes(said(confounded([(0, 0), (1, 0), (0, 1)])), edge)
    assert sign.variables == ("a", "b") and "where a site changes the one, the other stays as elsewhere" in sign.words
    # A change of the cause reaches the effect: the same tables, but for an arrow instead of a hidden cause.
    assert list(untold_changes(said(confounded([(0, 0), (1, 0), (0, 1)], effect=0.5)), edge)) == []
    # Only one of the two changes: an arrow from b to a would explain it.
    assert list(untold_changes(said(confounded([(0, 0), (1, 0), (1, 0)])), edge)) == []


def test_what_a_third_variable_does_reaches_nobody() -> None:
    """Two causes that were seen, one of a and one of b: without sites that differ the same follows from them."""
    rng = np.random.default_rng(0)
    tables = []
    for effect in (0.0, 0.5):
        for _ in range(2):
            of_a, of_b, hidden, one, two = rng.normal(size=(5, 2000))
            a = of_a + hidden + one
            b = of_b + hidden * (effect == 0) + effect * a + two
            tables.append(pd.DataFrame({"x": of_a, "y": of_b, "a": a, "b": b}))
    found = fp.PDAG.from_edges([("x", "a"), ("x", "b"), ("y", "b"), ("a", "b")], names=list("xyab"))
    (sign,) = untold_changes(said(tables[:2]), found)
    assert sign.variables == ("a", "b")
    assert "what x does to a does not reach b, and what y does to b does not reach a (" in sign.words
    assert list(untold_changes(said(tables[2:]), found)) == []


def test_a_column_with_one_value_per_site() -> None:
    """An altitude of each hospital has no variance within sites."""
    tables = confounded([(0, 0), (1, 0), (0, 1), (0, 0)])
    high = [table.assign(altitude=100.5 + 50 * k) for k, table in enumerate(tables)]
    dag = fp.PDAG.from_edges([("altitude", "a"), ("altitude", "b"), ("a", "b")], names=["a", "b", "altitude"])
    (sign,) = untold_changes(said(high), dag)
    assert sign.variables == ("a", "b")
    assert any("a and b may have a hidden" in words for words in fp.MPERI(progress=False).fit(high).warnings)


def test_many_sites_are_compared_with_some_others_each() -> None:
    """The same sign from 120 sites, whatever their order; an arrow instead of the hidden cause gives none."""
    edge = fp.PDAG.from_edges([("a", "b")])
    shifts = [(float(k % 3 == 1), float(k % 3 == 2)) for k in range(120)]
    parts = said(confounded(shifts))
    found = list(untold_changes(parts, edge))
    assert [sign.variables for sign in found] == [("a", "b")]
    assert [sign.words for sign in untold_changes(parts[::-1], edge)] == [found[0].words]
    assert list(untold_changes(said(confounded(shifts, effect=0.5)), edge)) == []


def test_sites_are_compared_with_a_site_that_is_like_most() -> None:
    """Whatever the order of the sites; a site that is usual in one variable only is not taken."""
    level = np.array([[5.0, 0.02], [0.0, -7.0], [0.01, 0.0], [-5.0, 0.01], [-0.01, 7.0]])
    error, rows = np.full((5, 2), 1e-4), np.array([10.0, 20.0, 30.0, 20.0, 10.0])
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 1, 3]):
        assert order[usual_site(level[order], error[order], rows[order])] == 2


@pytest.mark.parametrize("sites", [6, 30])
def test_two_policies_that_cancel_are_one_coincidence_at_any_number_of_sites(sites: int) -> None:
    """Every second site shifts a, and b by as much the other way: in a large graph chance may bring one such pair."""
    rng = np.random.default_rng(0)
    dag = fp.PDAG.from_edges([("y", "b"), ("a", "b"), *((f"v{i}", f"w{i}") for i in range(12))])
    tables = []
    for k in range(sites):
        table = pd.DataFrame(rng.normal(size=(1000, len(dag.names))), columns=list(dag.names))
        table["a"] += k % 2
        table["b"] += 0.8 * table["a"] - 0.8 * (k % 2) + table["y"]
        tables.append(table)
    assert list(untold_changes(said(tables), dag)) == []


def three_effects(curve: float, hidden: float, seed: int = 0) -> list[pd.DataFrame]:
    """Tables of y, z and three others; z acts on them by its square, and both through a hidden cause."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(4):
        y, z, unseen, *noise = rng.normal(size=(6, 1000))
        unseen = 0.5 * z + 0.5 * y + unseen
        tables.append(
            pd.DataFrame(
                {
                    "y": y,
                    "z": z,
                    **{name: hidden * unseen + curve * z**2 + e for name, e in zip("abc", noise, strict=True)},
                }
            )
        )
    return tables


EVERY_EDGE = fp.PDAG.from_edges(
    [(cause, effect) for cause in "yz" for effect in "abc"] + [("a", "b"), ("a", "c"), ("b", "c")], names=list("yzabc")
)


def test_a_hidden_cause_of_three() -> None:
    """What causes the hidden cause reaches all three in proportion: that takes fewer parameters."""
    (sign,) = common_cause_of_three(summaries(three_effects(0.0, 0.5)), EVERY_EDGE)
    assert sign.variables == ("a", "b", "c") and sign.evidence > 5
    assert "a, b and c may have a hidden common cause: it would explain them better than arrows" in sign.words


def test_curved_effects_of_a_cause_that_was_seen_are_no_hidden_cause() -> None:
    assert list(common_cause_of_three(summaries(three_effects(0.3, 0.0)), EVERY_EDGE)) == []


def test_arrows_between_three_are_no_hidden_cause() -> None:
    """5 seeds; strengths between 0.3 and 1 and everything joined leave little to save."""
    for seed in range(5):
        sim = fp.simulate(EVERY_EDGE, clients=4, samples=1000, weights=(0.3, 1.0), shared_mechanisms=True, seed=seed)
        assert list(common_cause_of_three(summaries(sim.sites), EVERY_EDGE)) == [], seed


def test_next_to_an_edge_that_is_missing_no_hidden_cause_is_seen() -> None:
    """No DAG without that edge fits. Of 1,000 rows per site every edge here leaves a correlation if it is missing."""
    sim = fp.simulate(
        9,
        clients=5,
        samples=1000,
        edges=17.11,
        weights=(0.3, 1.0),
        intervention="shift",
        shared_mechanisms=True,
        targets_per_client=2,
        seed=37203,
    )
    parts = summaries(sim.sites)
    lacks = fp.PDAG.from_edges(sim.dag.directed - {("X3", "X0")}, names=sim.dag.names)
    assert [sign.variables for sign in common_cause_of_three(parts, lacks)] == [("X0", "X2", "X8")]
    assert ("X3", "X0") in repaired(parts, lacks).directed
    assert list(common_cause_of_three(parts, repaired(parts, lacks))) == []
    assert repaired(parts, sim.dag) == sim.dag


def test_steps_of_em_never_score_lower() -> None:
    """With families that stay the same, every step of EM raises the likelihood."""
    versions = Versions.of(summaries(three_effects(0.0, 0.5)), [2, 3, 4, 0, 1])
    mechanisms = Mechanisms(versions.parts, tolerances=(0.0,))
    cause = first_guess(mechanisms, [0, 1, 2], [3, 4])
    last, scores = len(mechanisms.names), []
    for _ in range(6):
        whole, entropy = completed(mechanisms, cause)
        families = [(v, (last,)) for v in range(3)] + [(last, (3, 4))]
        scores.append(entropy + sum(float(whole.lattice(v, given, ())[0]) for v, given in families))
        cause = improved(mechanisms, cause, {v: ((), [0] * 4) for v in range(3)}, [3, 4])
    assert (np.diff(scores) > -1e-6).all() and scores[-1] > scores[0] + 0.1


def test_the_clinic_without_bmi_names_cholesterol_and_blood_pressure() -> None:
    tables = [table.drop(columns="bmi") for table in fp.clinic(seed=3).sites]
    warnings = fp.MPERI(progress=False).fit(tables).warnings
    assert any(words.startswith("glucose, ldl and systolic may have a hidden common cause") for words in warnings)


def test_a_graph_that_lacks_an_edge_leaves_a_correlation() -> None:
    sim = fp.simulate(fp.PDAG.from_edges([("a", "b"), ("b", "c")]), clients=3, samples=500, weights=(0.5, 1.0), seed=1)
    parts = summaries(sim.sites)
    (words,) = unexplained(parts, fp.PDAG.from_edges([("a", "b"), ("a", "c")]))
    assert words.startswith("The graph leaves correlations that it does not explain: b and c (r = 0.")
    assert unexplained(parts, sim.dag) == []


def test_true_graphs_leave_no_correlations() -> None:
    """Sites that differ, curves and yes/no variables included: 20 simulations and 4 clinics.

    Of 64 clinics one fails, where effects are products of causes.
    """
    for seed in range(20):
        sim = fp.simulate(10, clients=5, samples=500, edges=14.0, intervention="varied", seed=seed)
        assert failed_independences(summaries(sim.sites), sim.dag) == {}, seed
    for seed, graph in enumerate(("stroke", "diabetes", "sepsis", "random"), start=36500):
        ward = fp.clinic(graph=graph, seed=seed)
        assert failed_independences(summaries(ward.sites), ward.dag) == {}, graph


def test_a_run_of_mperi_tells() -> None:
    result = fp.MPERI(progress=False).fit(confounded([(0, 0), (1, 0), (0, 1), (0, 0)]))
    assert any("a and b may have a hidden common cause" in words for words in result.warnings)


@pytest.mark.skipif(kernel.kind() == "numpy", reason="no compiled loops here")
@pytest.mark.parametrize("seed", range(6))
def test_loops_refine_a_hidden_cause_as_numpy_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With groups that differ by effect, a site that set an effect, and other causes."""
    tables = three_effects(0.0, 0.5, seed)
    tables[3]["b"] = 1.0
    versions = Versions.of(summaries(tables), [2, 3, 4, 0, 1])
    mechanisms = Mechanisms(versions.parts)
    families = {0: ([3], [0, 0, 1, 1]), 1: ([], [0, 1, 1, 0]), 2: ([3, 4], [0, 1, 2, 0])}
    ours = refined(mechanisms, first_guess(mechanisms, [0, 1, 2], [3, 4]), families, [3, 4], 10)
    monkeypatch.setattr(kernel, "loops", kernel.NoLoops())
    theirs = refined(mechanisms, first_guess(mechanisms, [0, 1, 2], [3, 4]), families, [3, 4], 10)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.variance, theirs.variance, rtol=1e-8)


@pytest.mark.skipif(kernel.kind() == "numpy", reason="no compiled loops here")
def test_nearly_collinear_columns_are_left_to_numpy() -> None:
    tables = [table.assign(z=table["y"] * (1 + 1e-9)) for table in three_effects(0.0, 0.5)]
    mechanisms = Mechanisms(Versions.of(summaries(tables), [2, 3, 4, 0, 1]).parts)
    cause = first_guess(mechanisms, [0, 1, 2], [3])
    families = {v: ([3, 4], [0] * 4) for v in range(3)}
    ours = refined(mechanisms, cause, families, [3, 4], 1)
    theirs = improved(mechanisms, cause, families, [3, 4])
    np.testing.assert_array_equal(ours.weights, theirs.weights)
    np.testing.assert_array_equal(ours.variance, theirs.variance)


def test_a_joined_hidden_cause_is_like_a_column_of_the_summaries() -> None:
    """A column that is left out, and joined by its moments, gives the same scores."""
    parts = [part.straight() for part in summaries(three_effects(0.0, 0.5))]
    whole, some = Mechanisms(Versions.of(parts, [2, 3, 4, 0]).parts), Mechanisms(Versions.of(parts, [2, 3, 4]).parts)
    means, covariances = (
        np.stack(one)
        for one in zip(*((p.mean, p.covariance) for p in Versions.of(parts, [2, 3, 4, 0]).parts), strict=True)
    )
    joined = some.joined(means[:, :3], covariances[:, :3, :3], means[:, 3], covariances[:, 3, :3], covariances[:, 3, 3])
    for node in range(4):
        others = [v for v in range(4) if v != node]
        np.testing.assert_allclose(
            joined.lattice(node, (), others), whole.lattice(node, (), others), rtol=1e-12, atol=1e-8
        )
