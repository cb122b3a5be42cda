"""Background calls of a connection, without a network."""

from __future__ import annotations

import socket
import threading

import pytest

pytest.importorskip("httpx")

from fedperi.transports.flower.live import repeat
from fedperi.transports.flower.live.repeat import repeated


class Client:
    """A client with one connection, which waits in the middle of a request."""

    def __init__(self) -> None:
        self.mine, self.other = socket.socketpair()
        self.asking, self.go_on = threading.Event(), threading.Event()
        self.closed_by = ""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed_by = threading.current_thread().name
        self.mine.close()

    def ask(self) -> None:
        self.mine.sendall(b"one ")
        self.asking.set()
        self.go_on.wait(10)
        self.mine.sendall(b"request")


def test_a_call_in_the_background_is_never_cut_off_by_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the rest of its request was sent on the next connection, which broke TLS there."""
    monkeypatch.setattr(repeat, "LAST", 0.01)
    client = Client()
    with repeated(0.01, client.ask, client):
        assert client.asking.wait(10)
    assert client.mine.fileno() >= 0 and not client.closed_by  # it is busy, and nobody waits for it
    client.go_on.set()
    assert client.other.recv(100) + client.other.recv(100) in (b"one request", b"one requestone request")
    client.other.settimeout(10)
    while client.other.recv(100):  # until it is closed
        pass
    assert client.closed_by and client.closed_by != threading.current_thread().name
