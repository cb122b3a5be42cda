"""Effects: valid adjustment sets, right numbers, honest intervals, and no statement that the sites do not support."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.graph import bits
from fedperi.graph.adjustment import is_adjustment_set, optimal_set
from fedperi.methods.effects.dags import WeighedDag, probable_dags
from fedperi.methods.effects.estimates import Effects
from fedperi.methods.effects.moments import Moments, SiteMoments
from fedperi.methods.effects.noise import spread_of_draws
from fedperi.methods.effects.policies import Policies
from fedperi.methods.effects.pooling import pool
from fedperi.methods.effects.records import Effect
from fedperi.methods.effects.regression import regress
from fedperi.methods.effects.table import COLUMNS
from fedperi.methods.effects.words import IF_RIGHT, sentences
from fedperi.methods.parts import Difference
from fedperi.tables.summary.alike import check_alike
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.summary.summary import Summary

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


def known(moments: Moments, dag: fp.PDAG, differences: tuple[Difference, ...] = ()) -> Effects:
    """Effects if the DAG is certain."""
    parents = tuple(bits.columns(dag.adjacency))
    only = WeighedDag(parents, tuple(bits.transpose(parents)), 1.0)
    return Effects(moments, (only,), {}, Policies.of(moments, differences))


def moments_of(tables: dict[str, pd.DataFrame], data: str = "mixed") -> Moments:
    return Moments.of(summaries(tables, data=data))


def linear_model(seed: int, p: int = 5) -> tuple[fp.PDAG, np.ndarray, np.ndarray]:
    """A random DAG, its total effects, and its covariance."""
    rng = np.random.default_rng(seed)
    dag = fp.PDAG(np.triu(rng.random((p, p)) < 0.6, 1), [f"X{i}" for i in range(p)])
    weights = dag.adjacency * rng.uniform(0.5, 1.5, (p, p)) * rng.choice([-1, 1], (p, p))
    totals = np.linalg.inv(np.eye(p) - weights)
    return dag, totals, totals.T @ np.diag(rng.uniform(0.5, 2.0, p)) @ totals


# -- what to adjust for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_set_is_valid_if_and_only_if_its_regression_gives_the_total_effect(seed: int) -> None:
    """Weights are generic: a wrong set does not give the right number by chance."""
    dag, totals, covariance = linear_model(seed)
    parents, children = bits.columns(dag.adjacency), bits.rows(dag.adjacency)
    site = SiteMoments("population", 1e6, np.zeros(5), covariance)
    for x, y in permutations(range(5), 2):
        best = optimal_set(parents, children, x, y)
        if best is None:
            assert abs(totals[x, y]) < 1e-12
            continue
        others = [i for i in range(5) if i not in (x, y)]
        errors = {}
        for given in bits.subsets(sum(1 << i for i in others)):
            fit = regress(site, [x], list(bits.members(given)), [y])
            right = abs(fit.estimate[0, 0] - totals[x, y]) < 1e-9
            assert right == is_adjustment_set(parents, children, x, y, given), (x, y, given)
            if right:
                errors[given] = fit.error[0, 0]
        assert errors[best] <= min(errors.values()) * (1 + 1e-5)  # optimal: the smallest variance of all


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_least_squares_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + [3, -200, 1e4], columns=list("abc"))
    table["kind"] = rng.choice(["u", "v", "w"], 60)
    table["c"] += 2.0 * (table["kind"] == "w")
    moments = moments_of({"north": table})
    fit = regress(moments.sites[0], [0], [1, 3, 4], [2])
    indicators = pd.get_dummies(table["kind"], drop_first=True, dtype=float)
    theirs = api.OLS(table["c"], api.add_constant(pd.concat([table[["a", "b"]], indicators], axis=1))).fit()
    low, high = theirs.conf_int().loc["a"]
    assert fit.estimate[0, 0] == pytest.approx(theirs.params["a"], rel=1e-9)
    assert fit.error[0, 0] == pytest.approx(theirs.bse["a"], rel=1e-9)
    assert fit.half[0, 0] == pytest.approx((high - low) / 2, rel=1e-9)


def test_random_effects_are_those_of_statsmodels() -> None:
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    rng = np.random.default_rng(1)
    for sites in (2, 3, 5, 12):
        errors = rng.uniform(0.02, 0.3, sites)
        y = rng.normal(0.5, 0.4, sites) + errors * rng.normal(size=sites)
        ours = pool(y, errors, 2 * errors)
        theirs = meta.combine_effects(y, errors**2, method_re="iterated", use_t=True)
        assert ours.tau**2 == pytest.approx(max(theirs.tau2, 0.0), abs=1e-4)
        assert ours.estimate == pytest.approx(theirs.mean_effect_re, rel=1e-3)
        assert ours.error == pytest.approx(theirs.sd_eff_w_re_hksj, rel=1e-2)
        assert ours.share == pytest.approx(max(theirs.i2, 0.0), rel=1e-9)


def test_sets_and_effects_are_those_of_dowhy() -> None:
    """On one table, where DoWhy can be asked: our adjustment sets are valid for it, with the same effects."""
    dowhy = pytest.importorskip("dowhy", reason="dowhy is not installed: it needs more than all else together")
    for seed in (0, 1):
        sim = fp.simulate(4, 1, 300, intervention="none", edges=4, seed=seed)
        effects = known(Moments.of(summaries(sim.sites, data="linear")), sim.dag)
        pairs = effects.pairs()
        assert len(pairs) >= 4
        for cause, effect in pairs:
            row = effects.of(cause, effect)[0]
            model = dowhy.CausalModel(sim.sites[0], cause, effect, graph=sim.dag.to_networkx())
            found = model.identify_effect(proceed_when_unidentifiable=True, method_name="exhaustive-search")
            (key,) = [key for key, some in found.backdoor_variables.items() if set(some) == set(row.adjustment)][:1]
            theirs = model.estimate_effect(found, method_name=f"{key}.linear_regression")
            assert row.total.value == pytest.approx(theirs.value, rel=1e-9)


def test_where_pooling_is_allowed_it_gives_about_the_same() -> None:
    """Regression on all rows with an intercept per site: within a third of a standard error, on one fixed seed."""
    formula = pytest.importorskip("statsmodels.formula.api")
    sim = fp.simulate(5, clients=6, samples=800, edges=7, intervention="shift", weights=(0.3, 1.0), seed=5)
    tables = {f"s{k}": table for k, table in enumerate(sim.sites)}
    effects = known(moments_of(tables, "linear"), sim.dag)
    rows = pd.concat([table.assign(place=name) for name, table in tables.items()])
    for cause, effect in effects.pairs():
        common = effects.of(cause, effect)[-1]
        theirs = formula.ols(f"{effect} ~ {' + '.join([cause, *common.adjustment])} + C(place)", rows).fit()
        assert abs(common.total.value - theirs.params[cause]) < theirs.bse[cause] / 3


def test_yes_no_and_categories_are_differences_of_shares_and_means() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"drug": rng.choice(["a", "b", "c"], 400), "smoker": rng.integers(0, 2, 400)})
    table["cured"] = np.where(rng.random(400) < 0.3 + 0.3 * (table["drug"] == "c"), "yes", "no")
    table["weight"] = rng.normal(70, 9, 400) + 5 * table["smoker"]
    dag = fp.PDAG.from_edges([("drug", "cured"), ("smoker", "weight")], names=table.columns)
    effects = known(moments_of({"north": table}), dag)
    assert effects.moments.shares == (True, True, True, False)
    cured = (table["cured"] == "yes").groupby(table["drug"]).mean()
    at_site = [one for one in effects.of("drug", "cured") if one.site == "north"]
    assert [(one.cause_level, one.effect_level) for one in at_site] == [("b", "yes"), ("c", "yes")]
    for one in at_site:
        assert one.total.value == pytest.approx(cured[one.cause_level] - cured["a"])
        assert one.unit == "probability of cured = yes, drug against the first level"
    means = table["weight"].groupby(table["smoker"]).mean()
    assert effects.of("smoker", "weight")[0].total.value == pytest.approx(means[1] - means[0])
    assert effects.unit(1, 3) in ("weight, smoker 1 against 0", "weight, smoker = 1 against the first level")


def test_summaries_with_other_levels_cannot_be_compared() -> None:
    parts = [Summary.of(pd.DataFrame({"drug": levels, "x": [1.5, 2.0, 3.5]})) for levels in (list("abb"), list("acc"))]
    with pytest.raises(fp.InputError, match="summarised differently"):
        check_alike(parts)


# -- sites that cannot tell, or tell something else -------------------------------------------------------------------


def three_sites() -> tuple[fp.PDAG, dict[str, pd.DataFrame]]:
    dag = fp.PDAG.from_edges([("age", "dose"), ("age", "pain"), ("dose", "relief"), ("relief", "pain")])
    sim = fp.simulate(dag, clients=4, samples=500, weights=(0.5, 1.0), intervention="none", seed=4)
    return dag, dict(zip(("Brest", "Lyon", "Metz", "Nice"), sim.sites, strict=True))


def by_site(rows: list[Effect]) -> dict[str, Effect]:
    return {one.site: one for one in rows}


def test_a_site_that_cuts_the_cause_off_is_left_out_and_said_so() -> None:
    dag, tables = three_sites()
    shuffled = tables["Lyon"]["relief"].to_numpy().copy()
    np.random.default_rng(0).shuffle(shuffled)
    tables["Lyon"] = tables["Lyon"].assign(relief=shuffled)
    cut = Difference("Lyon", "relief", "cut", 50.0, "", ("dose",))
    effects = known(moments_of(tables), dag, (cut,))
    for cause, effect in (("dose", "relief"), ("dose", "pain")):  # on the arrow, and on a path through it
        found = by_site(effects.of(cause, effect))
        assert found["Lyon"].note == "relief does not depend on dose at Lyon: not part of the pooled effect"
        assert found["Lyon"].total.sites == 0 and found["common"].total.sites == 3
        rest = known(moments_of({name: table for name, table in tables.items() if name != "Lyon"}), dag)
        assert found["common"].total == by_site(rest.of(cause, effect))["common"].total
    assert abs(by_site(effects.of("dose", "relief"))["Lyon"].total.value) < 0.2
    assert by_site(effects.of("relief", "pain"))["common"].total.sites == 4  # what is below is not concerned


def test_constant_and_declared_variables() -> None:
    dag, tables = three_sites()
    tables["Metz"] = tables["Metz"].assign(dose=1.0)
    parts = [replace(part, targets=("dose",) if part.site == "Nice" else None) for part in summaries(tables)]
    effects = known(Moments.of(parts), dag)
    onto, from_ = by_site(effects.of("age", "dose")), by_site(effects.of("dose", "relief"))
    assert onto["Metz"].note.startswith("dose has one value only at Metz")
    assert onto["Nice"].note.startswith("dose is declared as set at Nice")
    assert onto["common"].total.sites == 2
    assert from_["Metz"].note == "Metz gives no estimate: the cause does not vary enough there"
    assert np.isnan(from_["Metz"].total.value) and from_["common"].total.sites == 3
    # Nice has set the dose, which makes its effects all the easier to see.
    assert from_["Nice"].note == "" and from_["Nice"].total.sites == 1
    adjusted = by_site(effects.of("relief", "pain"))
    assert np.isfinite(adjusted["Metz"].total.value)  # a constant needs no adjustment


def test_too_few_rows_and_determined_causes_tell_nothing() -> None:
    dag, tables = three_sites()
    tables["Metz"] = tables["Metz"].iloc[:2]
    tables["Nice"] = tables["Nice"].assign(dose=2 * tables["Nice"]["age"])
    found = by_site(known(moments_of(tables), dag).of("dose", "relief"))
    assert np.isnan(found["Metz"].total.value)
    more = fp.PDAG.from_edges([*dag.directed, ("age", "relief")], names=dag.names)
    found = by_site(known(moments_of(tables), more).of("dose", "relief"))
    assert np.isnan(found["Nice"].total.value) and found["common"].total.sites == 2


def test_copies_of_a_site_do_not_make_an_interval_of_no_width() -> None:
    dag, tables = three_sites()
    found = known(moments_of(dict.fromkeys(("a", "b", "c"), tables["Brest"])), dag).of("dose", "pain")
    assert found[-1].total.value == pytest.approx(found[0].total.value)
    assert found[-1].total.high - found[-1].total.low > (found[0].total.high - found[0].total.low) / 4


def test_the_order_of_sites_does_not_matter() -> None:
    dag, tables = three_sites()
    turned = dict(reversed(tables.items()))
    one, other = (by_site(known(moments_of(some), dag).of("age", "pain")) for some in (tables, turned))
    assert one["common"].total == pytest.approx(other["common"].total)
    assert one["Lyon"].direct == other["Lyon"].direct


def test_units_do_not_matter() -> None:
    dag, tables = three_sites()
    scaled = {name: table.assign(dose=table["dose"] * 1e6 + 5e7) for name, table in tables.items()}
    one, other = (by_site(known(moments_of(some), dag).of("dose", "pain"))["common"].total for some in (tables, scaled))
    assert other.value * 1e6 == pytest.approx(one.value, rel=1e-6)
    assert other.low * 1e6 == pytest.approx(one.low, rel=1e-5)


# -- open directions --------------------------------------------------------------------------------------------------


def test_open_directions_give_a_range() -> None:
    chain = fp.PDAG.from_edges([("a", "b"), ("b", "c")])
    sim = fp.simulate(chain, clients=3, samples=1000, weights=(0.6, 0.9), intervention="none", seed=2)
    moments = Moments.of(summaries(sim.sites))
    graph = fp.PDAG.from_edges(undirected=[("a", "b"), ("b", "c")])
    directions = {("a", "b"): 0.6, ("b", "a"): 0.4, ("b", "c"): 0.6, ("c", "b"): 0.4}
    dags = probable_dags(graph, chain, directions, moments)
    assert {one.parents for one in dags} == {(0, 1, 2), (2, 0, 2), (2, 4, 0)}  # no collider at b
    effects = Effects(moments, dags, directions, Policies.of(moments, []))
    common = effects.of("a", "c")[-1]
    certain = known(moments, chain).of("a", "c")[-1]
    assert common.open and common.direct is None
    assert min(common.total.least, common.total.most, key=abs) == 0.0
    assert max(abs(common.total.least), abs(common.total.most)) == pytest.approx(abs(certain.total.value))
    assert common.total.low <= min(0.0, certain.total.low) and common.total.high >= max(0.0, certain.total.high)
    said = " ".join(sentences(effects.of("a", "c"), moments))
    assert "Open: the total effect depends on directions" in said and "there is no effect" in said
    onward = effects.of("a", "b")[-1]
    assert onward.probability == 0.6 and onward.direct is not None and not np.isnan(onward.direct.value)


def test_open_directions_name_every_set_to_adjust_for() -> None:
    """a -- b with a third variable that both cause: the adjustment set depends on the open direction."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=3000)
    b = 0.8 * a + rng.normal(size=3000)
    c = 0.5 * a + 0.5 * b + rng.normal(size=3000)
    moments = moments_of({"one": pd.DataFrame({"a": a, "b": b, "c": c})}, "linear")
    dag = fp.PDAG.from_edges([("a", "b"), ("a", "c"), ("b", "c")])
    graph = fp.PDAG.from_edges([("a", "c"), ("b", "c")], [("a", "b")], dag.names)
    directions = {("a", "b"): 0.6, ("b", "a"): 0.4}
    effects = Effects(moments, probable_dags(graph, dag, directions, moments), directions, Policies.of(moments, []))
    onto = effects.of("b", "c")[-1]
    sets = (onto.adjustment, *onto.other_sets)
    assert set(sets) == {("a",), ()} and not onto.probably_none
    first, second = (" and ".join(names) for names in sets)
    text = " ".join(sentences(effects.of("b", "c"), moments))
    said = "Adjusted for a." if first else "There is nothing to adjust for."
    assert f"{said} If open directions turn out differently, adjust for {second or 'nothing'}." in text
    back = effects.of("b", "a")
    assert back[-1].probably_none and back[-1].other_sets == ()
    text = " ".join(sentences(back, moments))
    assert "DAG has no such path, and so no effect. In DAGs that have one, there is nothing to adjust for" in text
    assert "from no site" not in text and "differ no more" not in text


