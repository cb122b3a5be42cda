"""The regret mechanism: what one row can change, what answers cost, and that the same question is never paid twice."""

import json
import math
import subprocess
import sys
import warnings
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.questions import all_families, one_parent_set
from helpers.refusals import assert_refused, refusal
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.coordinator.coordinator import Coordinator
from fedperi.errors import InputError
from fedperi.privacy import Ceiling, lemma_sensitivity
from fedperi.privacy.accounting import Price, spent
from fedperi.privacy.regret_noise import (
    EXACT,
    LEAST_RIDGE,
    MOST_RIDGE,
    OWN_SHARE,
    RegretPlan,
    chosen_ridge,
    most_answers,
    own_privacy,
    proven_sensitivity,
)
from fedperi.privacy.release.release import Plan
from fedperi.privacy.zcdp import zcdp_rho
from fedperi.protocol.messages import Families, Orientations, Settings
from fedperi.scores.masking import INTERVENTION_PRICE, PARTIAL_PRICE
from fedperi.search.screening import FULL
from fedperi.site.noisy import NoisySite
from fedperi.tables import open_table
from fedperi.transports.in_process import InProcess

MASKINGS = ("none", "consensus", "adaptive")


def table_of(p: Any = 3, rows: Any = 2000, seed: Any = 1) -> Any:
    return fp.simulate(p, clients=2, samples=rows, weights=(0.4, 1.0), seed=seed).sites[0]


def asked(table: Any, epsilon: Any = 1.0, **options: Any) -> Any:
    bounds = options.pop("bounds", dict.fromkeys(table.columns, (-10, 10)))
    return fp.Privacy(epsilon, 1e-6, mechanism="regret", bounds=bounds, **options)


