"""Faults between a coordinator and its sites, with processes that are really killed, stopped or manipulated.

Two sites, east and north, keep running through all tests of this file; each test adds coordinators and bad sites.
"""

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.flower import NAMES, Pilot, Running, free_port, wait_until_free

import fedperi as fp
from fedperi.privacy import release_table

pytestmark = [pytest.mark.network, pytest.mark.slow]

BAD = ("nan", "shape", "fields", "text", "pickle")
# Little noise, so that every draw gives the same graph, with a second round in which processes can be stopped.
NOISE = ("--bounds", "bounds.toml", "--epsilon", "1000", "--ceiling", "2000")
PRICED = ("--bounds", "bounds.toml", "--epsilon", "100000", "--ceiling", "200000", "--mechanism", "regret")


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pilot, list[Running]]]:
    made = Pilot(tmp_path_factory.mktemp("pilot"), more=("west", *BAD))
    good = [made.site(name) for name in NAMES[:2]]
    for site in good:
        site.wait_for("trying again")
    yield made, good
    made.end()


@pytest.fixture
def pilot(standing: tuple[Pilot, list[Running]]) -> Iterator[Pilot]:
    """The federation: the two good sites keep running in all tests."""
    made, good = standing
    yield made
    made.end(keep=good)
    wait_until_free(made.port)
    assert all(site.alive for site in good)


def ready(site: Running) -> Running:
    """Wait until a site looks for its coordinator, so that time limits need not include its start."""
    site.wait_for("trying again")
    return site


def files(place: Path) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    """Return existing files that have changed, except the log and the counts of this run and of all runs."""
    counts = {name for name, text in before.items() if b'"opening"' in text}
    return {name for name in before if after.get(name) != before[name]} - counts - {"log.txt", "given.json"}


def is_of_two(pilot: Pilot, out: str) -> None:
    result = pilot.result(out)
    assert result.sites == NAMES[:2]
    assert (result.graph, result.regrets) == (pilot.two.graph, pilot.two.regrets)


# -- killed -----------------------------------------------------------------------------------------------------------


def test_a_site_killed_in_a_round_is_left_out_and_named(pilot: Pilot) -> None:
    victim = ready(pilot.site("south", label="killed-south", store="killed-store", talking=True))
    coordinator = pilot.coordinate("--sites", 3, "--min-sites", 2, timeout=30, label="killed", out="killed")
    victim.approve_until("directions of edges")
    victim.end(signal.SIGKILL)
    assert coordinator.done() == 0, coordinator.said
    assert list(pilot.result("killed").dropped) == ["south"]
    is_of_two(pilot, "killed")
    said = coordinator.said.replace("\n", " ")
    assert "site 'south' was disconnected; continuing with 2 sites." in said
    assert "Did not take part: south (site 'south' was disconnected)." in said
    assert "The graph and the worst regret are of 2 sites: east, north. They say nothing about the others" in said
    for name in NAMES[:2]:
        log = pilot.log_of(name, coordinator)
        assert log.count("sent 1024 regrets") == log.count("opened with") == 1, log  # asked once, in both searches


def test_a_site_killed_and_restarted_in_a_run_answers_with_the_noise_that_it_had(pilot: Pilot) -> None:
    coordinator = pilot.coordinate("--sites", 3, label="anew", out="anew")
    victim = pilot.site("south", *NOISE, label="anew-south", store="anew-store", talking=True)
    victim.approve_until("directions of edges")
    place = pilot.place("south", "anew-store")
    before = files(place)
    victim.end(signal.SIGKILL)
    pilot.site("south", *NOISE, label="anew-south-again", store="anew-store")
    assert coordinator.done() == 0, coordinator.said
    assert "site 'south' is back (restarted, or after a network cut); asking it again." in coordinator.said
    assert changed(before, files(place)) == set()
    privacy = fp.Privacy(
        1000.0, ceiling=2000.0, bounds=str(pilot.folder / "bounds.toml"), store=pilot.folder / "anew-store"
    )
    kept = release_table(pilot.folder / "south.csv", privacy, name="south")[0]
    sources = {name: pilot.folder / f"{name}.csv" for name in NAMES[:2]}
    assert pilot.result("anew").regrets == fp.IPERI().fit({**sources, "south": kept}).regrets
    assert changed(before, files(place)) == set()


