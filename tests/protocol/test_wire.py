"""The protocol: messages are read back as written, anything else is refused with a reason; what leaves a site."""

import json
import math
import os
import stat
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.questions import any_families, any_orientations, one_family
from helpers.sites import answering
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.coordinator.agreement import Wishes, agree
from fedperi.coordinator.ahead import first_look
from fedperi.coordinator.plausible import WIDEST
from fedperi.coordinator.record import Journal, settings_key
from fedperi.errors import InputError
from fedperi.graph.knowledge import unconstrained
from fedperi.option_values import DATA
from fedperi.protocol import wire
from fedperi.protocol.fields import _TOLD, PROTOCOL, Refused
from fedperi.protocol.messages import MAX_SET, Families, Settings, Welcome
from fedperi.protocol.policy import SitePolicy
from fedperi.protocol.questions import Answers, read_answers, write_answers
from fedperi.protocol.requests import Asking, Card, Closing, Hello, Opening, Stating
from fedperi.protocol.steps import Beginning, StepRequest, read_step_reply
from fedperi.search.phase1 import find_common_dag
from fedperi.site.kept import read_summary, write_summary
from fedperi.tables.schema import Column, Schema
from fedperi.transports.flower.exchange import Peer
from fedperi.transports.flower.transport import FlowerTransport

NAMES = ("a", "b", "c", "d", "e")

words = st.text(st.characters(categories=("L", "N", "P", "S"), max_codepoint=0x2FFF), min_size=1, max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False)


questions = st.lists(st.one_of(any_families(), any_orientations()), max_size=3).map(tuple)
columns = st.lists(words.filter(lambda w: w.strip()), min_size=1, max_size=4, unique=True).map(
    lambda names: tuple(Column(name, "continuous", bounds=(0.0, 1.5) if len(name) % 2 else None) for name in names)
)
run_names = st.from_regex(r"[A-Za-z0-9._-]{1,40}", fullmatch=True)
runs = st.builds(
    Settings,
    st.sampled_from(["none", "consensus", "adaptive"]),
    st.sampled_from(["ges", "pc"]),
    st.floats(0.001, 0.999),
    st.floats(0, 1e6),
    st.none() | st.integers(0, 2**40),
)


def same(a: Any, b: Any) -> Any:
    return all(
        np.array_equal(left, right) and left.dtype == right.dtype
        for left, right in zip(a.arrays().values(), b.arrays().values(), strict=True)
    )


# -- round trips ------------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(run_names, runs, columns, st.sampled_from(DATA))
def test_an_opening_is_read_as_it_was_written(run: Any, chosen: Any, agreed: Any, data: Any) -> None:
    message = Opening(run, chosen, agreed, data)
    assert wire.read("open", wire.write(message)) == message


@settings(max_examples=100)
@given(st.integers(0, 1000), questions)
def test_an_opening_may_carry_questions(number: Any, asked: Any) -> None:
    agreed = tuple(Column(name, "continuous") for name in NAMES)
    again = wire.read("open", wire.write(Opening("r", Settings("none"), agreed, "auto", asked, number)))
    assert (again.columns, again.number, len(again.questions)) == (agreed, number, len(asked))
    assert all(type(a) is type(b) and same(a, b) for a, b in zip(again.questions, asked, strict=True))


@settings(max_examples=300)
@given(run_names, st.integers(0, 1000), questions)
def test_questions_are_read_as_they_were_written(run: Any, number: Any, asked: Any) -> None:
    again = wire.read("ask", wire.write(Asking(run, number, asked)), p=len(NAMES))
    assert (again.run, again.number, len(again.questions)) == (run, number, len(asked))
    assert all(type(a) is type(b) and same(a, b) for a, b in zip(again.questions, asked, strict=True))


# Names that a promise gives a meaning: hypothesis finds them in our sources, and draws them as words.
SETTLED = {name for names, _ in _TOLD.values() for name in names}


@settings(max_examples=300)
@given(words, columns, st.none() | st.dictionaries(words.filter(lambda word: word not in SETTLED), finite | words))
def test_a_card_is_read_as_it_was_written(site: Any, own: Any, promise: Any) -> None:
    card = Card(site, own, promise)
    assert wire.read_card(wire.write_card(card), "somebody") == card


@settings(max_examples=300)
@given(
    words, st.floats(1, 1e12), st.none() | st.lists(st.sampled_from(NAMES), unique=True), st.none() | st.just({"x": 1})
)
def test_a_welcome_is_read_as_it_was_written(site: Any, n: Any, targets: Any, privacy: Any) -> None:
    welcome = Welcome(site, NAMES, n, None if targets is None else tuple(targets), privacy)
    assert wire.read_welcome(wire.write_welcome(welcome), "somebody", NAMES) == (welcome, None)
    one = one_family(0, 1)
    record = wire.write_welcome(welcome, Answers([np.array([[0.5, math.inf]])], {"spent": 2}))
    again, answers = wire.read_welcome(record, "somebody", NAMES, [one])
    assert (again, answers.privacy, answers.arrays[0].tolist()) == (welcome, {"spent": 2}, [[0.5, math.inf]])
    with pytest.raises(Refused, match="holds the unknown value"):
        wire.read_welcome(record, "somebody", NAMES)
    with pytest.raises(Refused, match="lacks the value 'answer_0'"):
        wire.read_welcome(wire.write_welcome(welcome), "somebody", NAMES, [one])