def quiet_site(table: Any, privacy: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return NoisySite(open_table(table, options.pop("name", "north")), privacy, **options)


def directions(p: Any, seed: Any = 0) -> Any:
    """Marks around every node, as phase 2 asks them for some graph."""
    rng = np.random.default_rng(seed)
    marks = rng.integers(0, 4, (4 * p, p))
    nodes = np.tile(np.arange(p), 4)
    marks[np.arange(4 * p), nodes] = 0
    return Orientations(np.triu(np.ones((p, p), dtype=bool), 1), nodes, marks)


# -- sensitivity ----------------------------------------------------------------------------------------------------


def test_the_lemma_of_the_paper_with_the_sign_put_right() -> None:
    assert lemma_sensitivity(0, math.exp(-1)) == pytest.approx(2)
    assert lemma_sensitivity(2.0, 0.1) == pytest.approx(5 * abs(math.log(0.01)))


@pytest.mark.parametrize(
    ("M", "r", "words"),
    [
        (-1, 0.5, "M must be a number, zero or positive, the largest norm of the parameters; not -1"),
        (math.nan, 0.5, "M must be a number, zero or positive, the largest norm of the parameters; not nan"),
        (math.inf, 0.5, "M must be a number, zero or positive, the largest norm of the parameters; not inf"),
        ("1", 0.5, "M must be a number, zero or positive, the largest norm of the parameters; not '1'"),
        (1, 1.0, "r must be a number above 0 and below 1, the smallest density of a row; not 1.0"),
        (1, 0, "r must be a number above 0 and below 1, the smallest density of a row; not 0"),
        (1, True, "r must be a number above 0 and below 1, the smallest density of a row; not True"),
    ],
)
def test_the_lemma_refuses_what_it_does_not_cover(M: Any, r: Any, words: str) -> None:
    assert_refused(lambda: lemma_sensitivity(M, r), words)


def test_the_proven_bound_by_hand() -> None:
    # 100 / 2 * log(1 + 4 / (100 * 0.04)) = 50 log 2
    assert proven_sensitivity(100, 2.0, 0.04) == pytest.approx(50 * math.log(2))
    assert proven_sensitivity(10**6, 2.0, 0.5) < 4 + 1e-2  # B^2 / (2 ridge), from below, and the allowance for rounding
    for bad in ((0, 1, 1), (1, -1, 1), (1, 1, 0), (1, 1, math.nan), (math.inf, 1, 1)):
        with pytest.raises(InputError, match="must be a positive, finite number"):
            proven_sensitivity(*bad)


def scores_by_definition(rows: Any, n: Any, ridge: Any, price: Any) -> Any:
    """Local scores from determinants, the first column (the constant) always given: no code of the package."""
    a = rows.T @ rows + n * ridge * np.eye(rows.shape[1])
    p = rows.shape[1] - 1

    def log_det(columns: Any) -> Any:
        return np.linalg.slogdet(a[np.ix_(columns, columns)])[1]

    return {
        (i, s): -n / 2 * (log_det([0, *s, i]) - log_det([0, *s])) - price * len(s)
        for i in range(1, p + 1)
        for size in range(p)
        for s in combinations([j for j in range(1, p + 1) if j != i], size)
    }


def regrets_by_definition(scores: Any) -> Any:
    """Regrets without a mask and under the adaptive one, each against the best set of all."""
    best = {i: max(value for (node, _), value in scores.items() if node == i) for i, _ in scores}
    plain = {key: best[key[0]] - value for key, value in scores.items()}
    masked = {}
    for i, s in scores:
        parts = [scores[i, t] - PARTIAL_PRICE for size in range(len(s) + 1) for t in combinations(s, size)]
        masked[i, s] = best[i] - max(scores[i, s], scores[i, ()] - INTERVENTION_PRICE, *parts)
    return plain, masked


def clipped(rows: Any, limit: Any) -> Any:
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    z = rows * np.minimum(1, limit / np.maximum(norm, 1e-300))
    return np.column_stack([np.full(len(z), 0.5), z])


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    many=st.integers(0, 40),
    n=st.floats(2, 1000),
    limit=st.floats(0.1, 10),
    ridge=st.floats(1e-4, 10),
    price=st.floats(0, 5),
    spread=st.sampled_from([0.01, 1.0, 100.0]),
    rank=st.integers(1, 3),
)
def test_property_no_row_changes_a_score_or_a_regret_by_more_than_is_proven(
    seed: Any, many: Any, n: Any, limit: Any, ridge: Any, price: Any, spread: Any, rank: Any
) -> None:
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(rank, 3))
    rows = clipped(spread * (rng.normal(size=(many, rank)) @ mix + 0.01 * rng.normal(size=(many, 3))), limit)
    extra = clipped(100 * rng.normal(size=(1, 3)), limit)
    bound = proven_sensitivity(n, math.hypot(0.5, limit), ridge)
    rounding = 1e-8 * n
    before = scores_by_definition(rows, n, ridge, price)
    after = scores_by_definition(np.vstack([rows, extra]), n, ridge, price)
    for key, value in before.items():
        assert -bound - rounding <= after[key] - value <= rounding
    for one, other in zip(regrets_by_definition(before), regrets_by_definition(after), strict=True):
        assert max(abs(other[key] - one[key]) for key in one) <= bound + rounding


def test_the_proven_bound_is_nearly_reached() -> None:
    """Two columns that always agree, a row where they are opposite: the best set loses, the empty one does not."""
    n, ridge, limit = 1000, 0.05, 1.0
    rows = clipped(np.tile([[1.0, 1.0], [-1.0, -1.0]], (2000, 1)), limit)
    extra = clipped(np.array([[1.0, -1.0]]), limit)
    before, after = (
        regrets_by_definition(scores_by_definition(some, n, ridge, 0.0))[0] for some in (rows, np.vstack([rows, extra]))
    )
    change = before[1, ()] - after[1, ()]
    bound = proven_sensitivity(n, limit, ridge)  # the constant tells nothing here: it is orthogonal to the rows
    assert 0.95 * bound < change <= bound


MIXED = {"a": (-5, 5), "b": ["u", "v", "w", "x"], "c": (-5, 5)}


def mixed_table(rows: Any = 300) -> Any:
    rng = np.random.default_rng(0)
    a = rng.normal(size=rows)
    b = np.array(["u", "v", "w", "x"])[np.clip((a + rng.normal(size=rows) + 2).astype(int), 0, 3)]
    return pd.DataFrame({"a": a, "b": b, "c": a + rng.normal(size=rows)})


def exact_answers(table: Any, release_of: Any, privacy: Any, settings: Any, question: Any, targets: Any = None) -> Any:
    """What a site would answer without noise, with a release that was drawn before: neighbours have the same one."""
    site = quiet_site(table, privacy, targets=targets)
    if release_of is not None:
        pending = site._prepared
        site._prepared = SimpleNamespace(plan=pending.plan, budget=None, draw=lambda: (release_of, None))
    site._noisy = lambda keys, exact: exact
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        site.open(settings, site.names)
    return site, np.asarray(site.answer(question)).ravel()


@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("targets", [None, ("a",)])
@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
def test_a_neighbouring_table_changes_no_exact_answer_of_a_site_by_more(
    masking: Any, targets: Any, epsilon: float
) -> None:
    table = mixed_table()
    rows = [(-5.0, "x", 5.0), (1e300, "?", -1e300), (0.0, "w", 0.0), (4.0, "u", -4.0)]
    privacy, run = asked(table, epsilon, bounds=MIXED, test_seed=1), Settings(masking)
    for question in (all_families(3), directions(3)):
        site, before = exact_answers(table, None, privacy, run, question, targets)
        bound = site.privacy["sensitivity"]
        for row in rows:
            more = pd.concat([table, pd.DataFrame([row], columns=table.columns)], ignore_index=True)
            _, after = exact_answers(more, site._release, privacy, run, question, targets)
            assert np.abs(after - before).max() <= bound
        _, less = exact_answers(table.iloc[1:], site._release, privacy, run, question, targets)
        assert np.abs(less - before).max() <= bound


@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("targets", [None, ("a",)])
def test_which_sets_are_compared_does_not_depend_on_the_rows(masking: Any, targets: Any) -> None:
    """The bound holds for given sets. One row could change sets that the rows choose, so a site never lets them.

    Under the same release a table that has nothing in common with the first is asked for the same sets.
    """
    table, run = mixed_table(), Settings(masking)
    rng = np.random.default_rng(5)
    other = pd.DataFrame({name: rng.permutation(table[name]) for name in table.columns})
    privacy, question = asked(table, 1000.0, bounds=MIXED, test_seed=1), directions(3)
    site, exact = exact_answers(table, None, privacy, run, question, targets)
    twin, others = exact_answers(other, site._release, privacy, run, question, targets)
    assert np.abs(others - exact).max() > 1  # the rows do matter for the answers
    for dag in (question.dag, question.dag.T):
        assert twin._own_directions(dag) == site._own_directions(dag)
    assert [twin._counting(node) for node in range(3)] == [site._counting(node) for node in range(3)]
    assert list(twin._question_keys(all_families(3))) == list(site._question_keys(all_families(3)))
    for told in ("answers_planned", "sensitivity", "noise_scale", "ridge", "rows"):
        assert twin.privacy[told] == site.privacy[told]


def test_collinear_columns_are_no_error_that_would_tell_of_the_rows() -> None:
    a = np.random.default_rng(0).normal(size=300)
    table = pd.DataFrame({"a": a, "b": a, "c": -a})
    site = quiet_site(table, asked(table, 1e5, test_seed=1))
    with pytest.warns(UserWarning, match="NOTHING in this run is private"):
        site.open(Settings("adaptive"), site.names)
        assert np.isfinite(site.answer(all_families(3))).all()


# -- the budget -----------------------------------------------------------------------------------------------------


