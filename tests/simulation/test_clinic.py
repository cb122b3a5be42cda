"""Hospital-like tables: what a seed determines, that rows follow the mechanisms, and the effects of policies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused
from scipy.special import expit, ndtri

import fedperi as fp
from fedperi.simulation.clinic.clinic import GRAPHS
from fedperi.simulation.clinic.mechanisms import Term, Variable, draw_rows, graph_of
from fedperi.simulation.clinic.policies import _KINDS, CASE_MIX, draw_policies
from fedperi.simulation.clinic.random import random_model

NAMES = ["stroke", "diabetes", "sepsis", "random"]


# -- the graphs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(GRAPHS))
def test_a_clinic_has_its_variables_edges_and_roles(name: Any) -> None:
    ward = fp.clinic(rows=300, graph=name)
    assert len(ward.sites) == 6 and ward.dag.is_dag
    assert 10 <= len(ward.names) <= 12 and 15 <= len(ward.dag) <= 22
    roles = list(ward.roles.values())
    assert roles.count("yes/no") in (4, 5) and "count" in roles and roles.count("skewed") >= 2
    curves = {effect.curve for variable in GRAPHS[name] for effect in variable.effects}
    assert {"line", "saturating", "above", "bend"} <= curves
    assert any(effect.times for variable in GRAPHS[name] for effect in variable.effects)
    assert ward.dag.parents("age") == ward.dag.parents("sex") == ()
    assert list(ward.names) == sorted(ward.names) and ward.units["age"] == "years"


def models() -> list[tuple[Variable, ...]]:
    return [*GRAPHS.values(), *(random_model(np.random.default_rng(seed)) for seed in range(50))]


def test_mechanisms_are_well_formed() -> None:
    for model in models():
        seen: set[str] = set()
        for variable in model:
            assert set(variable.causes) <= seen and variable.name not in seen
            assert (variable.policies == ()) or variable.name not in CASE_MIX
            assert variable.role != "skewed" or variable.least > 0
            assert variable.role != "count" or variable.spread > 0
            lines = [effect.cause for effect in variable.effects if effect.times is None]
            assert len(lines) == len(set(lines)) == len(variable.causes)  # a product has both its causes on their own
            assert all(
                variable.causes or kind in ("threshold", "target", "narrow", "assay") for kind in variable.policies
            )
            seen.add(variable.name)


def test_random_clinics_differ() -> None:
    wards = [fp.clinic(rows=5, graph="random", seed=seed) for seed in range(40)]
    assert len({ward.dag for ward in wards}) == 40
    assert all(len(ward.names) == 10 and 8 <= len(ward.dag) <= 24 for ward in wards)
    assert {kind for ward in wards for kind in ward.kinds} == {"none", *_KINDS}
    curves = {e.curve for ward in wards for v in ward.models[0] for e in v.effects}
    assert len(curves) == 6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_tables_are_ordinary(name: Any, seed: Any) -> None:
    ward = fp.clinic(rows=2000, graph=name, drift=0.1, seed=seed)
    for table in ward.sites:
        assert list(table.columns) == list(ward.names) and np.isfinite(table.to_numpy(dtype=float)).all()
        assert table["age"].between(18, 105).all()
        for column, role in ward.roles.items():
            if role == "yes/no":
                assert table[column].dtype == np.int64 and set(table[column]) == {0, 1}
                assert 0.02 < table[column].mean() < 0.98
            elif role == "count":
                assert table[column].dtype == np.int64 and (table[column] >= 0).all() and table[column].nunique() > 4
            else:
                assert table[column].nunique() > 20
                assert (table[column] > 0).all() or role != "skewed"
            if role == "skewed":
                assert table[column].skew() > 0.3


# -- one seed, one clinic ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_clinic_and_fewer_rows_are_the_beginning_of_more(name: Any) -> None:
    first, second = (fp.clinic(4, [10, 20, 30, 40], graph=name, drift=0.1, seed=5) for _ in range(2))
    longer, other = fp.clinic(4, 50, graph=name, drift=0.1, seed=5), fp.clinic(4, 50, graph=name, drift=0.1, seed=6)
    for k in range(4):
        pd.testing.assert_frame_equal(first.sites[k], second.sites[k], check_exact=True)
        pd.testing.assert_frame_equal(first.sites[k], longer.sites[k][: 10 * (k + 1)], check_exact=True)
        assert not longer.sites[k].equals(other.sites[k])
    assert first.policies == longer.policies and first.models == longer.models


def test_a_seed_keeps_its_meaning() -> None:
    # Pinned: a change here changes published tables. Say so in the changelog.
    ward = fp.clinic(3, 2, graph="sepsis", policies=1, seed=2)
    assert ward.targets == ((), (), ("noradrenaline",))
    assert ward.sites[1].iloc[0].tolist() == pytest.approx(
        [49.0, 295.0, 290.0, 0.0, 2.3, 0.0, 7.0, 1.0, 53.0, 1.0, 39.2, 0.0]
    )


def test_config_repeats_the_clinic_and_is_json() -> None:
    ward = fp.clinic(np.int64(3), np.array([5, 6, 7]), graph="random", drift=np.float64(0.1), policies=2, seed=4)
    again = fp.clinic(**json.loads(json.dumps(ward.config)))
    assert all(a.equals(b) for a, b in zip(ward.sites, again.sites, strict=True)) and ward.config == again.config


def test_logarithms_of_skewed_values_and_of_nothing_else() -> None:
    plain, logs = (fp.clinic(2, 50, policies=1, log=log) for log in (False, True))
    for a, b in zip(plain.sites, logs.sites, strict=True):
        for name, role in plain.roles.items():
            assert b[name].tolist() == (np.log(a[name]) if role == "skewed" else a[name]).tolist()


# -- rows follow the mechanisms ---------------------------------------------------------------------------------------


def test_values_by_hand() -> None:
    draws = np.array([[0.5, 0.9], [0.975, 0.1]])
    cause = Variable("a", "measured", "mmHg", 100, 10, 5, decimals=1)
    skewed = Variable("b", "skewed", "mg/l", 4.0, 0.5, 0.2, (Term("a", 0.3),), decimals=3, least=0.001)
    rows = draw_rows([cause, skewed], draws)
    assert rows["a"].tolist() == [100.0, 109.8]
    expected = 4 * np.exp(0.3 * np.array([0, 0.98]) + 0.2 * ndtri([0.9, 0.1]))
    assert rows["b"] == pytest.approx(expected, abs=0.0005)
    # A skewed cause enters by its logarithm, yes or no by the difference to the usual share.
    effect = Variable("c", "measured", "", 0, 1, 1, (Term("b", 2.0),), decimals=6)
    assert draw_rows([cause, skewed, effect], np.c_[draws, [0.5, 0.5]])["c"] == pytest.approx(
        2 * np.log(rows["b"] / 4) / 0.5, abs=1e-6
    )
    flag = Variable("d", "yes/no", "", 0.3)
    after = Variable("e", "measured", "", 7, 1, 1, (Term("d", 10.0), Term("d", 1.0, times="d")), decimals=3)
    assert draw_rows([flag, after], np.array([[0.29, 0.5], [0.31, 0.5]]))["e"].tolist() == [7 + 7 + 0.49, 7 - 3 + 0.09]


@pytest.mark.parametrize(
    ("curve", "at", "value"),
    [
        ("line", 2.0, 2.0),
        ("saturating", 2.0, np.tanh(2)),
        ("above", 2.0, 2.0),
        ("above", -2.0, 0.0),
        ("below", -2.0, -2.0),
        ("below", 2.0, 0.0),
        ("step", 0.5, 1.0),
        ("bend", 2.0, 2.4),
        ("bend", -2.0, 0.0),
        ("line", 9.0, 4.0),
    ],
)
def test_curves_by_hand(curve: str, at: float, value: Any) -> None:
    cause = Variable("a", "measured", "", 0, 1, 0, decimals=3, shift=at)
    effect = Variable("b", "measured", "", 0, 1, 0, (Term("a", 1.0, curve),), decimals=9)
    assert draw_rows([cause, effect], np.full((1, 2), 0.5))["b"][0] == pytest.approx(value, abs=1e-8)


def test_shares_and_counts_are_those_of_the_model() -> None:
    n = 200_000
    rng = np.random.default_rng(0)
    cause = Variable("a", "yes/no", "", 0.5)
    answer = Variable("b", "yes/no", "", 0.2, effects=(Term("a", 1.0),))
    count = Variable("c", "count", "", 5.0, 3.0, 0.5, (Term("a", 0.4),))
    rows = draw_rows([cause, answer, count], rng.random((n, 3)))
    for a, half in ((0, -0.5), (1, 0.5)):
        share, rate = expit(np.log(0.25) + half), 5 * np.exp(0.4 * half)
        here = rows["a"] == a
        m = here.sum()
        assert rows["b"][here].mean() == pytest.approx(share, abs=6.5 * np.sqrt(share * (1 - share) / m))
        variance = rate + 0.25 * rate**2
        assert rows["c"][here].mean() == pytest.approx(rate, abs=6.5 * np.sqrt(variance / m))
        assert rows["c"][here].var() == pytest.approx(variance, rel=0.05)


def test_a_variable_is_independent_of_others_given_its_causes() -> None:
    # glucose has only bmi: the regression on bmi and everything before it gives the others nothing.
    ward = fp.clinic(1, 50_000, policies=0, log=True)
    table = ward.sites[0]
    before = ["bmi", "age", "sex", "smoker", "ldl", "statin"]
    x = table[before].to_numpy(dtype=float)
    x = np.c_[np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)]
    y = table["glucose"].to_numpy()
    found, residual = np.linalg.lstsq(x, y, rcond=None)[:2]
    error = np.sqrt(residual[0] / len(y) * np.diag(np.linalg.inv(x.T @ x)))
    assert abs(found[1]) > 50 * error[1] and (np.abs(found[2:]) < 5 * error[2:]).all()


# -- what sets hospitals apart ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_groups_are_what_policies_make(name: Any) -> None:
    for seed in range(10):
        ward = fp.clinic(6, 5, graph=name, policies=4, case_mix=False, seed=seed)
        flat = [target for targets in ward.targets for target in targets]
        assert len(flat) == len(set(flat)) == 4 == sum(kind != "none" for kind in ward.kinds)
        for variable in ward.names:
            touched = [k for k in range(6) if variable in ward.targets[k]]
            rest = tuple(k for k in range(6) if k not in touched)
            assert set(ward.groups[variable]) == ({(k,) for k in touched} | {rest})
        assert not set(flat) & {"age", "sex", "death", "retinopathy"}
        for k, site in enumerate(ward.policies):
            assert all(policy.site == k and policy.words for policy in site)
            lost = ward.dag.directed - ward.client_dags[k].directed
            assert {head for _, head in lost} <= set(ward.targets[k])
            cuts = {policy.kind for policy in site} & {"ignores", "protocol", "target"}
            assert bool(lost) == bool(cuts) and ward.client_dags[k].directed <= ward.dag.directed


def test_case_mix_is_of_age_and_sex_and_drift_of_everything() -> None:
    alone = tuple((k,) for k in range(6))
    mixed = fp.clinic(6, 5, policies=0).groups
    assert {name for name, groups in mixed.items() if groups == alone} == {"age", "sex"}
    assert all(len(groups) == 1 for name, groups in mixed.items() if name not in CASE_MIX)
    assert all(groups == alone for groups in fp.clinic(6, 5, policies=0, drift=0.05).groups.values())
    ages = [site["age"].mean() for site in fp.clinic(6, 4000, policies=0).sites]
    assert max(ages) - min(ages) > 4


def test_drift_has_its_size() -> None:
    plain, other = (fp.clinic(200, 1, policies=0, case_mix=False, drift=drift) for drift in (0.0, 0.1))
    sizes = [
        np.log(new.size / old.size)
        for a, b in zip(plain.models, other.models, strict=True)
        for before, after in zip(a, b, strict=True)
        for old, new in zip(before.effects, after.effects, strict=True)
    ]
    assert np.std(sizes) == pytest.approx(0.1, rel=6.5 / np.sqrt(2 * len(sizes)))


SAMPLE = Variable("x", "measured", "mmHg", 140, 20, 15, (Term("age", 5.0), Term("bmi", 3.0)))


@pytest.mark.parametrize("role", ["measured", "skewed", "yes/no", "count"])
@pytest.mark.parametrize("kind", list(_KINDS))
def test_every_policy_does_what_it_says(kind: Any, role: str) -> None:
    old = replace(SAMPLE, role=role, typical=0.3 if role == "yes/no" else 140)
    for seed in range(10):
        new, words = _KINDS[kind](old, np.random.default_rng(seed))
        assert new != old and "x" in words.replace(":", " ").split()
        assert (new.name, new.role, new.typical, new.scale) == (old.name, old.role, old.typical, old.scale)
        moved = {"protocol", "target", "threshold", "assay"}
        assert (new.shift != 0) == (kind in moved)
        assert (new.spread < old.spread) == (kind in {"target", "narrow"})
        expected = {"protocol": (), "target": (), "ignores": ("age",)}.get(kind, ("age", "bmi"))
        assert new.causes == expected
        assert (new.effects == old.effects) == (kind in {"threshold", "assay", "narrow"})


def test_policies_begin_again_when_the_variables_are_used_up() -> None:
    model = (replace(SAMPLE, effects=(), policies=("narrow",)),)
    drawn = draw_policies(model, 3, 3, np.random.default_rng(0))
    assert [record.variable for record, _ in drawn] == ["x"] * 3 and [record.site for record, _ in drawn] == [0, 1, 2]
    assert draw_policies((replace(SAMPLE, policies=()),), 3, 3, np.random.default_rng(0)) == []
    assert sum(map(len, fp.clinic(12, 2, policies=12).targets)) == 12


def test_any_site_may_have_a_policy() -> None:
    seen = {k for seed in range(40) for k, site in enumerate(fp.clinic(4, 1, policies=1, seed=seed).policies) if site}
    assert seen == {0, 1, 2, 3}


# -- files and bad input ----------------------------------------------------------------------------------------------


def test_save_writes_tables_and_truth_that_read_back(tmp_path: Path) -> None:
    ward = fp.clinic(3, 20, graph="diabetes", policies=2, drift=0.1, seed=3)
    place = ward.save(tmp_path / "data")
    known = json.loads((place / "truth.json").read_text(encoding="utf-8"))
    for k, site in enumerate(ward.sites):
        back = pd.read_csv(place / f"site_{k}.csv", dtype=str).astype(site.dtypes)
        pd.testing.assert_frame_equal(back, site, check_exact=True)
    assert fp.PDAG.from_edges(**known["dag"], names=known["names"]) == ward.dag
    assert known["targets"] == [list(t) for t in ward.targets] and known["kinds"] == list(ward.kinds)
    assert {n: tuple(map(tuple, g)) for n, g in known["groups"].items()} == ward.groups
    assert [p["words"] for p in known["policies"]] == [p.words for site in ward.policies for p in site]
    with pytest.raises(fp.InputError, match="already holds a simulation"):
        ward.save(place)


def test_graph_of_reads_causes() -> None:
    model = (Variable("b", "yes/no", "", 0.5), Variable("a", "yes/no", "", 0.5, effects=(Term("b", 1.0),)))
    assert graph_of(model, ["a", "b"]).directed == {("b", "a")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sites": 0}, "sites must be at least 1, not 0"),
        ({"rows": [1]}, "rows has 1 entries for 6 sites; give one number for all sites or one for each"),
        ({"graph": "covid"}, "graph must be one of 'stroke', 'diabetes', 'sepsis', 'random', not 'covid'"),
        ({"drift": -1}, "drift must be at least 0, not -1"),
        ({"policies": 7}, "policies must be at most the number of sites, 6, not 7: a site has one policy or none"),
        ({"policies": -1}, "policies must be at least 0, not -1"),
        ({"case_mix": 1}, "case_mix must be True or False, not 1"),
        ({"log": "yes"}, "log must be True or False, not 'yes'"),
        ({"seed": 1.5}, "seed must be a whole number, not 1.5"),
    ],
)
def test_bad_arguments(arguments: Any, message: str) -> None:
    assert_refused(lambda: fp.clinic(**arguments), message)
