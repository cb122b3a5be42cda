"""Limits for connections to the SuperLink: few and small ones for strangers, and larger ones for sites.

A stranger is a connection that has not shown a valid key. It costs memory before it sends a request: 50 kB for TLS,
and whatever it sends at once. So its buffer is small, and when there are too many strangers, the address with most of
them loses its oldest connection. A flood from one address therefore does not shut out sites elsewhere.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import uvicorn

MOST_STRANGERS = 256
"""Connections without a key at the same time. Fifty sites that start at the same moment open five each."""

SMALL = 1 << 15
"""Receive buffer of a stranger's connection, in bytes; the operating system doubles it."""

LARGE = 1 << 20
"""The same for a site. A message of 1 MB then takes about one round trip."""

HANDSHAKE = 20.0
"""Seconds that the TLS handshake may take."""

HELD = 1 << 16
"""Bytes of a connection that are buffered, still encrypted, while earlier ones are read."""

SOON = 0.1
"""Seconds of pause after a connection could not be accepted."""

Client = tuple[str, int]
"""Address and port at the other end, by which a connection is known."""


class Door:
    """Keeps a list of the connections, and ends some of the strangers' when there are too many.

    Parameters
    ----------
    most : int
        Largest number of strangers at the same time.

    Examples
    --------
    >>> door = Door(most=2)
    >>> ends = [socket.socketpair()[0] for _ in range(4)]
    >>> for port, end in enumerate(ends[:2]):
    ...     door.enter(("10.0.0.9", port), end)
    >>> door.enter(("10.0.0.1", 1), ends[2])  # the address with most connections loses its oldest
    >>> sorted(door.strangers)
    [('10.0.0.1', 1), ('10.0.0.9', 1)]
    >>> door.welcome(("10.0.0.1", 1))  # it has shown a key
    >>> sorted(door.strangers)
    [('10.0.0.9', 1)]
    """

    def __init__(self, most: int = MOST_STRANGERS) -> None:
        self.most = most
        self.strangers: dict[Client, socket.socket] = {}  # the oldest first
        self._sites: set[Client] = set()

    def enter(self, client: Client, connection: socket.socket) -> None:
        """Add a new connection; if there are too many, end the oldest one of the address that has most."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        self.strangers[client] = connection
        if len(self.strangers) > self.most:
            crowd = Counter(address for address, _ in self.strangers).most_common(1)[0][0]
            self.end(next(known for known in self.strangers if known[0] == crowd))

    def welcome(self, client: Client) -> None:
        """Regard a connection as a site's: it has shown a key."""
        connection = self.strangers.pop(client, None)
        if connection is not None:
            self._sites.add(client)
            with suppress(OSError):  # it has ended in the meantime
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE)

    def is_site(self, client: Client) -> bool:
        """Whether a connection has shown a key."""
        return client in self._sites

    def left(self, client: Client) -> None:
        """Forget a connection that has ended."""
        self.strangers.pop(client, None)
        self._sites.discard(client)

    def end(self, client: Client) -> None:
        """End a stranger's connection at once, even in the middle of a request."""
        with suppress(KeyError, OSError):  # it has ended already, or is a site's
            self.strangers.pop(client).shutdown(socket.SHUT_RDWR)


def serve(config: uvicorn.Config, door: Door) -> None:
    """Run a web application as ``uvicorn.run`` does, with its connections limited by a `Door`."""
    import uvicorn

    class Server(uvicorn.Server):
        """Uvicorn's server, but every connection is registered at the door."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=[])
            self._protocol = _watched(config.http_protocol_class, door)
            self._listener = config.bind_socket()
            self._listener.setblocking(False)
            self._listener.listen(config.backlog)
            self._tasks = {asyncio.create_task(self._accept())}

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for task in self._tasks:
                task.cancel()
            self._listener.close()
            await super().shutdown(sockets)

        async def _accept(self) -> None:
            while True:
                try:
                    connection, address = await asyncio.get_running_loop().sock_accept(self._listener)
                except OSError:  # the connection has ended already, or no more files can be opened
                    await asyncio.sleep(SOON)
                    continue
                client = str(address[0]), int(address[1])
                door.enter(client, connection)
                task = asyncio.create_task(self._set_up(connection, client))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

        async def _set_up(self, connection: socket.socket, client: Client) -> None:
            secure: dict[str, Any] = {"ssl": config.ssl, "ssl_handshake_timeout": HANDSHAKE} if config.ssl else {}
            made = partial(self._protocol, config, self.server_state, self.lifespan.state)
            try:
                await asyncio.get_running_loop().connect_accepted_socket(made, connection, **secure)
            except (OSError, EOFError, RuntimeError):  # the handshake failed
                door.left(client)
                connection.close()

    Server(config).run()


def _watched(protocol: Any, door: Door) -> Any:
    """Return a class for connections in uvicorn that tells the door when one ends."""

    class Watched(protocol):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            if hasattr(transport, "set_read_buffer_limits"):  # with TLS
                transport.set_read_buffer_limits(HELD)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            door.left(self.client)
            super().connection_lost(exc)

    return Watched