@given(
    epsilon=st.floats(0.05, 1e4),
    delta=st.floats(1e-12, 1e-3),
    answers=st.integers(1, 10**5),
    columns=st.integers(1, 12),
    batches=st.integers(1, 4),
)
@settings(max_examples=100)
def test_property_all_planned_answers_cost_the_budget_and_no_more(
    epsilon: Any, delta: Any, answers: Any, columns: Any, batches: Any
) -> None:
    bounds = {f"v{i}": (0, 1) for i in range(columns)}
    privacy = fp.Privacy(epsilon, delta, mechanism="regret", bounds=bounds, most_rows=int(0.99 / delta))
    share = own_privacy(privacy)
    own = Plan.of(privacy.bounds, "linear", share.epsilon, share.delta).price
    plan = RegretPlan(epsilon, delta, own, answers)
    parts = [len(part) for part in np.array_split(np.arange(answers), min(batches, answers))]
    prices = [own, *(plan.price(part) for part in parts)]
    cost = spent(prices, delta)
    assert cost <= epsilon * (1 + 1e-9)
    assert cost >= epsilon * (1 - 1e-4)
    assert own.rho <= OWN_SHARE * zcdp_rho(epsilon, delta) * (1 + 1e-6)


def test_the_better_of_two_ways_to_add_up_is_taken() -> None:
    own = Price(0.4, 1e-6, gaussian=0.004)
    few, many = RegretPlan(1.0, 1e-6, own, 2), RegretPlan(1.0, 1e-6, own, 1000)
    assert few.pure and few.each == pytest.approx(0.3)
    assert not many.pure and many.each == pytest.approx(math.sqrt(2 * (zcdp_rho(1.0, 1e-6) - 0.004) / 1000))
    with pytest.raises(InputError, match="a budget is divided among at least one answer, not 0; leave answers out"):
        RegretPlan(1.0, 1e-6, own, 0)


def test_answers_are_counted_as_the_search_asks_them() -> None:
    assert EXACT == FULL
    assert most_answers([3] * 4, [0] * 4) == 4 * 2**3
    assert most_answers([3] * 4, [3] * 4) == 4 * 2**3 + 4 + 2 * 4 * 3  # p nodes, and p (p - 1) / 2 edges four times


@settings(max_examples=200)
@given(st.floats(10, 1e7), st.floats(0.1, 10), st.floats(1e-6, 1e6))
def test_property_a_ridge_stays_within_its_limits_and_vanishes_with_the_noise(n: Any, limit: Any, each: Any) -> None:
    ridge = chosen_ridge(n, limit, each)
    assert LEAST_RIDGE <= ridge <= MOST_RIDGE
    assert chosen_ridge(n, limit, 2 * each) <= ridge


@pytest.mark.parametrize("epsilon", [1.0, 300.0])
def test_a_run_that_asks_all_that_was_planned_spends_its_epsilon(tmp_path: Path, epsilon: float) -> None:
    table = table_of()
    site = quiet_site(table, asked(table, epsilon, store=tmp_path, ceiling=epsilon))
    welcome = site.open(Settings("none"), site.names)
    assert welcome.privacy["answers_used"] == 0
    assert welcome.privacy["answers_planned"] == 3 * 4
    site.answer(all_families(3))
    told = site.privacy
    assert told["answers_used"] == 12
    releases = told["ledger"]["releases"]
    assert [entry["what"] for entry in releases] == ["noisy moments of the table", "12 regrets with noise on each"]
    assert releases[1]["price"]["laplace"] == [told["epsilon_per_answer"], 12]
    cost = spent([Price.from_dict(entry["price"]) for entry in releases], 1e-6)
    assert epsilon * (1 - 1e-4) <= cost <= epsilon * (1 + 1e-9)
    assert told["noise_scale"] == told["sensitivity"] / told["epsilon_per_answer"]
    assert json.loads(json.dumps(told)) == told