def test_directions_that_do_not_matter_leave_an_effect_identified() -> None:
    """Which of two confounders causes the other does not change what to adjust for."""
    dag = fp.PDAG.from_edges([("a", "b"), ("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("x", "y")])
    sim = fp.simulate(dag, clients=2, samples=500, weights=(0.5, 1.0), intervention="none", seed=1)
    graph = fp.PDAG.from_edges(dag.directed - {("a", "b")}, [("a", "b")], dag.names)
    moments = Moments.of(summaries(sim.sites))
    dags = probable_dags(graph, dag, {}, moments)
    assert len(dags) == 2
    found = Effects(moments, dags, {}, Policies.of(moments, [])).of("x", "y")[-1]
    assert not found.open and found.adjustment == ("a", "b") and found.path == pytest.approx(1.0)


def test_many_open_edges_are_walked_through() -> None:
    dag = fp.PDAG.from_edges([(f"X{i}", f"X{i + 1}") for i in range(14)])
    sim = fp.simulate(dag, clients=2, samples=500, weights=(0.5, 0.9), intervention="none", seed=1)
    moments = Moments.of(summaries(sim.sites))
    dags = probable_dags(dag.skeleton, dag, {}, moments)
    assert dags == probable_dags(dag.skeleton, dag, {}, moments)
    colliders = [sum(bool(into & into - 1) for into in one.parents) for one in dags]
    assert len(dags) > 5 and not any(colliders)  # the members of the chain's class, or most of them


# -- noise for privacy ------------------------------------------------------------------------------------------------


def test_without_noise_the_bootstrap_agrees_with_least_squares() -> None:
    _, _, covariance = linear_model(3)
    site = SiteMoments("a", 400, np.zeros(5), covariance)
    fit = regress(site, [0], [1, 2], [4])
    assert spread_of_draws(site, [0, 1, 2], [4])[0, 0] == pytest.approx(fit.half[0, 0], rel=0.06)


def test_intervals_include_the_noise() -> None:
    """Fixed seeds, so there is no chance in it."""
    from effects_coverage import noisy  # type: ignore[import-not-found]

    trials = pd.DataFrame([trial for seed in range(4) for trial in noisy(seed)])
    assert 0.92 <= trials["held"].mean() <= 0.98
    width = trials.groupby("setting")["width"].mean()
    assert width.iloc[1] > 2 * width.iloc[0]


def test_noise_that_breaks_a_covariance_still_gives_numbers() -> None:
    covariance = np.array([[1.0, 1.2, 0.3], [1.2, 1.0, 0.4], [0.3, 0.4, -0.1]])
    site = SiteMoments("a", 100, np.zeros(3), covariance, noise=np.full((3, 3), 0.5))
    fit = regress(site, [0], [1], [2])
    assert np.isfinite(fit.estimate).all() and np.isfinite(fit.half).all()


# -- coverage ---------------------------------------------------------------------------------------------------------


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Fixed seeds, so there is no chance in it; benchmarks/effects_coverage.py has more of them."""
    from effects_coverage import given_the_graph

    trials = pd.DataFrame([trial for seed in range(20) for trial in given_the_graph(seed)])
    shares = trials.groupby("what")["held"].mean()
    assert len(shares) == 4 and ((shares >= 0.92) & (shares <= 0.98)).all(), shares


# -- the result -------------------------------------------------------------------------------------------------------


def test_effects_come_back_from_a_saved_result(tmp_path: Path) -> None:
    _, tables = three_sites()
    result = fp.MPERI().fit({name: table.assign(ward=["u", "v"] * 250) for name, table in tables.items()})
    effects = result.effects
    assert list(effects.columns) == list(COLUMNS) and len(effects)
    assert set(effects["site"]) == {*tables, "common"}
    back = fp.load(result.save(tmp_path / "results"))
    pd.testing.assert_frame_equal(back.effects, effects)
    effects.loc[:, "note"] = "mine"  # a copy: what one user writes into it, nobody else sees
    assert not (result.effects["note"] == "mine").any()
    assert "covariance" not in (tmp_path / "results" / "result.json").read_text()  # the exact numbers are in one file
    (tmp_path / "results" / "summaries.json").unlink()
    bare = fp.load(tmp_path / "results").effects
    assert list(bare.columns) == list(COLUMNS) and bare.empty


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "fedperi.summaries", "version": 1, "names": []}'])
def test_damaged_summaries(tmp_path: Path, text: str) -> None:
    result = fp.MPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    (result.save(tmp_path) / "summaries.json").write_text(text)
    with pytest.raises(fp.InputError, match="these are not summaries of fedperi"):
        fp.load(tmp_path)


def test_methods_without_summaries_have_no_effects() -> None:
    result = fp.IPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    assert result.moments is None and result.effects.empty


def test_words() -> None:
    dag, tables = three_sites()
    effects = known(moments_of(tables), dag)
    said = sentences(effects.of("dose", "pain"), effects.moments)
    assert said[0] == "Total effect: along all directed paths. Adjusted for age." and said[-1] == IF_RIGHT
    backwards = sentences(effects.of("pain", "dose"), effects.moments)
    assert backwards == ["In the graph no directed path leads from pain to dose: no effect.", IF_RIGHT]
    with pytest.raises(fp.InputError, match=r"^unknown variable 'x'; known: age, dose, pain, relief$"):
        effects.of("x", "pain")
    with pytest.raises(fp.InputError, match=r"^cause and effect are both 'age': give two variables$"):
        effects.of("age", "age")