@settings(max_examples=300)
@given(st.data(), questions)
def test_answers_are_read_as_they_were_written(data: Any, asked: Any) -> None:
    answers = []
    for question in asked:
        values = finite | st.just(math.inf) if isinstance(question, Families) else finite
        listed = data.draw(st.lists(values, min_size=question.answers, max_size=question.answers))
        shape = (len(question.nodes), -1) if isinstance(question, Families) and question.answers else (-1,)
        if isinstance(question, Families) and not question.answers:
            shape = (0, 1 << question.free.shape[1])
        answers.append(np.array(listed, float).reshape(shape))
    again = read_answers(write_answers(Answers(answers, {"x": 1})), "somebody", asked)
    assert all(np.array_equal(a, b) for a, b in zip(again.arrays, answers, strict=True))
    assert again.privacy == {"x": 1}


def test_the_small_messages_are_read_as_they_were_written() -> None:
    assert wire.read("hello", wire.write(Hello("r", "1.2"))) == Hello("r", "1.2")
    assert wire.read("close", wire.write(Closing("r"))) == Closing("r")
    begun = Beginning("r", "fedcdh", (Column("a", "continuous"),))
    assert wire.read("begin", wire.write(begun)) == begun


@settings(max_examples=200)
@given(
    st.dictionaries(
        words,
        st.one_of(
            finite,
            st.integers(-(2**63), 2**63 - 1),
            st.booleans(),
            words,
            st.lists(finite, max_size=4).map(np.array),
            st.lists(st.integers(-9, 9), min_size=2, max_size=4).map(lambda x: np.array([x], np.int64)),
        ),
        max_size=5,
    )
)
def test_a_step_is_read_as_it_was_written(payload: Any) -> None:
    again = wire.read("step", wire.write(StepRequest("r", 7, "update", payload)))
    assert (again.run, again.number, again.kind, set(again.payload)) == ("r", 7, "update", set(payload))
    for name, value in payload.items():
        assert type(again.payload[name]) is type(value)
        assert np.array_equal(again.payload[name], value)


# -- what is no message -----------------------------------------------------------------------------------------------

odd_arrays = st.sampled_from(
    [
        np.array([1.5, np.nan]),
        np.array([[2**40]]),
        np.array([[-1, 7]], np.int64),
        np.zeros((2, 2, 2), np.int64),
        np.array(["x"]),
        np.array([None], object),
        np.zeros((1, 20), np.int64),
        np.array(3, np.int64),
        np.zeros((0, 0), np.uint8),
        np.full((5, 5), 2, np.uint8),
        np.ones((5, 5), np.uint8),
    ]
)
odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.binary(max_size=5),
    st.lists(st.integers(), max_size=3),
    odd_arrays,
    st.sampled_from(
        ["[[[[", "[" * 5000, "null", "{}", "[]", '["a"]', '[{"name":"a"}]', "NaN", '{"x": NaN}', "\x1b[2J"]
    ),
)
messages = st.one_of(
    st.just(("hello", wire.write(Hello("r")))),
    st.just(("close", wire.write(Closing("r")))),
    st.tuples(st.just("open"), st.builds(Opening, st.just("r"), runs, columns).map(wire.write)),
    st.tuples(st.just("ask"), st.builds(Asking, st.just("r"), st.just(1), questions).map(wire.write)),
    st.tuples(st.just("begin"), st.builds(Beginning, st.just("r"), words, columns).map(wire.write)),
    st.just(("step", wire.write(StepRequest("r", 1, "update", {"rho": 0.5, "parameters": np.zeros(25)})))),
)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    kind, record = draw(messages)
    record = dict(record)
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from(sorted(record)) | st.text(max_size=8)) if record else "x"
        if draw(st.booleans()):
            record[key] = draw(odd_values)
        else:
            record.pop(key, None)
    return draw(st.sampled_from([kind, kind, kind, *wire.KINDS, "train", ""])), record


@given(mutated())
def test_whatever_is_no_message_is_refused_in_words(case: Any) -> None:
    kind, record = case
    try:
        message = wire.read(kind, record, "the coordinator", p=len(NAMES))
    except InputError as error:
        assert str(error).startswith("the '") or str(error).startswith("the coordinator"), str(error)
        assert "\x1b" not in str(error)
    else:
        assert isinstance(message, Hello | Stating | Opening | Asking | Beginning | StepRequest | Closing)


@given(mutated())
def test_whatever_a_site_sends_is_read_or_refused_in_words(case: Any) -> None:
    _, record = case
    one = one_family(0, 1)
    readers = [
        lambda: wire.read_card(record, "site 'x'"),
        lambda: wire.read_welcome(record, "site 'x'", NAMES),
        lambda: read_answers(record, "site 'x'", [one]),
        lambda: read_step_reply(record, "site 'x'", ["rho", "parameters"]),
    ]
    for reader in readers:
        try:
            reader()
        except InputError as error:
            assert "site 'x'" in str(error)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    table = fp.simulate(5, clients=2, samples=200, seed=3).sites[0].set_axis(list(NAMES), axis=1)
    return answering(table, name="north", store=tmp_path_factory.mktemp("store"))