def test_the_noise_has_the_scale_that_it_is_paid_for(tmp_path: Path) -> None:
    table = table_of(8, rows=5000, seed=3)
    privacy = asked(table, 1.0, store=tmp_path)
    site = quiet_site(table, privacy)
    site.open(Settings("adaptive"), site.names)
    noisy = site.answer(all_families(8)).ravel()
    exact = super(NoisySite, site)._regrets(all_families(8)).ravel()
    # 1024 draws: the mean of |noise| / scale is 1, give or take 1 / 32. False alarm: 7e-9 (gamma distribution).
    assert np.abs(noisy - exact).mean() / site.privacy["noise_scale"] == pytest.approx(1, abs=6 / 32)


# -- asked again ----------------------------------------------------------------------------------------------------


def ask_all(site: Any, masking: Any = "adaptive", names: Any = None) -> Any:
    site.open(Settings(masking), names or site.names)
    return [site.answer(all_families(len(site.names))), site.answer(directions(len(site.names)))]


@pytest.mark.parametrize("masking", ["adaptive", "consensus"])
def test_the_same_question_gets_the_same_answer_at_no_new_price(tmp_path: Path, masking: str) -> None:
    table = table_of()
    privacy = asked(table, 20.0, store=tmp_path, ceiling=20, answers=60)
    site = quiet_site(table, privacy)
    first = ask_all(site, masking)
    paid = site.privacy["ledger"]["releases"]
    for again in (site, quiet_site(table, privacy), quiet_site(table.iloc[::-1], privacy)):
        for one, other in zip(first, ask_all(again, masking), strict=True):
            assert (one == other).all()
        assert again.privacy["ledger"]["releases"] == paid
    # One by one, and with the variables in another order, they are the same questions.
    single = one_parent_set(0, 2)
    assert site.answer(single)[0, 0] == first[0][0, 2]
    turned = quiet_site(table, privacy)
    turned.open(Settings(masking), site.names[::-1])
    single = one_parent_set(2, 0)
    assert turned.answer(single)[0, 0] == first[0][0, 2]
    assert turned.privacy["ledger"]["releases"] == paid


def test_questions_that_a_mask_makes_the_same_are_paid_once(tmp_path: Path) -> None:
    table = table_of()
    empty = fp.PDAG.from_edges([], [], table.columns)
    site = quiet_site(table, asked(table, 5.0, store=tmp_path), local=lambda statistics: empty)
    welcome = site.open(Settings("consensus"), site.names)
    assert welcome.privacy["answers_planned"] == 3
    answers = site.answer(all_families(3))
    assert (answers == answers[:, :1]).all()
    assert site.privacy["answers_used"] == 3
    # Without an edge of its own the site has no direction to miss, which is known without the rows.
    assert (site.answer(directions(3)) == 0).all()
    assert site.privacy["answers_used"] == 3


SCRIPT = """
import json, sys
import pandas as pd, numpy as np
import fedperi as fp
from fedperi.tables import open_table
from fedperi.protocol.messages import Families, Settings
from fedperi.site.noisy import NoisySite
table = pd.read_csv(sys.argv[1])
privacy = fp.Privacy(2.0, 1e-6, mechanism="regret", bounds=dict.fromkeys(table.columns, (-10, 10)), store=sys.argv[2])
site = NoisySite(open_table(table, "north"), privacy)
site.open(Settings("adaptive"), site.names)
others = np.array([[j for j in range(3) if j != i] for i in range(3)])
answers = site.answer(Families(np.arange(3), np.zeros((3, 0), dtype=np.int64), others))
print(json.dumps([answers.tolist(), site.privacy["ledger"]["releases"]]))
"""


def test_processes_give_one_answer_and_pay_once_even_at_the_same_time(tmp_path: Path) -> None:
    table_of().to_csv(tmp_path / "north.csv", index=False)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "north.csv"), str(tmp_path / "store")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [one.communicate(timeout=120)[0] for one in both]
    texts.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    results = [json.loads(text) for text in texts]
    assert results[0] == results[1] == results[2]
    assert [entry["price"]["laplace"][1] for entry in results[0][1]] == [0, 12]


# -- refusals -------------------------------------------------------------------------------------------------------


