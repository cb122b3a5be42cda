"""Temporary faults: nobody has to act, and the result is the same as without faults."""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from helpers.flower import Pilot, Running, free_port, local_link, wait_until

from fedperi.errors import InputError, TemporaryError
from fedperi.transports.flower.address import Address, Away, check_reachable
from fedperi.transports.flower.exchange import LinkLost
from fedperi.transports.flower.link import RESTARTS, surviving
from fedperi.transports.flower.node import LONGEST_PAUSE, _Patience


@contextmanager
def server(reply: bytes) -> Iterator[int]:
    """Listen, answer every connection with these bytes, and close it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                with listening.accept()[0] as end:
                    end.recv(1000)
                    end.sendall(reply)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.close()


def test_a_cut_handshake_is_an_absence_and_no_tls_is_an_error() -> None:
    with server(b"") as port, pytest.raises(Away, match="broke off while the connection was set up"):
        check_reachable(Address(f"localhost:{port}"))
    with server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port, pytest.raises(InputError, match="does not use TLS"):
        check_reachable(Address(f"localhost:{port}"))


@pytest.mark.network
def test_a_site_that_is_cut_off_in_the_middle_of_its_reply_does_not_silence_the_coordinator() -> None:
    """The head of a large reply arrives, and the rest never: others are still heard, and the site counts as away."""
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.proto.fleet_pb2 import DeactivateNodeRequest, PushMessagesRequest

    from fedperi.protocol import wire
    from fedperi.protocol.requests import Hello
    from fedperi.transports.flower.exchange import Exchange, Limits
    from fedperi.transports.flower.inner import fleet
    from fedperi.transports.flower.inner.messages import WHOLE, taken_apart

    said: list[str] = []

    def replied(client: Any, node: Any, size: int = 0) -> Message:
        asked: list[Any] = [None]
        while asked[-1] is None:
            asked.append(fleet.FleetNode(client, node).receive())
        values = ConfigRecord({"protocol": 3, "block": bytes(size)})
        return Message(RecordDict({"values": values}), reply_to=asked[-1])

    with ExitStack() as stack:
        control, port = stack.enter_context(local_link())
        grid = stack.enter_context(control.grid())
        nodes = []
        for _ in range(2):
            key = fleet.new_key()
            client = stack.enter_context(fleet.fleet_client(f"127.0.0.1:{port}", None, True, key))
            nodes.append((client, fleet.activate_node(client, key, 10.0, register=True)))
        (cut, cut_node), (whole, whole_node) = nodes
        net = Exchange(grid, None, Limits(reply=60), said.append)
        net.peers = {peer.label: peer for peer in net.online()}
        replies: dict[str, Any] = {}
        hello = dict.fromkeys(net.peers, wire.write(Hello("r1")))
        asking = threading.Thread(target=lambda: replies.update(net.send("hello", hello)))
        asking.start()
        head, tree, _ = taken_apart([replied(cut, cut_node, WHOLE)])
        cut.PushMessages(PushMessagesRequest(node=cut_node, messages_list=head, message_object_trees=tree))
        fleet.FleetNode(whole, whole_node).send(replied(whole, whole_node), 0.1)
        wait_until(lambda: net.traffic.received > 0)  # the other one is heard
        assert asking.is_alive()
        cut.DeactivateNode(DeactivateNodeRequest(node_id=cut_node.node_id))
        asking.join(20)
        assert not asking.is_alive()
    assert [reply for reply in replies.values() if isinstance(reply, str)] == ["was disconnected"]


def test_a_site_waits_longer_after_every_failure_and_gives_up_only_if_told_to() -> None:
    said: list[str] = []
    patience = _Patience(None, said.append)
    pauses = []
    for _ in range(12):
        patience.use(Away("nobody is there"), "")
        pauses.append(patience.pause)
    assert said == ["nobody is there; trying again."]
    assert pauses[0] <= 1 and LONGEST_PAUSE / 2 <= pauses[-1] <= LONGEST_PAUSE
    patience.restart()
    assert patience.pause <= 0.5
    hasty = _Patience(0.0, said.append)
    time.sleep(0.01)
    with pytest.raises(TemporaryError, match="gave up after 0 s"):
        hasty.use(Away("nobody is there"), "")


def test_a_lost_link_is_started_again_a_few_times() -> None:
    said: list[str] = []
    left = iter([True, True, False])

    def attempt() -> str:
        if next(left):
            raise LinkLost("it is gone")
        return "found"

    assert surviving(attempt, said.append) == "found"
    assert len(said) == 2

    def never() -> str:
        raise LinkLost("it is gone")

    with pytest.raises(LinkLost):
        surviving(never, said.append)
    assert len(said) == 2 + RESTARTS


def guard_of(coordinator: Running) -> int:
    """Return the process of the SuperLink that a coordinator started."""
    found = subprocess.run(["pgrep", "-P", str(coordinator.process.pid)], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])


@pytest.fixture
def pilot(tmp_path: Path) -> Iterator[Pilot]:
    made = Pilot(tmp_path)
    yield made
    made.end()


@pytest.mark.network
@pytest.mark.slow
def test_a_guard_that_dies_and_a_site_that_is_away_need_nobody(pilot: Pilot) -> None:
    """One site waits for its owner; the SuperLink is killed, and another site is killed and comes back late."""
    coordinator = pilot.coordinate("--sites", 3, label="outage", out="outage")
    slow = pilot.site("south", label="outage-south", store="outage-store", talking=True)
    victim = pilot.site("north", label="outage-north")
    pilot.site("east", label="outage-east")
    slow.approve_until("directions of edges")
    victim.end(signal.SIGKILL)
    os.kill(guard_of(coordinator), signal.SIGKILL)
    coordinator.wait_for("starting it again")
    coordinator.wait_for("listening at", times=2)
    pilot.site("north", label="outage-north-again")
    slow.answer("y")
    slow.answer("a")
    assert coordinator.done() == 0, coordinator.said
    assert pilot.result("outage").regrets == pilot.direct.regrets
    assert pilot.result("outage").graph == pilot.direct.graph
    manifest = pilot.result("outage").manifest
    assert manifest["run"]["id"] in coordinator.said and manifest["run"]["begun"] <= manifest["run"]["ended"]
    log = (pilot.folder / "outage" / "log.txt").read_text()
    assert "3 sites take part" in log and log.startswith("20")
    assert (pilot.folder / "outage" / "superlink.log").stat().st_size > 0
    wait_until(lambda: "closed (complete)" in pilot.log_of("east", coordinator))


@pytest.mark.network
def test_sites_hear_why_a_run_ended_and_the_exit_code_says_that_it_may_work_later(pilot: Pilot) -> None:
    coordinator = pilot.coordinate("--sites", 3, timeout=8, label="few", out="few")
    site = pilot.site("east", label="few-east")
    assert coordinator.done() == 75, coordinator.said
    assert "1 of 3 sites connected within 8 s (not: north, south)" in coordinator.said.replace("\n", " ")
    assert "waiting for north, south until" in coordinator.said.replace("\n", " ")
    assert "error: 1 of 3 sites connected within 8 s" in (pilot.folder / "few" / "log.txt").read_text()
    log = pilot.log_of("east", coordinator)
    assert "closed (1 of 3 sites connected within 8 s (not: north, south), and 3 are needed" in log, site.said
    site.wait_for("the run is over; waiting for the next one")
    assert site.alive


@pytest.mark.network
def test_clocks_may_differ_by_minutes_and_more_is_named(
    pilot: Pilot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from flwr.supercore import date
    from flwr.supernode import node_auth_http_interceptor as signing

    from fedperi.pki.certificates import read_site_key
    from fedperi.transports.flower.fleet import Unauthorized, connected
    from fedperi.transports.flower.link import Certificates, superlink
    from fedperi.transports.flower.live.site_keys import SiteKeys

    keys = pilot.folder / "keys"
    port = free_port()
    own = Certificates(*(keys / "coordinator" / name for name in ("ca.pem", "server.pem", "server.key")))
    address = Address(f"localhost:{port}", keys / "sites/east/ca.pem", keys / "sites/east/east.key")
    key = read_site_key(keys / "sites/east/east.key")
    said: list[str] = []

    def connects() -> bool:
        """Connect like a site: the SuperLink may not have forgotten the former connection yet."""
        try:
            with connected(address, key):
                return True
        except Unauthorized as error:
            assert "clock" not in str(error)
            return False

    with superlink("127.0.0.1", port, own, SiteKeys(keys / "coordinator/sites"), None, said.append):
        for ahead in (200, -200):
            monkeypatch.setattr(signing, "now", lambda ahead=ahead: date.now() + timedelta(seconds=ahead))
            wait_until(connects)
        monkeypatch.setattr(signing, "now", lambda: date.now() + timedelta(seconds=900))
        monkeypatch.setattr(time, "time", lambda real=time.time: real() + 900)
        with pytest.raises(Unauthorized, match=r"clock is 9.. s ahead of the coordinator's"), connected(address, key):
            pass
        wait_until(lambda: bool(said))
    assert "refused a key" in said[0] and "127.0.0.1" in said[0]