@settings(max_examples=300)
@given(case=mutated())
def test_a_site_gives_a_refusal_or_an_answer_and_never_falls(site: Any, case: Any) -> None:
    kind, record = case
    reply = site.reply(kind, record)
    assert reply["protocol"] == PROTOCOL
    if "refused" not in reply and kind == "ask":
        message = wire.read(kind, record, p=len(NAMES))  # an answer, so it was a question
        read_answers(reply, "site 'north'", message.questions)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (
            "hello",
            {"protocol": 1},
            "the coordinator uses version 1 of the protocol, and this side version 4: install",
        ),
        (
            "train",
            {},
            "the coordinator sent a message of the unknown kind 'train'; known: hello, state, open",
        ),
        ("hello", {"extra": 1}, "the 'hello' message of the coordinator holds the unknown value 'extra'"),
        ("hello", {"version": None}, "the 'hello' message of the coordinator has a 'version' that is not plain text"),
        ("hello", {"run": "a\nb"}, "the 'hello' message of the coordinator has a 'run' that is not plain text of at"),
    ],
)
def test_refusals_say_what_is_wrong(kind: str, change: Any, words: str) -> None:
    with pytest.raises(Refused) as caught:
        wire.read(kind, wire.write(Hello("r")) | change)
    assert str(caught.value).startswith(words)


def test_too_much_is_refused_before_it_is_computed() -> None:
    many = np.zeros((1 << 14, MAX_SET), np.int64) + np.arange(1, MAX_SET + 1)
    block = Families(np.zeros(1 << 14, np.int64), many[:, :0], many)
    with pytest.raises(Refused, match="asks for more than 8388608 numbers at once"):
        wire.read("ask", wire.write(Asking("r", 1, (block,))), p=20)
    wide = Families(np.zeros(1, np.int64), np.zeros((1, 0), np.int64), np.arange(1, 61)[None, :])
    with pytest.raises(Refused, match="a question is about 60 variables; at most 16 are allowed"):
        wire.read("ask", wire.write(Asking("r", 1, (wide,))), p=100)


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_a_regret_that_is_no_number_is_refused(bad: Any) -> None:
    one = one_family(0, 1)
    with pytest.raises(Refused, match="the 'ask' message of site 'x' has an answer that is not a finite number"):
        read_answers(write_answers(Answers([np.array([[0.0, bad]])])), "site 'x'", [one])


GIVEN = "this site has given all that its owner allows over all runs; ask its owner for more"

# -- a site -----------------------------------------------------------------------------------------------------------


class Wired:
    """Sites behind the protocol, without a network: what a transport does, in ten lines."""

    def __init__(self, sites: Any, data: Any = "auto", ahead: Any = ()) -> None:
        self.sites, self.data, self.ahead, self.sent = sites, data, ahead, []  # type: ignore[var-annotated]

    def _tell(self, site: Any, kind: Any, message: Any) -> Any:
        record = wire.write(message)
        reply = site.reply(kind, record)
        self.sent.append(reply)
        return reply

    def open(self, chosen: Any) -> Any:
        cards = [wire.read_card(self._tell(s, "hello", Hello("r")), s.name) for s in self.sites]
        agreed = agree(cards)
        self.run = f"r{zlib_of(chosen)}"
        names = [column.name for column in agreed]
        message = Opening(self.run, chosen, agreed, self.data, self.ahead)
        replies = [wire.read_welcome(self._tell(s, "open", message), s.name, names, self.ahead) for s in self.sites]
        self.told = [welcome.privacy if first is None else first.privacy for welcome, first in replies]
        self.first = [first.arrays if first is not None else [] for _, first in replies]
        return [welcome for welcome, _ in replies]

    def ask(self, asked: Any) -> Any:
        if any(self.first):
            assert all(same(a, b) for a, b in zip(asked, self.ahead, strict=True))
            answers, self.first = self.first, []
            return answers
        message = Asking(self.run, 1, tuple(asked))
        replies = [read_answers(self._tell(s, "ask", message), s.name, asked) for s in self.sites]
        self.told = [reply.privacy for reply in replies]
        return [reply.arrays for reply in replies]

    widest, counted, dropped = WIDEST, True, ()

    def privacy(self) -> Any:
        return self.told

    def fingerprints(self) -> Any:
        return [None] * len(self.sites)

    def close(self) -> None:
        self.closed = True


def zlib_of(chosen: Any) -> Any:
    return zlib.crc32(settings_key(chosen).encode())


RUN_OF_DEFAULTS = f"r{zlib_of(Settings('adaptive'))}"


def sites_of(sim: Any, folder: Any, **options: Any) -> Any:
    names = ["east", "north", "south"]
    return [answering(t, name=n, store=folder, **options) for n, t in zip(names, sim.sites, strict=True)]


@pytest.mark.parametrize(
    "method", [fp.IPERI(), fp.IPERI(masking="consensus", aggregate="worst", local="pc"), fp.PERI()]
)
def test_the_protocol_changes_nothing(tmp_path: Path, method: Any) -> None:
    sim = fp.simulate(6, clients=3, samples=400, seed=5)
    direct = method.fit(dict(zip(["east", "north", "south"], sim.sites, strict=True)))
    wired = method.fit(Wired(sites_of(sim, tmp_path)))
    assert wired.graph == direct.graph
    assert wired.regrets == direct.regrets


