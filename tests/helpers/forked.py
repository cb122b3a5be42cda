"""Run commands in separate processes without imports: each is forked from a process that has imported everything.

The imports of a command, mainly Flower and pandas, take a second of processor time, and the tests start hundreds of
commands. So the first command of a test process starts a server: a Python process that imports what commands use, and
forks on request. A forked process has its own memory, signals and streams, and ends by itself.

If the system cannot fork, or ``FEDPERI_TESTS_FORK=0``, commands are started as users start them. A few tests always do
that: those of imports, memory, standard input, and networks that can be cut.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

# The imports of commands, except OpenDP: its random number generator must be seeded in each process.
WARM = (
    "fedperi.cli",
    "fedperi.benchmark",
    "fedperi.methods.iperi.method",
    "fedperi.methods.mperi.method",
    "fedperi.report.page",
    "fedperi.tables.readers.formats.opening",
    "jinja2",
    "pandas",
    "scipy.special",
)
WITH_FLOWER = (
    "fedperi.transports.flower.link",
    "fedperi.transports.flower.node",
    "flwr.cli.build",
    "flwr.supercore.control",
    "flwr.supercore.interceptors",
    "flwr.supercore.runtime",
    "flwr.supernode.fleet_http_client",
    "flwr.supernode.node_auth_http_interceptor",
)
START = """
import sys
sys.path.insert(0, {folder!r})
from helpers.forked import serve
del sys.path[0]
serve({number})
"""
LARGEST = 1 << 20
ASKING = Path(__file__).with_name("asking.py")


class Forked:
    """A command in a forked process, with the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: Path,
        out: IO[Any],
        err: IO[Any],
        talking: bool = False,
        env: dict[str, str] | None = None,
    ) -> None:
        self.stdin: IO[bytes] | None = None
        read, write = os.pipe() if talking else (os.open(os.devnull, os.O_RDONLY), -1)
        if talking:
            self.stdin = os.fdopen(write, "wb")
        self._told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        asked = json.dumps([list(arguments), str(cwd), {**os.environ, **(env or {})}]).encode()
        streams = [read, out.fileno(), err.fileno(), theirs.fileno()]
        socket.send_fds(_server(), [asked], streams)
        os.close(read)
        theirs.close()
        self.pid = json.loads(self._told.recv(LARGEST))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None if the process still runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the process to end; return its exit code."""
        ended = self._ended(timeout)
        if ended is None:
            raise subprocess.TimeoutExpired("fedperi", timeout or 0.0)
        return ended

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = json.loads(self._told.recv(LARGEST))
            except (BlockingIOError, TimeoutError):
                return None
            self._told.close()
            if self.stdin is not None:
                self.stdin.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process is alive."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)


def can_fork() -> bool:
    """Say whether commands are forked on this system."""
    return sys.platform == "linux" and os.environ.get("FEDPERI_TESTS_FORK") != "0"


def number_of_server() -> int:
    """Return the file descriptor with which `asking.py`, in a shell, reaches the server."""
    return _server().fileno()


@cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    start = START.format(folder=str(Path(__file__).parents[1]), number=theirs.fileno())
    server = subprocess.Popen(
        [sys.executable, "-c", start],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait(30)

    atexit.register(end)
    return ours


def serve(number: int) -> None:
    """Fork a process for each requested command, and run the command there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal: the tests decide what ends
    control = socket.socket(fileno=number)
    for name in WARM:
        importlib.import_module(name)
    for name in WITH_FLOWER:
        try:
            importlib.import_module(name)
        except ImportError:
            break
    _compile_templates()
    gc.collect()
    gc.freeze()
    while True:
        asked, streams, _, _ = socket.recv_fds(control, LARGEST, 4)
        if not asked:
            break
        if os.fork() == 0:
            control.close()
            if _is_command(streams):
                _become(asked)
                from fedperi.cli import main

                return main()
            os._exit(0)
        for one in streams:
            os.close(one)
        _reap(os.WNOHANG)
    _reap(0)
    return None


def _compile_templates() -> None:
    from fedperi.report import page

    for file in Path(page.__file__).with_name("templates").glob("*.html"):
        page.environment().get_template(file.name)


def _is_command(streams: Sequence[int]) -> bool:
    """Fork again: the child becomes the command, and the parent reports its exit code."""
    told = socket.socket(fileno=streams[3])
    pid = os.fork()
    if pid == 0:
        told.close()
        for at, one in enumerate(streams[:3]):
            os.dup2(one, at)
            os.close(one)
        return True
    for one in streams[:3]:
        os.close(one)
    told.send(json.dumps(pid).encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError):  # nobody waits for it any more
        told.send(json.dumps(code).encode())
    return False


def _become(asked: bytes) -> None:
    arguments, cwd, environment = json.loads(asked)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]


def _reap(options: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass
