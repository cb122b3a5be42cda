"""Methods without regrets over the network: steps at the sites, and the same results as in one process."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi
from helpers.questions import one_family
from helpers.sites import answering

import fedperi as fp
from fedperi.errors import InputError

pytest.importorskip("flwr")

from helpers.flower import NAMES, Pilot, local_link, serving

from fedperi.coordinator.agreement import agree
from fedperi.coordinator.work import WorkCoordinator
from fedperi.protocol import wire
from fedperi.protocol.fields import MAX_NUMBERS, PROTOCOL, Refused
from fedperi.protocol.messages import Settings, Welcome
from fedperi.protocol.policy import SitePolicy
from fedperi.protocol.requests import Asking, Closing, Hello, Opening
from fedperi.protocol.steps import Beginning, StepRequest, read_step_reply, write_step_request
from fedperi.protocol.workers import WORKERS, worker_class
from fedperi.site.service.work import SiteWork
from fedperi.tables.schema import Column, Schema
from fedperi.transports.flower.exchange import Limits
from fedperi.transports.flower.transport import FlowerTransport
from fedperi.transports.in_process import WorkInProcess

ALL = SitePolicy("regrets", methods=tuple(WORKERS))
LIMITS = Limits(connect=30, reply=60, poll=0.05)
FEDDAG = fp.FedDAG(variant="linear", passes=1, steps=20, every=10)
FEDCDH = fp.FedCDH(conditioning_features=20, features=5, deepest=1)
METHODS = {
    "notears-admm": fp.NotearsADMM(max_rounds=4),
    "notears-admm-mlp": fp.NotearsADMM(model="mlp", max_rounds=2, hidden=2),
    "feddag": FEDDAG,
    "feddag-masked": fp.FedDAG(variant="all-shared", passes=1, steps=10, every=5, faithful=True),
    "fedcdh": FEDCDH,
    "fedcdh-faithful": fp.FedCDH(conditioning_features=20, features=5, deepest=1, faithful=True),
}


@pytest.fixture
def tables() -> Any:
    return dict(zip(NAMES, fp.simulate(5, clients=3, samples=300, seed=4).sites, strict=True))


def works(tables: Any, folder: Any, policy: Any = ALL, **options: Any) -> Any:
    return [answering(table, name=name, store=folder, policy=policy, **options) for name, table in tables.items()]


class Wired:
    """Sites behind the protocol, without a network; with `forget`, in a new process for every message."""

    def __init__(self, make: Any, forget: Any = False) -> None:
        self.make, self.forget, self.sites, self.sent = make, forget, make(), []  # type: ignore[var-annotated]

    def _tell(self, kind: Any, message: Any) -> Any:
        if self.forget:
            self.sites = self.make()
        replies = [site.reply(kind, wire.write(message)) for site in self.sites]
        self.sent += replies
        return replies

    def begin(self, worker: Any) -> Any:
        cards = [wire.read_card(reply, "a site") for reply in self._tell("hello", Hello("r"))]
        self.columns, self.number, self.worker = agree(cards), 0, worker_class(worker)
        names = [column.name for column in self.columns]
        replies = self._tell("begin", Beginning("r", worker, self.columns))
        return [wire.read_welcome(reply, "a site", names)[0] for reply in replies]

    dropped = ()

    def fingerprints(self) -> Any:
        return [None] * len(self.sites)

    def close(self) -> None:
        self.closed = True

    def perform(self, kind: Any, payload: Any) -> Any:
        self.number += 1
        message = StepRequest("r", self.number, kind, payload)
        return [
            read_step_reply(reply, "a site", self.worker.kinds[kind].sends) for reply in self._tell("step", message)
        ]


def assert_same(result: Any, direct: Any) -> None:
    assert result.graph == direct.graph
    assert (result.rounds, result.bytes, result.sites) == (direct.rounds, direct.bytes, direct.sites)
    assert result.history == direct.history  # objectives to the last bit
    assert result.method == direct.method


# -- without a network ------------------------------------------------------------------------------------------------


ONCE = [(name, False) for name in METHODS]
ANEW = [(name, True) for name in ("notears-admm", "notears-admm-mlp", "feddag", "fedcdh")]


@pytest.mark.parametrize(("name", "forget"), ONCE + ANEW)
def test_the_protocol_changes_nothing(tables: Any, tmp_path: Path, name: Any, forget: Any) -> None:
    method = METHODS[name]
    assert_same(method.fit(Wired(lambda: works(tables, tmp_path), forget)), method.fit(tables))  # type: ignore[attr-defined]


def test_a_step_whose_answer_was_lost_is_answered_the_same_again(tables: Any, tmp_path: Path) -> None:
    """The site was restarted, and the coordinator sends the step again: nothing is counted twice."""

    class Twice(Wired):
        def _tell(self, kind: Any, message: Any) -> Any:
            first = super()._tell(kind, message)
            if kind != "step":
                return first
            self.sites = self.make()
            again = super()._tell(kind, message)
            for one, other in zip(first, again, strict=True):
                assert one.keys() == other.keys()
                assert all(np.array_equal(one[key], other[key]) for key in one)
            return again

    for at, method in enumerate((METHODS["notears-admm"], FEDDAG)):  # a name belongs to one run only
        folder = tmp_path / str(at)
        assert_same(method.fit(Twice(partial(works, tables, folder))), method.fit(tables))  # type: ignore[attr-defined]


def begun(table: Any, folder: Any, worker: Any = "notears-admm", policy: Any = ALL, **options: Any) -> Any:
    site = answering(table, name="north", store=folder, policy=policy, **options)
    return site, site.reply("begin", wire.write(Beginning("r", worker, site.card.columns)))


def step(site: Any, payload: Any, kind: Any = "update", number: Any = 1) -> Any:
    return site.reply("step", wire.write(StepRequest("r", number, kind, payload)))


UPDATE = {"parameters": np.zeros((1, 25)), "rho": np.ones(1), "total": 900.0, "loops": False}


def test_a_site_runs_no_method_without_privacy_unless_it_is_allowed(tables: Any, tmp_path: Path) -> None:
    words = "'fedcdh' is not private, and a site runs such a method only if its owner allows it (fedperi site --allow)"
    site, told = begun(tables["north"], tmp_path, "fedcdh", SitePolicy("regrets"))
    assert told["refused"] == f"{words}; allowed here: none"
    assert "refused 'begin'" in site.log.path.read_text()
    allowed = SitePolicy("regrets", methods=("feddag", "notears-admm"))
    assert begun(tables["north"], tmp_path, "fedcdh", allowed)[1]["refused"] == (
        f"{words}; allowed here: feddag, notears-admm"
    )
    assert "refused" not in begun(tables["north"], tmp_path, "feddag", allowed)[1]
    assert begun(tables["north"], tmp_path, "os.system")[1]["refused"].startswith("'os.system' is not private")
    with pytest.raises(InputError, match=r"a site can allow notears-admm, .*; there is no method 'ges'"):
        SitePolicy("regrets", methods=("ges",))


def test_a_site_with_a_privacy_promise_runs_none_of_them(tables: Any, tmp_path: Path) -> None:
    from fedperi.privacy import release_table, save_release

    table = tables["north"]
    privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-20, 20)), store=tmp_path)
    with pytest.raises(InputError, match=r"site 'north' keeps a privacy promise, and notears-admm, .* cannot"):
        begun(table, tmp_path, privacy=privacy)
    save_release(release_table(table, privacy, name="north")[0], tmp_path / "north.fedperi")
    with pytest.raises(InputError, match="site 'north' keeps a privacy promise"):
        begun(tmp_path / "north.fedperi", tmp_path)
    told = begun(tmp_path / "north.fedperi", tmp_path, policy=SitePolicy("regrets"))[1]
    assert told["refused"].startswith("'notears-admm' is not private")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "rows"}, "notears-admm has no step 'rows'; it has update"),
        ({"number": 3}, "step 3 does not follow step 0, the last one here: begin a new run"),
        ({"in_rows": 1}, "the step 'update' of notears-admm takes no 'rows'"),
        ({"in_rho": float("nan")}, "has a 'in_rho' that is not a finite number"),
        ({"in_parameters": np.full((1, 25), np.nan)}, "has a 'in_parameters' that is not finite"),
        ({"in_parameters": np.full((1, 25), None, object)}, "not an array of float64"),
        ({"in_parameters": np.zeros((1, 25), np.float32)}, "not an array of float64"),
        ({"in_parameters": np.zeros(MAX_NUMBERS + 1)}, "not an array of float64, at most 8388608 long"),
        ({"in_parameters": np.zeros(7)}, "its own log says why"),
        ({"in_parameters": "zero"}, "its own log says why"),
        ({"in_total": "many"}, "its own log says why"),
        ({"in_loops": [1]}, "has a 'in_loops' that is not a whole number"),
        ({f"in_{at}": 1 for at in range(60)}, "holds more than 50 values"),
        ({"in_total": "\x1b[2J"}, "not plain text"),
        ({"run": "other"}, "the run 'other' was not opened here"),
    ],
)
def test_what_is_no_step_is_refused_in_words(tables: Any, tmp_path: Path, change: Any, words: str) -> None:
    site, _ = begun(tables["north"], tmp_path)
    reply = site.reply("step", wire.write(StepRequest("r", 1, "update", UPDATE)) | change)
    assert set(reply) == {"protocol", "refused"}
    assert words is None or words in reply["refused"]
    assert "out_parameters" in step(site, UPDATE)  # the site continues where it was


def test_values_of_a_step_that_do_not_fit_together_are_refused(tables: Any, tmp_path: Path) -> None:
    asked = []

    class Recording(WorkInProcess):
        def perform(self, kind: Any, payload: Any) -> Any:
            asked.append((kind, payload))
            return super().perform(kind, payload)

    FEDCDH.fit(Recording({name: table.to_numpy() for name, table in tables.items()}, tables["north"].columns))
    site, _ = begun(tables["north"], tmp_path, "fedcdh")
    number = 0
    tried = 0
    for kind, payload in dict(asked).items():
        for name in payload:
            for bad in ("x", 3, np.zeros(0), np.array([[-7, 99]]), np.zeros((2, 2))):
                reply = step(site, payload | {name: bad}, kind, number + 1)
                tried += 1
                number += "refused" not in reply
                assert "refused" in reply or all(np.isfinite(v).all() for k, v in reply.items() if k != "protocol")
                assert "a defect" not in reply.get("refused", "")
    assert tried > 50
    assert "a defect of fedperi" not in site.log.path.read_text()


def test_runs_of_steps_and_runs_of_questions_are_distinguished(tables: Any, tmp_path: Path) -> None:
    site, _ = begun(tables["north"], tmp_path)
    one = one_family(0, 1)
    words = "the run {!r} was not opened for this kind of message"
    assert site.reply("ask", wire.write(Asking("r", 1, (one,))))["refused"] == words.format("r")
    site.reply("open", wire.write(Opening("q", Settings("adaptive"), site.card.columns)))
    assert site.reply("step", wire.write(StepRequest("q", 1, "update", UPDATE)))["refused"] == words.format("q")
    assert "out_parameters" in step(site, UPDATE)
    assert site.reply("close", wire.write(Closing("r"))) == {"protocol": PROTOCOL}
    assert step(site, UPDATE, number=2)["refused"] == "the run is closed; begin a new one"


def test_people_are_told_what_a_step_sends_before_it_is_sent(tables: Any, tmp_path: Path) -> None:
    asked, answers = [], iter([True, False, True])

    def people(what: Any) -> Any:
        asked.append(what)
        return next(answers)

    site, told = begun(tables["north"], tmp_path, approve=people)
    assert "refused" not in told
    assert asked == [
        "run r asks to begin a run of notears-admm, which is NOT PRIVATE: send the number of rows, and then steps"
    ]
    assert step(site, UPDATE)["refused"] == "the people at this site did not approve it"
    assert asked[1] == (
        "run r asks to answer step 1 (update) of notears-admm: 25 numbers (weights of the site's own regressions)"
    )
    assert "out_parameters" in step(site, UPDATE)
    text = site.log.path.read_text()
    assert "began notears-admm, which is NOT PRIVATE; told the number of rows." in text
    assert "step 1 (update) of notears-admm: sent 25 numbers (weights of the site's own regressions). Sent 2" in text


def test_the_policy_limits_steps_too(tables: Any, tmp_path: Path) -> None:
    site, _ = begun(tables["north"], tmp_path, policy=SitePolicy("regrets", methods=("notears-admm",), most_numbers=60))
    assert "out_parameters" in step(site, UPDATE)
    assert "out_parameters" in step(site, UPDATE, number=2)
    words = "this site has given all that its owner allows over all runs; ask its owner for more"
    assert step(site, UPDATE, number=3)["refused"] == words
    assert "may answer 60 numbers (--most-numbers), and this would make it 75" in site.log.path.read_text()
    site.reply("begin", wire.write(Beginning("q", "notears-admm", site.card.columns)))
    assert site.reply("step", wire.write(StepRequest("q", 1, "update", UPDATE)))["refused"] == words  # in a new run too


def test_categories_and_other_columns_are_refused(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": np.arange(20) + 0.5, "b": ["u", "v"] * 10})
    declared = (Column("a", "continuous"), Column("b", "categorical", ("u", "v")))
    site = answering(table, name="north", store=tmp_path, policy=ALL, schema=Schema(declared))
    told = site.reply("begin", wire.write(Beginning("r", "fedcdh", declared)))
    assert told["refused"] == "fedcdh needs numbers, and the column 'b' is a category"
    told = site.reply("begin", wire.write(Beginning("r", "fedcdh", declared[:1])))
    assert told["refused"].startswith(
        "the columns or the type of data of this run differ from this site's own schema and options"
    )


def test_nothing_but_declared_arrays_leaves_a_site(tmp_path: Path) -> None:
    canary = 31337.0625
    tables = dict(zip(NAMES, fp.simulate(4, clients=3, samples=200, seed=3).sites, strict=True))
    for table in tables.values():
        table.iloc[17] = [canary, -canary, canary / 2, canary / 4]
    values = {float(v) for table in tables.values() for v in table.to_numpy().ravel()}
    for name in ("notears-admm", "feddag", "fedcdh"):
        wired = Wired(partial(works, tables, tmp_path / name))
        METHODS[name].fit(wired)  # type: ignore[attr-defined]
        known = {f"out_{array}" for kind in worker_class(name).kinds.values() for array in kind.sends}
        for reply in wired.sent:
            for key, value in reply.items():
                if isinstance(value, np.ndarray):
                    assert key in known
                    assert not values & set(value.ravel().tolist())
                else:
                    assert key in (
                        "protocol",
                        "version",
                        "site",
                        "columns",
                        "promise",
                        "data",
                        "penalty",
                        "bootstrap",
                        "channel",
                        "names",
                        "n",
                        "targets",
                        "privacy",
                    )
                    assert str(canary) not in str(value)


def test_a_message_that_is_too_large_is_refused_with_a_remedy(tables: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'fourth' would send 8388609 numbers to every site; .*: use fewer"):
        write_step_request(StepRequest("r", 1, "fourth", {"maps": np.zeros(MAX_NUMBERS + 1)}))
    site, _ = begun(tables["north"], tmp_path)
    with pytest.raises(Refused, match=r"the answer would have 8388609 numbers; .*: use fewer"):
        site._steps._count("r", MAX_NUMBERS + 1)


def test_sites_that_do_not_fit_together_are_refused() -> None:
    class Told:
        def __init__(self, *welcomes: Any) -> None:
            self.welcomes = welcomes

        def begin(self, worker: Any) -> Any:
            return list(self.welcomes)

    north = Welcome("north", ("a", "b"), 10)
    for other, words in (
        (north, "two sites are called 'north'"),
        (
            Welcome("south", ("a", "c"), 10),
            "site 'south' lacks the column b, which 'north' has, and has the column c",
        ),
        (Welcome("south", ("b", "a"), 10), "site 'south' lists the variables in another order than 'north'"),
        (Welcome("south", ("a", "b"), float("nan")), "site 'south' says that it has nan rows"),
    ):
        with pytest.raises(InputError, match=words):
            WorkCoordinator(Told(north, other), "fedcdh")
    with pytest.raises(InputError, match="a federation needs at least one site"):
        WorkCoordinator(Told(), "fedcdh")


# -- over a SuperLink -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def link() -> Iterator[Any]:
    with local_link() as (control, port):
        yield control, port


@pytest.mark.network
def test_over_the_network_the_result_is_that_of_one_process(link: Any, tables: Any, tmp_path: Path) -> None:
    """Linear NOTEARS-ADMM, FedCDH and FedDAG, one after the other, through one transport."""
    control, port = link
    sites = works(tables, tmp_path)
    with serving(port, *sites), control.grid() as grid:
        transport = FlowerTransport(grid, sites=3, limits=LIMITS)
        for method in (METHODS["notears-admm"], FEDCDH, FEDDAG):
            result = method.fit(transport)  # type: ignore[attr-defined]
            assert_same(result, method.fit(tables))  # type: ignore[attr-defined]
            assert result.dropped == {}
    for site in sites:
        text = site.log.path.read_text()
        assert text.count("which is NOT PRIVATE; told the number of rows.") == 3
        assert text.count("closed (complete), after") == 3


@pytest.mark.network
def test_answers_are_in_the_order_of_the_sites(link: Any, tables: Any, tmp_path: Path) -> None:
    control, port = link
    first, *others = works(tables, tmp_path)

    def slow(kind: Any, record: Any) -> Any:
        time.sleep(0.5)
        return SiteWork.reply(first, kind, record)

    first.reply = slow
    with serving(port, first, *others), control.grid() as grid:
        transport = FlowerTransport(grid, sites=3, limits=LIMITS)
        assert [welcome.site for welcome in transport.begin("fedcdh")] == list(NAMES)
        for answer, table in zip(transport.perform("moments", {}), tables.values(), strict=True):
            assert np.allclose(answer["mean"], table.mean(), rtol=1e-12, atol=0)


@pytest.mark.network
def test_a_refusal_and_a_lost_site_end_a_run_in_words(link: Any, tables: Any, tmp_path: Path) -> None:
    control, port = link
    *good, bad = works(tables, tmp_path)
    closed = answering(tables["south"], name="south", store=tmp_path)
    with serving(port, *good, closed), control.grid() as grid:
        words = r"site 'south' refused: 'feddag' is not private.*; 2 of 3 sites are left, and 3 are needed"
        with pytest.raises(InputError, match=words):
            FEDDAG.fit(FlowerTransport(grid, sites=3, limits=LIMITS))
        result = FEDDAG.fit(FlowerTransport(grid, sites=3, min_sites=2, limits=LIMITS))
        assert result.sites == NAMES[:2] and list(result.dropped) == ["south"]
        assert_same(result, FEDDAG.fit({name: tables[name] for name in NAMES[:2]}))

    def silent(kind: Any, record: Any) -> Any:
        if kind == "step" and record["number"] == 2:
            time.sleep(4)
        return SiteWork.reply(bad, kind, record)

    bad.reply = silent
    with serving(port, *good, bad), control.grid() as grid:
        limits = Limits(connect=30, reply=3, poll=0.05)
        words = "site 'south' did not reply within 3 s; the run cannot continue without this site"
        with pytest.raises(InputError, match=words):
            FEDDAG.fit(FlowerTransport(grid, sites=3, min_sites=2, limits=limits))


@pytest.mark.network
def test_garbage_from_a_site_is_named(link: Any, tables: Any, tmp_path: Path) -> None:
    control, port = link
    *good, bad = works(tables, tmp_path)
    answers = iter(
        [
            {"protocol": PROTOCOL, "out_weights": np.full((5, 5), np.nan)},
            {"protocol": PROTOCOL, "out_weights": np.zeros((5, 4))},
            {"protocol": PROTOCOL, "out_weights": np.zeros((5, 5)), "out_rows": np.zeros(300)},
        ]
    )
    bad.reply = lambda kind, record: next(answers) if kind == "step" else SiteWork.reply(bad, kind, record)
    with serving(port, *good, bad), control.grid() as grid:
        for words in ("'weights' that is not finite", "does not fit the step", "unknown value 'out_rows'"):
            with pytest.raises(InputError, match=f"site 'south'.*{words}"):
                FEDDAG.fit(FlowerTransport(grid, sites=3, limits=LIMITS))


@pytest.mark.network
def test_messages_of_sixty_megabytes_arrive(link: Any, tables: Any, tmp_path: Path) -> None:
    control, port = link
    (site,) = works({"north": tables["north"]}, tmp_path)
    many = np.arange(7_500_000, dtype=float)
    seen = []

    def echo(kind: Any, record: Any) -> Any:
        if kind != "step":
            return SiteWork.reply(site, kind, record)
        seen.append(float(record["in_maps"][-1]))
        return {"protocol": PROTOCOL, "out_fourth": record["in_maps"] * 2}

    site.reply = echo
    with serving(port, site), control.grid() as grid:
        transport = FlowerTransport(grid, sites=1, limits=LIMITS)
        transport.begin("fedcdh")
        (answer,) = transport.perform("fourth", {"maps": many})
    assert seen == [many[-1]]
    assert np.array_equal(answer["fourth"], 2 * many)


@pytest.mark.network
def test_with_tls_and_processes_the_command_runs_a_baseline(tmp_path: Path) -> None:
    pilot = Pilot(tmp_path, p=4)
    try:
        coordinator = pilot.coordinate("--method", "fedcdh", "--seed", "3")
        for name in NAMES:
            pilot.site(name, "--allow", "fedcdh,feddag")
        assert coordinator.done() == 0, coordinator.said
        direct = fp.FedCDH(seed=3).fit([tmp_path / f"{name}.csv" for name in NAMES])
        result = pilot.result()
        assert (result.graph, result.bytes, result.sites) == (direct.graph, direct.bytes, direct.sites)
        assert "FedCDH is NOT PRIVATE, and its result has no regrets." in coordinator.said
        assert "because sites differ" not in coordinator.said  # which is what I-PERI could say
        assert "NOT PRIVATE: fedcdh, feddag may run here" in pilot.processes[1].said
        assert not (tmp_path / "results/journal.jsonl").exists()
        assert "sums of squared deviations" in pilot.log_of("north", coordinator)
    finally:
        pilot.end()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--method", "fedcdh", "--masking", "none"],
            "--masking is an option of iperi and peri, not of fedcdh; leave it out, or add --method iperi",
        ),
        (["--method", "feddag", "--journal", "j"], "--journal: a run of feddag cannot be resumed; leave it out"),
        (["--method", "ges"], "method must be one of mperi, iperi, peri, notears-admm, feddag, fedcdh; not 'ges'"),
    ],
)
def test_what_a_coordinator_cannot_do_is_said_in_one_line(tmp_path: Path, arguments: Any, words: str) -> None:
    done = fedperi("coordinate", "--insecure", "--sites", "2", "--out", "r", *arguments, cwd=tmp_path, columns=200)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"error: {words}"
    assert not (tmp_path / "r").exists()


def test_a_site_can_allow_known_methods_only(tmp_path: Path, tables: Any) -> None:
    tables["north"].to_csv(tmp_path / "a.csv", index=False)
    dry = ("site", "a.csv", "--channel", "regrets", "--store", "s", "--dry-run")
    done = fedperi(*dry, "--allow", "ges", cwd=tmp_path, columns=200)
    assert done.returncode == 2 and "a site can allow notears-admm," in done.stderr
    done = fedperi(*dry, "--allow", "fedcdh", cwd=tmp_path, columns=200)
    assert "on begin and step: what fedcdh sends, NOT PRIVATE" in done.stdout
