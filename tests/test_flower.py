"""The federation over a real network stack: SuperLink and sites as processes of their own, on this machine.

Every process is ended by the test that started it, and every wait has a limit.
"""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import fedperi as fp
from fedperi.errors import InputError

pytest.importorskip("flwr")

from fedperi.federation import wire
from fedperi.federation.fields import Refused
from fedperi.federation.flower import QUIET
from fedperi.federation.flower.address import Address, check_reachable
from fedperi.federation.flower.exchange import Limits
from fedperi.federation.flower.link import superlink
from fedperi.federation.flower.node import serve
from fedperi.federation.flower.transport import FlowerTransport, through_drops
from fedperi.federation.keys import make_keys
from fedperi.federation.sitework import SiteWork
from fedperi.privacy import release_table, save_release

LIMIT = 120.0
NAMES = ("east", "north", "south")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Running:
    """A process of `fedperi`, what it says, and its end."""

    def __init__(self, folder, label, *arguments, stdin=None):
        self.log = folder / f"{label}.log"
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from fedperi.cli import main; main()", *map(str, arguments)],
            cwd=folder,
            stdin=subprocess.PIPE if stdin == "pipe" else subprocess.DEVNULL,
            stdout=self.log.open("ab"),
            stderr=subprocess.STDOUT,
        )

    @property
    def said(self):
        return self.log.read_text()

    def wait_for(self, words, times=1):
        end = time.monotonic() + LIMIT
        while self.said.count(words) < times:
            assert time.monotonic() < end, f"never said {words!r}:\n{self.said}"
            assert self.process.poll() is None or self.said.count(words) >= times, f"ended:\n{self.said}"
            time.sleep(0.1)

    def answer(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=30)

    def done(self):
        return self.process.wait(timeout=LIMIT)


class Pilot:
    """Tables, keys and processes of one federation, in one folder."""

    def __init__(self, folder, p=8, seed=1):
        self.folder, self.port, self.processes = folder, free_port(), []
        sim = fp.simulate(p, clients=3, samples=500, seed=seed)
        for name, table in zip(NAMES, sim.sites, strict=True):
            table.to_csv(folder / f"{name}.csv", index=False)
        self.direct = fp.IPERI().fit([folder / f"{name}.csv" for name in NAMES])
        make_keys(folder / "keys", hosts=["localhost"], sites=NAMES)

    def coordinate(self, *more, label="coordinate", out="results"):
        arguments = ["coordinate", "--keys", "keys/coordinator", "--address", f"127.0.0.1:{self.port}"]
        return self._start(label, *arguments, "--out", out, "--timeout", "90", *more)

    def site(self, name, *more, key=None, stdin=None, label=None):
        key = key or name
        secure = ["--ca", f"keys/sites/{key}/ca.pem", "--key", f"keys/sites/{key}/{key}.key", "--name", name]
        arguments = ["site", "--data", f"{name}.csv", "--coordinator", f"localhost:{self.port}", *secure]
        return self._start(label or name, *arguments, "--store", f"store-{name}", "--wait", "60", *more, stdin=stdin)

    def _start(self, label, *arguments, stdin=None):
        self.processes.append(Running(self.folder, label, *arguments, stdin=stdin))
        return self.processes[-1]

    def result(self, out="results"):
        return fp.Result.from_json((self.folder / out / "result.json").read_text())

    def end(self):
        for running in self.processes:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait(timeout=30)


@pytest.fixture
def pilot(tmp_path):
    made = Pilot(tmp_path)
    yield made
    made.end()


def rounds_in(pilot, name):
    text = next((pilot.folder / f"store-{name}").glob("site-*/log.txt")).read_text()
    return re.findall(r"round (\d+): sent", text)


# -- whole runs -------------------------------------------------------------------------------------------------------


