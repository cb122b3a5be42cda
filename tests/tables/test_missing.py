"""Missing values: EM against the likelihood itself, what is left out, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here
from helpers.refusals import assert_refused, refusal
from numpy.typing import NDArray
from scipy.optimize import minimize

import fedperi as fp
from fedperi.site.service.source import AnswerSource
from fedperi.tables import check, open_table
from fedperi.tables.checks.profile import Missing, scan
from fedperi.tables.missing.em import em
from fedperi.tables.missing.leaving import leave_out
from fedperi.tables.missing.patterns import Patterns, PatternStream
from fedperi.tables.moments import moments_of
from fedperi.tables.summary.summaries import summaries

Floats = NDArray[np.float64]


def gaps(rows: Floats, share: float, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(rows.shape) < share, np.nan, rows)


def patterns_of(rows: Floats, chunk: int = 1000, most: int | None = None) -> Patterns:
    stream = PatternStream(np.nanmean(rows, axis=0), np.nanstd(rows, axis=0), most)
    for start in range(0, len(rows), chunk):
        stream.add(rows[start : start + chunk])
    return stream.result()


def negative_likelihood(parameters: Floats, rows: Floats) -> float:
    """Of the observed values, row by row, as the definition says."""
    q = rows.shape[1]
    root = np.zeros((q, q))
    root[np.tril_indices(q)] = parameters[q:]
    covariance, total = root @ root.T, 0.0
    for row in rows:
        there = ~np.isnan(row)
        part = covariance[np.ix_(there, there)]
        apart = row[there] - parameters[:q][there]
        total += 0.5 * (np.linalg.slogdet(part)[1] + apart @ np.linalg.solve(part, apart))
    return total


@pytest.mark.parametrize("seed", range(2))
def test_em_maximises_the_likelihood_of_what_was_observed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = gaps(rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)) + 5, 0.3, rng)
    found = em(patterns_of(rows))
    assert found.converged
    mean, covariance = found.moments.mean, found.moments.scatter / found.moments.n
    lower = np.tril_indices(3)
    start = np.concatenate([np.nanmean(rows, axis=0), np.diag(np.nanstd(rows, axis=0))[lower]])
    best = minimize(negative_likelihood, start, args=(rows,), method="BFGS", options={"gtol": 1e-7})
    ours = negative_likelihood(np.concatenate([mean, np.linalg.cholesky(covariance)[lower]]), rows)
    assert ours <= best.fun + 1e-7
    np.testing.assert_allclose(mean, best.x[:3], atol=1e-4)


def test_em_of_one_column_missing_at_random_is_the_regression_on_the_other() -> None:
    """The case with a closed form: y is there for some rows only, and these are chosen by x."""
    rng = np.random.default_rng(1)
    x = rng.normal(10, 2, 2000)
    y = 3 + 0.5 * x + rng.normal(0, 1, 2000)
    there = x < 10
    slope, intercept = np.polyfit(x[there], y[there], 1)
    found = em(patterns_of(np.column_stack([x, np.where(there, y, np.nan)])))
    np.testing.assert_allclose(found.moments.mean, [x.mean(), intercept + slope * x.mean()], rtol=1e-6)
    covariance = found.moments.scatter / 2000
    np.testing.assert_allclose(covariance[0, 1], slope * x.var(), rtol=1e-5)
    assert abs(y[there].mean() - y.mean()) > 0.5  # which leaving rows out would say


def test_em_of_complete_rows_is_their_moments_whatever_the_chunks() -> None:
    rows = np.random.default_rng(2).normal(1e8, 1, size=(500, 4))
    direct, found = moments_of(rows), em(patterns_of(rows, chunk=77))
    np.testing.assert_allclose(found.moments.mean, direct.mean, rtol=1e-13)
    np.testing.assert_allclose(found.moments.scatter, direct.scatter, rtol=1e-6, atol=1e-5)
    rows = gaps(rows, 0.2, np.random.default_rng(3))
    np.testing.assert_allclose(
        em(patterns_of(rows, 13)).moments.scatter, em(patterns_of(rows)).moments.scatter, rtol=1e-9, atol=1e-9
    )


def test_constant_and_repeated_columns_do_not_break_em() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    rows = gaps(np.column_stack([x, x, np.full(300, 7.0), rng.random(300) < 0.3]).astype(float), 0.2, rng)
    stream = PatternStream(np.nanmean(rows, axis=0), np.array([1.0, 1.0, 1.0, 0.5]))
    stream.add(rows)
    found = em(stream.result())
    assert found.converged and np.isfinite(found.moments.scatter).all()
    assert found.moments.mean[2] == 7 and not found.moments.scatter[2].any()
    assert found.moments.scatter[0, 1] == pytest.approx(found.moments.scatter[0, 0], rel=1e-3)


def test_too_many_patterns_leave_rows_out_and_say_so() -> None:
    rows = gaps(np.random.default_rng(5).normal(size=(400, 6)), 0.4, np.random.default_rng(6))
    few = patterns_of(rows, most=10)
    assert len(few.counts) == 10 and few.counts.sum() + few.left_out == 400 and few.left_out > 0
    assert patterns_of(rows).left_out == 0


def hospitals(seed: int = 0, rows: int = 400) -> dict[str, pd.DataFrame]:
    sim = fp.simulate(["age", "dose", "pressure", "pulse"], clients=3, samples=rows, intervention="shift", seed=seed)
    arms = np.random.default_rng(seed)
    tables = dict(zip(["Brest", "Lyon", "Metz"], sim.sites, strict=True))
    return {name: table.assign(arm=arms.choice(["u", "v", "w"], rows)) for name, table in tables.items()}


def holed(table: pd.DataFrame, share: float, seed: int, columns: list[str]) -> pd.DataFrame:
    rng, out = np.random.default_rng(seed), table.copy()
    for name in columns:
        out.loc[rng.random(len(out)) < share, name] = None
    return out


def test_without_gaps_every_way_gives_the_same_bits() -> None:
    choices: tuple[Missing, ...] = ("error", "drop", "em", "auto")
    ways = [summaries(hospitals(), missing=missing) for missing in choices]
    for other in ways[1:]:
        for ours, theirs in zip(ways[0], other, strict=True):
            assert ours.n == theirs.n and theirs.gaps is None
            assert ours.mean.tobytes() == theirs.mean.tobytes()
            assert ours.covariance.tobytes() == theirs.covariance.tobytes()


def test_a_category_is_missing_as_a_whole_and_rows_count_by_the_worst_pair() -> None:
    tables = hospitals()
    tables["Lyon"] = holed(tables["Lyon"], 0.3, 1, ["dose", "arm"])
    lyon = summaries(tables, missing="auto")[1]
    both = tables["Lyon"][["dose", "arm"]].notna().all(axis=1).sum()
    assert lyon.n == both and lyon.total == 400
    assert lyon.gaps is not None and [name for name, _ in lyon.gaps.missing] == ["dose", "arm"]
    shares = tables["Lyon"]["arm"].value_counts(normalize=True)
    arm = lyon.mean[list(lyon.blocks[-1])]
    np.testing.assert_allclose(arm, [shares["v"], shares["w"]], atol=0.05)
    assert_refused(
        lambda: lyon.save("lyon.fedperi"),
        "site 'Lyon': this summary was estimated from incomplete rows, and a file holds counts of complete ones; make "
        "it with missing='drop'",
    )


def test_the_result_says_what_was_missing_and_what_was_left_out() -> None:
    tables = hospitals()
    tables["Lyon"] = holed(tables["Lyon"], 0.2, 1, ["dose"])
    tables["Metz"] = holed(tables["Metz"], 0.8, 2, ["pulse"])
    result = fp.MPERI().fit(tables)
    assert result.graph.names == ("age", "dose", "pressure", "arm")
    assert any(one.startswith("Column 'pulse': missing in 7") and "left out" in one for one in result.warnings)
    told = next(one for one in result.warnings if one.startswith("Values are missing"))
    assert "at Lyon 2" in told and "400 rows, counted as 3" in told and "Brest" not in told
    assert [site["n"] for site in result.manifest["sites"]] == [400, 400, 400]
    with pytest.raises(fp.InputError, match=r"'Lyon', column 'dose': .* of the values are missing"):
        fp.MPERI(missing="error").fit(tables)
    with pytest.raises(fp.InputError, match=r"'pulse'"):
        fp.Summary.of(tables["Metz"], missing="auto")


def test_a_column_that_one_site_lacks() -> None:
    tables = hospitals()
    tables["Metz"] = tables["Metz"].drop(columns="pulse")
    for last in (tables["Metz"], tables["Metz"].assign(pulse=np.nan)):
        report = check({"Brest": tables["Brest"], "Lyon": tables["Lyon"], "Metz": last}, missing="auto")
        assert report.ok and "pulse" not in report.schema
        result = fp.MPERI().fit({**tables, "Metz": last})
        assert "pulse" not in result.graph.names
        assert any("'pulse'" in one and "the column is left out" in one for one in result.warnings)
    with pytest.raises(fp.InputError, match=r"'pulse'.*"):
        fp.MPERI(missing="em").fit(tables)


def test_knowledge_of_a_column_that_is_left_out() -> None:
    tables = hospitals()
    tables["Metz"] = tables["Metz"].drop(columns="pulse")
    known = fp.Knowledge(tiers=[["age"], ["dose", "pulse"]], forbidden=[("pulse", "dose")])
    assert ("age", "dose") not in {(b, a) for a, b in fp.MPERI(knowledge=known).fit(tables).graph.directed}
    assert_refused(
        lambda: fp.MPERI(knowledge=fp.Knowledge(required=[("age", "pulse")])).fit(tables),
        "the edge age -> pulse is required, but 'pulse' is left out, because a site lacks too many of its values; "
        "leave out this site, or the required edge",
    )


def test_the_site_goes_if_fewer_values_are_lost_so() -> None:
    frame = hospitals()["Brest"]
    many = {f"site {k}": frame for k in range(8)} | {"odd": frame.drop(columns="pulse")[:50]}
    left = leave_out([scan(open_table(table, name), "auto") for name, table in many.items()])
    assert (left.columns, left.sites) == ((), ("odd",))
    result = fp.MPERI().fit({name: holed(table, 0.01, k, ["age"]) for k, (name, table) in enumerate(many.items())})
    assert "pulse" in result.graph.names
    assert any("'odd', column 'pulse'" in one and "the site is left out" in one for one in result.warnings)
    assert [site["site"] for site in result.manifest["sites"]] == [f"site {k}" for k in range(8)]


def test_columns_that_are_never_there_together() -> None:
    table = hospitals()["Brest"]
    table.loc[:199, "dose"], table.loc[200:, "pulse"] = None, None
    assert_refused(
        lambda: fp.MPERI().fit({"Brest": table, "Lyon": hospitals()["Lyon"]}),
        "site 'Brest', columns 'dose', 'pulse': no row has both, so that their covariance is unknown; leave one "
        "of them out",
    )


def test_what_cannot_use_incomplete_rows_says_so(tmp_path: Path) -> None:
    tables = hospitals()
    tables["Lyon"] = holed(tables["Lyon"], 0.2, 1, ["dose"])
    assert refusal(lambda: fp.IPERI(missing="em")) == "missing must be one of error, drop; not 'em'"
    said = refusal(lambda: AnswerSource(tables["Lyon"], missing="auto"))
    assert said == "missing must be one of error, drop; not 'auto'"
    with pytest.raises(fp.InputError, match=r"'dose': .* or use M-PERI with missing=auto"):
        fp.IPERI().fit(tables)
    limits = dict.fromkeys(("age", "dose", "pressure", "pulse"), (-20, 20))
    private = fp.Privacy(epsilon=1, bounds={**limits, "arm": ["u", "v", "w"]}, store=str(tmp_path))
    assert "missing='em' is not private" in refusal(lambda: fp.MPERI(missing="em", privacy=private).fit(tables))


def test_the_four_hospitals_of_the_heart_study_run_by_one_command(tmp_path: Path) -> None:
    files = [str(file) for file in sorted((Path(__file__).parents[1] / "data" / "heart").glob("*.csv"))]
    done = fedperi_here("run", *files, "--out", "r", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = fp.load(tmp_path / "r")
    assert not {"slope", "ca", "thal"} & set(result.graph.names)
    for name in ("slope", "ca", "thal"):
        assert any(one.startswith(f"Column '{name}': missing in") for one in result.warnings)
    assert any("the value 0 at 'switzerland' (123 of 123 rows)" in one for one in result.warnings)
    assert result.sites == ("cleveland", "hungarian", "va")  # the fourth has neither cholesterol nor most of fbs
    assert not [effect for _, effect in result.graph.directed if effect in ("age", "sex")]


@pytest.mark.parametrize("missing", ["auto", "error"])
def test_a_name_that_a_site_spells_differently_is_refused_not_left_out(missing: Missing) -> None:
    rng = np.random.default_rng(3)
    frames = [pd.DataFrame(rng.normal(size=(60, 3)), columns=["Heart rate", "dose", "age"]) for _ in range(3)]
    frames[1] = frames[1].rename(columns={"Heart rate": "heart_rate", "age": "Age"})
    errors = [one for one in check(frames, missing=missing).findings if one.level == "error"]
    assert [one.columns for one in errors] == [("Heart rate", "heart_rate", "age", "Age")]
    assert "one way at 'site 1', 'site 3', another at 'site 2'" in errors[0].message
    assert "all sites agree" in refusal(lambda: fp.MPERI(progress=False).fit(frames))


def test_two_columns_of_one_site_are_never_spellings_of_one() -> None:
    frames = [pd.DataFrame({"T": range(40), "t": range(40), "age": range(40)}) for _ in range(2)]
    left = leave_out([scan(open_table(frame, str(at)), "auto") for at, frame in enumerate(frames)])
    assert left.findings == ()
    one_short = [frames[0], frames[1].drop(columns="t")]
    left = leave_out([scan(open_table(frame, str(at)), "auto") for at, frame in enumerate(one_short)])
    assert left.columns == ("t",)


def test_columns_and_sites_that_are_left_out_are_named_once_each(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frames = [pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd")) for _ in range(3)]
    frames[1] = frames[1].rename(columns={name: f"other {name}" for name in "bcd"})
    report = check(frames, missing="auto")
    assert [str(one) for one in report.findings if one.level == "warning"] == [
        "columns 'other b', 'other c', 'other d': not there at 'site 1', 'site 3'; the columns are left out; to keep "
        "them, leave out these sites",
        "site 'site 2', columns 'b', 'c', 'd': no values at all; the site is left out; to keep it, leave out these "
        "columns",
    ]
    assert [site.left_out for site in report.sites] == [False, True, False]
    for at, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{at}.csv", index=False)
    answer = fedperi_here("run", tmp_path, "--out", tmp_path / "out")
    assert "2 sites, 120 rows, 4 variables; 1 site left out." in answer.stdout
