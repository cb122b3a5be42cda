"""We attack our own releases: the claim holds, and the attack would notice if it did not."""

import functools
import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here
from helpers.private_files import Recorder
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from fedperi.audit import bounds as audit_bounds
from fedperi.audit import membership as audit
from fedperi.audit.bounds import foreseen
from fedperi.audit.files import audit_files
from fedperi.audit.membership import Claim, audit_answer, audit_statistics, measure, release_claim, worst_regrets  # type: ignore[attr-defined]
from fedperi.audit.pairs import Neighbours, worst_case, worst_files
from fedperi.errors import InputError
from fedperi.privacy import zcdp
from fedperi.privacy.noise import SecureNoise
from fedperi.privacy.release import release
from fedperi.privacy.release.draw import count_rows, draw_release
from fedperi.privacy.release.release import DIAGONAL, Plan
from fedperi.privacy.release.units import CELLS, median_scores, radius_scores, unit_of
from fedperi.tables import open_table
from fedperi.tables.bounded import GRID
from fedperi.tables.schema import Column, Schema


class HalfNoise(SecureNoise):
    """The error that an audit must find: OpenDP gets half of the scale."""

    def gaussian(self, values: Any, sensitivity: float, rho: float) -> Any:
        return super().gaussian(values, sensitivity / 2, rho)

    def laplace(self, values: Any, scale: float) -> Any:
        return super().laplace(values, scale / 2)