def test_first_questions_with_the_opening_change_nothing(tmp_path: Path) -> None:
    """Beyond 12 variables: the search finds its first questions answered, which `Wired.ask` checks."""
    sim = fp.simulate(14, clients=3, samples=300, seed=5)
    direct = fp.IPERI().fit(dict(zip(["east", "north", "south"], sim.sites, strict=True)))
    sites = sites_of(sim, tmp_path)
    wired = fp.IPERI().fit(Wired(sites, ahead=first_look(14)))
    assert (wired.graph, wired.regrets, wired.rounds) == (direct.graph, direct.regrets, direct.rounds)
    assert wired.transcript.to_json() == direct.transcript.to_json()
    first = 14 * 13 * 2
    text = sites[0].log.path.read_text()
    assert f"declared targets; round 1: sent {first} regrets of candidate parent sets." in text
    assert text.count(f"sent {first} regrets") == 1


def test_the_first_questions_are_those_of_the_search() -> None:
    assert first_look(12) == ()
    for p in (13, 60, 61):
        names = tuple(map(str, range(p)))
        with pytest.raises(Listening.Heard) as heard:
            find_common_dag(
                Listening(names), aggregate="sum", edge_price=1.0, constraints=unconstrained(names), seed=0,
                rounds=lambda: 0, note=lambda step: None, keep=lambda found: None,
            )  # fmt: skip
        ahead, asked = first_look(p), heard.value.args[0]
        assert len(ahead) == len(asked) == 1
        for question, block in zip(ahead, asked, strict=True):
            assert all(map(np.array_equal, (question.nodes, question.fixed, question.free), block))


class Listening:
    """A federation that hears the first questions, and ends the search."""

    class Heard(Exception):
        pass

    def __init__(self, names: Any) -> None:
        self.names = names

    def regrets(self, families: Any) -> None:
        raise self.Heard(families)


def test_the_bootstrap_is_the_same_in_every_process_of_a_site(tmp_path: Path) -> None:
    """The weights of the rows depend on a secret of each site, so they are those of its store, not of the seed."""
    sim = fp.simulate(5, clients=3, samples=300, seed=6)
    method = fp.IPERI(bootstrap=3, seed=2)
    direct = method.fit(dict(zip(["east", "north", "south"], sim.sites, strict=True)))
    allowed = SitePolicy("regrets", bootstrap=True)
    first, second = (method.fit(Wired(sites_of(sim, tmp_path, policy=allowed))) for _ in range(2))
    assert first.regrets == second.regrets == direct.regrets
    assert first.stability == second.stability
    assert first.replicates == direct.replicates


def test_a_new_process_for_every_message_answers_the_same(tmp_path: Path) -> None:
    sim = fp.simulate(6, clients=3, samples=400, seed=5)

    class Forgetful(Wired):
        def _tell(self, site: Any, kind: Any, message: Any) -> Any:
            self.sites = sites_of(sim, tmp_path)
            return super()._tell(next(s for s in self.sites if s.name == site.name), kind, message)

    once = fp.IPERI().fit(Wired(sites_of(sim, tmp_path / "other")))
    assert fp.IPERI().fit(Forgetful(sites_of(sim, tmp_path))).regrets == once.regrets


def test_noise_is_drawn_once_and_charged_once(tmp_path: Path) -> None:
    sim = fp.simulate(4, clients=3, samples=3000, seed=5)
    limits = dict.fromkeys(sim.sites[0].columns, (-8, 8))

    def sites() -> Any:
        return sites_of(sim, tmp_path, privacy=fp.Privacy(3.0, bounds=limits, ceiling=3.0))

    first, second = fp.IPERI().fit(Wired(sites())), fp.IPERI().fit(Wired(sites()))
    assert first.regrets == second.regrets
    ledger = sites()[0].reply("close", wire.write(Closing("r0")))
    assert "refused" in ledger  # a run that was never opened
    assert all(
        told["ledger"]["spent"] <= 3.0 and len(told["ledger"]["releases"]) == 1 for told in second.privacy.values()
    )
    assert all(told["private"] for told in second.privacy.values())


def test_noise_on_every_answer_is_kept_between_processes(tmp_path: Path) -> None:
    sim = fp.simulate(3, clients=2, samples=3000, seed=5)
    limits = dict.fromkeys(sim.sites[0].columns, (-8, 8))

    def sites() -> Any:
        privacy = fp.Privacy(3.0, bounds=limits, mechanism="regret")
        return [answering(t, name=n, store=tmp_path, privacy=privacy) for n, t in zip("ab", sim.sites, strict=True)]

    first, second = fp.IPERI().fit(Wired(sites())), fp.IPERI().fit(Wired(sites()))
    assert first.regrets == second.regrets
    told = second.privacy["a"]  # with the last answers: closing tells nothing
    assert told["mechanism"] == "regret"
    assert 0 < told["ledger"]["spent"] <= 3.0
    assert f"ledger: spent {told['ledger']['spent']:.4g} of" in sites()[0].source.price_ahead()  # nothing came after it
    assert sites()[0].reply("close", wire.write(Closing(RUN_OF_DEFAULTS))) == {"protocol": PROTOCOL}


