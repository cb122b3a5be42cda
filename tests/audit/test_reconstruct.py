"""What regrets reveal: correlations and graphs of the sites, from the messages of a run alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.questions import one_family

import fedperi as fp
from fedperi.audit.reconstruct import Closeness, SiteFound, closeness, reconstruct
from fedperi.coordinator.record import Transcript
from fedperi.errors import InputError
from fedperi.privacy.noise import SeededNoise
from fedperi.privacy.release.draw import count_rows, draw_release
from fedperi.privacy.release.release import Plan, Release
from fedperi.protocol.messages import Settings, Welcome
from fedperi.site.released import ReleasedSite
from fedperi.tables import open_table
from fedperi.tables.schema import Column, Schema


def attack(sites: Any, tables: dict[str, pd.DataFrame], **options: Any) -> tuple[tuple[SiteFound, ...], Closeness]:
    transcript = fp.IPERI(**options).fit(sites).transcript
    assert transcript is not None
    found = reconstruct(transcript)
    graphs = {name: fp.ges(table) for name, table in tables.items()}
    return found, closeness(found, {name: table.corr().to_numpy() for name, table in tables.items()}, graphs)


def simulated(variables: int, samples: int, seed: int, **options: Any) -> dict[str, pd.DataFrame]:
    sim = fp.simulate(variables, clients=3, samples=samples, seed=seed, **options)
    return {f"site {k}": table for k, table in enumerate(sim.sites)}


def test_three_variables_by_hand() -> None:
    """Regrets of r_AB = .6, r_AC = -.5, r_BC = .2 at n = 100, penalty 2: -(n/2) log(1 - R^2) - 2 |S| log(n) / 2."""
    n, price = 100, np.log(100.0)
    a, b, c = 0.6, -0.5, 0.2
    gain = {0: 0.0, 1: -n / 2 * np.log(1 - a**2) - price, 2: -n / 2 * np.log(1 - b**2) - price}
    gain[3] = -n / 2 * np.log(1 - (a**2 + b**2 - 2 * a * b * c) / (1 - c**2)) - 2 * price
    single = -n / 2 * np.log(1 - c**2) - price
    regrets = 7.5 - np.array([[list(gain.values())]])
    questions = [
        one_family(0, 1, 2),
        one_family(1, 2),
    ]
    answers = [regrets, 3.0 - np.array([[[0.0, single]]])]
    welcome = Welcome("north", ("A", "B", "C"), n)
    (found,) = reconstruct(Transcript(Settings("none", penalty=2.0), (welcome,), [(questions, answers)]))  # type: ignore[list-item]
    assert np.abs(found.correlation) == pytest.approx(np.array([[1, 0.6, 0.5], [0.6, 1, 0.2], [0.5, 0.2, 1]]))
    assert np.sign(found.correlation[0, 1] * found.correlation[0, 2] * found.correlation[1, 2]) == -1
    assert found.misfit == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_without_a_mask_everything_is_revealed(seed: int) -> None:
    tables = simulated(6, 500, seed)
    found, close = attack(tables, tables, masking="none")
    assert close.largest_error < 1e-5
    assert close.exact_graphs == 1.0
    assert max(site.misfit for site in found) < 1e-6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("masking", ["adaptive", "consensus"])
def test_masks_hide_little(masking: str, seed: int) -> None:
    tables = simulated(6, 1000, seed)
    _, close = attack(tables, tables, masking=masking)
    assert close.typical_error < 0.01
    assert close.exact_graphs == 1.0
    if masking == "adaptive":  # what stays hidden is weak: a gain of a single parent below -1
        assert close.largest_error < 2 * np.sqrt((np.log(1000) - 2) / 1000)


def test_declared_targets_hide_nothing_but_their_own_causes() -> None:
    tables = simulated(5, 1000, 2)
    sites = [fp.Site(table, name=name, targets=["X1"]) for name, table in tables.items()]
    _, close = attack(sites, tables)
    assert close.largest_error < 1e-5
    assert close.exact_graphs == 1.0


def test_graph_of_another_local_method_is_read_from_the_mask() -> None:
    tables = simulated(5, 1000, 3)
    transcript = fp.IPERI(masking="consensus", local="pc").fit(tables).transcript
    assert transcript is not None
    for site in reconstruct(transcript):
        assert site.graph == fp.pc(tables[site.site])


def test_more_variables_than_are_asked_in_full() -> None:
    tables = simulated(14, 500, 0)
    _, close = attack(tables, tables)
    assert close.typical_error < 0.02


def released(table: pd.DataFrame, name: str, epsilon: float) -> Release:
    schema = Schema(tuple(Column(column, "continuous", bounds=(-6, 6)) for column in table.columns))
    plan = Plan.of(schema, "auto", epsilon, 1e-6)
    source = open_table(table, name)
    with pytest.warns(UserWarning, match="NOTHING in this run is private"):
        noise = SeededNoise(len(name) + int(name[-1]))
    return draw_release(source, plan, count_rows(source, plan, "error")[0], noise, "error")[0]


def test_under_privacy_only_the_noisy_correlations_are_revealed() -> None:
    """The attack works as before, but it finds the numbers of the release, not those of the table."""
    tables = simulated(5, 2000, 1)
    releases = {name: released(table, name, 1.0) for name, table in tables.items()}
    found, close = attack([ReleasedSite(one) for one in releases.values()], tables, masking="none")
    noisy = {name: one.statistics().correlation for name, one in releases.items()}
    assert closeness(found, noisy, {site.site: site.graph for site in found}).largest_error < 1e-5
    assert close.largest_error > 0.02


def test_noise_on_every_regret_spoils_the_attack_and_breaks_nothing() -> None:
    tables = simulated(5, 1000, 1)
    transcript = fp.IPERI().fit(tables).transcript
    assert transcript is not None
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e3, 1e6):
        rounds = [
            (questions, [a + rng.laplace(0, scale, a.shape) for a in answers])
            for questions, answers in transcript.rounds
        ]
        for site in reconstruct(replace(transcript, rounds=rounds)):
            assert np.isfinite(site.correlation).all()
            assert np.abs(site.correlation).max() <= 1.0
            assert site.misfit > scale / 10  # and the attacker sees that it failed


def test_an_empty_transcript_reveals_nothing() -> None:
    welcome = Welcome("north", ("A", "B", "C"), 100)
    (found,) = reconstruct(Transcript(Settings("adaptive"), (welcome,)))
    assert np.array_equal(found.correlation, np.eye(3))
    assert not found.graph.undirected
    assert not found.graph.directed


def test_two_variables() -> None:
    tables = simulated(2, 200, 0)
    _, close = attack(tables, tables, masking="none")
    assert close.largest_error < 1e-9


def test_closeness_needs_the_truth_of_every_site() -> None:
    graph = fp.PDAG.from_edges(undirected=[("A", "B")])
    found = (SiteFound("north", np.eye(2), graph, 0.0),)
    with pytest.raises(InputError, match="nothing to compare site 'north' with: give its true correlations and graph"):
        closeness(found, {}, {})
    with pytest.raises(InputError, match=r"the true correlations have shape \(3, 3\), those that were found \(2, 2\)"):
        closeness(found, {"north": np.eye(3)}, {"north": graph})