@pytest.fixture(autouse=True)
def _remembered_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is the same number in every release of an audit, and takes a third of its time to compute."""
    monkeypatch.setattr(release, "zcdp_rho", functools.lru_cache(zcdp.zcdp_rho))


def categories() -> Neighbours:
    """Two categories: no units to choose, the moments have the whole budget. The row is the rarest."""
    schema = Schema(tuple(Column(name, "categorical", ("0", "1")) for name in "uv"))
    return Neighbours(schema, pd.DataFrame({"u": [0, 1] * 20, "v": [1, 0] * 20}), {"u": 1, "v": 1})


TABLES = {"numbers": worst_case, "categories": categories}


# -- the claim holds, and the audit can fail --------------------------------------------------------------------------


SURE = 1 - 1e-10
"""Confidence of audits that must not be violated: a false alarm has a probability of 1e-10 each, by construction."""


@pytest.mark.parametrize(("kind", "repetitions"), [("numbers", 2), ("categories", 5)])
def test_bounds_stay_below_the_claim_in_repetitions(kind: str, repetitions: int) -> None:
    """With 300 runs, half the noise would exceed it on average. False alarm: below 7e-10 in all."""
    for _ in range(repetitions):
        found = audit_statistics(8.0, 1e-6, runs=300, confidence=SURE, neighbours=TABLES[kind]())
        assert not found.violated, found
        assert found.telling


@pytest.mark.parametrize("kind", TABLES)
def test_half_the_noise_is_a_violation(kind: str) -> None:
    """By the binomial distribution of the pairs won, it is missed with a probability of 3.4e-11."""
    found = audit_statistics(8.0, 1e-6, runs=450, noise=HalfNoise(), neighbours=TABLES[kind]())
    assert found.violated, found
    assert found.shaped > 8.0


def test_default_number_of_runs_detects_half_the_noise_at_epsilon_one() -> None:
    gaussian = 2 * math.sqrt(2 * Plan.of(worst_case().schema, "auto", 1.0, 1e-6).price.gaussian)
    assert gaussian == pytest.approx(0.42, abs=0.005)
    claim = Claim("statistics", 1.0, 1e-6, gaussian)
    rng = np.random.default_rng(0)
    noticed = [
        measure(scores[:, :800], scores[:, 800:], claim, 0.999).violated
        for scores in (rng.normal([[0.0], [gaussian]], 1.0, (2, 4800)) for _ in range(100))
    ]
    assert np.mean(noticed) > 0.97


def test_single_answers_in_twenty_repetitions_and_with_half_the_noise() -> None:
    """False alarm: below 20 times 1e-10 by construction. Half the noise is missed with a probability of 6e-21."""
    for _ in range(20):
        found = audit_answer(1.0, runs=1500, confidence=SURE)
        assert not found.violated, found
        assert found.telling
    assert audit_answer(1.0, runs=2000, confidence=SURE, noise=HalfNoise()).violated


@pytest.mark.parametrize("noise", [1.0, 0.5])
@pytest.mark.parametrize(("mechanism", "epsilon", "runs"), [("statistics", 1.0, 4000), ("regret", 1.0, 1000)])
def test_the_spread_of_a_bound_is_as_computed_before(mechanism: str, epsilon: float, runs: int, noise: float) -> None:
    """From a seed: of 400 audits with scores of the right shape, nine tenths lie between the two quantiles."""
    claim = release_claim(epsilon, 1e-6) if mechanism == "statistics" else Claim("regret", epsilon, 0.0, 2 * epsilon)
    told = foreseen(claim, runs, noise=noise)
    rng = np.random.default_rng(3)
    draw = rng.normal if mechanism == "statistics" else rng.laplace
    found = [
        measure(scores[:, :50], scores, claim, 0.999).shaped  # the threshold does not matter here
        for scores in (draw([[0.0], [claim.half / 2 / noise]], 1.0, (2, runs)) for _ in range(400))
    ]
    assert 0.84 < np.mean([told.low <= bound <= told.high for bound in found]) < 0.96
    assert np.median(found) == pytest.approx(told.middle, abs=0.03)
    assert np.mean(np.array(found) > epsilon) == pytest.approx(told.violated, abs=0.06)


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_are_attacked_through_the_real_noise(tmp_path: Path) -> None:
    """False alarm: below 1e-10. Before, the larger file was refused: told apart every time."""
    found = audit_statistics(8.0, 1e-6, runs=300, confidence=SURE, neighbours=worst_files(tmp_path))
    assert not found.violated, found
    assert found.telling


def test_a_refusal_is_an_outcome_that_the_audit_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(table: Any, plan: Any, missing: Any) -> Any:
        if "larger" in table.origin:
            raise InputError("a value is not a number")
        return count_rows(table, plan, missing)

    monkeypatch.setattr(audit, "count_rows", refuse)
    found = audit_statistics(1.0, 1e-6, runs=100, neighbours=worst_files(tmp_path))
    assert found.violated
    assert found.wins == 1.0


def test_one_line_of_a_file_of_any_dialect_changes_no_more_than_it_may() -> None:
    """Before, of 980 pairs that did not crash, 388 differed in whether they were refused, and one changed 8.4 times."""
    found = audit_files(1.0, 1e-6)
    assert (found.pairs, found.refused, found.violated) == (1040, 0, False)
    assert found.change == 1.0


# -- the attack -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
def test_no_other_row_has_more_influence(kind: str) -> None:
    """Without noise, the scores of both tables differ by mu^2, and mu^2 = 2 rho for the worst row."""
    pair = TABLES[kind]()
    plan = Plan.of(pair.schema, "auto", 1.0, 1e-6)
    tables = [open_table(frame, "t") for frame in (pair.rows, pair.larger)]
    counts = [count_rows(table, plan, "error")[0] for table in tables]
    attacker = audit.Attacker(pair, plan, counts)
    smaller, larger = (
        attacker.score(draw_release(table, plan, cells, Recorder([512, 80, 480, 100]), "error")[0])
        for table, cells in zip(tables, counts, strict=True)
    )
    least = 0.995 if kind == "numbers" else 0.7  # the longest row of indicators is shorter than the limit
    assert least * 2 * plan.price.gaussian < larger - smaller <= 2 * plan.price.gaussian * (1 + 1e-6)


def test_choice_of_units_is_evidence_with_the_right_odds() -> None:
    """The likelihood ratio of a centre and a radius, averaged over the radius, is that of the centre alone."""
    pair = worst_case()
    plan = Plan.of(pair.schema, "auto", 20.0, 1e-6)
    tables = [open_table(frame, "t") for frame in (pair.rows, pair.larger)]
    counts = [count_rows(table, plan, "error")[0] for table in tables]
    attacker = audit.Attacker(pair, plan, counts)
    scale = 1 / math.sqrt(2 * plan.price.selections[0] ** 2 / 8)
    column = plan.numeric[0]
    cells, more = (world[column.name] for world in counts)
    release, _ = draw_release(tables[0], plan, counts[0], Recorder([100, 50]), "error")
    without, with_row = (softmax(median_scores(one) / scale) for one in (cells, more))
    assert not np.allclose(without, with_row)
    for middle in (300, CELLS // 2, 700):
        average = 0.0
        for radius, chance in enumerate(softmax(radius_scores(cells, middle) / scale), 1):
            chosen = replace(release, units={**release.units, column.name: unit_of(column, middle, radius)})
            average += chance * math.exp(attacker.units_evidence(column, chosen))
        assert average == pytest.approx(with_row[middle - 1] / without[middle - 1])


def test_worst_regret_is_the_one_that_a_site_answers() -> None:
    from fedperi.privacy.regret_noise import ridge_covariance
    from fedperi.site.noisy.ridge_score import RidgeScore

    (before, after), bound = worst_regrets(500, limit=2.0, ridge=0.05)
    row = np.array([0.0, 2.0, 2.0]) / math.sqrt(2)
    other = row * [1, 1, -1]
    for regret, total in (
        (before, 500 * np.outer(row, row)),
        (after, 500 * np.outer(row, row) + np.outer(other, other)),
    ):
        empty, full = RidgeScore(ridge_covariance(total, 500, 0.05), 500).local([(0, 0), (0, 2)])
        assert max(empty, full) - empty == pytest.approx(regret)
    assert 0.95 * bound < before - after <= bound


# -- the bounds -------------------------------------------------------------------------------------------------------


def test_bounds_by_hand() -> None:
    # No error in 100 runs: the rate is below 1 - doubt^(1/100).
    assert audit_bounds._at_most(np.array([0.0]), 100, 0.05)[0] == pytest.approx(1 - 0.05 ** (1 / 100))
    assert audit_bounds._at_most(np.array([100.0]), 100, 0.05)[0] == 1.0
    # Scores that never overlap: 1 - delta - FNR over FPR, each rate at a quarter of 1 - confidence.
    scores = np.stack([np.arange(100.0), np.arange(100.0) + 1000])
    found = measure(scores, scores, Claim("statistics", 1.0, 0.01, 1.0), 0.96)
    rate = 1 - 0.01 ** (1 / 100)
    assert found.free == pytest.approx(math.log((1 - 0.01 - rate) / rate))
    assert (found.false_positives, found.false_negatives, found.wins) == (0.0, 0.0, 1.0)
    # mu = 1 is epsilon = 4.88655 at delta = 1e-6 by the curve of Gaussian noise; Laplace: 1 - e^-x (2 + x) / 4 are won.
    claim = Claim("statistics", 1.0, 1e-6, 1.0)
    assert claim.shown(claim.wins(1.0)) == pytest.approx(4.886554, abs=1e-5)
    claim = Claim("regret", 1.0, 0.0, 1.0)
    assert claim.wins(0.0) == 0.5
    assert claim.shown(claim.wins(1.5)) == pytest.approx(1.5)
    draws = np.random.default_rng(0).laplace(size=(2, 400_000))
    assert np.mean(draws[1] + 1.5 > draws[0]) == pytest.approx(claim.wins(1.5), abs=0.003)


@pytest.mark.parametrize("mechanism", ["statistics", "regret"])
def test_bounds_are_wrong_no_more_often_than_stated(mechanism: str) -> None:
    """The claim is exactly the truth, the confidence low: 10 % of 400 audits may say otherwise; 5 % are expected."""
    rng = np.random.default_rng(1)
    distance = 0.8
    claim = Claim(mechanism, 0.0, 1e-6 if mechanism == "statistics" else 0.0, 0.0)
    truth = claim.shown(claim.wins(distance))
    draw = rng.normal if mechanism == "statistics" else rng.laplace
    wrong = 0
    for _ in range(400):
        scores = draw([[0.0], [distance]], 1.0, (2, 240))
        found = measure(scores[:, :40], scores[:, 40:], claim, 0.9)
        wrong += max(found.free, found.shaped) > truth
    assert 4 < wrong < 40


def test_guessing_shows_nothing() -> None:
    scores = np.random.default_rng(2).normal(size=(2, 1200))
    found = measure(scores[:, :200], scores[:, 200:], Claim("statistics", 1.0, 1e-6, 0.42), 0.999)
    assert (found.free, found.shaped) == (0.0, 0.0)


# -- what one row can change ------------------------------------------------------------------------------------------

SCHEMA = Schema(
    (
        Column("a", "continuous", bounds=(-3, 5)),
        Column("b", "continuous", bounds=(0, 1e-3)),
        Column("c", "categorical", ("u", "v", "w")),
    )
)
NUMBERS = st.floats(-10, 10) | st.sampled_from([0.0, -0.0, 1e300, -1e300, math.inf, -math.inf, 5e-324])
ROWS = st.tuples(NUMBERS, NUMBERS, st.sampled_from(["u", "v", "w", "never heard of", ""]))


def frame(rows: list[tuple[float, float, str]], names: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b", "c"]).astype({"a": float, "b": float})[list(names)]


@pytest.mark.parametrize(("names", "data"), [("ab", "linear"), ("abc", "mixed"), ("ab", "nonlinear"), ("c", "mixed")])
@given(
    rows=st.lists(ROWS, min_size=2, max_size=12),
    row=ROWS,
    choices=st.lists(st.integers(0, 254), min_size=4, max_size=4),
)
@example(rows=[(0.0, 0.0, "u")] * 3, row=(math.inf, -math.inf, "never heard of"), choices=[0, 1, 0, 1])
@example(rows=[(0.0, 0.0, "u")] * 3, row=(1e300, 1e300, "w"), choices=[254, 0, 0, 254])
@settings(max_examples=40, deadline=None)
def test_property_one_row_changes_no_more_than_the_noise_covers(
    names: str, data: Any, rows: list[tuple[float, float, str]], row: tuple[float, float, str], choices: list[int]
) -> None:
    plan = Plan.of(Schema(tuple(c for c in SCHEMA.columns if c.name in names)), data, 1.0, 1e-6)
    seen = []
    for content in (rows, [*rows, row]):
        table = open_table(frame(content, names), "t")
        recorder = Recorder(choices)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            draw_release(table, plan, count_rows(table, plan, "error")[0], recorder, "error")
        seen.append(recorder)
    change = seen[1].values - seen[0].values
    assert np.sqrt(np.sum(change.astype(float) ** 2)) <= plan.sensitivity
    size = plan.columns + 1
    upper = np.triu_indices(size)
    on = upper[0] == upper[1]
    moments = change / np.where(on, DIAGONAL, release.BESIDE)  # whole numbers again, each entry beside counted twice
    assert np.array_equal(moments, np.rint(moments))
    assert np.sqrt(np.sum(np.where(on, 1, 2) * moments**2)) <= plan.sensitivity / DIAGONAL
    for before, after in zip(seen[0].scores, seen[1].scores, strict=True):
        assert np.abs(after - before).max() <= 1


def test_the_bounds_on_what_one_row_changes_are_reached() -> None:
    pair = worst_case()
    plan = Plan.of(pair.schema, "auto", 1.0, 1e-6)
    seen = []
    for content in (pair.rows, pair.larger):
        table = open_table(content, "t")
        recorder = Recorder([512, 80, 480, 100])
        draw_release(table, plan, count_rows(table, plan, "error")[0], recorder, "error")
        seen.append(recorder)
    norm = np.linalg.norm((seen[1].values - seen[0].values).astype(float))
    assert 0.999 * plan.sensitivity < norm <= plan.sensitivity
    assert plan.sensitivity == pytest.approx(DIAGONAL * (0.25 + 0.75**2 * 2) * GRID**2)
    assert max(np.abs(b - a).max() for a, b in zip(seen[0].scores, seen[1].scores, strict=True)) == 1


# -- the command ------------------------------------------------------------------------------------------------------


def test_command_says_what_was_tried_and_found() -> None:
    # All pairs won would show 2.9 at this confidence: no false alarm is possible.
    done = fedperi_here("audit", "--epsilon", "8", "--runs", "60", "--confidence", "0.9999999999")
    assert done.returncode == 0, done.stderr
    for words in (
        "Was one person in the table? (60 releases with and 60 without one extreme row;",
        "mechanism 'statistics', the release of a whole table: claimed epsilon = 8, delta = 1e-06",
        "so few runs would miss it; increase --runs",
        "1040 pairs of files that differ by one odd line: it changes the statistics by at most",
        "1 of the sensitivity that the noise is scaled to; in 0 pairs one file is refused",
        "without privacy: correlations to 0.0000 (median)",
        "No violation found. That is no proof",
    ):
        assert words in done.stdout


def test_command_fails_if_the_claim_is_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "SecureNoise", HalfNoise)
    done = fedperi_here("audit", "--epsilon", "8", "--runs", "450", "--json")  # missed with 3.4e-11
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["violated"] is found["membership"]["release"]["violated"] is True
    assert found["membership"]["release"]["shaped"] > 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon is 0.0, but must be a number: above 0 and at most 1e\+06"),
        ({"delta": 2.0}, "delta is 2.0, but must be a number: 0 < delta < 1"),
        ({"delta": 0.5}, "delta = 0.5 is not below one over the number of rows"),
        ({"runs": 10}, "an audit needs a whole number of runs, 50 at least, not 10"),
        ({"runs": True}, "an audit needs a whole number of runs, 50 at least, not True"),
        ({"confidence": 1.0}, "the confidence of an audit must be at least 0.5 and below 1, not 1.0; try 0.999"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        audit_statistics(**options)
