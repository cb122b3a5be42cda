"""A coordinator that wants rows instead of a graph: what it could do before, and what a site answers now.

Nothing here is left to chance: tables come from fixed seeds, and secrets of sites are fixed where a test draws them.
"""

import json
import os
import stat
import string
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here
from helpers.questions import one_family
from helpers.sites import answering
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.cli.flower_apps import site_of
from fedperi.coordinator.agreement import Wishes, agree
from fedperi.coordinator.record import Journal
from fedperi.errors import InputError
from fedperi.option_values import DATA
from fedperi.privacy.release.site_release import Budget
from fedperi.protocol import wire
from fedperi.protocol.messages import Orientations, Settings
from fedperi.protocol.policy import SitePolicy
from fedperi.protocol.requests import Asking, Card, Closing, Hello, Opening
from fedperi.protocol.steps import Beginning
from fedperi.site.service.source import OTHER_COLUMNS
from fedperi.tables.schema import Column, Schema
from fedperi.transports.flower.exchange import Peer
from fedperi.transports.flower.transport import FlowerTransport

NONE = np.empty((1, 0), np.int64)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk is most of the time of hundreds of messages, and not what is tested here."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


# -- item 1: nothing in a message changes how rows are read -----------------------------------------------------------


def patients(n: Any = 300, seed: Any = 0) -> Any:
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 12, n).round(1)
    pressure = (100 + 0.5 * age + rng.normal(0, 12, n)).round(0)
    crp = rng.gamma(2.0, 6.0, n).round(1)
    return pd.DataFrame({"age": age, "pressure": pressure, "crp": crp})


