"""The federation over a real network stack: SuperLink and sites as separate processes on this machine.

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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.command import COMMAND, fedperi
from helpers.sites import answering

import fedperi as fp
from fedperi.errors import InputError

pytest.importorskip("flwr")

from helpers.flower import (
    NAMES,
    Pilot,
    Running,
    free_port,
    is_free,
    local_link,
    serving,
    wait_until,
    wait_until_free,
)

from fedperi.pki.keys import make_keys
from fedperi.privacy import release_table, save_release
from fedperi.protocol import wire
from fedperi.protocol.fields import Refused
from fedperi.transports.flower import QUIET
from fedperi.transports.flower.address import Address, check_reachable
from fedperi.transports.flower.exchange import Limits
from fedperi.transports.flower.transport import FlowerTransport

pytestmark = pytest.mark.network


@pytest.fixture
def pilot(tmp_path: Path) -> Iterator[Any]:
    made = Pilot(tmp_path)
    yield made
    made.end()


# -- whole runs -------------------------------------------------------------------------------------------------------


def test_with_tls_and_keys_the_result_is_that_of_one_process(pilot: Any) -> None:
    """A wrong key and a stolen name are refused; all processes end on request."""
    coordinator = pilot.coordinate()
    coordinator.wait_for("listening at")
    make_keys(pilot.folder / "other", hosts=["localhost"], sites=["east"])
    key = pilot.folder / "other/sites/east/east.key"
    stranger = pilot.start(
        "stranger", "site", "east.csv", "--channel", "regrets", "--coordinator", f"localhost:{pilot.port}",
        "--ca", "keys/sites/east/ca.pem", "--key", key, "--store", "store-stranger",
    )  # fmt: skip
    distrusting = pilot.start(
        "distrusting", "site", "east.csv", "--channel", "regrets", "--coordinator", f"localhost:{pilot.port}",
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


def test_a_coordinator_that_is_told_to_end_leaves_nothing_running(tmp_path: Path) -> None:
    port = free_port()
    arguments = [
        "coordinate",
        "--channel",
        "regrets",
        "--insecure",
        "--sites",
        "2",
        "--address",
        f"127.0.0.1:{port}",
        "--out",
        "results",
    ]
    coordinator = Running(tmp_path, "coordinate", [*COMMAND, *arguments])
    try:
        coordinator.wait_for("0 of 2 sites connected")
        assert coordinator.end() == 130
    finally:
        coordinator.end(signal.SIGKILL)
    wait_until_free(port)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["log.txt", "superlink.log"]


# -- messages, on one SuperLink without TLS ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def link() -> Iterator[Any]:
    with local_link() as (control, port):
        control.port = port  # type: ignore[attr-defined]
        yield control


def test_release_files_through_the_federation(link: Any, tmp_path: Path) -> None:
    sim = fp.simulate(4, clients=2, samples=3000, seed=5)
    privacy = fp.Privacy(3.0, bounds=dict.fromkeys(sim.sites[0].columns, (-8, 8)), store=tmp_path / "ledgers")
    files = {}
    for name, table in zip("ab", sim.sites, strict=True):
        files[name] = tmp_path / f"{name}.fedperi"
        save_release(release_table(table, privacy, name=name)[0], files[name])
    direct = fp.IPERI().fit(files)
    sites = [answering(file, name=name, store=tmp_path / "sites") for name, file in files.items()]
    with serving(link.port, *sites), link.grid() as grid:
        result = fp.IPERI().fit(FlowerTransport(grid, sites=2, limits=Limits(30, 30, 0.05)))
    assert result.graph == direct.graph and result.regrets == direct.regrets
    assert result.privacy == direct.privacy


def test_noise_is_the_same_over_the_network(link: Any, tmp_path: Path) -> None:
    sim = fp.simulate(4, clients=2, samples=3000, seed=5)
    limits = dict.fromkeys(sim.sites[0].columns, (-8, 8))
    privacy = fp.Privacy(3.0, bounds=limits, store=tmp_path)
    direct = fp.IPERI(privacy=privacy).fit(dict(zip("ab", sim.sites, strict=True)))
    sites = [answering(t, name=n, privacy=privacy, store=tmp_path) for n, t in zip("ab", sim.sites, strict=True)]
    with serving(link.port, *sites), link.grid() as grid:
        result = fp.IPERI().fit(FlowerTransport(grid, sites=2, limits=Limits(30, 30, 0.05)))
    assert result.regrets == direct.regrets
    assert result.privacy == direct.privacy


def test_every_byte_that_leaves_a_site(link: Any, tmp_path: Path) -> None:
    """A proxy between a site and the SuperLink sees no value and no moment of the table, in any notation."""
    canary = 31337.0625
    table = fp.simulate(4, clients=2, samples=200, seed=3).sites[0].round(9)
    table.iloc[17] = [canary, -canary, canary / 2, canary / 4]
    site = answering(table, name="a", store=tmp_path)
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


def asked_for(link: Any, site: Any) -> tuple[Counter[str], int]:
    """Return the numbers of requests of a site in a run by name, and of the messages that it answered."""
    answered = []
    reply = site.reply

    def counted(kind: str, record: Any) -> Any:
        answered.append(kind)
        return reply(kind, record)

    site.reply = counted
    with recording(link.port) as (port, seen), serving(port, site), link.grid() as grid:
        fp.IPERI().fit(FlowerTransport(grid, sites=1, limits=Limits(30, 30, 0.05)))
    return Counter(name.decode() for name in re.findall(rb"POST /v1/fleet/([a-z-]+) ", bytes(seen))), len(answered)


def test_a_message_is_one_request_of_the_site_and_so_is_its_reply(link: Any, tmp_path: Path) -> None:
    table = fp.simulate(4, clients=2, samples=200, seed=3).sites[0]
    asked, messages = asked_for(link, answering(table, name="a", store=tmp_path))
    assert asked["push-messages"] == messages > 2
    # It looks for messages and sends heartbeats; it fetches, sends and confirms no parts.
    connection = {"register-node", "activate-node", "deactivate-node", "unregister-node", "send-node-heartbeat"}
    assert set(asked) <= connection | {"pull-messages", "push-messages"}


def test_one_that_knows_parts_only_gets_and_gives_parts(
    link: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator, then a site, like Flower's own and our 0.2.0: they send and read heads without content."""
    from fedperi.transports.flower.inner import fleet, grid, messages

    def without(sent: Any, *_: Any) -> Any:
        heads, trees, parts = messages.taken_apart(sent, lambda message: True)
        for head in heads:
            head.content.Clear()
        return heads, trees, parts

    for module, name in ((grid, "coordinator"), (fleet, "site")):
        table = fp.simulate(4, clients=2, samples=200, seed=3).sites[0]
        with monkeypatch.context() as old:
            old.setattr(module, "taken_apart", without)
            old.setattr(module, "is_whole", lambda head: head.has_error())
            asked, answered = asked_for(link, answering(table, name="a", store=tmp_path / name))
        assert asked["push-object"] >= 3 * answered and asked["pull-object"] >= 3 * answered, name