def test_more_answers_than_planned_are_refused_before_release(tmp_path: Path) -> None:
    table = table_of()
    site = quiet_site(table, asked(table, 2.0, store=tmp_path, answers=13))
    site.open(Settings("adaptive"), site.names)
    single = one_parent_set(0)
    site.answer(single)
    paid = site.privacy["ledger"]["releases"]
    site._book._plan = RegretPlan(
        site._plan.epsilon, site._plan.delta, site._plan.own, 11
    )  # 1 + 11 more is one too many
    assert refusal(lambda: site.answer(all_families(3))) == (
        "site 'north': epsilon = 2 was divided among 11 answers; 1 given so far, 11 more asked for. None of these is "
        "released; plan for more with Privacy(..., answers=...), or use mechanism='statistics', which answers any "
        "number of questions at one price"
    )
    assert site.privacy["ledger"]["releases"] == paid
    assert site._book.kept().keys() == site._book._known.keys()
    assert len(site._book._known) == 1


def test_the_ceiling_is_kept_before_release(tmp_path: Path) -> None:
    table = table_of()
    privacy = asked(table, 2.0, store=tmp_path, ceiling=2)
    words = refusal(lambda: quiet_site(table, asked(table, 3.0, store=tmp_path, ceiling=2)))
    assert words.startswith("site 'north' has spent epsilon 0; a release at epsilon 3, delta 1e-06 would bring it to ")
    site = quiet_site(table, privacy)
    site.open(Settings("none"), site.names)
    site.answer(all_families(3))
    paid = site.privacy["ledger"]["releases"]
    other = quiet_site(table, privacy)
    words = refusal(lambda: other.open(Settings("adaptive", penalty=2.0), other.names))  # other questions, a new price
    assert words.startswith("site 'north' has spent epsilon ")
    assert f"above its ceiling of epsilon 2 at delta {Ceiling().delta:g}; nothing is released" in words
    assert quiet_site(table, privacy)._prepared.budget.ledger.summary()["releases"] == paid


def test_a_bootstrap_and_too_many_variables_are_refused(tmp_path: Path) -> None:
    table = table_of()
    privacy = asked(table, 2.0, store=tmp_path)
    words = "site 'table1': a bootstrap under mechanism='regret' would cost the whole budget again for every replicate"
    site = quiet_site(table, privacy, name="table1")
    assert refusal(lambda: site.open(Settings("adaptive", resample=1), site.names)).startswith(words)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 13)), columns=[f"v{i}" for i in range(13)])
    assert refusal(lambda: quiet_site(wide, asked(wide, 2.0, store=tmp_path / "wide"))).startswith(
        "site 'north' has 13 variables; with more than 12 it is not known beforehand how many answers a run needs. "
        "Say into how many the budget is divided, such as Privacy(..., answers=20000)"
    )


def test_damaged_answers_are_refused(tmp_path: Path) -> None:
    table = table_of()
    site = quiet_site(table, asked(table, 2.0, store=tmp_path))
    site.open(Settings("none"), site.names)
    site.answer(all_families(3))
    for text in ("{", "[1]", '{"set:0:0": "x"}'):
        site._prepared.budget.place.keep(site._book._key, text)
        assert refusal(lambda: site.open(Settings("none"), site.names)).startswith(
            "the answers that site 'north' has kept are damaged. Nothing is released"
        )


def test_too_few_rows_are_refused() -> None:
    table = table_of(4, rows=5)
    site = quiet_site(table, asked(table, 1e4, test_seed=1))
    with pytest.warns(UserWarning):
        words = refusal(lambda: site.open(Settings("adaptive"), site.names))
    assert words.startswith("site 'north' has 5 rows by its noisy count, too few for 4 columns")