def test_mixed_tables_need_declared_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"dose": rng.normal(size=200), "arm": rng.choice(["u", "v"], 200)})
    words = r"site 'a', column 'arm' is a category without declared levels.* --write-schema schema.toml"
    with pytest.raises(InputError, match=words) as caught:
        answering(table, name="a", store=tmp_path)
    assert "'u'" not in str(caught.value)
    schema = Schema((Column("arm", "categorical", ("u", "v")),))
    declared = [answering(table, name=n, store=tmp_path, schema=schema) for n in ("a", "b")]
    direct = fp.IPERI().fit({"a": table, "b": table})
    assert fp.IPERI().fit(Wired(declared)).regrets == direct.regrets


def test_a_reason_that_names_values_stays_at_the_site(tmp_path: Path) -> None:
    table = pd.DataFrame({"dose": np.full(50, 31337.0625), "x": np.arange(50) + 0.5})
    site = answering(table, name="north", store=tmp_path)
    opening = Opening("r", Settings("adaptive"), site.card.columns)
    told = site.reply("open", wire.write(opening))["refused"]
    assert told == "its own log says why (reasons that may name values of a table are not sent)"
    assert "31337.0625" not in told
    assert "all values are the same" in site.log.path.read_text()


def test_what_the_policy_forbids_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    table = fp.simulate(3, clients=2, samples=50, seed=1).sites[0]
    policy = SitePolicy("regrets", maskings=("adaptive",), most_numbers=10, most_messages=2)
    site = answering(table, name="north", store=tmp_path, policy=policy)

    def open_with(chosen: Any) -> Any:
        return site.reply("open", wire.write(Opening("r", chosen, site.card.columns)))

    assert open_with(Settings("none"))["refused"] == "the masking 'none' is not allowed here; allowed: adaptive"
    assert (
        open_with(Settings("adaptive", resample=1))["refused"]
        == "a bootstrap is not allowed here: run with bootstrap=0, or ask the site's owner to allow it (fedperi site "
        "--bootstrap)"
    )
    none = np.empty((1, 0), np.int64)
    one, two, three = (Families(np.array([0]), none, np.array([free])) for free in ([1, 2], [2, 1], [2]))

    def ask(*blocks: Any) -> Any:
        return site.reply("ask", wire.write(Asking("r", 1, blocks)))

    assert ask(one)["refused"] == "the run 'r' was not opened here"
    assert "refused" not in open_with(Settings("adaptive"))
    assert ask(one, one, one)["refused"] == GIVEN
    assert "may answer 10 numbers (--most-numbers), and this would make it 12" in site.log.path.read_text()
    assert "refused" not in ask(one)
    assert "refused" not in ask(one)  # the same again tells nothing new, and is not counted
    assert "refused" not in ask(two)
    assert ask(three)["refused"] == GIVEN
    assert "may answer 2 messages (--most-messages), and this would make it 3" in site.log.path.read_text()
    with pytest.raises(InputError, match="site 'north' requires privacy, and none is set"):
        answering(table, name="north", store=tmp_path, policy=SitePolicy("regrets", privacy_required=True))


def test_questions_with_the_opening_are_checked_before_anything_is_paid(tmp_path: Path) -> None:
    table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    one = one_family(0, 1, 2)
    privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-8, 8)), store=tmp_path)
    answers = iter([True, False])
    asked = []

    def people(what: Any) -> Any:
        asked.append(what)
        return next(answers)

    site = answering(
        table, name="north", privacy=privacy, policy=SitePolicy("regrets", most_numbers=10), approve=people
    )

    def open_with(*blocks: Any, run: Any = "r") -> Any:
        return site.reply("open", wire.write(Opening(run, Settings("adaptive"), site.card.columns, "auto", blocks)))

    assert open_with(one, one, one)["refused"] == GIVEN
    assert not asked
    assert open_with(one)["refused"] == "the people at this site did not approve it"
    assert asked[0].startswith("run r asks to open a run with masking 'adaptive'")
    assert asked[1] == (
        "run r asks to answer round 1 with it: 4 regrets of candidate parent sets. Price: nothing, answers are "
        "computed from noisy statistics that are paid for once."
    )
    assert site.source.price_ahead() == "epsilon 1, delta 1e-06; ledger: spent 0 of 10, and 1 after it."
    answers = iter([True] * 9)
    told = open_with(one)
    assert "refused" not in told and told["answer_0"].shape == (1, 4)
    assert "nothing, the noise was drawn before" in site.source.price_ahead()
    assert "refused" not in open_with(one)  # the coordinator was restarted, and asks the same again
    assert "refused" not in open_with(one, run="other")
    assert open_with(one, one, run="third")["refused"] == GIVEN  # 4 and 8 numbers, over all runs


def test_people_are_asked_before_anything_is_sent(tmp_path: Path) -> None:
    table = fp.simulate(3, clients=2, samples=50, seed=1).sites[0]
    asked = []

    def never(what: Any) -> Any:
        asked.append(what)
        return False

    site = answering(table, name="north", store=tmp_path, approve=never)
    told = site.reply("open", wire.write(Opening("r", Settings("adaptive"), site.card.columns)))
    assert told["refused"] == "the people at this site did not approve it"
    assert asked[0].startswith("run r asks to open a run with masking 'adaptive': send the number of rows")