def test_with_tls_and_keys_the_result_is_that_of_one_process(pilot):
    """A wrong key and a stolen name are refused on the way; all processes end when they are told to."""
    coordinator = pilot.coordinate()
    coordinator.wait_for("listening at")
    make_keys(pilot.folder / "other", hosts=["localhost"], sites=["east"])
    key = pilot.folder / "other/sites/east/east.key"
    stranger = pilot._start(
        "stranger", "site", "--data", "east.csv", "--coordinator", f"localhost:{pilot.port}",
        "--ca", "keys/sites/east/ca.pem", "--key", key, "--store", "store-stranger",
    )  # fmt: skip
    distrusting = pilot._start(
        "distrusting", "site", "--data", "east.csv", "--coordinator", f"localhost:{pilot.port}",
        "--ca", "other/sites/east/ca.pem", "--key", "keys/sites/east/east.key", "--store", "store-distrusting",
    )  # fmt: skip
    sites = [pilot.site(name) for name in NAMES[:2]]
    assert stranger.done() == 2
    assert "error: the coordinator does not accept this site's key" in stranger.said
    assert distrusting.done() == 2
    assert f"error: the certificate of localhost:{pilot.port} is not accepted" in distrusting.said
    sites.append(pilot.site("south"))
    assert coordinator.done() == 0, coordinator.said
    result = pilot.result()
    assert result.graph == pilot.direct.graph
    assert result.regrets == pilot.direct.regrets
    assert result.dropped == {}
    assert "3 sites take part: east, north, south." in coordinator.said
    assert [site.end() for site in sites] == [0, 0, 0]
    assert not (pilot.folder / "store-stranger/site-east").exists()


def test_a_site_with_the_key_of_another_is_refused(pilot):
    coordinator = pilot.coordinate("--sites", "1")
    pilot.site("north", key="south")
    assert coordinator.done() == 2
    assert "the site with the key of 'south' calls itself 'north'" in coordinator.said


def test_a_site_killed_in_a_round_ends_the_run_or_is_left_out(pilot):
    coordinator = pilot.coordinate("--min-sites", "2")
    victim = pilot.site("south", "--approve", stdin="pipe")
    for name in ("east", "north"):
        pilot.site(name)
    victim.wait_for("asks to open a run")
    victim.answer("y")
    victim.wait_for("asks to answer round 1")
    victim.end(signal.SIGKILL)
    assert coordinator.done() == 0, coordinator.said
    result = pilot.result()
    assert result.sites == ("east", "north")
    assert list(result.dropped) == ["south"]
    assert "site 'south' was disconnected; going on with 2 sites." in coordinator.said
    assert "They say nothing about the others" in coordinator.said.replace("\n", " ")
    two = fp.IPERI().fit([pilot.folder / "east.csv", pilot.folder / "north.csv"])
    assert (result.graph, result.regrets) == (two.graph, two.regrets)
    assert rounds_in(pilot, "east") == rounds_in(pilot, "north")
    assert len(rounds_in(pilot, "east")) <= 3  # the first round was not asked again


def test_a_site_started_anew_in_a_round_is_asked_again(pilot):
    coordinator = pilot.coordinate()
    victim = pilot.site("south", "--approve", stdin="pipe")
    for name in ("east", "north"):
        pilot.site(name)
    victim.wait_for("asks to open a run")
    victim.answer("y")
    victim.wait_for("asks to answer round 1")
    victim.end(signal.SIGKILL)
    pilot.site("south", label="south-again")
    assert coordinator.done() == 0, coordinator.said
    assert "site 'south' was started anew; asking it again." in coordinator.said
    assert pilot.result().regrets == pilot.direct.regrets


def test_a_coordinator_killed_and_restarted_asks_nothing_again(pilot):
    coordinator = pilot.coordinate()
    slow = pilot.site("south", "--approve", stdin="pipe")
    for name in ("east", "north"):
        pilot.site(name)
    slow.wait_for("asks to open a run")
    slow.answer("y")
    slow.wait_for("asks to answer round 1")
    slow.answer("y")
    slow.wait_for("asks to answer round 2")
    coordinator.end(signal.SIGKILL)
    wait_until_free(pilot.port)  # its SuperLink goes with it
    again = pilot.coordinate(label="again")
    again.wait_for("continuing run")
    slow.answer("y")  # of the old coordinator: nobody is there to take it
    slow.wait_for("asks to answer round 1:", times=2)
    slow.answer("a")
    assert again.done() == 0, again.said
    assert pilot.result().regrets == pilot.direct.regrets
    for name in ("east", "north"):
        text = next((pilot.folder / f"store-{name}").glob("site-*/log.txt")).read_text()
        assert text.count("1024 regrets") == 1, text
        assert text.count("opened with masking") == 1, text


