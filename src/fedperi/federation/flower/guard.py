"""A SuperLink that shows sites only what is for sites.

Flower's SuperLink has one port for everything: sites, but also its control interface, which starts runs and registers
nodes, and its runtime interface, both without authentication. Run as a module in place of ``flower-superlink``, with
the same options, this serves all of it to this machine, and to everybody else the interface for sites alone.
"""

from __future__ import annotations

import ipaddress
import os
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

FOR_SITES = "/v1/fleet/"

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


def guarded(app: App) -> App:
    """Wrap an ASGI application: other machines reach `FOR_SITES` only.

    Examples
    --------
    >>> import asyncio
    >>> async def hidden(scope, receive, send):
    ...     print("reached", scope["path"])
    >>> async def answer(message):
    ...     print(message.get("status", ""))
    >>> def call(path, host):
    ...     scope = {"type": "http", "path": path, "client": (host, 1), "server": ("10.0.0.1", 2)}
    ...     asyncio.run(guarded(hidden)(scope, None, answer))
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

    async def guard(
        scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        kind = scope["type"]
        if kind == "lifespan" or _here(scope) or (kind == "http" and str(scope["path"]).startswith(FOR_SITES)):
            await app(scope, receive, send)
        elif kind == "http":
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "websocket.close", "code": 1008})

    return guard


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


def main() -> None:
    """Run the SuperLink with the guard in front."""
    import uvicorn
    from flwr.superlink.cli.flower_superlink import flower_superlink

    _end_with_parent()
    serve = uvicorn.run

    def run(app: Any, **options: Any) -> None:
        # No proxy headers: whoever connects could otherwise claim to be this machine. No line in the log for every
        # look for messages: sites look several times a second.
        serve(guarded(app), **{**options, "proxy_headers": False, "access_log": False})

    uvicorn.run = run
    flower_superlink()


if __name__ == "__main__":
    main()
