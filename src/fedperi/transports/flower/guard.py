"""A SuperLink that shows sites only what is for sites.

Flower's SuperLink has one port for everything: sites, but also its control interface, which starts runs and registers
nodes, and its runtime interface, both without authentication. Run as a module in place of ``flower-superlink``, with
the same options, this serves all of it to this machine, and to everybody else the interface for sites alone.

It also keeps bodies small. Flower reads a request into memory before it asks who sent it, so that a stranger could fill
the memory of the coordinator's machine.
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
from typing import Any

from ...protocol.fields import MAX_TEXT
from .door import Client, Door, serve
from .inner.superlink import KEY_HEADER, run_superlink
from .live.output import refused_line
from .records import PIECE

FOR_SITES = "/v1/fleet/"

MAX_BODY = 4 * MAX_TEXT + PIECE + (1 << 20)
"""Bytes of one request: 19 MiB. Flower sends a message in parts, one request each. The largest part holds the texts of
a reply, of which there are four (`names`, `targets`, `privacy`, `told`), each of at most `MAX_TEXT` ASCII characters,
and a piece of its arrays; the last MiB is for names of values and for what Flower adds."""

MAX_HELD = 7 * MAX_BODY
"""Bytes of all requests that are being received or answered. When there is no room, a request is answered with 503."""

MAX_HELD_BY_STRANGERS = 2 * MAX_BODY
"""The same where the connection has shown no key yet: public keys are no secret, and anybody may claim one."""

MAX_STRANGE = 1 << 16
"""Bytes of one request without a key that has connected before. To connect takes a few hundred bytes; what is larger
comes from sites. So strangers share little memory, however many they are."""

LAST_WORD = 0.2
"""Seconds that a stranger gets to read why it is refused."""

CONNECT = FOR_SITES + "activate-node"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def guarded(app: App, door: Door) -> App:
    """Wrap an ASGI application: other machines reach `FOR_SITES` only, and no body is larger than `MAX_BODY`.

    The door hears which connections are those of sites.

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
    held = [0]  # bytes of all requests that are under way
    known: set[bytes] = set()  # keys that have connected

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await app(scope, receive, send)
        elif kind == "http" and (_here(scope) or str(scope["path"]).startswith(FOR_SITES)):
            await _Request(receive, send, held, known, door).serve(app, scope)
        elif kind == "http":
            await _refuse(send, 403)
        elif _here(scope):
            await app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    return guard


class _Request:
    """One request on its way to the application: its body is counted as it comes, whatever its headers say."""

    def __init__(self, receive: Receive, send: Send, held: list[int], known: set[bytes], door: Door) -> None:
        self._receive, self._send, self._held, self._known, self._door = receive, send, held, known, door
        self._size = 0
        self._refused = False
        self._scope: Scope = {}
        self._most = MAX_BODY

    async def serve(self, app: App, scope: Scope) -> None:
        self._scope = scope
        if str(scope["path"]).startswith(FOR_SITES) and _key(scope) not in self._known:
            self._most = MAX_STRANGE
        if _declared(scope) > self._most:
            await self._refuse(413)
            return
        try:
            await app(scope, self._counted, self._answer)
        except Exception:
            if not self._refused:  # an application that loses its client may say so; here that was us
                raise
        finally:
            self._held[0] -= self._size

    async def _counted(self) -> Any:
        if self._refused:
            return {"type": "http.disconnect"}
        message = await self._receive()
        size = len(message.get("body") or b"")
        too_large = self._size + size > self._most
        most = MAX_HELD if self._door.is_site(self._client) else MAX_HELD_BY_STRANGERS
        if too_large or self._held[0] + size > most:
            await self._refuse(413 if too_large else 503)
            return {"type": "http.disconnect"}
        self._size += size
        self._held[0] += size
        return message

    async def _refuse(self, status: int) -> None:
        self._refused = True
        await _refuse(self._send, status)
        self._hang_up()

    def _hang_up(self) -> None:
        """End a stranger's connection soon: who goes on sending would fill buffers that are not ours to count."""
        asyncio.get_running_loop().call_later(LAST_WORD, self._door.end, self._client)

    async def _answer(self, message: Any) -> None:
        status = message.get("status")
        connecting = self._scope["path"] == CONNECT
        if status == 401 and str(self._scope["path"]).startswith(FOR_SITES):
            _tell_of_key(self._scope, connecting=False)
        elif connecting and status == 412:  # a good signature by a key that is not registered
            _tell_of_key(self._scope, connecting=True)
        elif connecting and status == 200:
            self._known.add(_key(self._scope))
        if not self._refused:
            if status == 200:
                self._door.welcome(self._client)
            elif status is not None:
                self._hang_up()
            await self._send(message)

    @property
    def _client(self) -> Client:
        return tuple(self._scope.get("client") or ("", 0))


def _declared(scope: Scope) -> int:
    """The length that a request says its body has; 0 if it says none, or nonsense, and then it is counted."""
    lengths = [value for name, value in scope.get("headers", ()) if name.lower() == b"content-length"]
    return max((int(value) for value in lengths if value.isdigit() and len(value) < 20), default=0)


def _key(scope: Scope) -> bytes:
    """The public key that a request claims; its signature is checked by Flower, when the request has been read."""
    return next((value for name, value in scope.get("headers", ()) if name.lower() == KEY_HEADER.encode()), b"")


def _tell_of_key(scope: Scope, connecting: bool) -> None:
    """Write a line about a key that was not accepted, for the coordinator's log."""
    client = scope.get("client") or ("an unknown address",)
    sys.stdout.write(f"{refused_line(_key(scope), client[0], connecting)}\n")
    sys.stdout.flush()


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": b""})


def _here(scope: Scope) -> bool:
    """Whether this machine calls itself: by loopback, or by the very address at which it was reached."""
    client, server = scope.get("client"), scope.get("server")
    try:
        if client is None:
            return False
        caller = ipaddress.ip_address(client[0])
        return caller.is_loopback or (server is not None and caller == ipaddress.ip_address(server[0]))
    except ValueError:
        return False


def _end_with_parent() -> None:
    """End when the process that started us is gone, however it went."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _open_more_files() -> None:
    """Allow as many connections as the system lets us have: strangers who connect and stay silent use them up."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Run the SuperLink with the guard in front."""
    _end_with_parent()
    _open_more_files()

    def run(app: App, options: dict[str, Any]) -> None:
        import uvicorn

        door = Door()
        serve(uvicorn.Config(guarded(app, door), **options), door)

    run_superlink(run)


if __name__ == "__main__":
    main()