def test_a_coordinator_that_is_told_to_end_leaves_nothing_running(tmp_path):
    port = free_port()
    arguments = ["coordinate", "--insecure", "--sites", "2", "--address", f"127.0.0.1:{port}", "--out", "results"]
    coordinator = Running(tmp_path, "coordinate", *arguments)
    try:
        coordinator.wait_for("0 of 2 sites connected")
        assert coordinator.end() == 130
    finally:
        coordinator.end(signal.SIGKILL)
    wait_until_free(port)
    assert not (tmp_path / "results").exists()


def wait_until_free(port):
    wait_until(lambda: is_free(port))


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def wait_until(true):
    end = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)


# -- faults, on one SuperLink without TLS -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def link():
    port = free_port()
    with superlink("127.0.0.1", port, None, {}) as control:
        control.port = port
        yield control


@contextmanager
def serving(port, *works):
    stop = threading.Event()
    threads = [
        threading.Thread(
            target=serve,
            args=(work, Address(f"127.0.0.1:{port}", insecure=True)),
            kwargs={"note": lambda line: None, "stop": stop, "poll": 0.05},
            daemon=True,
        )
        for work in works
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


@pytest.fixture
def tables():
    return fp.simulate(5, clients=3, samples=300, seed=4).sites


def works(tables, folder, names=NAMES):
    return [SiteWork(table, name=name, store=folder) for name, table in zip(names, tables, strict=True)]


class Odd(SiteWork):
    """A site that misbehaves from some message on."""

    def __init__(self, *arguments, on="ask", how=None, **options):
        super().__init__(*arguments, **options)
        self.on, self.how = on, how

    def reply(self, kind, record):
        return self.how(kind, record) if kind == self.on else super().reply(kind, record)


def slow(kind, record):
    time.sleep(6)
    return wire.refusal("too late")


GARBAGE = {
    "nan": lambda kind, record: {"protocol": 1, "answer_0": np.full((5, 16), np.nan)},
    "more": lambda kind, record: {"protocol": 1, "answer_0": np.zeros((5, 16)), "rows": np.zeros(300)},
    "words": lambda kind, record: {"hello": "world"},
}


@pytest.mark.parametrize("how", [*GARBAGE, "late"])
def test_a_site_that_answers_garbage_or_late_is_named_and_left_out(link, tables, tmp_path, how):
    *good, bad = works(tables, tmp_path)
    bad = Odd(tables[2], name="south", store=tmp_path, how=GARBAGE.get(how, slow))
    limits = Limits(connect=30, reply=4 if how == "late" else 30, poll=0.05)
    notes = []
    with serving(link.port, *good, bad), link.grid() as grid:
        transport = FlowerTransport(grid, sites=3, min_sites=2, limits=limits, note=notes.append)
        result = through_drops(fp.IPERI().fit, transport)
        assert result.sites == ("east", "north")
        assert "south" in result.dropped["south"]
        assert result.regrets == fp.IPERI().fit(dict(zip(NAMES[:2], tables[:2], strict=True))).regrets
        if how != "nan":
            return
        strict = FlowerTransport(grid, sites=3, limits=limits)
        with pytest.raises(InputError, match=r"site 'south'.*; 2 of 3 sites are left, and 3 are needed"):
            fp.IPERI().fit(strict)


def test_two_sites_of_one_name_are_refused(link, tables, tmp_path):
    alike = works(tables[:2], tmp_path, ("north", "north"))
    words = "two sites are called 'north': give each a name of its own"
    with serving(link.port, *alike), link.grid() as grid, pytest.raises(InputError, match=words):
        fp.IPERI().fit(FlowerTransport(grid, sites=2, limits=Limits(30, 30, 0.05)))


def test_a_site_that_never_comes_ends_the_wait(link, tables, tmp_path):
    with serving(link.port, *works(tables[:2], tmp_path, NAMES[:2])), link.grid() as grid:
        limits = Limits(connect=3, reply=30, poll=0.05)
        with pytest.raises(InputError, match=r"2 of 3 sites connected within 3 s, and 3 are needed; start the others"):
            fp.IPERI().fit(FlowerTransport(grid, sites=3, limits=limits))
        result = fp.IPERI().fit(FlowerTransport(grid, sites=3, min_sites=2, limits=limits))
        assert result.sites == NAMES[:2]


def test_a_site_that_joins_late(link, tables, tmp_path):
    """Once a run has begun it waits for the next one, and changes nothing of this one."""
    *first, late = works(tables, tmp_path)
    with ExitStack() as later:
        absent = [late]

        def arrives(kind, record):
            if absent:
                later.enter_context(serving(link.port, absent.pop()))
                time.sleep(1)
            return SiteWork.reply(herald, kind, record)

        herald = Odd(tables[0], name=NAMES[0], store=tmp_path, how=arrives)
        with serving(link.port, herald, first[1]), link.grid() as grid:
            limits = Limits(connect=3, reply=30, poll=0.05)
            result = fp.IPERI().fit(FlowerTransport(grid, sites=3, min_sites=2, limits=limits))
            assert result.sites == NAMES[:2]
            assert result.regrets == fp.IPERI().fit(dict(zip(NAMES[:2], tables[:2], strict=True))).regrets
            herald.on = "nothing"
            limits = Limits(connect=30, reply=30, poll=0.05)
            assert fp.IPERI().fit(FlowerTransport(grid, sites=3, limits=limits)).sites == NAMES


def test_release_files_through_the_federation(link, tmp_path):
    sim = fp.simulate(4, clients=2, samples=3000, seed=5)
    privacy = fp.Privacy(3.0, bounds=dict.fromkeys(sim.sites[0].columns, (-8, 8)), store=tmp_path / "ledgers")
    files = {}
    for name, table in zip("ab", sim.sites, strict=True):
        files[name] = tmp_path / f"{name}.fedperi"
        save_release(release_table(table, privacy, name=name)[0], files[name])
    direct = fp.IPERI().fit(files)
    sites = [SiteWork(file, name=name, store=tmp_path / "sites") for name, file in files.items()]
    with serving(link.port, *sites), link.grid() as grid:
        result = fp.IPERI().fit(FlowerTransport(grid, sites=2, limits=Limits(30, 30, 0.05)))
    assert result.graph == direct.graph and result.regrets == direct.regrets
    assert result.privacy == direct.privacy


def test_noise_is_the_same_over_the_network(link, tmp_path):
    sim = fp.simulate(4, clients=2, samples=3000, seed=5)
    limits = dict.fromkeys(sim.sites[0].columns, (-8, 8))
    privacy = fp.Privacy(3.0, bounds=limits, store=tmp_path)
    direct = fp.IPERI(privacy=privacy).fit(dict(zip("ab", sim.sites, strict=True)))
    sites = [SiteWork(t, name=n, privacy=privacy, store=tmp_path) for n, t in zip("ab", sim.sites, strict=True)]
    with serving(link.port, *sites), link.grid() as grid:
        result = fp.IPERI().fit(FlowerTransport(grid, sites=2, limits=Limits(30, 30, 0.05)))
    assert result.regrets == direct.regrets
    assert result.privacy == direct.privacy


def test_every_byte_that_leaves_a_site(link, tmp_path):
    """A proxy between a site and the SuperLink sees no value of the table and no moment of it, in any spelling."""
    canary = 31337.0625
    table = fp.simulate(4, clients=2, samples=200, seed=3).sites[0].round(9)
    table.iloc[17] = [canary, -canary, canary / 2, canary / 4]
    site = SiteWork(table, name="a", store=tmp_path)
    with recording(link.port) as (port, seen), serving(port, site), link.grid() as grid:
        fp.IPERI().fit(FlowerTransport(grid, sites=1, limits=Limits(30, 30, 0.05)))
    sent = bytes(seen)
    assert len(sent) > 1000
    secret = {float(v) for v in table.to_numpy().ravel()} | {float(v) for v in table.cov(ddof=0).to_numpy().ravel()}
    secret |= {float(v) for v in [*table.mean(), *table.std(ddof=0), *np.triu(table.corr().to_numpy(), 1).ravel()]}
    secret -= {0.0}
    for value in secret:
        for pattern in (struct.pack("<d", value), struct.pack(">d", value), repr(value).encode()):
            assert pattern not in sent, value


@contextmanager
def recording(target):
    """A proxy on a free port that keeps all bytes which go towards the target."""
    seen = bytearray()
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.2)
    stop = threading.Event()

    def pipe(source, sink, keep):
        try:
            while data := source.recv(65536):
                if keep:
                    seen.extend(data)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def accept():
        while not stop.is_set():
            try:
                client, _ = server.accept()
            except TimeoutError:
                continue
            upstream = socket.create_connection(("127.0.0.1", target))
            threading.Thread(target=pipe, args=(client, upstream, True), daemon=True).start()
            threading.Thread(target=pipe, args=(upstream, client, False), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1], seen
    finally:
        stop.set()
        thread.join(10)
        server.close()


