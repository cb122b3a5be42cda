"""M-PERI from private releases: noise is known, and is never reported as a policy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.privacy import Privacy, release_table
from fedperi.privacy.release.pooling import ReleaseEstimate, align_scales, borrow_drowned
from fedperi.privacy.release.repair import clipped_eigenvalues
from fedperi.privacy.release.summaries import estimate, released_summaries, unclipped

pytestmark = pytest.mark.filterwarnings("ignore:test_seed")


def released(tables: list[Any], seed: int = 0, epsilon: float = 1.0, **options: Any) -> dict[str, Any]:
    privacy = Privacy(epsilon, bounds=dict.fromkeys(tables[0].columns, (-10, 10)), test_seed=seed)
    return {
        f"site {k}": release_table(table, privacy, name=f"site {k}", **options)[0] for k, table in enumerate(tables)
    }


def an_estimate(covariance: np.ndarray[Any, Any], **changes: Any) -> ReleaseEstimate:
    columns = len(covariance)
    nothing = np.zeros(columns, dtype=bool)
    one = ReleaseEstimate(
        5000.0, np.zeros(columns), covariance, ~nothing, nothing, 1e-4, 0.1, np.zeros(columns), 0 * covariance
    )
    return replace(one, **changes)


def test_releases_of_five_thousand_rows_give_the_graph_and_the_policies() -> None:
    sim = fp.simulate(6, clients=5, samples=5000, intervention="shift", seed=3)
    result = fp.MPERI(progress=False).fit(released(sim.sites))
    true = {(f"site {k}", name) for k, names in enumerate(sim.targets) for name in names}
    assert {(one.site, one.variable) for one in result.differences} == true
    assert result.graph.directed and not result.graph.directed - sim.dag.directed
    assert result.privacy is not None
    assert [round(one["worth"]) < 5000 for one in result.privacy.values()] == [True] * 5


def test_noise_alone_is_no_policy() -> None:
    sim = fp.simulate(6, clients=4, samples=5000, intervention="none", seed=2)
    assert not fp.MPERI(progress=False).fit(released(sim.sites)).differences


def curved_wards(policy: float, seed: int = 0) -> list[pd.DataFrame]:
    """Patients are older from site to site, and the dose is a curve of their age; the last site may have a policy."""
    rng, wards = np.random.default_rng(seed), []
    for k in range(4):
        age = rng.normal(0.4 * k, 1.0, 5000)
        dose = age + 0.15 * age**2 + (policy if k == 3 else 0.0) + rng.normal(size=5000)
        wards.append(pd.DataFrame({"age": age, "dose": dose, "pain": dose / 2 + rng.normal(size=5000)}))
    return wards


@pytest.mark.parametrize(("policy", "named"), [(0.0, set()), (2.0, {"site 3"})])
def test_a_curve_is_no_policy_where_patients_differ(policy: float, named: set[str]) -> None:
    """Releases have no polynomials to check it with. A policy that no usual curve explains is still named."""
    knowledge = fp.Knowledge(required=[("age", "dose"), ("dose", "pain")])
    result = fp.MPERI(knowledge=knowledge, progress=False).fit(released(curved_wards(policy)))
    assert {one.site for one in result.differences if one.variable == "dose"} == named


def test_privacy_as_an_option_is_the_same_as_releases() -> None:
    sim = fp.simulate(4, clients=3, samples=2000, intervention="shift", seed=1)
    tables = {f"site {k}": table for k, table in enumerate(sim.sites)}
    privacy = Privacy(1.0, bounds=dict.fromkeys(sim.dag.names, (-10, 10)), test_seed=0)
    one = fp.MPERI(privacy=privacy, progress=False).fit(tables)
    other = fp.MPERI(progress=False).fit(released(sim.sites))
    assert one.graph == other.graph and one.probabilities.equals(other.probabilities)
    assert one.method["privacy"] == {"epsilon": 1.0, "delta": 1e-6, "mechanism": "statistics"}


def test_hardly_any_noise_gives_the_moments_of_the_tables() -> None:
    sim = fp.simulate(5, clients=3, samples=20000, intervention="shift", seed=4)
    for part, table in zip(
        released_summaries(list(released(sim.sites, epsilon=200.0).values())), sim.sites, strict=True
    ):
        spread = table.to_numpy().std(axis=0)
        assert np.abs((part.mean - table.to_numpy().mean(axis=0)) / spread).max() < 0.03
        assert np.abs(np.log(np.sqrt(np.diag(part.covariance)) / spread)).max() < 0.03
        assert abs(part.n - 20000) < 200


def test_the_number_of_rows_is_known_better_than_it_is_counted() -> None:
    table = fp.simulate(10, clients=2, samples=5000, seed=5).sites[0]
    rows = [estimate(one).rows for seed in range(8) for one in released([table], seed).values()]
    counted = [one.rows for seed in range(8) for one in released([table], seed).values()]
    assert np.std(rows) < 0.7 * np.std(counted) and abs(np.mean(rows) / 5000 - 1) < 0.02


def test_unclipping_undoes_clipping() -> None:
    true = np.array([0.2, 0.7, 1.5, 3.0])
    clipped = 800 * clipped_eigenvalues(true, 1.2)
    found, rows = unclipped(clipped, np.eye(4), 1.2, float(np.log(true).mean()))
    assert found == pytest.approx(true, rel=1e-3) and rows == pytest.approx(800, rel=1e-3)


def test_a_scale_that_all_columns_share_is_not_a_policy() -> None:
    sites = [an_estimate(np.eye(6) * factor) for factor in (1.0, 1.0, 1.2)]
    aligned = align_scales(sites)
    factors = [float(one.covariance[0, 0]) for one in aligned]
    assert max(factors) / min(factors) < 1.02
    assert all(one.scale_error < 0.03 for one in aligned)


def test_one_column_with_another_spread_stays_a_policy() -> None:
    policy = np.diag([4.0, 1, 1, 1, 1, 1])
    aligned = align_scales([an_estimate(np.eye(6)), an_estimate(np.eye(6)), an_estimate(policy)])
    assert aligned[2].covariance[0, 0] / aligned[2].covariance[1, 1] == pytest.approx(4.0)
    assert aligned[2].covariance[1, 1] == pytest.approx(1.0, abs=0.01)


def test_a_scale_is_never_moved_beyond_its_error() -> None:
    aligned = align_scales([an_estimate(np.eye(6)), an_estimate(np.eye(6) * 9)])
    moved = [abs(math.log(float(one.covariance[0, 0]) / was)) for one, was in zip(aligned, (1.0, 9.0), strict=True)]
    assert max(moved) <= 0.3 + 1e-9


def test_a_hidden_column_is_taken_from_the_sites_that_know_it() -> None:
    joint = np.array([[1.0, 0.8], [0.8, 1.0]])
    hidden = an_estimate(np.diag([2.0, 50.0]), mean=np.array([1.0, 9.0]), drowned=np.array([False, True]))
    known = an_estimate(joint)
    found = borrow_drowned([known, known, hidden])[2]
    assert found.mean.tolist() == pytest.approx([1.0, 0.8])
    assert found.covariance == pytest.approx(np.array([[2.0, 1.6], [1.6, 1.64]]))
    assert borrow_drowned([hidden, hidden])[0] is hidden


def test_much_noise_is_said_with_what_would_help() -> None:
    sim = fp.simulate(6, clients=3, samples=400, seed=1)
    result = fp.MPERI(progress=False).fit(released(sim.sites))
    warning = next(one for one in result.warnings if one.startswith("Privacy noise leaves little to compare: at site "))
    assert "rows are worth" in warning and "times as large, the noise would cost half of the rows." in warning


def test_what_cannot_be_compared_is_refused() -> None:
    sites = fp.simulate(3, clients=2, samples=300, seed=1).sites
    with pytest.raises(fp.InputError, match=r"site 'site 0' released polynomials .*Release with data='linear' or 'mix"):
        fp.MPERI(progress=False).fit(released(sites, data="nonlinear"))
    with pytest.raises(fp.InputError, match="use mechanism='statistics', not 'regret'"):
        fp.MPERI(privacy=Privacy(1.0, mechanism="regret", bounds={"x": (0, 1)}))
    with pytest.raises(fp.InputError, match=r"privacy must be a fedperi\.Privacy, not float"):
        fp.MPERI(privacy=1.0)


def test_tables_and_releases_of_numbers_can_be_mixed() -> None:
    sim = fp.simulate(4, clients=3, samples=5000, intervention="shift", seed=1)
    mixed = {**released(sim.sites), "site 0": sim.sites[0]}
    result = fp.MPERI(progress=False).fit(mixed)
    assert result.privacy is not None and result.privacy["site 0"] == {"mechanism": "none", "private": False}
    assert not result.graph.directed - sim.dag.directed