class Thief:
    """Reads the row of the oldest patient: narrow bounds make a column the indicator of a threshold."""

    def __init__(self, site: Any) -> None:
        self.site, self.openings, self.replies, self.n = site, 0, set(), 0  # type: ignore[var-annotated]

    def open(self, bounds: Any, *questions: Any) -> Any:
        columns = tuple(Column(c.name, "continuous", None, bounds.get(c.name)) for c in self.site.card.columns)
        self.openings += 1
        run = f"steal{self.openings}"
        opening = Opening(run, Settings("none"), columns, "nonlinear", questions)
        reply = self.site.reply("open", wire.write(opening))
        self.replies.add(reply.get("refused", "answered"))
        return reply

    def oldest(self) -> Any:
        """A site whose values all lie on one side of the bounds refuses, so refusals are a search for the maximum."""
        low, high = 0, 1300  # tenths of a year
        while high - low > 1:
            middle = (low + high) // 2
            refused = "refused" in self.open({"age": (middle / 10 - 0.06, middle / 10 - 0.04)})
            low, high = (low, middle) if refused else (middle, high)
        return low / 10

    def odds(self, top: Any, name: Any, threshold: Any, step: Any) -> Any:
        """The row of the oldest relative to the others beyond a threshold, from one regret; None if refused."""
        limits = {"age": (top - 0.06, top - 0.04), name: (threshold - step / 50, threshold + step / 50)}
        node = [c.name for c in self.site.card.columns].index(name)
        reply = self.open(limits, one_family(node, 0))
        if "refused" in reply:
            return None
        alone, given = reply["answer_0"][0]
        gain = (alone - given + np.log(reply["n"]) / 2) * 2 / reply["n"]
        return -np.expm1(-gain) * (reply["n"] - 1)

    def cell(self, top: Any, name: Any, low: Any, high: Any, step: Any) -> Any:
        """Binary search for the cell of the oldest in another column, on a grid of thresholds between its values."""
        grid = np.arange(low, high, step) + step / 2
        coarse = grid[:: max(1, len(grid) // 40)]
        odds = [self.odds(top, name, at, step) for at in coarse]
        known = [(abs(np.log(x)), at) for x, at in zip(odds, coarse, strict=True) if x is not None and x > 0]
        if not known:
            return None
        median = min(known)[1]
        inside, outside = 0, len(grid)
        while outside - inside > 1:
            middle = (inside + outside) // 2
            x = self.odds(top, name, grid[middle], step)
            above = grid[middle] < median if x is None else (x < 1) == (grid[middle] < median)
            inside, outside = (middle, outside) if above else (inside, middle)
        return round(float(grid[inside] + step / 2), 6)

    def row(self) -> Any:
        top = self.oldest()
        return top, self.cell(top, "pressure", 60, 220, 1.0), self.cell(top, "crp", 0, 80, 0.1)


@pytest.mark.parametrize("data", ["auto", "nonlinear"])
def test_narrow_bounds_do_not_give_away_the_oldest_patient(tmp_path: Path, data: str) -> None:
    """Before: 108 openings gave age, pressure and CRP of the oldest patient exactly. Now all have the same refusal."""
    table = patients()
    truth = tuple(table.loc[table["age"].idxmax(), ["age", "pressure", "crp"]])
    thief = Thief(answering(table, name="north", store=tmp_path, data=data, policy=SitePolicy("regrets")))
    found = thief.row()
    assert found != truth
    assert len(thief.replies) == 1 and "answered" not in thief.replies, thief.replies


def test_a_refusal_does_not_tell_whether_a_level_occurs(tmp_path: Path) -> None:
    """Before: the table with the one row "pos" was refused, the table without it was answered."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"dose": rng.normal(size=100), "test": rng.choice(["neg", "trace"], 100)})
    with_it = table.copy()
    with_it.loc[7, "test"] = "pos"
    schema = Schema((Column("dose", "continuous"), Column("test", "categorical", ("neg", "trace", "pos"))))
    asked = (Column("dose", "continuous"), Column("test", "categorical", ("neg", "trace", "other")))
    replies = []
    for at, rows in enumerate((table, with_it)):
        site = answering(rows, name="north", store=tmp_path / str(at), schema=schema)
        replies.append(site.reply("open", wire.write(Opening("r", Settings("none"), asked))))
    assert replies[0] == replies[1]
    assert not any(word in replies[0]["refused"] for word in ("pos", "test", "other", "dose"))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A site of numbers and a category, and what it answers to an honest opening."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"age": rng.normal(60, 9, 80), "dose": rng.normal(size=80), "arm": rng.choice(["u", "v"], 80)})
    schema = Schema((Column("age", "continuous", bounds=(0, 120)), Column("arm", "categorical", ("u", "v", "w"))))
    unlimited = SitePolicy("regrets", most_openings=10**6, most_messages=10**6)
    site = answering(rows, name="north", store=tmp_path_factory.mktemp("store"), schema=schema, policy=unlimited)
    return site, opened(site, "honest", site.card.columns, "mixed")


def opened(site: Any, run: Any, columns: Any, data: Any, penalty: Any = 1.0) -> Any:
    questions = (one_family(0, 1, 2),) if len(columns) == 3 else ()
    return site.reply("open", wire.write(Opening(run, Settings("none", penalty=penalty), columns, data, questions)))


bounds = st.none() | st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3)).map(lambda ends: (ends[0], sum(ends)))
levels = st.none() | st.lists(st.sampled_from("uvwxyz"), min_size=1, max_size=4, unique=True).map(tuple)
names = st.sampled_from(["age", "dose", "arm", "Age", "other"])
described = st.one_of(
    st.builds(lambda name, ends: Column(name, "continuous", None, ends), names, bounds),
    st.builds(lambda name, known: Column(name, "categorical", known), names, levels),
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(described, min_size=1, max_size=4, unique_by=lambda column: column.name),
    st.booleans(),
    st.sampled_from(DATA),
    st.sampled_from([0.0, 1.0, 1.0, 1.0, 2.0]),
    st.integers(0, 10**9),
)
def test_property_a_message_gets_the_honest_answer_or_one_of_two_refusals(
    honest: Any, columns: Any, mix: Any, data: Any, penalty: Any, number: Any
) -> None:
    """Whatever an opening says about columns changes neither what is answered nor how it is refused."""
    site, truth = honest
    if mix:  # near misses: some columns as they are
        own = {column.name: column for column in site.card.columns}
        kept = [name for at, name in enumerate(own) if number >> at & 1]
        columns = [*(own[name] for name in kept), *(column for column in columns if column.name not in kept)][:3]
    reply = opened(site, f"r{zlib.crc32(repr((columns, data, penalty)).encode())}", tuple(columns), data, penalty)
    if "refused" in reply:
        assert reply["refused"] == OTHER_COLUMNS or reply["refused"].startswith(
            "this site scores with a penalty of 1, "
        )
        return
    assert sorted(column.name for column in columns) == sorted(json.loads(truth["names"]))
    if [column.name for column in columns] == json.loads(truth["names"]):
        assert np.array_equal(reply["answer_0"], truth["answer_0"])


def test_every_column_of_an_honest_opening_is_compared(honest: Any) -> None:
    site, truth = honest
    age, dose, arm = site.card.columns
    same = (replace(age, bounds=None), dose, arm)  # sites need not have the same bounds where these decide nothing
    assert np.array_equal(opened(site, "same", same, "auto")["answer_0"], truth["answer_0"])
    for at, columns in enumerate(
        [
            (replace(age, bounds=(59.0, 59.5)), dose, arm),
            (age, replace(dose, bounds=(-1.0, 1.0)), arm),
            (age, dose, replace(arm, levels=("u", "v"))),
            (age, dose, replace(arm, levels=("v", "u", "w"))),
            (age, dose, replace(arm, levels=None)),
            (age, Column("dose", "categorical", ("1", "2")), arm),
            (age, dose),
            (age, dose, replace(arm, name="leg")),
        ]
    ):
        assert opened(site, f"other{at}", columns, "mixed")["refused"] == OTHER_COLUMNS, columns
    for data in ("linear", "nonlinear", "discrete"):
        assert opened(site, f"as-{data}", site.card.columns, data)["refused"] == OTHER_COLUMNS


def test_steps_read_the_rows_as_the_site_does(tmp_path: Path) -> None:
    """The columns in ``begin`` choose an order, and nothing else."""
    rows = patients()
    policy = SitePolicy("regrets", methods=("fedcdh",))
    site = answering(rows, name="north", store=tmp_path, policy=policy)
    narrow = tuple(replace(column, bounds=(60.0, 60.1)) for column in site.card.columns)
    assert site.reply("begin", wire.write(Beginning("r", "fedcdh", narrow)))["refused"] == OTHER_COLUMNS
    turned = tuple(reversed(site.card.columns))
    assert json.loads(site.reply("begin", wire.write(Beginning("q", "fedcdh", turned)))["names"]) == [
        column.name for column in turned
    ]
    assert np.array_equal(site.source.rows([c.name for c in turned], "fedcdh"), rows[["crp", "pressure", "age"]])


def test_a_site_that_reads_its_table_in_another_way_does_not_go_on_with_a_run(tmp_path: Path) -> None:
    table = patients()
    before = answering(table, name="north", store=tmp_path)
    opening = wire.write(Opening("r", Settings("none"), before.card.columns))
    assert "refused" not in before.reply("open", opening)
    after = answering(table, name="north", store=tmp_path, data="nonlinear")
    told = after.reply("ask", wire.write(Asking("r", 1, (one_family(0, 1),))))["refused"]
    assert told == "the table, or how it is read, has changed since the run was opened; open a new run"
    told = after.reply("open", opening)["refused"]
    assert told == "a run of this name was opened here before, in another way or for another table: choose a new name"


# -- item 1: what a site gives is limited over all runs ---------------------------------------------------------------

GIVEN = "this site has given all that its owner allows over all runs; ask its owner for more"


def test_openings_are_limited_over_all_runs_and_processes(tmp_path: Path) -> None:
    """Before: 433 openings of 433 runs were answered. Now the limit holds across names of runs and restarts."""
    table = patients()
    policy = SitePolicy("regrets", most_openings=5)
    answered = []
    for number in range(20):
        site = answering(table, name="north", store=tmp_path, policy=policy)  # a new process for every message
        chosen = Settings("consensus", alpha=0.01 + number / 100, local="pc")
        reply = site.reply("open", wire.write(Opening(f"run{number}", chosen, site.card.columns)))
        answered.append("refused" not in reply)
        assert reply.get("refused", GIVEN) == GIVEN
    assert answered == [True] * 5 + [False] * 15
    log = site.log.path.read_text()
    assert "over all runs this site may answer 5 openings (--most-openings), and this would make it 6" in log
    again = wire.write(Opening("new-name", Settings("consensus", alpha=0.01, local="pc"), site.card.columns))
    assert "refused" not in site.reply("open", again)  # what was answered before tells nothing new
    wider = answering(table, name="north", store=tmp_path, policy=SitePolicy("regrets", most_openings=6))
    more = wire.write(Opening("more", Settings("none"), site.card.columns))
    assert site.reply("open", more)["refused"] == GIVEN
    assert "refused" not in wider.reply("open", more)


def test_distinct_numbers_are_limited_over_all_runs_and_processes(tmp_path: Path) -> None:
    table = patients()
    policy = SitePolicy("regrets", most_numbers=10)

    def ask(run: Any, *questions: Any) -> Any:
        site = answering(table, name="north", store=tmp_path, policy=policy)
        site.reply("open", wire.write(Opening(run, Settings("none"), site.card.columns)))
        return site.reply("ask", wire.write(Asking(run, 1, questions)))

    first = ask("r1", one_family(0, 1, 2))
    assert np.array_equal(ask("r2", one_family(0, 1, 2))["answer_0"], first["answer_0"])  # not counted again
    assert "refused" not in ask("r3", one_family(1, 0, 2))
    assert ask("r4", one_family(2, 0, 1))["refused"] == GIVEN
    assert "refused" not in ask("r4", one_family(2, 0))
    assert ask("r5", one_family(2, 1))["refused"] == GIVEN
    assert ask("r5", one_family(0, 1, 2))["answer_0"].tolist() == first["answer_0"].tolist()


def test_counts_that_are_damaged_stop_a_site(tmp_path: Path) -> None:
    site = answering(patients(), name="north", store=tmp_path)
    opening = wire.write(Opening("r", Settings("none"), site.card.columns))
    assert "refused" not in site.reply("open", opening)
    endless = '{"format": "fedperi.given", "version": 1, "openings": [], "rounds": [], "steps": 0, "numbers": 1e999}'
    for text in ("", "[]", "{}", '{"format": "fedperi.given", "version": 1, "openings": 3}', endless):
        site.place.write("given.json", text)
        assert "its own log says why" in site.reply("open", opening)["refused"]
    assert "is damaged: restore it from a backup; nothing is sent" in site.log.path.read_text()


def test_a_limit_is_a_whole_number() -> None:
    for bad in (-1, 2.5, True, "many"):
        with pytest.raises(InputError, match="most_openings must be a whole number, zero or positive, not"):
            SitePolicy("regrets", most_openings=bad)


# -- item 1: what the sites say about themselves must agree -----------------------------------------------------------

AGE = Column("age", "continuous", bounds=(0, 120))
BARE = Column("age", "continuous")


@pytest.mark.parametrize(
    ("cards", "wishes", "words"),
    [
        (
            [Card("n", (AGE,)), Card("s", (AGE,), data="nonlinear")],
            Wishes(),
            "site 'n' takes its columns as 'linear' and site 's' as 'nonlinear': start every site with the same "
            "--data, and give every site the same schema file (--schema)",
        ),
        (
            [Card("n", (AGE,)), Card("s", (AGE,), penalty=2.0)],
            Wishes(),
            "site 'n' has a penalty of 1 and site 's' of 2: start every site with the same --penalty",
        ),
        (
            [Card("n", (AGE,), data="nonlinear"), Card("s", (BARE,), data="nonlinear")],
            Wishes(),
            "column 'age' has different bounds at site 'n' and at site 's': give every site the same schema file "
            "(--schema)",
        ),
        (
            [Card("n", (AGE,)), Card("s", (AGE,))],
            Wishes(data="nonlinear"),
            "the coordinator asks for data type 'nonlinear', and site 'n' takes its columns as 'linear': a site "
            "decides about its own rows. Have every site started with --data nonlinear, or leave it out here",
        ),
        (
            [Card("n", (AGE,), bootstrap=True), Card("s", (AGE,))],
            Wishes(bootstrap=True),
            "the coordinator asks for a bootstrap, and site 's' does not let others resample its rows: run without "
            "--bootstrap, or ask the site's owner to allow it (fedperi site --bootstrap)",
        ),
        (
            [Card("n", (AGE,)), Card("s", (AGE,))],
            Wishes(Schema((Column("age", "categorical", ("1", "2")),))),
            "column 'age' is continuous at site 'n' and categorical in the coordinator's schema: give every site",
        ),
    ],
)
def test_sites_that_take_columns_differently_are_named_before_anything_is_computed(
    cards: Any, wishes: Any, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        agree(cards, wishes)
    assert str(caught.value).startswith(words)


def test_bounds_may_differ_where_they_decide_nothing() -> None:
    assert agree([Card("n", (AGE,)), Card("s", (BARE,))]) == (BARE,)


def test_a_penalty_is_the_sites() -> None:
    with pytest.raises(InputError) as caught:
        agree([Card("n", (AGE,))], penalty=2.0)
    assert str(caught.value).startswith(
        "the coordinator asks for a penalty of 2, and site 'n' has 1: the site decides, because another penalty may "
        "cost it privacy. Have every site started with --penalty 2, or run with 1"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": -1}, "penalty must be a finite number, zero or positive, not -1"),
        ({"penalty": float("nan")}, "penalty must be a finite number, zero or positive, not nan"),
        ({"data": "cubic"}, "data must be one of auto, linear, nonlinear, discrete, mixed; not 'cubic'"),
    ],
)
def test_options_of_a_site_are_checked_when_it_starts(tmp_path: Path, options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        answering(patients(), name="north", store=tmp_path, **options)


def test_a_penalty_for_categories_alone_is_refused_when_the_site_starts(tmp_path: Path) -> None:
    rows = pd.DataFrame({"a": ["u", "v"] * 20, "b": ["x", "x", "y", "y"] * 10})
    schema = Schema((Column("a", "categorical", ("u", "v")), Column("b", "categorical", ("x", "y"))))
    with pytest.raises(InputError, match="site 'north' has categories only, and their score has no penalty term"):
        answering(rows, name="north", store=tmp_path, schema=schema, penalty=2.0)


# -- item 2: the weights of resampled rows are the site's secret ------------------------------------------------------

ROWS, DRAWS = 60, 300


def drawn(site: Any) -> Any:
    """The coordinator opens a run for every seed: rows drawn and gain of a parent, or the refusal."""
    rows, gains = [], []
    for seed in range(DRAWS):
        chosen = Settings("none", resample=seed)
        opening = Opening(f"d{seed}", chosen, site.card.columns, "auto", (one_family(1, 0),))
        reply = site.reply("open", wire.write(opening))
        if "refused" in reply:
            return reply["refused"]
        alone, given = reply["answer_0"][0]
        rows.append(reply["n"])
        gains.append((alone - given + np.log(reply["n"]) / 2) * 2 / reply["n"])  # -log(1 - r^2) of the drawn rows
    return np.array(rows), np.array(gains)


def guessed_weights() -> Any:
    """Row weights as they were a public function of the seed."""
    seeds = [zlib.crc32(f"{seed} 0 north".encode()) for seed in range(DRAWS)]
    return np.array([np.random.default_rng(seed).poisson(1.0, ROWS) for seed in seeds])


def influence_guessed(gains: Any, weights: Any) -> Any:
    """Regress the answers on the weights: the influence of every row."""
    return np.linalg.lstsq(np.column_stack([weights - 1.0, np.ones(DRAWS)]), gains, rcond=None)[0][:ROWS]


def influence_true(table: Any) -> Any:
    def gain(weights: Any) -> Any:
        moments = np.cov(table.to_numpy().T, aweights=weights)
        return -np.log1p(-(moments[0, 1] ** 2) / moments[0, 0] / moments[1, 1])

    steps = np.eye(ROWS) * 1e-5
    return np.array([gain(1 + step) - gain(1 - step) for step in steps])


def two_columns() -> Any:
    rng = np.random.default_rng(3)
    x = rng.normal(size=ROWS)
    return pd.DataFrame({"x": x, "y": 0.4 * x + rng.normal(size=ROWS)})


def test_a_bootstrap_is_refused_unless_the_owner_allows_it(tmp_path: Path) -> None:
    """Before: it was answered by default."""
    told = drawn(answering(two_columns(), name="north", store=tmp_path))
    assert isinstance(told, str)
    assert told == (
        "a bootstrap is not allowed here: run with bootstrap=0, or ask the site's owner to allow it (fedperi site "
        "--bootstrap)"
    )


def test_answers_on_resampled_rows_do_not_tell_the_influence_of_a_row(tmp_path: Path) -> None:
    """Before: correlation .983 with the true influences (.995 after 1,000 draws), and 1 with the numbers of rows drawn.

    The secret is fixed here, so the outcome is too, and no alarm can be false. With a random secret a correlation over
    60 rows exceeds .7 in fewer than 1 of 10^8 cases, and one over 300 draws .4 in fewer than 1 of 10^11.
    """
    table = two_columns()
    policy = SitePolicy("regrets", bootstrap=True, most_openings=DRAWS)
    site = answering(table, name="north", store=tmp_path, policy=policy)
    site.place.write("resampling.secret", "5e" * 32)
    rows, gains = drawn(site)
    weights = guessed_weights()
    found = np.corrcoef(influence_guessed(gains, weights), influence_true(table))[0, 1]
    told = np.corrcoef(weights.sum(axis=1), rows)[0, 1]
    assert abs(found) < 0.7
    assert abs(told) < 0.4


def test_the_secret_is_the_sites_and_stays(tmp_path: Path) -> None:
    table = two_columns()
    policy = SitePolicy("regrets", bootstrap=True)

    def answer(store: Any, name: Any = "north", rows: Any = table) -> Any:
        site = answering(rows, name=name, store=tmp_path / store, policy=policy)
        chosen = Settings("none", resample=5)
        reply = site.reply("open", wire.write(Opening("r", chosen, site.card.columns, "auto", (one_family(1, 0),))))
        return reply["answer_0"].tolist(), site.place.path / "resampling.secret"

    first, file = answer("a")
    assert answer("a")[0] == first  # in another process too
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(file.read_text())) == 32
    assert answer("b")[1].read_text() != file.read_text()
    file.write_text("short")
    site = answering(table, name="north", store=tmp_path / "a", policy=policy)
    told = site.reply("open", wire.write(Opening("q", Settings("none", resample=6), site.card.columns)))
    assert "its own log says why" in told["refused"]
    assert "the secret for resampling rows, is damaged: restore it from a backup, or delete it" in (
        site.log.path.read_text()
    )


def test_in_one_process_the_seed_still_decides() -> None:
    """Weights as in version 0.1: one party, which may repeat its draws."""
    sites = fp.simulate(4, clients=2, samples=100, seed=1).sites
    assert [fp.IPERI(bootstrap=4, seed=s).fit(sites).stability for s in (7, 7)] == [
        fp.IPERI(bootstrap=4, seed=7).fit(sites).stability
    ] * 2


# -- item 5: the price that people see is the price that is paid ------------------------------------------------------


class Priced:
    """A site whose people read every price, and compare it with what the ledger then records."""

    def __init__(self, folder: Any, mechanism: Any, **options: Any) -> None:
        table = fp.simulate(3, clients=2, samples=2000, seed=1).sites[0]
        limits = dict.fromkeys(table.columns, (-8, 8))
        privacy = fp.Privacy(1.0, bounds=limits, mechanism=mechanism)
        self.shown: list[Any] = []
        self.site = answering(table, name="north", store=folder, privacy=privacy, approve=self._look, **options)

    def _look(self, what: Any) -> Any:
        self.shown.append(what.split(". Price: ")[1])
        return True

    @property
    def ledger(self) -> Any:
        return Budget.look(self.site.source.table, self.site.source.privacy).ledger

    def send(self, kind: Any, message: Any) -> Any:
        """Send a message: the reply, and what the ledger recorded meanwhile, as the prompt should have shown it."""
        before = self.ledger
        reply = self.site.reply(kind, wire.write(message))
        paid = [entry.price for entry in self.ledger.releases[len(before.releases) :]]
        told = " and ".join(f"epsilon {price.epsilon:.6g}, delta {price.delta:g}" for price in paid)
        return reply, told, f"{self.ledger.spent:.6g}"

    def opening(self, run: Any, chosen: Any = None, data: Any = "auto", questions: Any = ()) -> Any:
        return Opening(run, chosen or Settings("adaptive"), self.site.card.columns, data, questions)


def test_the_price_of_statistics_is_what_the_ledger_records(tmp_path: Path) -> None:
    """Before: a second opening as 'nonlinear' was shown as "nothing", and cost epsilon 1 again (1.45 in all)."""
    priced = Priced(tmp_path, "statistics")
    reply, told, spent = priced.send("open", priced.opening("a"))
    assert told == "epsilon 1, delta 1e-06"
    assert priced.shown == [f"{told}; ledger: spent 0 of 10, and {spent} after it."]
    reply, told, _ = priced.send("ask", Asking("a", 1, (one_family(0, 1, 2),)))
    assert (told, priced.shown[-1].split(",")[0]) == ("", "nothing")
    for opening in (priced.opening("b", data="nonlinear"), priced.opening("c", Settings("adaptive", penalty=2.0))):
        reply, told, _ = priced.send("open", opening)
        assert "refused" in reply and told == ""
    assert len(priced.shown) == 2  # nobody is asked about what is refused anyway
    reply, told, _ = priced.send("open", priced.opening("d", Settings("none"), questions=(one_family(1, 0),)))
    assert "refused" not in reply and told == ""
    assert [words.split(",")[0] for words in priced.shown[2:]] == ["nothing", "nothing"]
    assert len(priced.ledger.releases) == 1


def test_the_price_of_every_answer_is_what_the_ledger_records(tmp_path: Path) -> None:
    """Before: shown as "at most epsilon 1" whatever it was; a new penalty paid again, and 1.0046 was spent in all."""
    priced = Priced(tmp_path, "regret")
    dag = np.zeros((3, 3), bool)
    dag[0, 1] = dag[1, 2] = True
    apart = Orientations(dag, np.arange(3), np.zeros((3, 3), np.int64))
    messages = [
        ("open", priced.opening("a")),
        ("ask", Asking("a", 1, (one_family(0, 1, 2), one_family(1, 0), one_family(1, 0)))),
        ("ask", Asking("a", 2, (one_family(0, 1), one_family(1, 0, 2)))),  # in part known already
        ("ask", Asking("a", 3, (one_family(0, 1, 2),))),  # known already
        ("ask", Asking("a", 4, (apart, apart))),  # what is new depends on the noise
        ("open", priced.opening("b", questions=(one_family(0, 1), one_family(2, 0, 1)))),
        ("open", priced.opening("c", Settings("none"))),
        ("ask", Asking("c", 1, (one_family(0, 1, 2),))),
    ]
    prices = []
    for kind, message in messages:
        seen = len(priced.shown)
        before = f"{priced.ledger.spent:.4g}"
        reply, told, spent = priced.send(kind, message)
        assert "refused" not in reply, reply
        words = [text for text in priced.shown[seen:] if not text.startswith("nothing, the noise was drawn before")]
        expected = [f"{told}; ledger: spent {before} of 10, and {spent} after it."] if told else []
        assert words == expected
        prices.append(told)
    assert [bool(told) for told in prices[:4] + prices[5:]] == [True, True, True, False, True, False, True]
    assert prices[1].count("epsilon") == 2  # the third question of the round is the second one again
    spent = priced.ledger.spent
    reply, told, _ = priced.send("open", priced.opening("d", Settings("adaptive", penalty=2.0)))
    assert reply["refused"].startswith("this site scores with a penalty of 1, and no message can change it")
    assert told == "" and priced.ledger.spent == spent


def test_people_who_refuse_pay_nothing_for_answers(tmp_path: Path) -> None:
    priced = Priced(tmp_path, "regret")
    priced.send("open", priced.opening("a"))
    spent = priced.ledger.spent
    priced.site._approve = lambda what: False
    reply, told, _ = priced.send("ask", Asking("a", 1, (one_family(0, 1, 2),)))
    assert reply["refused"] == "the people at this site did not approve it"
    assert told == "" and priced.ledger.spent == spent


def test_a_run_that_was_approved_as_a_whole_cannot_be_opened_in_another_way(tmp_path: Path) -> None:
    """Somebody said "yes to all of this run": under the same name nothing else can be asked for."""
    priced = Priced(tmp_path, "regret")
    assert "refused" not in priced.send("open", priced.opening("a"))[0]
    reply, told, _ = priced.send("open", priced.opening("a", Settings("none")))
    assert reply["refused"].startswith("a run of this name was opened here before, in another way")
    assert told == "" and len(priced.shown) == 1


# -- item 15: a run's name cannot be mistaken for anything else -------------------------------------------------------

SPOOFS = [
    "r asks to send nothing. Price: nothing. Send it? [y]es",
    "a b",
    "a" * 41,
    "",
    "r\x1b[2J",
    "r\nrun s",
    "r\u202eevil",
    "\u0440un",
    "a/b",
    "[red]r[/red]",
    "r\u200b",
]


@pytest.mark.parametrize("name", SPOOFS)
def test_a_run_has_a_plain_name_at_both_ends(tmp_path: Path, name: Any) -> None:
    """Before: 200 characters of free text reached the prompt, such as "r asks to send nothing. Price: nothing"."""
    asked = []
    site = answering(patients(), name="north", store=tmp_path, approve=lambda what: asked.append(what) or True)  # type: ignore[func-returns-value]
    for kind, message in (
        ("open", Opening("r", Settings("none"), site.card.columns)),
        ("hello", Hello("r")),
        ("ask", Asking("r", 1, (one_family(0, 1),))),
        ("close", Closing("r")),
        ("begin", Beginning("r", "fedcdh", site.card.columns)),
    ):
        reply = site.reply(kind, wire.write(message) | {"run": name})
        assert f"the '{kind}' message of the coordinator has a 'run' that is not" in reply["refused"]
        assert name == "" or name not in reply["refused"]
    assert not asked
    text = site.log.path.read_text()
    assert name == "" or name not in text
    assert text.count("run ?: refused") == 5
    with pytest.raises(InputError, match="a run's name is 1 to 40 letters, digits, dots, underscores and hyphens, not"):
        wire.write(Closing(name))


@given(st.text(max_size=60))
def test_property_a_run_is_named_by_the_rule_or_refused(name: Any) -> None:
    lawful = 0 < len(name) <= 40 and all(c in string.ascii_letters + string.digits + "._-" for c in name)
    record = wire.write(Closing("r")) | {"run": name}
    try:
        assert wire.read("close", record) == Closing(name)
        assert lawful
    except InputError as error:
        assert not lawful
        assert len(name) < 3 or name not in str(error)


def test_a_journal_with_another_name_of_a_run_is_refused(tmp_path: Path) -> None:
    header = {"format": "fedperi.journal", "version": 2, "run": "r asks to send nothing", "method": {}}
    (tmp_path / "journal.jsonl").write_text(json.dumps(header) + "\n")
    with pytest.raises(InputError, match="is damaged") as caught:
        Journal(tmp_path / "journal.jsonl")
    assert "asks" not in str(caught.value)


# -- what a user of version 0.1 sees ----------------------------------------------------------------------------------


def test_a_site_with_categories_and_no_schema_is_told_what_to_write(tmp_path: Path) -> None:
    rows = pd.DataFrame({"dose": np.arange(40) + 0.5, "arm": ["u", "v"] * 20})
    rows.to_csv(tmp_path / "north.csv", index=False)
    done = fedperi_here(
        "site", tmp_path / "north.csv", "--channel", "regrets", "--store", tmp_path / "store", "--dry-run"
    )
    assert done.returncode == 2
    words = done.stderr
    assert words.startswith("error: site 'north', column 'arm' is a category without declared levels.")
    assert "`fedperi check FILE --write-schema schema.toml` begins one" in words
    assert not any(f"'{level}'" in words for level in "uv")
    made = fedperi_here("check", tmp_path / "north.csv", "--write-schema", tmp_path / "schema.toml")
    assert made.returncode == 0, made.stderr
    again = ("--schema", tmp_path / "schema.toml", "--most-openings", 7, "--bootstrap", "--penalty", 2)
    done = fedperi_here(
        "site", tmp_path / "north.csv", "--channel", "regrets", "--store", tmp_path / "store", "--dry-run", *again
    )
    assert done.returncode == 0, done.stderr
    assert "that it takes them as 'mixed' with a penalty of 2" in done.stdout
    assert "0 of at most 7 openings" in done.stdout and "others may resample its rows." in done.stdout


def test_no_bootstrap_is_still_an_option(tmp_path: Path) -> None:
    patients().to_csv(tmp_path / "north.csv", index=False)
    done = fedperi_here(
        "site", tmp_path / "north.csv", "--channel", "regrets", "--store", tmp_path, "--no-bootstrap", "--dry-run"
    )
    assert done.returncode == 0 and "it does not resample its rows for others." in done.stdout


@pytest.mark.parametrize(
    ("options", "method", "words"),
    [
        ({"bootstrap": True}, fp.IPERI(bootstrap=2), "does not let others resample its rows: run without --bootstrap"),
        ({"data": "nonlinear"}, fp.IPERI(), "a site decides about its own rows. Have every site started with --data"),
        ({}, fp.IPERI(penalty=2.0), "asks for a penalty of 2, and site 'north' has 1"),
    ],
)
def test_a_coordinator_that_expects_too_much_learns_it_before_a_run_is_opened(
    tmp_path: Path, options: Any, method: Any, words: str
) -> None:
    site = answering(patients(), name="north", store=tmp_path)
    transport = FlowerTransport(None, sites=1, **options)
    kinds = []

    def send(kind: Any, records: Any) -> Any:
        kinds.append(kind)
        return {name: site.reply(kind, record) for name, record in records.items()}

    transport._net.send, transport._net.online = send, lambda: [Peer(1, "north")]  # type: ignore[method-assign]
    with pytest.raises(InputError) as caught:
        method.fit(transport)
    assert words in str(caught.value)
    assert kinds == ["hello"]


def test_plain_flower_takes_the_same_options(tmp_path: Path) -> None:
    patients().to_csv(tmp_path / "north.csv", index=False)
    config = {"data": str(tmp_path / "north.csv"), "channel": "regrets", "store": str(tmp_path), "penalty": 2.0}
    config |= {"most-openings": 3}
    site = site_of(config | {"bootstrap": True})
    assert (site.card.penalty, site.card.bootstrap, site.policy.most_openings) == (2.0, True, 3)
    with pytest.raises(InputError, match="bootstrap must be true or false, not 'false'"):
        site_of(config | {"bootstrap": "false"})