def test_records_refuse_what_is_not_plain(link):
    from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

    from fedperi.federation.flower.records import from_records, to_records

    record = {"protocol": 1, "x": np.arange(3), "y": 0.5, "z": "text", "b": True}
    again = from_records(to_records(record), "site 'a'")
    assert {k: v for k, v in again.items() if k != "x"} == {k: v for k, v in record.items() if k != "x"}
    assert np.array_equal(again["x"], record["x"])
    pickled = Array("object", (1,), "numpy.ndarray", b"\x80\x04K\x01.")
    for content in (
        RecordDict({"values": ConfigRecord({"x": b"bytes"})}),
        RecordDict({"values": ConfigRecord({"x": [1, 2]})}),
        RecordDict({"values": MetricRecord({"x": 1})}),
        RecordDict({"arrays": ArrayRecord({"x": pickled})}),
        RecordDict({"values": ConfigRecord({}), "arrays": ArrayRecord({"x": pickled})}),
        RecordDict({}),
        None,
    ):
        with pytest.raises(Refused, match="the message of site 'a'"):
            from_records(content, "site 'a'")


# -- the command lines ----------------------------------------------------------------------------------------------


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-c", "from fedperi.cli import main; main()", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["site", "--data", "a.csv"], "give the coordinator's address: --coordinator host:9092"),
        (["site", "--data", "a.csv", "--coordinator", "x"], "the coordinator is 'x', and must be host:port"),
        (["site", "--data", "a.csv", "--coordinator", "localhost:1"], "give this site's key: --key site.key"),
        (
            ["site", "--data", "a.csv", "--coordinator", "example.org:1", "--insecure"],
            "--insecure sends everything in the clear, to whoever is there, and 'example.org' is not this machine",
        ),
        (
            ["site", "--data", "a.csv", "--coordinator", "localhost:1", "--insecure", "--key", "k"],
            "--insecure uses neither certificate nor key",
        ),
        (["site", "--data", "a.csv", "--coordinator", "localhost:1", "--key", "k"], "--key 'k': there is no such file"),
        (
            ["site", "--data", "a.csv", "--coordinator", "127.0.0.1:1", "--insecure", "--wait", "1"],
            "127.0.0.1:1 cannot be reached (Connection refused); gave up after 1 s",
        ),
        (
            ["site", "--data", "a.csv", "--coordinator", "127.0.0.1:1", "--insecure", "--bounds", "b.toml"],
            "--bounds is about privacy, which needs a price: add --epsilon 1",
        ),
        (["coordinate", "--out", "r"], "give the coordinator's keys: --keys keys/coordinator"),
        (["coordinate", "--out", "r", "--insecure"], "--sites 0: give the number of sites"),
        (
            ["coordinate", "--out", "r", "--insecure", "--sites", "2", "--address", "0.0.0.0:1"],
            "--insecure sends everything in the clear, to whoever is there, and '0.0.0.0' is not this machine",
        ),
        (["coordinate", "--out", "r", "--keys", "nowhere"], "--ca 'nowhere/ca.pem': there is no such file"),
        (
            ["coordinate", "--out", "r", "--insecure", "--sites", "2", "--address", "127.0.0.1:PORT"],
            "cannot listen at 127.0.0.1:PORT (Address already in use): choose another --address",
        ),
        (
            [
                "coordinate",
                "--out",
                "r",
                "--insecure",
                "--sites",
                "2",
                "--min-sites",
                "3",
                "--address",
                "127.0.0.1:FREE",
            ],
            "--min-sites 3: of 2 sites between 1 and 2 can be required",
        ),
        (
            ["coordinate", "--out", "r", "--insecure", "--sites", "2", "--timeout", "1", "--address", "127.0.0.1:FREE"],
            "0 of 2 sites connected within 1 s, and 2 are needed",
        ),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(tmp_path, arguments, words):
    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(f"{i}.5,{i * i}.25" for i in range(20)) + "\n")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        filled = [a.replace("PORT", port).replace("FREE", str(free_port())) for a in arguments]
        done = run(tmp_path, *filled)
    assert done.returncode == 2, done.stderr
    assert f"error: {words.replace('PORT', port)}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_coordinator_that_speaks_no_tls_is_told_apart(link):
    with pytest.raises(InputError, match="does not speak TLS"):
        check_reachable(Address(f"127.0.0.1:{link.port}"))