# -- what comes out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("masking", ["adaptive", "consensus"])
def test_with_an_enormous_budget_the_graph_is_right(masking: str) -> None:
    sim = fp.simulate(4, clients=3, samples=3000, weights=(0.5, 1.0), seed=4)
    privacy = asked(sim.sites[0], 1e6, test_seed=1)
    with pytest.warns(UserWarning, match="NOTHING in this run is private"):
        noisy = fp.IPERI(masking=masking, privacy=privacy).fit(sim.sites)
    assert noisy.graph == fp.IPERI(masking=masking).fit(sim.sites).graph
    assert all(not told["private"] for told in noisy.privacy.values())


def test_answers_approach_the_exact_regrets_of_bounded_rows() -> None:
    """Rows so short that nothing is clipped: the remaining difference from a plain site is ridge and noise."""
    rng = np.random.default_rng(0)
    a, other, c = np.sin(rng.uniform(0, 2 * np.pi, (3, 4000)))  # 0.95 standard units at most, by its quartiles
    table = pd.DataFrame({"a": a, "b": np.where(rng.random(4000) < 0.4, other, a), "c": c})
    plain = fp.Site(table, name="north")
    plain.open(Settings("none"), tuple(table.columns))
    exact = plain.answer(all_families(3))
    errors = []
    for epsilon in (1e2, 1e4, 1e6):
        site = quiet_site(table, asked(table, epsilon, bounds=dict.fromkeys(table.columns, (-2, 2)), test_seed=2))
        with pytest.warns(UserWarning):
            site.open(Settings("none"), site.names)
            errors.append(np.abs(np.diff(site.answer(all_families(3)) - exact, axis=1)).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.05 * np.abs(np.diff(exact, axis=1)).max()


def test_a_claimed_sensitivity_is_called_a_claim(tmp_path: Path) -> None:
    table = table_of()
    claim = lemma_sensitivity(M=1.0, r=0.1)
    site = quiet_site(table, asked(table, 2.0, store=tmp_path, sensitivity=claim))
    told = site.open(Settings("adaptive"), site.names).privacy
    assert told["sensitivity"] == claim
    assert told["sensitivity_is"] == "as claimed, not proven"
    assert told["sensitivity_proven"] > claim
    assert told["ridge"] == LEAST_RIDGE
    assert told["noise_scale"] == claim / told["epsilon_per_answer"]
    proven = quiet_site(table, asked(table, 2.0, store=tmp_path))
    told = proven.open(Settings("adaptive"), proven.names).privacy
    assert told["sensitivity_is"] == "proven for clipped rows and a ridge"
    assert told["sensitivity"] == told["sensitivity_proven"]


@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("targets", [None, ()])
def test_a_run_never_asks_for_more_than_is_planned(masking: Any, targets: Any) -> None:
    for seed in range(4):
        # With 300 rows the noise can hide how many there are, and the site refuses to answer.
        sim = fp.simulate(3 + seed, clients=3, samples=2000, seed=seed)
        for epsilon in (1.0, 1e5):
            privacy = asked(sim.sites[0], epsilon, test_seed=seed)
            sites = [quiet_site(table, privacy, name=f"h{k}", targets=targets) for k, table in enumerate(sim.sites)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                result = fp.IPERI(masking=masking).fit(InProcess(sites))
            for site in sites:
                assert 0 < site.privacy["answers_used"] <= site.privacy["answers_planned"]
                if masking == "none":
                    assert site.privacy["answers_used"] == result.queries == site.privacy["answers_planned"]


def test_more_variables_share_a_budget_that_was_said() -> None:
    sim = fp.simulate(13, clients=2, samples=500, seed=1)
    privacy = asked(sim.sites[0], 5.0, test_seed=1, answers=200_000)
    sites = [quiet_site(table, privacy, name=f"h{k}") for k, table in enumerate(sim.sites)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        coordinator = Coordinator(InProcess(sites), Settings("adaptive"))
    single = Families(np.arange(13), np.zeros((13, 0), dtype=np.int64), np.zeros((13, 0), dtype=np.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert coordinator.ask([single])[0].shape == (2, 13, 1)
    assert all(site.privacy["answers_used"] == 13 for site in sites)
