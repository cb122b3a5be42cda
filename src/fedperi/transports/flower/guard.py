"""A SuperLink that shows other machines only the interface for sites, and limits what they may send.

Flower's SuperLink has one port for everything: the interface for sites, but also the control interface, which starts
runs and registers nodes, and the runtime interface, both without authentication. Run this module in place of
``flower-superlink``, with the same options: it serves all of them to this machine, and to others only that for sites.

It also limits the bodies of requests. Flower reads a request into memory before it checks who sent it, so that a
stranger could fill the memory of the coordinator's machine.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...protocol.fields import MAX_TEXT
from .door import Client, Door, serve
from .inner.superlink import KEY_HEADER, run_superlink
from .live.output import refused_line
from .records import PIECE

FOR_SITES = "/v1/fleet/"

MAX_BODY = 4 * MAX_TEXT + PIECE + (1 << 20)
"""Bytes of one request: 19 MiB. Flower sends a message in parts, one request each. The largest part holds the four
texts of a reply (`names`, `targets`, `privacy`, `told`), each of at most `MAX_TEXT` ASCII characters, and a piece of
its arrays. The last MiB is for the names of values and for Flower's own fields."""

MAX_HELD = 7 * MAX_BODY
"""Bytes of all requests that are being received or answered. A request beyond this is answered with 503."""

MAX_HELD_BY_STRANGERS = 2 * MAX_BODY
"""The same for connections that have not shown a valid key: public keys are not secret, so anyone may claim one."""

MAX_STRANGE = 1 << 16
"""Bytes of one request whose key has not connected before: to connect takes a few hundred bytes, and only sites send
more. So strangers use little memory, however many they are."""

LAST_WORD = 0.2
"""Seconds between the refusal of a stranger and the end of its connection, so that it can read the refusal."""

CONNECT = FOR_SITES + "activate-node"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def guarded(app: App, door: Door) -> App:
    """Wrap an ASGI application: other machines reach `FOR_SITES` only, and no body is larger than `MAX_BODY`.

    The door is told which connections are those of sites.

    Examples
    --------
    >>> import asyncio
    >>> async def hidden(scope, receive, send):
    ...     print("reached", scope["path"])
    >>> async def answer(message):
    ...     print(message.get("status", ""))
    >>> def call(path, host):
    ...     scope = {"type": "http", "path": path, "client": (host, 1), "server": ("10.0.0.1", 2)}
    ...     asyncio.run(guarded(hidden, Door())(scope, None, answer))
    >>> call("/v1/fleet/pull-messages", "10.0.0.7")
    reached /v1/fleet/pull-messages
    >>> call("/v1/control/start-run", "127.0.0.1")
    reached /v1/control/start-run
    >>> call("/v1/control/start-run", "10.0.0.7")
    403
    <BLANKLINE>
    >>> call("/v1/control/start-run", "10.0.0.1")  # the coordinator's own address
    reached /v1/control/start-run
    """
    shared = _Shared(door)

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http" and (_is_local(scope) or _is_for_sites(scope)):
            await _Request(scope, receive, send, shared).serve(app)
        elif kind == "http":
            await _refuse(send, 403)
        elif kind == "lifespan" or _is_local(scope):
            await app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    return guard


@dataclass
class _Shared:
    """What all requests share: the door, the bytes that they hold together, and the keys that have connected."""

    door: Door
    held: int = 0
    known: set[bytes] = field(default_factory=set)


class _Request:
    """One request on its way to the application: its body is counted as it arrives, whatever its headers declare."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, shared: _Shared) -> None:
        self._scope, self._receive, self._send, self._shared = scope, receive, send, shared
        self._client: Client = tuple(scope.get("client") or ("", 0))
        self._size = 0
        self._refused = False
        self._most = MAX_STRANGE if _is_for_sites(scope) and _key(scope) not in shared.known else MAX_BODY

    async def serve(self, app: App) -> None:
        if _declared(self._scope) > self._most:
            await self._refuse(413)
            return
        try:
            await app(self._scope, self._counted, self._answer)
        except Exception:
            if not self._refused:  # after a refusal, the application may complain that its client has gone
                raise
        finally:
            self._shared.held -= self._size

    async def _counted(self) -> Any:
        if self._refused:
            return {"type": "http.disconnect"}
        message = await self._receive()
        size = len(message.get("body") or b"")
        too_large = self._size + size > self._most
        most = MAX_HELD if self._shared.door.is_site(self._client) else MAX_HELD_BY_STRANGERS
        if too_large or self._shared.held + size > most:
            await self._refuse(413 if too_large else 503)
            return {"type": "http.disconnect"}
        self._size += size
        self._shared.held += size
        return message

    async def _refuse(self, status: int) -> None:
        self._refused = True
        await _refuse(self._send, status)
        self._hang_up()

    def _hang_up(self) -> None:
        """End a stranger's connection soon: if it continued to send, it would fill buffers that we cannot count."""
        asyncio.get_running_loop().call_later(LAST_WORD, self._shared.door.end, self._client)

    async def _answer(self, message: Any) -> None:
        status = message.get("status")
        connecting = self._scope["path"] == CONNECT
        if (status == 401 and _is_for_sites(self._scope)) or (status == 412 and connecting):
            # With 412 the signature was valid, but its key is not registered.
            address = (self._scope.get("client") or ("an unknown address",))[0]
            sys.stdout.write(f"{refused_line(_key(self._scope), address, connecting=status == 412)}\n")
            sys.stdout.flush()
        elif connecting and status == 200:
            self._shared.known.add(_key(self._scope))
        if not self._refused:
            if status == 200:
                self._shared.door.welcome(self._client)
            elif status is not None:
                self._hang_up()
            await self._send(message)


def _is_for_sites(scope: Scope) -> bool:
    return str(scope["path"]).startswith(FOR_SITES)


def _declared(scope: Scope) -> int:
    """Return the length of the body as the headers declare it; 0 if they do not, or it is invalid."""
    lengths = [value for name, value in scope.get("headers", ()) if name.lower() == b"content-length"]
    return max((int(value) for value in lengths if value.isdigit() and len(value) < 20), default=0)


def _key(scope: Scope) -> bytes:
    """Return the public key that a request claims; Flower checks its signature later, when it has read the request."""
    return next((value for name, value in scope.get("headers", ()) if name.lower() == KEY_HEADER.encode()), b"")


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": b""})


def _is_local(scope: Scope) -> bool:
    """Whether the request comes from this machine: from loopback, or from the address that it was sent to."""
    client, server = scope.get("client"), scope.get("server")
    try:
        if client is None:
            return False
        caller = ipaddress.ip_address(client[0])
        return caller.is_loopback or (server is not None and caller == ipaddress.ip_address(server[0]))
    except ValueError:
        return False


def _end_with_parent() -> None:
    """End this process soon after the one that started it, even if that was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _open_more_files() -> None:
    """Allow as many open connections as the system permits: silent strangers would use them up."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Run the SuperLink behind the guard."""
    _end_with_parent()
    _open_more_files()

    def run(app: App, options: dict[str, Any]) -> None:
        import uvicorn

        door = Door()
        serve(uvicorn.Config(guarded(app, door), **options), door)

    run_superlink(run)


if __name__ == "__main__":
    main()