def test_a_dry_run_connects_nowhere(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(f"{i}.5,{i * i}.25" for i in range(20)) + "\n")
    done = run(tmp_path, "site", "--data", "a.csv", "--store", "store", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "Site 'a' would tell the coordinator:" in done.stdout
    assert "Nothing was drawn, paid or sent: this was a dry run." in done.stdout


def test_outsiders_reach_the_interface_for_sites_alone(link):
    """The SuperLink's other interfaces have no authentication, so other machines must not reach them."""
    import asyncio

    from fedperi.federation.flower.guard import guarded

    reached, told = [], []

    async def inside(scope, receive, send):
        reached.append(scope["path"])

    async def send(message):
        told.append(message.get("status"))

    for path in (
        "/v1/control/start-run",
        "/v1/runtime/acquire-task",
        "/",
        "/v1/fleet",
        "/V1/FLEET/x",
        "/v1/fleet/../control",
    ):
        scope = {
            "type": "http",
            "path": path,
            "client": ("192.0.2.7", 999),
            "headers": [(b"x-forwarded-for", b"127.0.0.1")],
        }
        asyncio.run(guarded(inside)(scope, None, send))
    assert reached == ["/v1/fleet/../control"]  # routed by its letters: there is no such thing there
    assert told.count(403) == 5


def test_plain_flower_runs_our_app(tmp_path):
    """`flwr run` on a SuperLink and a SuperNode of Flower's own, which start a process for every message."""
    from fedperi.federation.flower.bundle import write_bundle

    table = fp.simulate(3, clients=2, samples=300, seed=4).sites[0]
    table.to_csv(tmp_path / "a.csv", index=False)
    write_bundle(tmp_path / "app")
    port, other = free_port(), free_port()
    home = tmp_path / "user"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    tools = Path(sys.executable).parent
    common = {**os.environ, **QUIET, "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.05"}
    common["PATH"] = f"{tools}{os.pathsep}{common['PATH']}"

    def start(label, *command):
        return subprocess.Popen(
            [tools / command[0], *command[1:]],
            env={**common, "FLWR_HOME": str(tmp_path / label)},
            stdout=(tmp_path / f"{label}.log").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    config = f'data="{tmp_path / "a.csv"}" store="{tmp_path / "store"}"'
    address = ["--insecure", "--superlink", f"127.0.0.1:{port}", "--port", str(other)]
    processes = [start("link", "flower-superlink", "--insecure", "--port", str(port))]
    try:
        processes.append(start("node", "flower-supernode", *address, "--node-config", config))
        wait_until(lambda: not is_free(port))
        asked = f'sites=1 timeout=100.0 out="{tmp_path / "results"}"'
        processes.append(start("user", "flwr", "run", str(tmp_path / "app"), "--run-config", asked))
        wait_until(lambda: (tmp_path / "results/report.html").exists())
    finally:
        for process in reversed(processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=30)
    result = fp.Result.from_json((tmp_path / "results/result.json").read_text())
    assert result.regrets == fp.IPERI().fit([tmp_path / "a.csv"]).regrets


def test_plain_flower_reads_its_configuration(tmp_path):
    from fedperi.federation.flower.apps import site_of

    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(f"{i}.5,{i * i}.25" for i in range(20)) + "\n")
    site = site_of({"data": str(tmp_path / "a.csv"), "name": "north", "store": str(tmp_path / "s"), "targets": "x"})
    assert site.name == "north"
    assert json.loads(wire.write_card(site.card)["promise"]) is None
    with pytest.raises(InputError, match="names no table"):
        site_of({})
    with pytest.raises(InputError, match="bounds is about privacy"):
        site_of({"data": "a.csv", "bounds": "b.toml"})
