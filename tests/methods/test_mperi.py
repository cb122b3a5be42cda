"""M-PERI: exact on population moments, calibrated on tables, with clear messages about unusable input."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.mperi.directions import find_graph, known_directions, stated, tempered
from fedperi.methods.mperi.oracle import edge_price
from fedperi.methods.mperi.runs import Run, Runs, competitive_sets
from fedperi.scores import _kernel as kernel
from fedperi.search.posterior import Lattice
from fedperi.tables import Column, Schema

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


@pytest.mark.parametrize("observational", [True, False])
@pytest.mark.parametrize("sharing", ["auto", "exact"])
def test_population_moments_tell_all_that_can_be_known(observational: bool, sharing: str) -> None:
    """The oracle of benchmarks/mperi_exactness.py, on fixed cases: no chance in it."""
    from mperi_exactness import compare  # type: ignore[import-not-found]

    for seed in range(40):
        everything, _, no_wrong, targets, groups = compare(seed, observational, sharing)
        assert no_wrong, seed
        assert everything, seed
        assert groups or sharing == "auto", seed
        assert targets or not observational, seed


def test_same_result_from_tables_summaries_and_any_order_of_sites() -> None:
    sim = fp.simulate(5, clients=4, samples=400, intervention="varied", seed=4)
    tables = dict(zip("abcd", sim.sites, strict=True))
    result = fp.MPERI(data="linear").fit(tables)
    parts = [fp.Summary.of(table, name=name, data="linear") for name, table in tables.items()]
    for other in (fp.MPERI().fit(parts), fp.MPERI(data="linear").fit(dict(reversed(tables.items())))):
        assert other.graph == result.graph
        pd.testing.assert_frame_equal(other.probabilities, result.probabilities, atol=1e-6)
    columns = fp.MPERI(data="linear").fit({name: table[table.columns[::-1]] for name, table in tables.items()})
    assert columns.graph.reordered(result.graph.names) == result.graph


def test_copies_of_one_site_differ_in_nothing() -> None:
    table = fp.simulate(4, clients=1, samples=500, seed=1).sites[0]
    result = fp.MPERI().fit({"a": table, "b": table, "c": table})
    assert not result.differences and all(len(one.groups) == 1 for one in result.groups)
    assert any("do not differ" in warning for warning in result.warnings)


def test_a_constant_column_is_a_policy() -> None:
    sim = fp.simulate(["age", "dose", "pressure"], clients=3, samples=800, edges=3, seed=2)
    tables = dict(zip(["Brest", "Lyon", "Metz"], sim.sites, strict=True))
    tables["Lyon"] = tables["Lyon"].assign(dose=2.5)
    result = fp.MPERI().fit(tables)
    assert [(one.site, one.kind) for one in result.differences if one.variable == "dose"] == [("Lyon", "constant")]
    assert any(warning.startswith("dose has only one value at Lyon: this site says") for warning in result.warnings)
    for name, table in tables.items():
        tables[name] = table.assign(dose=2.5)
    with pytest.raises(fp.InputError, match=r"dose.*same"):
        fp.MPERI().fit(tables)


@pytest.mark.parametrize(("rows", "reported"), [(30, False), (400, True)])
def test_a_site_without_a_rare_level_takes_part(rows: int, reported: bool) -> None:
    rng = np.random.default_rng(5)

    def hospital(rows: int) -> pd.DataFrame:
        age = rng.normal(60, 10, rows)
        stroke = np.where(rng.random(rows) < 0.1, "yes", "no")
        return pd.DataFrame({"age": age, "pressure": age + rng.normal(0, 5, rows), "stroke": stroke})

    tables = {"Brest": hospital(500), "Lyon": hospital(500), "Metz": hospital(rows).assign(stroke="no")}
    result = fp.MPERI().fit(tables)
    assert [(one.site, one.kind) for one in result.differences] == [("Metz", "constant")] * reported
    assert all(np.isfinite(one.evidence) for one in result.differences)
    assert "stroke has only one value at Metz: this site says nothing about its causes." in result.warnings
    schema = Schema((Column("stroke", "categorical", ("no", "yes")),))
    stated = fp.MPERI().fit([fp.Summary.of(table, schema, name=name) for name, table in tables.items()])
    assert [one.site for one in stated.differences] == [one.site for one in result.differences]


def test_a_small_site_takes_part() -> None:
    sim = fp.simulate(8, clients=4, samples=[600, 600, 600, 5], intervention="shift", seed=3)
    result = fp.MPERI().fit(dict(zip("abcd", sim.sites, strict=True)))
    assert np.isfinite(result.probabilities[["forward", "backward", "none"]].to_numpy()).all()
    assert any(warning.startswith("d has fewer than") for warning in result.warnings)
    assert not [one for one in result.robustness if one.site == "d"]


def test_one_site_with_fewer_rows_than_variables_still_answers() -> None:
    table = fp.simulate(6, clients=1, samples=8, seed=1).sites[0]
    result = fp.MPERI().fit([table])
    assert "There is only one site" in result.warnings[0]
    assert not [one for one in result.robustness if one.grade == "confirmed"]


@pytest.mark.parametrize("confidence", [0.5, 1.0, 1.5, "high", True, float("nan")])
def test_confidence_outside_its_range(confidence: object) -> None:
    with pytest.raises(fp.InputError, match=r"confidence must lie between 0.5 and 1"):
        fp.MPERI(confidence=confidence)


def test_sites_with_different_columns() -> None:
    a = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["x", "y"])
    with pytest.raises(fp.InputError, match=r"'z'|'y'"):
        fp.MPERI().fit({"a": a, "b": a.rename(columns={"y": "z"})})
    with pytest.raises(fp.InputError, match=r"two sites are called|give each"):
        fp.MPERI().fit([fp.Summary.of(a, name="a"), fp.Summary.of(a, name="a")])
    with pytest.raises(fp.InputError, match="at least one site"):
        fp.MPERI().fit([])


def test_knowledge_is_always_respected() -> None:
    sim = fp.simulate(6, clients=4, samples=300, intervention="varied", seed=8)
    names = sim.dag.names
    known = fp.Knowledge(
        tiers=[names[3:], names[:3]], forbidden=[(names[3], names[4])], required=[(names[5], names[0])]
    )
    result = fp.MPERI(knowledge=known).fit(sim.sites)
    tier = {name: at for at, some in enumerate((names[3:], names[:3])) for name in some}
    assert (names[5], names[0]) in result.graph.directed
    for a, b in result.graph.directed:
        assert tier[a] <= tier[b] and (a, b) != (names[3], names[4])
    for a, b in result.graph.undirected:
        assert tier[a] == tier[b] and {a, b} != {names[3], names[4]}
    chances = {(row.a, row.b): row for row in result.probabilities.itertuples()}
    for (a, b), row in chances.items():  # type: ignore[assignment]
        if tier[a] > tier[b]:
            assert row.forward == pytest.approx(0.0, abs=1e-12)
    assert {one.grade for one in result.robustness if tier[one.a] < tier[one.b]} <= {"known"}


def runs(all_: np.ndarray, third: np.ndarray, without: list[np.ndarray], curves: np.ndarray | None = None) -> Runs:
    found = [Run("with all sites", "all", all_), Run("if rows count for a third", "third", third)]
    found += [Run(f"without {k}", "without", edges, f"site {k}") for k, edges in enumerate(without)]
    if curves is not None:
        found.append(Run("if effects may be curved", "curves", curves))
    return Runs(tuple(found), True, 0.0)


def arrow(forward: float, backward: float) -> np.ndarray:
    return np.array([[0.0, forward], [backward, 0.0]])


@pytest.mark.parametrize(
    ("third", "without", "curves", "grade", "site"),
    [
        (arrow(0.99, 0.01), [arrow(0.98, 0.02)] * 3, None, "confirmed", ""),
        (arrow(0.99, 0.01), [arrow(0.98, 0.02)] * 3, arrow(0.2, 0.8), "straight lines", ""),
        (arrow(0.99, 0.01), [arrow(0.98, 0.02), arrow(0.4, 0.6), arrow(0.9, 0.1)], None, "one site", "site 1"),
        (arrow(0.99, 0.01), [arrow(0.4, 0.6), arrow(0.4, 0.6), arrow(0.9, 0.1)], None, "", ""),
        (
            arrow(0.999999, 0.000001),
            [arrow(0.4, 0.6), arrow(0.4, 0.6), arrow(0.9, 0.1)],
            None,
            "one site",
            "site 0 and site 1",
        ),
        (arrow(0.85, 0.15), [arrow(0.98, 0.02)] * 3, None, "", ""),
    ],
)
def test_grades(third: np.ndarray, without: list[np.ndarray], curves: np.ndarray | None, grade: str, site: str) -> None:
    whole = third if third[0, 1] > 0.9999 else arrow(0.99, 0.01)
    found = runs(whole, third, without, curves)
    graph, (entry,) = find_graph(unconstrained(("A", "B")), found, arrow(0.9, 0.1), 0.95)
    assert (entry.grade, entry.site) == (grade, site)
    assert bool(graph.directed) == bool(grade)


def test_a_direction_that_curves_invert_is_open_unless_no_tolerance_endangers_it() -> None:
    whole, loosely = arrow(0.999, 0.001), [arrow(0.96, 0.04), arrow(0.995, 0.005)]
    constraints = unconstrained(("A", "B"))
    for curves, doubts, directed in (
        (arrow(0.0, 1.0), loosely[:1], False),
        (arrow(0.0, 1.0), loosely[1:], True),
        (arrow(0.0, 1.0), loosely, False),
        (arrow(0.0, 1.0), [], False),
        (arrow(0.01, 0.99), loosely[:1], True),
    ):
        found = runs(whole, whole, [whole] * 3, curves)
        found = replace(found, runs=(*found.runs, *(Run("loosely", "tolerance", edges) for edges in doubts)))
        said = stated(found)
        graph, (entry,) = find_graph(constraints, found, said, 0.95)
        assert (len(graph.directed), bool(entry.grade)) == (directed, directed)
        assert (said[0, 1] > 0.9) == directed and said.sum() > 0.9  # an edge it is all the same


def test_an_edge_that_only_straight_lines_need_is_not_drawn() -> None:
    whole = arrow(0.999, 0.001)
    found = runs(whole, whole, [whole] * 3, arrow(0.1, 0.1))
    said = stated(found)
    assert said.sum() == pytest.approx((1 + 2 * 0.2) / 3)
    graph, entries = find_graph(unconstrained(("A", "B")), found, said, 0.95)
    assert not graph.directed and not graph.undirected and entries == []


def test_curves_say_nothing_of_directions_that_straight_lines_leave_open() -> None:
    whole = arrow(0.5, 0.5)
    assert np.array_equal(
        stated(runs(whole, whole, [whole] * 3, arrow(0.0, 1.0))), stated(runs(whole, whole, [whole] * 3))
    )


def ward(age: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    old = rng.normal(age, 1.0, 2000)
    return pd.DataFrame({"age": old, "dose": (old - 1) ** 2 / 2 + rng.normal(size=2000)})


def test_a_curve_at_sites_with_other_patients_gives_no_arrow_the_wrong_way_and_says_so() -> None:
    result = fp.MPERI().fit({f"ward {k}": ward(age, k) for k, age in enumerate((0.0, 0.0, 1.0, 2.0, 2.0))})
    assert result.graph.undirected == {("age", "dose")}
    assert any("Straight lines give dose -> age, and curves the opposite direction" in said for said in result.warnings)


def test_a_direction_that_would_close_a_cycle_is_left_out() -> None:
    edges = np.array([[0.0, 0.999, 0.003], [0.001, 0.0, 0.998], [0.997, 0.002, 0.0]])
    found = runs(edges, edges, [edges] * 3)
    graph, _ = find_graph(unconstrained(("A", "B", "C")), found, edges, 0.95)
    assert graph.directed == {("A", "B"), ("B", "C")}
    assert graph.undirected == {("A", "C")}


def test_an_edge_whose_other_direction_closes_a_cycle_is_directed() -> None:
    edges = np.array([[0.0, 0.999, 0.7], [0.001, 0.0, 0.998], [0.3, 0.002, 0.0]])
    graph, _ = find_graph(unconstrained(("A", "B", "C")), runs(edges, edges, [edges] * 3), edges, 0.95)
    assert ("A", "C") in graph.directed


def test_directions_that_knowledge_gives() -> None:
    known = fp.Knowledge(forbidden=[("B", "A")], required=[("B", "C")]).constraints(("A", "B", "C"))
    assert np.argwhere(known_directions(known)).tolist() == [[0, 1], [1, 2]]


def test_tempering_moves_towards_doubt_and_keeps_order() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, none = rng.dirichlet([1, 1, 1])
        out = tempered(arrow(a, b), 0.7)
        assert out.sum() <= 1 + 1e-12 and (out[0, 1] > out[1, 0]) == (a > b)
        assert abs(out.sum() - 0.5) <= abs(a + b - 0.5) + 1e-12
        del none


def test_few_variables_have_no_price_on_edges() -> None:
    assert edge_price(11) == 0.0 and edge_price(12) > 0.0


def test_competitive_sets_are_closed_under_subsets() -> None:
    scores = np.random.default_rng(3).normal(scale=15, size=64)
    found = competitive_sets(Lattice((1, 2, 3, 4, 5, 6), scores))
    assert found[0]
    for at in np.flatnonzero(found).tolist():
        assert all(found[part] for part in range(at) if not part & ~at)


def test_more_than_a_dozen_variables_are_sampled_and_repeatable() -> None:
    sim = fp.simulate(14, clients=4, samples=400, intervention="varied", seed=2)
    first, again = (fp.MPERI(seed=1).fit(sim.sites) for _ in range(2))
    assert first.sampling["exact"] is False and first.sampling["chains_differ"] < 0.2
    assert first.graph == again.graph
    pd.testing.assert_frame_equal(first.probabilities, again.probabilities)


def test_hospital_tables_on_fixed_seeds() -> None:
    """Two clinics that were not used to choose anything; deterministic, so that nothing fails by chance."""
    right = wrong = named = 0
    for seed in (7001, 7002):
        ward = fp.clinic(seed=seed)
        result = fp.MPERI().fit({str(k): table for k, table in enumerate(ward.sites)})
        confirmed = {(one.a, one.b) for one in result.robustness if one.grade == "confirmed"}
        right += len(confirmed & ward.dag.directed)
        wrong += len(confirmed - ward.dag.directed)
        policies = {(str(one.site), one.variable) for site in ward.policies for one in site}
        named += len(policies & {(one.site, one.variable) for one in result.differences})
    assert right >= 20 and wrong <= 1 and named >= 7


def test_numpy_gives_the_same_where_there_are_no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = fp.simulate(5, clients=4, samples=500, intervention="varied", seed=3)
    result = fp.MPERI().fit(sim.sites)
    monkeypatch.setattr(kernel, "loops", kernel.NoLoops())
    other = fp.MPERI().fit(sim.sites)
    assert other.graph == result.graph
    pd.testing.assert_frame_equal(other.probabilities, result.probabilities, atol=1e-9)
