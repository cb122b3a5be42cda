"""Simulated sites that differ in other ways than by missing edges, and which of them have the same mechanisms."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedperi as fp
from fedperi.simulation import implied_covariance, implied_mean, simulate
from fedperi.simulation.writing import truth

KINDS = ["structural", "parametric", "mixed", "strengths", "shift", "scale", "varied", "none"]
TRIANGLE = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])


def others(sim: fp.Simulation, targets: tuple[str, ...]) -> list[int]:
    return [i for i, name in enumerate(sim.full_dag.names) if name not in targets]


def same_but_for_targets(sim: fp.Simulation, site: int) -> bool:
    rest, first, here = others(sim, sim.targets[site]), sim.mechanisms[0], sim.mechanisms[site]
    return (
        np.array_equal(here.weights[:, rest], first.weights[:, rest])
        and np.array_equal(here.noise_scales[rest], first.noise_scales[rest])
        and np.array_equal(here.means[rest], first.means[rest])
    )


# -- interventions ----------------------------------------------------------------------------------------------------


def test_strengths_change_clearly_and_nothing_else_does() -> None:
    for seed, bounds in itertools.product(range(40), [(0.1, 1.0), (0.5, 0.5), (0.9, 1.0)]):
        sim = simulate(6, 4, 1, intervention="strengths", weights=bounds, targets_per_client=2, seed=seed)
        for k in range(1, 4):
            assert sim.client_dags[k] == sim.dag and same_but_for_targets(sim, k)
            assert np.array_equal(sim.noise_scales[k], sim.noise_scales[0]) and not sim.mechanisms[k].means.any()
            for target in sim.targets[k]:
                parents = [sim.dag.index(name) for name in sim.dag.parents(target)]
                new, old = (sim.weights[s][parents, sim.dag.index(target)] for s in (k, 0))
                assert parents and (np.abs(new - old) >= bounds[1] / 2).all()
                assert (np.abs(new) >= bounds[0]).all() and (np.abs(new) <= bounds[1]).all()


def test_a_shift_moves_the_mean_by_its_factor_both_ways_and_nothing_else() -> None:
    signs, targets = set(), set()
    for seed in range(30):
        sim = simulate(TRIANGLE, 4, 1, intervention="shift", shift=1.5, noise_levels=(0.5, 2.0), seed=seed)
        for k in range(1, 4):
            (target,) = sim.targets[k]
            j = sim.dag.index(target)
            moved = sim.mechanisms[k].means[j] / sim.noise_scales[k][j]
            assert abs(moved) == pytest.approx(1.5) and same_but_for_targets(sim, k)
            assert np.array_equal(sim.weights[k], sim.weights[0])
            assert np.array_equal(sim.noise_scales[k], sim.noise_scales[0])
            signs.add(moved > 0)
            targets.add(target)
    assert signs == {True, False} and targets == {"A", "B", "C"}


def test_a_scale_is_doubled_or_halved_or_what_the_caller_says() -> None:
    factors = set()
    for seed in range(20):
        for scale in (None, 3.0):
            sim = simulate(TRIANGLE, 4, 1, intervention="scale", scale=scale, seed=seed)
            for k in range(1, 4):
                (target,) = sim.targets[k]
                assert same_but_for_targets(sim, k) and np.array_equal(sim.weights[k], sim.weights[0])
                factors.add((scale, float(sim.noise_scales[k][sim.dag.index(target)])))
    assert factors == {(None, 2.0), (None, 0.5), (3.0, 3.0)}


def test_varied_sites_draw_every_change_that_the_parents_allow() -> None:
    seen: dict[int, set[str]] = {0: set(), 1: set(), 2: set()}
    for seed in range(100):
        sim = simulate(6, 5, 1, intervention="varied", targets_per_client=2, seed=seed)
        for k in range(1, 5):
            assert same_but_for_targets(sim, k) and sim.kinds[k] == "varied"
            assert tuple(sim.changes[k]) == sim.targets[k]
            for target, change in sim.changes[k].items():
                parents, left = set(sim.dag.parents(target)), set(sim.client_dags[k].parents(target))
                seen[min(len(parents), 2)].add(change)
                assert (left == set()) if change == "cut" else (set() < left < parents) == (change == "some cut")
                assert len(sim.groups[target]) > 1
    assert seen[0] == {"shift", "scale"} and seen[1] == seen[0] | {"cut", "strengths"}
    assert seen[2] == seen[1] | {"some cut"}


def test_changes_of_the_older_kinds_have_names_too() -> None:
    sim = simulate(6, 5, 1, intervention="mixed", removal="some", seed=4)
    for k in range(5):
        for target, change in sim.changes[k].items():
            lost = set(sim.dag.parents(target)) - set(sim.client_dags[k].parents(target))
            expected = "parametric" if not lost else "cut" if lost == set(sim.dag.parents(target)) else "some cut"
            assert change == expected
    assert simulate(3, 2, 1, intervention="none").changes == ({}, {})


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_policies_are_taken_in_turn_and_are_the_same_in_all_parameters(kind: Any) -> None:
    for seed in range(10):
        sim = simulate(6, 8, 1, intervention=kind, policies=3, targets_per_client=2, noise_levels=(0.5, 2), seed=seed)
        alone = simulate(6, 4, 1, intervention=kind, targets_per_client=2, noise_levels=(0.5, 2), seed=seed)
        for k in range(8):
            twin = 0 if k == 0 else 1 + (k - 1) % 3
            assert sim.targets[k] == alone.targets[twin] and sim.client_dags[k] == alone.client_dags[twin]
            for part in ("weights", "noise_scales", "means"):
                assert np.array_equal(getattr(sim.mechanisms[k], part), getattr(alone.mechanisms[twin], part))
        for groups in sim.groups.values():
            where = {k: g for g, group in enumerate(groups) for k in group}
            assert all(where[k] == where[1 + (k - 1) % 3] for k in range(1, 8))


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_without_an_observational_site_the_first_has_the_first_intervention(kind: Any) -> None:
    usual = simulate(5, 4, 1, intervention=kind, seed=3)
    moved = simulate(5, 3, 1, intervention=kind, observational=False, seed=3)
    assert moved.targets == usual.targets[1:] and moved.kinds == usual.kinds[1:]
    assert all(np.array_equal(a, b) for a, b in zip(moved.weights, usual.weights[1:], strict=True))


# -- noise, levels, units, drift --------------------------------------------------------------------------------------


def test_student_noise_has_variance_one_and_heavy_tails() -> None:
    x = simulate(1, 1, 100_000, noise="student").sites[0]["X0"].to_numpy()
    # Quantiles have standard errors of a few per cent of these margins; the variance has a fourth moment only barely.
    for share, quantile in [(0.75, 0.7407), (0.975, 2.7764), (0.995, 4.6041)]:
        assert np.quantile(x, share) == pytest.approx(quantile / np.sqrt(2), rel=0.05)
    assert np.var(x) == pytest.approx(1, abs=0.15)
    short = simulate(1, 1, 10, noise="student").sites[0]["X0"].to_numpy()
    assert np.array_equal(short, x[:10])


def test_noise_levels_are_log_uniform_and_common() -> None:
    levels: list[Any] = []
    for seed in range(200):
        sim = simulate(5, 3, 1, noise_levels=(0.1, 10), seed=seed)
        assert all(np.array_equal(scales, sim.noise_scales[0]) for scales in sim.noise_scales)
        levels.extend(np.log10(sim.noise_scales[0]))
    assert min(levels) >= -1 and max(levels) <= 1
    assert np.mean(levels) == pytest.approx(0, abs=5 * np.sqrt(1 / 3 / 1000))
    assert (simulate(4, 1, 1, noise_levels=(0.3, 0.3)).noise_scales[0] == 0.3).all()


def test_units_are_one_line_for_each_column_at_all_sites() -> None:
    options = {"intervention": "varied", "seed": 5}
    plain, other = simulate(5, 4, 50, **options), simulate(5, 4, 50, units=(0.01, 100), **options)
    units, offsets = other.recording.units, other.recording.offsets
    assert len(set(units)) == 5 and (units >= 0.01).all() and (units <= 100).all()
    assert (np.abs(offsets) <= 5 * units).all() and plain.groups == other.groups
    for a, b in zip(plain.sites, other.sites, strict=True):
        assert np.array_equal(a.to_numpy() * units + offsets, b.to_numpy())


def test_drift_changes_every_mechanism_a_little_at_every_site() -> None:
    plain = simulate(6, 40, 1, intervention="none", weights=(0.5, 1.0), noise_levels=(0.5, 2.0), seed=1)
    sim = simulate(6, 40, 1, intervention="none", weights=(0.5, 1.0), noise_levels=(0.5, 2.0), drift=0.1, seed=1)
    edges = sim.dag.adjacency
    draws: list[Any] = []
    for before, after in zip(plain.mechanisms, sim.mechanisms, strict=True):
        draws.extend(np.log(after.weights[edges] / before.weights[edges]))
        draws.extend(np.log(after.noise_scales / before.noise_scales))
        draws.extend((after.means - before.means) / before.noise_scales)
    n = len(draws)
    assert np.std(draws) == pytest.approx(0.1, rel=6.5 / np.sqrt(2 * n))  # 6.5 standard errors: 1e-10
    assert np.mean(draws) == pytest.approx(0, abs=6.5 * 0.1 / np.sqrt(n))
    assert all(groups == tuple((k,) for k in range(40)) for groups in sim.groups.values())


def test_nothing_shared_means_nothing() -> None:
    sim = simulate(TRIANGLE, 5, 1, intervention="none", shared_mechanisms="nothing", seed=2)
    assert all(groups == tuple((k,) for k in range(5)) for groups in sim.groups.values())
    for part in ("noise_scales", "means"):
        values = np.array([getattr(m, part) for m in sim.mechanisms])
        assert len(np.unique(values)) == values.size
    scales = np.array(sim.noise_scales)
    assert (scales >= 0.5).all() and (scales <= 2).all()
    wide = simulate(TRIANGLE, 5, 1, shared_mechanisms="nothing", noise_levels=(4, 5))
    assert np.min(wide.noise_scales) >= 4 and np.max(wide.noise_scales) <= 5
    own = simulate(TRIANGLE, 5, 1, intervention="none", shared_mechanisms=False)
    assert own.groups == {"A": ((0, 1, 2, 3, 4),), "B": ((0,), (1,), (2,), (3,), (4,)), "C": own.groups["B"]}


# -- what is hidden, and errors of measurement ------------------------------------------------------------------------


def test_hidden_variables_are_common_causes_and_in_no_table() -> None:
    for seed in range(40):
        plain = simulate(8, 4, 5, intervention="varied", seed=seed)
        sim = simulate(8, 4, 5, intervention="varied", hidden=2, seed=seed)
        many = [name for name in plain.dag.names if len(plain.dag.children(name)) >= 2]
        assert sim.full_dag == plain.dag and len(sim.hidden) == min(2, len(many)) and set(sim.hidden) <= set(many)
        seen = [name for name in plain.dag.names if name not in sim.hidden]
        assert sim.dag.names == tuple(seen) and list(sim.groups) == seen
        assert sim.dag.directed == {(a, b) for a, b in plain.dag.directed if a in seen and b in seen}
        assert all(table.columns.tolist() == seen for table in sim.sites)
        assert not {target for targets in sim.targets for target in targets} & set(sim.hidden)
        assert np.array_equal(sim.sites[0].to_numpy(), plain.sites[0][seen].to_numpy())
        assert sim.phi_cpdag.names == tuple(seen)


def test_a_measurement_error_is_independent_noise_of_its_share() -> None:
    n = 100_000
    plain, sim = (simulate(TRIANGLE, 2, n, measurement_error=share, units=(1, 9), seed=1) for share in (0.0, 0.5))
    for k in range(2):
        error = (sim.sites[k] - plain.sites[k]).to_numpy()
        spread = plain.sites[0].std().to_numpy()
        # The reference sample's standard deviation has a standard error of 1 / sqrt(2000): six of them.
        assert error.std(axis=0) == pytest.approx(0.5 * spread, rel=6 / np.sqrt(2000))
        joint = np.corrcoef(np.c_[error, plain.sites[k]], rowvar=False) - np.eye(6)
        joint[3:, 3:] = 0
        assert np.abs(joint).max() < 6.5 / np.sqrt(n)
    assert plain.groups == sim.groups


# -- population moments -----------------------------------------------------------------------------------------------


def test_implied_mean_by_hand() -> None:
    # A -> B (2), A -> C (1), B -> C (-1): B = 2A + b, C = A - B + c.
    assert implied_mean([[0, 2, 1], [0, 0, -1], [0, 0, 0]], [1, 10, 100]).tolist() == [1, 12, 89]


@pytest.mark.parametrize(
    "options",
    [
        {"intervention": "shift"},
        {"intervention": "varied", "units": (0.1, 10), "noise_levels": (0.5, 2)},
        {"shared_mechanisms": "nothing", "noise": "uniform"},
        {"intervention": "scale", "drift": 0.2, "hidden": 1, "measurement_error": 0.3, "units": (0.1, 10)},
    ],
)
def test_samples_converge_to_the_population(options: Any) -> None:
    n = 100_000
    sim = simulate(6, 3, n, seed=11, **options)
    for table, (mean, covariance) in zip(sim.sites, sim.population, strict=True):
        values = table.to_numpy()
        spread = np.diag(covariance)
        error = np.sqrt((np.outer(spread, spread) + covariance**2) / n)
        assert (np.abs(values.mean(axis=0) - mean) <= 6.5 * np.sqrt(spread / n)).all()
        assert (np.abs(np.cov(values, rowvar=False) - covariance) <= 6.5 * error).all()


def test_population_is_the_matrix_formula() -> None:
    for seed in range(20):
        sim = simulate(5, 4, 1, intervention="varied", noise_levels=(0.5, 2), targets_per_client=2, seed=seed)
        for m, (mean, covariance) in zip(sim.mechanisms, sim.population, strict=True):
            inverse = np.linalg.inv(np.eye(5) - m.weights)
            np.testing.assert_allclose(mean, m.means @ inverse, atol=1e-12)
            np.testing.assert_allclose(covariance, inverse.T @ np.diag(m.noise_scales**2) @ inverse, atol=1e-12)
            assert np.array_equal(covariance, implied_covariance(m.weights, m.noise_scales**2))


# -- groups, against brute force --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_groups_are_the_classes_of_equal_columns(kind: Any, model: str) -> None:
    for seed in range(10):
        sim = simulate(5, 6, 1, intervention=kind, policies=2, mechanism=model, seed=seed)
        for j, name in enumerate(sim.dag.names):
            groups = sim.groups[name]
            assert sorted(k for group in groups for k in group) == list(range(6))
            where = {k: g for g, group in enumerate(groups) for k in group}
            for a, b in itertools.combinations(range(6), 2):
                one, two = sim.mechanisms[a], sim.mechanisms[b]
                equal = (
                    np.array_equal(one.weights[:, j], two.weights[:, j])
                    and one.means[j] == two.means[j]
                    and one.noise_scales[j] == two.noise_scales[j]
                )
                assert (where[a] == where[b]) == equal
            touched = {k for k in range(6) if name in sim.targets[k]}
            assert len(groups) == 1 or touched
            assert all(not set(group) & touched or 0 not in group for group in groups)


def test_a_cut_and_a_shift_at_the_same_variable_are_two_groups() -> None:
    for seed in range(60):
        sim = simulate(fp.PDAG.from_edges([("A", "B")]), 8, 1, intervention="varied", seed=seed)
        cut = {k for k in range(8) if sim.changes[k].get("B") == "cut"}
        assert not cut or tuple(sorted(cut)) in sim.groups["B"]


# -- files ------------------------------------------------------------------------------------------------------------


def test_the_truth_on_disk_has_targets_kinds_changes_and_groups(tmp_path: Path) -> None:
    sim = simulate(6, 5, 4, intervention="varied", policies=2, hidden=1, units=(1, 9), drift=0.1, seed=3)
    known = json.loads((sim.save(tmp_path / "data") / "truth.json").read_text(encoding="utf-8"))
    assert known["kinds"] == list(sim.kinds) and known["targets"] == [list(t) for t in sim.targets]
    assert known["changes"] == [dict(c) for c in sim.changes] and known["hidden"] == list(sim.hidden)
    assert {n: tuple(map(tuple, g)) for n, g in known["groups"].items()} == sim.groups
    assert fp.PDAG.from_edges(**known["full_dag"], names=known["full_names"]) == sim.full_dag
    assert np.array_equal(known["means"], [m.means for m in sim.mechanisms])
    again = simulate(**known["config"])
    assert truth(again) == known and all(a.equals(b) for a, b in zip(sim.sites, again.sites, strict=True))
