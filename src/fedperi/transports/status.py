"""A small web server for people and monitoring tools on the same machine; read-only.

It listens on the loopback address unless told otherwise, and answers GET and HEAD only. It refuses requests whose Host
header is a foreign name. Otherwise a web page elsewhere could let its own name resolve to this machine, and read the
answers (DNS rebinding). The caller passes the functions that make the pages.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, socket

from ..errors import InputError

MOST_AT_ONCE = 16
"""Requests that are answered at the same time; any more are cut off at once."""

PATIENCE = 10.0
"""Seconds after which a silent client is cut off."""

NOTHING = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
"""Content-Security-Policy of a page that may have its own style, and nothing else."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Answer:
    """The answer to a request: text of a type, the HTTP status, and the Content-Security-Policy for browsers."""

    text: str
    type: str = "text/html"
    status: int = 200
    policy: str = NOTHING


@contextmanager
def status_server(host: str, port: int, pages: Mapping[str, Callable[[], Answer]]) -> Iterator[int]:
    """Answer requests in background threads while the `with` block runs, and yield the port.

    Parameters
    ----------
    host : str
        The address to listen at.
    port : int
        The port; 0 chooses a free one.
    pages : mapping of str to callable
        For each path, the function that makes its answer.

    Examples
    --------
    >>> import http.client
    >>> with status_server("127.0.0.1", 0, {"/": lambda: Answer("<p>fine", status=200)}) as port:
    ...     client = http.client.HTTPConnection("127.0.0.1", port)
    ...     for headers in ({}, {"Host": "evil.example.org"}):
    ...         client.request("GET", "/", headers=headers)
    ...         reply = client.getresponse()
    ...         print(reply.status, reply.read().decode())
    200 <p>fine
    421 This page is for this machine: open it as http://127.0.0.1 or http://localhost, with the port.
    <BLANKLINE>
    """
    check_host(host)
    try:
        server = _Server((host, port), pages)
    except OSError as error:
        raise InputError(
            f"cannot show the status at {host}:{port} ({error.strerror or error}): choose another --status-port, or "
            "stop what listens there"
        ) from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def check_host(host: str) -> None:
    """Raise unless `host` is an IP address.

    Examples
    --------
    >>> check_host("localhost")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: --status-host must be an address of this machine, such as 127.0.0.1, not 'localhost'
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise InputError(f"--status-host must be an address of this machine, such as 127.0.0.1, not {host!r}") from None


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    Examples
    --------
    >>> is_local("127.0.0.1"), is_local("0.0.0.0")
    (True, False)
    """
    return ipaddress.ip_address(host).is_loopback


def is_own_host(named: str | None, listening: str) -> bool:
    """Whether a Host header names this server by an address, or as localhost; other names may belong to anyone.

    Examples
    --------
    >>> is_own_host("localhost:9100", "127.0.0.1"), is_own_host("[::1]:9100", "::1")
    (True, True)
    >>> [is_own_host(name, "127.0.0.1") for name in ("evil.example.org", None, "8.8.8.8")]
    [False, False, False]
    >>> is_own_host("10.0.0.5:9100", "0.0.0.0")  # a server at all addresses is reached by others than loopback
    True
    """
    text = named or ""
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    if name.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_local(listening)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], pages: Mapping[str, Callable[[], Answer]]) -> None:
        self.pages = pages
        self._free = threading.BoundedSemaphore(MOST_AT_ONCE)
        if ":" in address[0]:
            self.address_family = AF_INET6
        super().__init__(address, _Handler)

    def process_request(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect in the middle of a request."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE
    server_version, sys_version = "fedperi", ""

    def do_GET(self) -> None:
        self._send(self._answer())

    do_HEAD = do_GET

    def _answer(self) -> Answer:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not is_own_host(hosts[0], str(self.server.server_address[0])):
            return Answer(
                "This page is for this machine: open it as http://127.0.0.1 or http://localhost, with the port.\n",
                "text/plain",
                421,
            )
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            return Answer(f"There is no such page; the pages are {', '.join(self.server.pages)}\n", "text/plain", 404)
        try:
            return page()
        except InputError as error:  # a file on the disk cannot be read: say so, and keep serving
            return Answer(f"{error}\n", "text/plain", 500)

    def _send(self, answer: Answer) -> None:
        body = answer.text.encode("utf-8", "replace")
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", answer.policy)
        self.send_header("Content-Type", f"{answer.type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request, for example with another method, without repeating any of it."""
        self.close_connection = True
        self._send(Answer("Only GET is answered here.\n", "text/plain", 405 if code == 501 else code))

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests: the output is about runs."""