@contextmanager
def recording(target: Any) -> Iterator[Any]:
    """Start a proxy on a free port that records all bytes sent to the target."""
    seen = bytearray()
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.2)
    stop = threading.Event()

    def pipe(source: Any, sink: Any, keep: Any) -> None:
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

    def accept() -> None:
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


def test_records_refuse_what_is_not_plain(link: Any) -> None:
    from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

    from fedperi.transports.flower.records import from_records, to_records

    large, wide = np.arange(2e6).reshape(2, -1), np.arange(6).reshape(2, 3).T
    arrays = {"x": np.arange(3), "one": np.array(0.5), "none": np.empty((0, 3)), "large": large, "wide": wide}
    plain = {"protocol": 1, "y": 0.5, "z": "text", "b": True}
    again = from_records(to_records(plain | arrays), "site 'a'")
    assert {k: v for k, v in again.items() if k not in arrays} == plain
    for name, value in arrays.items():
        assert again[name].dtype == value.dtype and again[name].shape == value.shape
        assert np.array_equal(again[name], value)
    pickled = Array("object", (1,), "numpy.ndarray", b"\x80\x04K\x01.")

    def block(layout: Any, data: Any = bytes(8), **more: Any) -> RecordDict:
        return RecordDict({"values": ConfigRecord({"arrays": layout, "block": data, **more})})

    for content in (
        RecordDict({"values": ConfigRecord({"x": b"bytes"})}),
        RecordDict({"values": ConfigRecord({"x": [1, 2]})}),
        RecordDict({"values": MetricRecord({"x": 1})}),
        RecordDict({"arrays": ArrayRecord({"x": pickled})}),
        RecordDict({"values": ConfigRecord({}), "arrays": ArrayRecord({"x": pickled})}),
        RecordDict({"values": ConfigRecord({}), "more1": ConfigRecord({"block": b""})}),
        RecordDict({"values": ConfigRecord({}), "more0": ConfigRecord({})}),
        block('[["x", "|O", [1]]]'),
        block('[["x", "<f8", [2]]]'),
        block('[["x", "<f8", []]]', bytes(16)),
        block('[["x", "<f8", [-1]]]'),
        block('[["x", "<f8", [0, 99999999999999999999]]]', b""),
        block('[["x", "<f4", [1]], ["x", "<f4", [1]]]'),
        block('[["x", "<f8", []]]', x=1),
        block('[["x", "nonsense", [1]]]'),
        block("{", b""),
        block(7, b""),
        block("[]", "text"),
        RecordDict({}),
        None,
    ):
        with pytest.raises(Refused, match="the message of site 'a'"):
            from_records(content, "site 'a'")