def test_the_log_tells_everything_and_no_value(tmp_path: Path) -> None:
    table = fp.simulate(3, clients=2, samples=50, seed=1).sites[0]
    site = answering(table, name="north", store=tmp_path)
    fp.IPERI().fit(Wired([site]))
    site.reply("train", {})
    text = site.log.path.read_text()
    for words in (
        "told the coordinator our name",
        "opened with masking 'adaptive'",
        "12 regrets",
        "bytes",
        "refused 'train'",
    ):
        assert words in text
    assert not any(f"{value:.6f}" in text for value in table.to_numpy().ravel())
    assert stat.S_IMODE(site.log.path.stat().st_mode) == 0o600
    for path in [site.place.path, *site.place.path.rglob("*")]:
        assert not path.stat().st_mode & 0o077, path


def test_a_table_that_changes_under_a_running_site_is_noticed(tmp_path: Path) -> None:
    table = fp.simulate(3, clients=2, samples=50, seed=1).sites[0]
    table.to_csv(tmp_path / "a.csv", index=False)
    site = answering(tmp_path / "a.csv", store=tmp_path / "store")
    (table * 2).to_csv(tmp_path / "a.csv", index=False)
    reply = site.reply("open", wire.write(Opening("r", Settings("adaptive"), site.card.columns)))
    assert reply["refused"] == "the table has changed since this site was started: restart the site"


def test_a_table_that_changes_in_a_run_is_noticed(tmp_path: Path) -> None:
    table = fp.simulate(3, clients=2, samples=50, seed=1).sites[0]
    site = answering(table, name="north", store=tmp_path)
    site.reply("open", wire.write(Opening("r", Settings("adaptive"), site.card.columns)))
    changed = answering(table * 2, name="north", store=tmp_path)
    one = one_family(0, 1)
    reply = changed.reply("ask", wire.write(Asking("r", 1, (one,))))
    assert reply["refused"] == "the table, or how it is read, has changed since the run was opened; open a new run"


def test_nothing_but_answers_leaves_a_site(tmp_path: Path) -> None:
    """Every byte that a site sends: no row, no value, no moment; besides answers only declared information."""
    rng = np.random.default_rng(7)
    canary = 31337.0625
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("wxyz"))
    table.iloc[17] = [canary, -canary, canary / 2, canary / 4]
    wired = Wired([answering(table, name=n, store=tmp_path) for n in ("a", "b")])
    fp.IPERI().fit(wired)
    secret = {float(v) for v in table.to_numpy().ravel()}
    secret |= {float(v) for v in np.concatenate([table.mean(), table.var(ddof=0), table.std(ddof=0)])}
    secret |= {
        float(v) for v in np.concatenate([table.cov(ddof=0).to_numpy().ravel(), table.corr().to_numpy().ravel()])
    }
    secret.discard(1.0)  # on the diagonal of the correlations
    for reply in wired.sent:
        for key, value in reply.items():
            if isinstance(value, np.ndarray):
                assert key.startswith("answer_")
                assert not secret & set(value.ravel().tolist())
            elif isinstance(value, str):
                assert str(canary) not in value
            else:
                assert key in ("protocol", "n", "penalty", "bootstrap")


def test_a_release_file_answers_through_the_protocol_too(tmp_path: Path) -> None:
    sim = fp.simulate(4, clients=2, samples=3000, seed=5)
    from fedperi.privacy import load_release, save_release
    from fedperi.privacy.release.site_release import release_table

    files = []
    for name, table in zip("ab", sim.sites, strict=True):
        privacy = fp.Privacy(3.0, bounds=dict.fromkeys(table.columns, (-8, 8)), store=tmp_path / "made")
        files.append(tmp_path / f"{name}.fedperi")
        save_release(release_table(table, privacy, name=name)[0], files[-1])
    direct = fp.IPERI().fit(files)
    wired = fp.IPERI().fit(Wired([answering(str(file), store=tmp_path / "store") for file in files]))
    assert wired.regrets == direct.regrets
    assert wired.graph == direct.graph
    assert load_release(files[0]).site == "a"


def test_a_dry_run_says_what_would_be_sent(tmp_path: Path) -> None:
    table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    limits = dict.fromkeys(table.columns, (-8, 8))
    site = answering(table, name="north", store=tmp_path, privacy=fp.Privacy(1.0, bounds=limits))
    text = "\n".join(site.dry_run())
    assert "X0, X1, X2" in text
    assert "Price: epsilon 1, delta 1e-06; ledger: spent 0 of 10, and 1 after it." in text
    assert "0 of at most 200 openings, 0 of 20000 messages and 0 of 100000000 numbers" in text
    assert not (site.place.path / "ledger").exists()


# -- the transport, without a network ---------------------------------------------------------------------------------


