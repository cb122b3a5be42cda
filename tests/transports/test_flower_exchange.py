"""Messages over a fake grid: a site that is away for a moment, or shut out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("flwr")

from fedperi.protocol import wire
from fedperi.protocol.requests import Hello
from fedperi.transports.flower import exchange as module
from fedperi.transports.flower.exchange import Exchange, Limits, Peer

KEY = b"of north"

Made = tuple[Exchange, "Grid", list[str]]


@dataclass(frozen=True)
class Info:
    node_id: int
    public_key: bytes
    last_activated_at: str = "noon"


@dataclass(frozen=True)
class Told:
    reason: str
    code: int = 1


class Reply:
    """A reply in the form of Flower: a content, or an error in its place."""

    def __init__(self, to: str, error: str = "") -> None:
        self.metadata = type("Metadata", (), {"reply_to_message_id": to})()
        self.error, self.content = Told(error), None

    def has_error(self) -> bool:
        return bool(self.error.reason)


@dataclass
class Grid:
    """The first message reaches no node; tests set the listed nodes and the later replies."""

    nodes: list[Info]
    pushed: list[str] = field(default_factory=list)

    def get_nodes(self) -> Iterable[Any]:
        return self.nodes

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
        new = [f"m{len(self.pushed) + at}" for at, _ in enumerate(messages)]
        self.pushed += new
        return new

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        return [Reply(key, "Node Unavailable" if key == "m0" else "") for key in message_ids]


@pytest.fixture
def exchange(monkeypatch: pytest.MonkeyPatch) -> tuple[Exchange, Grid, list[str]]:
    monkeypatch.setattr("flwr.app.Message", lambda *args, **kwargs: args)
    monkeypatch.setattr(module, "from_records", lambda content, sender: {"protocol": 4})
    grid, said = Grid([Info(1, KEY)]), list[str]()
    made = Exchange(grid, {KEY: "north"}, Limits(5.0, 5.0, 0.05), said.append)
    made.peers = {"north": Peer(1, "site 'north'", "noon")}
    return made, grid, said


HELLO = {"north": wire.write(Hello("r1"))}


def test_a_site_that_is_back_without_a_new_connection_is_asked_again(
    exchange: tuple[Exchange, Grid, list[str]],
) -> None:
    """Its connection survived the cut; earlier versions waited until the time was up."""
    net, grid, said = exchange
    assert net.send("hello", HELLO) == {"north": {"protocol": 4}}
    assert grid.pushed == ["m0", "m1"]
    assert "was disconnected; waiting for it until" in said[0] and "is back" in said[1]


def test_a_site_with_a_new_key_is_the_same_site(exchange: Made) -> None:
    net, grid, _ = exchange
    net._keys = {b"another": "north"}
    grid.nodes = [Info(2, b"another", "one o'clock")]
    assert net.send("hello", HELLO) == {"north": {"protocol": 4}}
    assert net.peers["north"].node == 2


def test_a_site_that_is_shut_out_is_waited_for_no_longer(exchange: Made) -> None:
    net, grid, _ = exchange
    net._keys, grid.nodes = {b"x": "south"}, []
    assert net.send("hello", HELLO) == {"north": "was shut out: its key was withdrawn"}
    assert grid.pushed == ["m0"]