# -- the command lines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["site", "a.csv", "--channel", "regrets"], "give the coordinator's address: --coordinator host:9092"),
        (
            ["site", "a.csv", "--channel", "regrets", "--coordinator", "x"],
            "the coordinator is 'x', and must be host:port",
        ),
        (
            ["site", "a.csv", "--channel", "regrets", "--coordinator", "localhost:1"],
            "give this site's key: --key site.key",
        ),
        (
            ["site", "a.csv", "--channel", "regrets", "--coordinator", "example.org:1", "--insecure"],
            "--insecure sends everything unencrypted, readable by anyone on the way, and 'example.org' is not "
            "this machine",
        ),
        (
            ["site", "a.csv", "--channel", "regrets", "--coordinator", "localhost:1", "--insecure", "--key", "k"],
            "--insecure uses neither certificate nor key",
        ),
        (
            ["site", "a.csv", "--channel", "regrets", "--coordinator", "localhost:1", "--key", "k"],
            "--key 'k': there is no such file",
        ),
        (
            ["site", "a.csv", "--channel", "regrets", "--coordinator", "127.0.0.1:1", "--insecure", "--wait", "1"],
            "127.0.0.1:1 cannot be reached (Connection refused); gave up after 1 s",
        ),
        (
            [
                "site",
                "a.csv",
                "--channel",
                "regrets",
                "--coordinator",
                "127.0.0.1:1",
                "--insecure",
                "--bounds",
                "b.toml",
            ],
            "--bounds concerns privacy, which needs a price: add --epsilon 1",
        ),
        (["coordinate", "--out", "r"], "give the coordinator's keys: --keys keys/coordinator"),
        (["coordinate", "--out", "r", "--insecure"], "--sites 0: give the number of sites"),
        (
            ["coordinate", "--out", "r", "--insecure", "--sites", "2", "--address", "0.0.0.0:1"],
            "--insecure sends everything unencrypted, readable by anyone on the way, and '0.0.0.0' is not this machine",
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
def test_what_goes_wrong_is_said_in_one_line(tmp_path: Path, arguments: Any, words: str) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(f"{i}.5,{i * i}.25" for i in range(20)) + "\n")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        filled = [a.replace("PORT", port).replace("FREE", str(free_port())) for a in arguments]
        done = fedperi(*filled, cwd=tmp_path, columns=200)
    passes = "gave up after" in words or "sites connected within" in words
    assert done.returncode == (75 if passes else 2), done.stderr
    assert f"error: {words.replace('PORT', port)}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_coordinator_without_tls_is_recognised(link: Any) -> None:
    with pytest.raises(InputError, match="does not use TLS"):
        check_reachable(Address(f"127.0.0.1:{link.port}"))


def test_a_dry_run_connects_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(f"{i}.5,{i * i}.25" for i in range(20)) + "\n")
    done = fedperi("site", "a.csv", "--channel", "regrets", "--store", "store", "--dry-run", cwd=tmp_path, columns=200)
    assert done.returncode == 0, done.stderr
    assert "Site 'a' would tell the coordinator:" in done.stdout
    assert "Nothing was drawn, paid or sent: this was a dry run." in done.stdout


def test_outsiders_reach_the_interface_for_sites_alone(link: Any) -> None:
    """The SuperLink's other interfaces have no authentication, so other machines must not reach them."""
    import asyncio

    from fedperi.transports.flower.door import Door
    from fedperi.transports.flower.guard import guarded

    reached, told = [], []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])

    async def send(message: Any) -> None:
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
        asyncio.run(guarded(inside, Door())(scope, None, send))
    assert reached == ["/v1/fleet/../control"]  # routed as written: no such path exists
    assert told.count(403) == 5


def test_plain_flower_runs_our_app(tmp_path: Path) -> None:
    """`flwr run` on Flower's own SuperLink and SuperNode, which start a process for every message."""
    from fedperi.transports.flower.bundle import write_bundle

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

    def start(label: Any, *command: Any) -> Any:
        return subprocess.Popen(
            [tools / command[0], *command[1:]],
            env={**common, "FLWR_HOME": str(tmp_path / label)},
            stdout=(tmp_path / f"{label}.log").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    config = f'data="{tmp_path / "a.csv"}" channel="regrets" store="{tmp_path / "store"}"'
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


def test_plain_flower_reads_its_configuration(tmp_path: Path) -> None:
    from fedperi.cli.flower_apps import site_of

    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(f"{i}.5,{i * i}.25" for i in range(20)) + "\n")
    site = site_of(
        {
            "data": str(tmp_path / "a.csv"),
            "channel": "regrets",
            "name": "north",
            "store": str(tmp_path / "s"),
            "targets": "x",
        }
    )
    assert site.name == "north"
    assert json.loads(wire.write_card(site.card)["promise"]) is None
    with pytest.raises(InputError, match="names no table"):
        site_of({})
    with pytest.raises(InputError, match="bounds concerns privacy"):
        site_of({"data": "a.csv", "bounds": "b.toml"})
