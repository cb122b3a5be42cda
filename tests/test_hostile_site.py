"""What a hostile site, or a stranger on the network, can do to the coordinator and to the graph."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MEGA = 1 << 20


# -- item 9: bodies without end -------------------------------------------------------------------------------------


def answered(headers: list[tuple[bytes, bytes]], chunks: Iterator[bytes], here: bool = False) -> tuple[list[int], int]:
    """Send a request through the guard to an application that reads all of it: the statuses, and the bytes it got."""
    from fedperi.federation.flower.guard import guarded

    got, told = [0], []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RuntimeError("the client has gone")  # as Starlette does
            got[0] += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        body = next(chunks, None)
        return {"type": "http.request", "body": body or b"", "more_body": body is not None}

    async def send(message: Any) -> None:
        if "status" in message:
            told.append(message["status"])

    scope = {"type": "http", "path": "/v1/fleet/push-object", "client": ("192.0.2.7", 1), "headers": headers}
    scope |= {"client": ("127.0.0.1", 1)} if here else {}
    asyncio.run(guarded(inside)(scope, receive, send))
    return told, got[0]


@pytest.mark.parametrize("here", [False, True])
def test_a_body_without_end_is_cut_off(here: bool) -> None:
    """300 MB in chunks, of which the application may see no more than one legitimate message."""
    from fedperi.federation.flower.guard import MAX_BODY

    told, got = answered([], (bytes(MEGA) for _ in range(300)), here)
    assert told == [413]
    assert got <= MAX_BODY < 20 * MEGA


def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    told, got = answered([(b"content-length", b"314572800")], (bytes(MEGA) for _ in range(300)))
    assert (told, got) == ([413], 0)


def test_a_length_that_lies_is_counted_all_the_same() -> None:
    told, _ = answered([(b"content-length", b"10")], (bytes(MEGA) for _ in range(300)))
    assert told == [413]


def test_a_legitimate_body_passes() -> None:
    from fedperi.federation.flower.guard import MAX_BODY

    assert answered([], (bytes(MAX_BODY // 16) for _ in range(16))) == ([200], MAX_BODY // 16 * 16)


def test_the_largest_legitimate_messages_pass() -> None:
    """Arrays travel in chunks of Flower's; what is left of a message is text, at most four of the longest."""
    pytest.importorskip("flwr")
    import numpy as np
    from flwr.common.constant import FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE
    from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects

    from fedperi.federation.fields import MAX_TEXT
    from fedperi.federation.flower.guard import MAX_BODY
    from fedperi.federation.flower.records import to_records

    assert FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE + 4096 < MAX_BODY
    texts = dict.fromkeys(("names", "targets", "privacy", "told"), "x" * MAX_TEXT)
    arrays = {f"answer_{k}": np.zeros((1, 1)) for k in range(2000)}
    large = to_records({"protocol": 2, "answer": np.zeros(1 << 21), **texts, **arrays})
    assert max(len(part.deflate()) for part in get_all_nested_objects(large).values()) + 4096 < MAX_BODY


def test_many_bodies_at_once_are_bounded_together() -> None:
    """Strangers who each send as much as one may hold, and never end: the sum has a limit as well."""
    from fedperi.federation.flower.guard import MAX_BODY, MAX_HELD, guarded

    held, told = [0], []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RuntimeError("the client has gone")
            held[0] += len(message["body"])
            peak[0] = max(peak[0], held[0])

    async def ask(app: Any) -> None:
        chunks = iter([bytes(MEGA)] * (MAX_BODY // MEGA))

        async def receive() -> dict[str, Any]:
            body = next(chunks, None)
            if body is None:
                await asyncio.sleep(0.2)
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body, "more_body": True}

        async def send(message: Any) -> None:
            told.append(message.get("status"))

        with contextlib.suppress(RuntimeError):
            scope = {"type": "http", "path": "/v1/fleet/x", "client": ("192.0.2.7", 1), "headers": []}
            await app(scope, receive, send)

    async def all_at_once() -> None:
        app = guarded(inside)
        await asyncio.gather(*(ask(app) for _ in range(40)))
        held[0] = 0
        await ask(app)  # and what was held is free again
        assert held[0] == MAX_BODY // MEGA * MEGA

    peak = [0]
    asyncio.run(all_at_once())
    assert peak[0] <= MAX_HELD
    assert told.count(503) >= 40 - MAX_HELD // MAX_BODY - 1


def _children() -> set[int]:
    return {
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text(encoding="ascii").split()
    }


def _peak(pid: int) -> int:
    """The most memory that a process has had so far, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
def test_a_stranger_cannot_fill_the_memory_of_the_superlink() -> None:
    """160 MB without authentication: before, the SuperLink grew by twice that; now by less than two messages."""
    pytest.importorskip("flwr")
    from fedperi.federation.flower.guard import MAX_BODY
    from fedperi.federation.flower.link import superlink

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    before = _children()
    size = int(os.environ.get("FEDPERI_TEST_BODY", "160")) * MEGA
    with superlink("127.0.0.1", port, None, {}):
        (pid,) = _children() - before
        usual = _peak(pid)
        status: list[bytes] = []
        for head in (f"Content-Length: {size}", "Transfer-Encoding: chunked"):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
                asked = ("POST /v1/fleet/pull-messages HTTP/1.1", "Host: x", "Content-Type: application/protobuf", head)
                line.sendall("\r\n".join((*asked, "", "")).encode())
                with contextlib.suppress(OSError):  # it hangs up before we are through
                    for _ in range(size // MEGA):
                        if "chunked" in head:
                            line.sendall(b"100000\r\n" + bytes(MEGA) + b"\r\n")
                        else:
                            line.sendall(bytes(MEGA))
                    if "chunked" in head:
                        line.sendall(b"0\r\n\r\n")
                with contextlib.suppress(OSError):
                    status.append(line.recv(12)[9:12])
        grown = _peak(pid) - usual
    assert status == [b"413"] * len(status)
    assert grown < 3 * MAX_BODY