def test_a_coordinator_killed_and_restarted_asks_nothing_again_and_costs_no_privacy(pilot: Pilot) -> None:
    """A site that pays for every question is killed too; it repeats its lost answers unchanged."""
    coordinator = pilot.coordinate("--sites", 4, label="crash", out="crash")
    slow = pilot.site("south", *NOISE, label="crash-south", store="crash-store", talking=True)
    paying = ("west", *PRICED)  # the table of south in a separate store: in the same store they would share a budget
    payer = pilot.site(*paying, data="south", label="crash-west", store="west-store")
    slow.approve_until("directions of edges")
    payer.wait_for("numbers on directions of edges")
    coordinator.end(signal.SIGKILL)
    payer.end(signal.SIGKILL)
    places = {name: pilot.place(name, store) for name, store in (("south", "crash-store"), ("west", "west-store"))}
    before = {name: files(place) for name, place in places.items()}
    wait_until_free(pilot.port)  # its SuperLink ends with it
    again = pilot.coordinate("--sites", 4, label="crash-again", out="crash")
    again.wait_for("resuming run")
    pilot.site(*paying, data="south", label="crash-west-again", store="west-store")
    slow.answer("y")  # to the old coordinator, which is gone
    slow.answer("a")
    assert again.done() == 0, again.said
    for name, place in places.items():
        after = files(place)
        assert changed(before[name], after) == set()
        assert after["ledger/ledger.jsonl"].count(b"price") == before[name]["ledger/ledger.jsonl"].count(b"price") > 0
    for name in NAMES[:2]:
        log = pilot.log_of(name, again)
        assert log.count("sent 1024 regrets") == log.count("opened with") == 1, log
    log = pilot.log_of("west", again, "west-store")
    assert (log.count("sent 1024 regrets"), log.count("numbers on directions of edges")) == (1, 2), log
    lost = log.splitlines()[-2]
    assert "once more" in lost and "Paid: nothing" in lost, log
    assert pilot.result("crash").sites == (*NAMES, "west")


# -- late -------------------------------------------------------------------------------------------------------------


def test_a_site_that_is_stopped_in_a_round_is_late_and_its_answer_comes_to_nothing(pilot: Pilot) -> None:
    stopped = pilot.site("south", label="late-south", store="late-store", talking=True)
    holding = ready(pilot.site("west", data="south", label="late-west", store="late-store", talking=True))
    ready(stopped)
    coordinator = pilot.coordinate("--sites", 4, "--min-sites", 3, timeout=15, label="late", out="late")
    holding.wait_for(" asks to ")
    stopped.wait_for(" asks to ")
    stopped.send(signal.SIGSTOP)
    holding.approve_until("directions of edges")
    assert "did not reply within 15 s; continuing with 3 sites." in coordinator.said
    stopped.send(signal.SIGCONT)
    stopped.answer("a")  # the coordinator has started, and waits for another site
    stopped.wait_for("opened with")
    time.sleep(1)
    holding.answer("a")
    assert coordinator.done() == 0, coordinator.said
    result = pilot.result("late")
    assert result.sites == ("east", "north", "west")
    assert list(result.dropped) == ["south"]
    assert "They say nothing about the others" in coordinator.said
    wait_until_free(pilot.port)
    # The same site, the same process: it takes part in the next run, is late again, and all are needed now.
    strict = pilot.coordinate("--sites", 4, timeout=15, label="late-strict", out="late-strict")
    stopped.wait_for(" asks to ", times=2)
    stopped.send(signal.SIGSTOP)
    holding.answer("a")
    assert strict.done(60) == 75
    words = "site 'south' did not reply within 15 s; 3 of 4 sites are left, and 4 are needed (--min-sites allows fewer)"
    assert f"error: {words}" in strict.said
    stopped.send(signal.SIGCONT)
    told = stopped.said.count("trying again")
    stopped.answer("n")
    stopped.wait_for("refused 'open': the people at this site did not approve it")
    stopped.wait_for("trying again", times=told + 1)
    assert stopped.end() == 0
    assert "Traceback" not in stopped.said + strict.said + coordinator.said


# -- garbage ----------------------------------------------------------------------------------------------------------

GARBLED = '''
"""A site with the real node and the real table, and answers that are spoiled on their way out."""
import pickle
import sys
from pathlib import Path

import numpy as np

from fedperi.protocol.fields import PROTOCOL
from fedperi.transports.flower import records
from fedperi.transports.flower.address import Address
from fedperi.transports.flower.node import serve
from fedperi.protocol.policy import SitePolicy
from fedperi.site.service.work import SiteWork

written = records.to_records


class Trap:
    def __reduce__(self):
        return (Path.touch, (Path("trapped").resolve(),))


def to_records(reply):
    from flwr.app import ConfigRecord, RecordDict

    if "trap" not in reply:
        return written(reply)
    block = {"arrays": '[["x", "|O", [1]]]', "block": pickle.dumps(Trap())}
    return RecordDict({"values": ConfigRecord({"protocol": PROTOCOL, **block})})


def spoiled(how, kind, reply):
    arrays = {key: value for key, value in reply.items() if isinstance(value, np.ndarray)}
    if how == "nan":
        return reply | {key: np.full_like(value, np.nan) for key, value in arrays.items()}
    if how == "shape":
        return reply | {key: value[..., :-1] for key, value in arrays.items()}
    if how == "fields" and kind == "open":
        return reply | {"rows": np.zeros(300)}
    if how == "text":
        return {"protocol": PROTOCOL, "refused": "x" * 6_000_000}
    return reply | {"trap": 1} if how == "pickle" else reply


class Garbled(SiteWork):
    def reply(self, kind, record):
        return spoiled(self.name, kind, super().reply(kind, record))


def run(how, port):
    folder = Path("keys/sites") / how
    site = Garbled("south.csv", name=how, store="garbage-store", policy=SitePolicy("regrets"))
    at = Address(f"localhost:{port}", folder / "ca.pem", folder / f"{how}.key")
    serve(site, at, wait=300, note=lambda line: None)


records.to_records = to_records
run(*sys.argv[1:])
'''