def carried(sites: Any, journal: Any = None, lost: Any = (), **options: Any) -> Any:
    """A transport whose messages go to sites in this process; `lost` lists kinds and sites without a reply."""
    transport = FlowerTransport(None, sites=len(sites), journal=journal, **options)
    by_name = {site.name: site for site in sites}
    told = []

    def send(kind: Any, records: Any) -> Any:
        if not records:
            return {}
        told.append((kind, sorted(records)))
        transport.traffic.seconds.append(0.0)
        return {
            name: "was disconnected" if (kind, name) in lost else by_name[name].reply(kind, record)
            for name, record in records.items()
        }

    def online() -> Any:
        return [Peer(at, name) for at, name in enumerate(sorted(by_name))]

    def tell(kind: Any, records: Any) -> None:
        for name, record in records.items():
            by_name[name].reply(kind, record)

    transport._net.send, transport._net.online, transport._net.tell = send, online, tell  # type: ignore[method-assign]
    return transport, told


EVERYONE = ["east", "north", "south"]


def test_the_first_round_costs_no_round_trip(tmp_path: Path) -> None:
    sim = fp.simulate(14, clients=3, samples=300, seed=5)
    direct = fp.IPERI(bootstrap=1).fit(dict(zip(EVERYONE, sim.sites, strict=True)))
    journal = tmp_path / "journal.jsonl"
    allowed = SitePolicy("regrets", bootstrap=True)
    transport, told = carried(sites_of(sim, tmp_path, policy=allowed), Journal(journal))
    result = fp.IPERI(bootstrap=1).fit(transport)
    assert (result.graph, result.regrets, result.replicates) == (direct.graph, direct.regrets, 1)
    assert result.transcript.to_json() == direct.transcript.to_json()
    kinds = [kind for kind, _ in told]
    assert kinds[: result.rounds + 1] == ["hello", "open"] + ["ask"] * (result.rounds - 1)
    assert kinds.count("open") == 2  # and the second one, for resampled rows, carries its first round too
    assert transport.traffic.rounds == kinds.count("ask") + 2 == len(transport.traffic.seconds) - 1
    text = sites_of(sim, tmp_path)[0].log.path.read_text()
    assert text.count("closed (complete), after") == 2
    # Continued at the end: everything is known, and nothing is asked.
    again, told = carried(sites_of(sim, tmp_path), Journal(journal))
    assert fp.IPERI(bootstrap=1).fit(again).transcript.to_json() == direct.transcript.to_json()
    assert told == [("hello", EVERYONE)]
    # Continued after the crash of a coordinator that had written down one welcome, but not the answers with it.
    lines = journal.read_text().splitlines(keepends=True)
    assert "welcome" in json.loads(lines[1]) and "answers" in json.loads(lines[2])
    journal.write_text("".join(lines[:2]))
    again, told = carried(sites_of(sim, tmp_path), Journal(journal))
    assert fp.IPERI().fit(again).regrets == direct.regrets
    assert told[:4] == [("hello", EVERYONE), ("open", ["north", "south"]), ("ask", ["east"]), ("ask", EVERYONE)]


def test_a_site_lost_at_the_opening_is_left_out(tmp_path: Path) -> None:
    sim = fp.simulate(14, clients=3, samples=300, seed=5)
    two = fp.IPERI().fit(dict(zip(EVERYONE[:2], sim.sites[:2], strict=True)))
    transport, _ = carried(sites_of(sim, tmp_path), lost=[("open", "south")], min_sites=2)
    result = fp.IPERI().fit(transport)
    assert (result.graph, result.regrets) == (two.graph, two.regrets)
    assert result.dropped == {"south": "site 'south' was disconnected"}


def test_privacy_is_told_with_the_answers(tmp_path: Path) -> None:
    """Noise on every answer: what was spent by the end is known before anybody closes the run."""
    sim = fp.simulate(3, clients=2, samples=3000, seed=5)
    limits = dict.fromkeys(sim.sites[0].columns, (-8, 8))
    privacy = fp.Privacy(3.0, bounds=limits, mechanism="regret")
    sites = [answering(t, name=n, store=tmp_path, privacy=privacy) for n, t in zip("ab", sim.sites, strict=True)]
    transport, _ = carried(sites)
    transport._net.tell = lambda kind, records: None
    told = fp.IPERI().fit(transport).privacy
    for site in sites:
        assert told[site.name]["ledger"]["spent"] > 0
        assert f"ledger: spent {told[site.name]['ledger']['spent']:.4g} of" in site.source.price_ahead()


# -- agreement --------------------------------------------------------------------------------------------------------