WHY = {
    "nan": "message of site 'nan' has an answer that is not a finite number",
    "shape": "message of site 'shape' has an answer of shape (8, 127) to a question of shape (8, 128)",
    "fields": "message of site 'fields' holds the unknown value 'rows'",
    "text": "message of text has a 'refused' that is not plain text of at most 2000 characters",
    "pickle": "message of pickle holds an array that cannot be read",
}


def test_sites_that_answer_garbage_are_named_and_left_out(pilot: Pilot) -> None:
    (pilot.folder / "garbled.py").write_text(GARBLED)
    bad = [pilot.launch(how, [sys.executable, "garbled.py", how, pilot.port]) for how in BAD]
    coordinator = pilot.coordinate("--sites", 7, "--min-sites", 2, label="garbage", out="garbage")
    assert coordinator.done() == 0, coordinator.said
    dropped = pilot.result("garbage").dropped
    assert set(dropped) == set(BAD)
    for how, why in WHY.items():
        assert why in dropped[how]
    is_of_two(pilot, "garbage")
    assert all(site.alive and not site.said for site in bad)
    assert not (pilot.folder / "trapped").exists()
    assert len(coordinator.said) < 10_000


# -- names, and who comes when ----------------------------------------------------------------------------------------


def test_a_key_that_is_used_twice_is_refused_and_a_site_that_joins_late_is_waited_for(pilot: Pilot) -> None:
    coordinator = pilot.coordinate("--sites", 3, label="twin", out="twin")
    coordinator.wait_for("2 of 3 sites connected: east, north; waiting for")
    twin = pilot.site("east", data="south", label="twin-east", store="twin-store")
    assert twin.done() == 2
    assert "error: the coordinator does not accept this site's key" in twin.said
    assert "a site with the same key is connected" in twin.said
    assert coordinator.alive
    assert "3 of 3" not in coordinator.said
    pilot.site("south", label="twin-south", store="twin-store")
    assert coordinator.done() == 0, coordinator.said
    assert pilot.result("twin").regrets == pilot.direct.regrets
    assert pilot.result("twin").dropped == {}


def test_a_site_with_the_key_of_another_is_refused(pilot: Pilot) -> None:
    coordinator = pilot.coordinate("--sites", 3, label="stolen", out="stolen")
    pilot.site("north", key="south", label="stolen-north", store="stolen-store")
    assert coordinator.done() == 2
    assert (
        "error: the site with the key of 'south' calls itself 'north': give it the name of its key" in coordinator.said
    )


def test_two_sites_of_one_name_without_keys_are_refused(pilot: Pilot) -> None:
    at = f"127.0.0.1:{free_port()}"
    for data in ("east", "south"):
        options = ["--name", "north", "--store", f"alike-{data}", "--wait", 60, "--insecure"]
        pilot.start(f"alike-{data}", "site", f"{data}.csv", "--channel", "regrets", "--coordinator", at, *options)
    options = ["--sites", 2, "--min-sites", 1, "--timeout", 60, "--insecure"]
    coordinator = pilot.start(
        "alike", "coordinate", "--channel", "regrets", "--address", at, "--out", "alike", *options
    )
    assert coordinator.done(60) == 2
    assert "error: two sites are called 'north': give each a name of its own" in coordinator.said
    assert not (pilot.folder / "alike" / "result.json").exists()


def test_a_site_that_comes_after_the_run_has_begun_is_told_and_waits_for_the_next(pilot: Pilot) -> None:
    holding = ready(pilot.site("west", data="south", label="begun-west", store="begun-store", talking=True))
    late = ready(pilot.site("south", label="begun-south", store="begun-store"))
    late.send(signal.SIGSTOP)
    coordinator = pilot.coordinate("--sites", 4, "--min-sites", 3, timeout=20, label="begun", out="begun")
    holding.approve_until("directions of edges")
    assert "continuing with 3 of 4 sites." in coordinator.said
    late.send(signal.SIGCONT)
    late.wait_for("connected to")
    coordinator.wait_for("south connected after the run began, and waits for the next one.")
    holding.answer("a")
    assert coordinator.done() == 0, coordinator.said
    result = pilot.result("begun")
    assert result.sites == ("east", "north", "west")
    assert result.dropped["south"] == "did not connect in time"
    late.wait_for("closed (without this site: did not connect in time)")
    late.wait_for("the run is over; waiting for the next one")