AGE, SEX = Column("age", "continuous"), Column("sex", "categorical", ("f", "m"))


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ([Card("n", (AGE,)), Card("n", (AGE,))], "two sites are called 'n': give each a name of its own"),
        (
            [Card("n", (AGE,)), Card("s", (SEX,))],
            "site 's' lacks the column age, which 'n' has, and has the column sex, which 'n' lacks",
        ),
        ([Card("n", (AGE,)), Card("s", (AGE,), version="9")], "site 's' has fedperi 9, and the coordinator"),
        (
            [Card("n", (AGE,)), Card("s", (Column("age", "categorical"),))],
            "column 'age' is continuous at site 'n' and categorical at site 's': give every site the same",
        ),
        (
            [Card("n", (SEX,)), Card("s", (Column("sex", "categorical", ("m", "f")),))],
            "column 'sex' has different levels, or a different order of them, at site 'n' and at site 's'",
        ),
    ],
)
def test_sites_that_do_not_fit_together_are_told_why(cards: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        agree(cards)
    assert str(caught.value).startswith(words)


def test_the_coordinator_can_declare_nothing_for_a_site() -> None:
    bare, wishes = Column("sex", "categorical"), Wishes(Schema((SEX,)))
    with pytest.raises(InputError, match="column 'sex' has no declared levels at site 'n': give every site the"):
        agree([Card("n", (bare,)), Card("s", (bare,))], wishes)
    assert agree([Card("n", (SEX,)), Card("s", (SEX,))], wishes) == (SEX,)
    assert agree([Card("n", (SEX,))], Wishes(Schema((bare,)))) == (SEX,)
    with pytest.raises(InputError, match="the schema names the column 'sex', which no site has"):
        agree([Card("n", (AGE,))], wishes)


# -- journal ----------------------------------------------------------------------------------------------------------

ONE = one_family(0, 1)


def test_a_journal_remembers_across_processes(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, {"seed": 1})
    journal.welcomed("s", Welcome("north", NAMES, 10, ("a",), {"x": 1}))
    assert journal.privacy("s", "north") == {"x": 1}
    journal.answered("s", "north", [ONE], Answers([np.array([[0.1, math.inf]])], {"x": 2}))
    journal.lose("south", "was late")
    again = Journal(path, {"seed": 1})
    assert again.resumed and again.run == journal.run
    assert again.welcome("s", "north") == Welcome("north", NAMES, 10, ("a",), {"x": 1})
    assert np.array_equal(again.known("s", "north", ONE), [[0.1, math.inf]])
    assert again.known("other", "north", ONE) is None
    assert again.privacy("s", "north") == {"x": 2}
    assert again.lost == {"south": "was late"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="is of a run with other options"):
        Journal(path, {"seed": 2})


def test_a_line_cut_off_by_a_crash_counts_as_never_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.answered("s", "north", [ONE], Answers([np.array([[0.1, 0.2]])]))
    whole = path.read_bytes()
    journal.answered("s", "south", [ONE], Answers([np.array([[0.3, 0.4]])]))
    longer = path.read_bytes()
    for cut in range(len(whole) + 1, len(longer)):
        path.write_bytes(longer[:cut])
        again = Journal(path)
        assert again.known("s", "south", ONE) is None
        assert np.array_equal(again.known("s", "north", ONE), [[0.1, 0.2]])
        assert path.read_bytes() == whole


@pytest.mark.parametrize("text", ["{}\n", "[]\n", "\n", "nonsense\n", '{"format": "fedperi.journal", "version": 9}\n'])
def test_a_damaged_journal_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "journal.jsonl").write_text(text)
    with pytest.raises(InputError, match="journal"):
        Journal(tmp_path / "journal.jsonl")


def test_kept_statistics_are_exact(tmp_path: Path) -> None:
    from fedperi.tables import summarize

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=50), "b": rng.choice(["u", "v", "w"], 50)})
    for source in (table, table[["b"]].assign(c=rng.choice(["x", "y"], 50))):
        summary = summarize(source)
        again = read_summary(write_summary(summary))
        for name, value in vars(summary).items():
            other = getattr(again, name)
            assert np.array_equal(other, value) if isinstance(value, np.ndarray) else other == value, name
    for bad in ("", "[]", json.dumps({"format": "fedperi.statistics", "version": 1, "kind": "counts"})):
        with pytest.raises(InputError, match="the statistics that were kept are"):
            read_summary(bad)


def test_the_protocol_is_imported_without_pandas_and_flower() -> None:
    import subprocess
    import sys

    code = (
        "import sys, fedperi.protocol.wire, fedperi.coordinator.record; "
        "print(int('pandas' in sys.modules), int('flwr' in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert out.stdout.split() == ["0", "0"]
    assert Path(wire.__file__).name == "wire.py"


def test_a_site_forgets_all_but_the_newest_runs_and_keeps_everything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedperi.privacy.store import Store
    from fedperi.protocol.steps import Beginning
    from fedperi.site.service import runs as siteruns

    monkeypatch.setattr(siteruns, "MOST_RUNS", 3)
    place = Store(tmp_path).place("north", "0" * 64)
    place.keep("noise", "0.25")
    runs = siteruns.Runs(place, "0" * 64)
    for number in range(5):
        runs.opened(Beginning(f"r{number}", "fedcdh", ()))
        runs.count(f"r{number}", 10)
        place.keep(siteruns.steps_key(f"r{number}"), "state")
    runs.opened(Beginning("r2", "fedcdh", ()))  # the oldest that is left is used again, and stays
    runs.opened(Beginning("r5", "fedcdh", ()))
    for run in ("r0", "r1", "r3"):
        with pytest.raises(Refused, match="was not opened here"):
            runs.state(run)
        assert place.kept(siteruns.steps_key(run)) is None
    assert [runs.state(run)["numbers"] for run in ("r2", "r4", "r5")] == [10, 10, 0]
    assert place.kept("noise") == "0.25"
    assert len(list(place.path.glob("kept-*"))) == 3 + 2 + 1 + 1  # runs, their steps, the list, the noise
