"""Helpers for network tests: processes of `fedperi`, a federation of them, waits with limits.

Every test ends the processes that it started, and every wait has a limit.
"""

import itertools
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import pytest

import fedperi as fp
from helpers.command import COMMAND, start
from helpers.forked import Forked

pytest.importorskip("flwr")

from fedperi.pki.keys import make_keys
from fedperi.site.service.work import SiteWork
from fedperi.transports.flower.address import Address
from fedperi.transports.flower.inner.control import Control
from fedperi.transports.flower.link import superlink
from fedperi.transports.flower.node import serve

LIMIT = 120.0
NAMES = ("east", "north", "south")


# A port is used seconds after it was chosen, and nothing else may take it meanwhile. So the range is below the ports
# of outgoing connections, each process of pytest-xdist has its own range, and the order is random for parallel runs.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
_PORTS = itertools.cycle(random.SystemRandom().sample(range(16000 + 1000 * _WORKER, 17000 + 1000 * _WORKER), 1000))


def free_port() -> int:
    return next(filter(is_free, _PORTS))


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)


def wait_until_free(port: int) -> None:
    wait_until(lambda: is_free(port))


class Running:
    """A process and its output."""

    def __init__(
        self, folder: Path, label: str, command: Sequence[object], talking: bool = False, fork: bool = True
    ) -> None:
        self.log = folder / f"{label}.log"
        words = [str(word) for word in command]
        self.process: Forked | subprocess.Popen[bytes]
        with self.log.open("ab") as sink:
            if fork and words[: len(COMMAND)] == COMMAND:
                self.process = start(words[len(COMMAND) :], folder, sink, sink, talking)
            else:
                source = subprocess.PIPE if talking else subprocess.DEVNULL
                self.process = subprocess.Popen(words, cwd=folder, stdin=source, stdout=sink, stderr=sink)

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_for(self, words: str, times: int = 1) -> None:
        end = time.monotonic() + LIMIT
        while self.said.count(words) < times:
            assert time.monotonic() < end, f"never said {words!r}:\n{self.said}"
            assert self.alive or self.said.count(words) >= times, f"ended:\n{self.said}"
            time.sleep(0.1)

    def answer(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def approve_until(self, words: str) -> None:
        """Answer yes to a site with ``--approve`` until its question contains these words."""
        asked = 0
        while True:
            asked += 1
            self.wait_for(" asks to ", times=asked)
            if words in re.findall(r" asks to (.*)", self.said)[asked - 1]:
                return
            self.answer("y")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.alive:
            self.process.send_signal(number)
        return self.process.wait(timeout=30)

    def done(self, limit: float = LIMIT) -> int:
        return self.process.wait(timeout=limit)


class Pilot:
    """Tables, keys and processes of one federation, in one folder; all coordinators listen at one port."""

    def __init__(self, folder: Path, p: int = 8, seed: int = 1, more: Sequence[str] = ()) -> None:
        self.folder, self.port = folder, free_port()
        self.fork = True  # if False, commands import everything themselves, as for users: for tests of memory
        self.processes: list[Running] = []
        sim = fp.simulate(p, clients=3, samples=500, seed=seed)
        for name, table in zip(NAMES, sim.sites, strict=True):
            table.to_csv(folder / f"{name}.csv", index=False)
        (folder / "bounds.toml").write_text("".join(f"{column} = [-20, 20]\n" for column in sim.sites[0].columns))
        make_keys(folder / "keys", hosts=["localhost"], sites=[*NAMES, *more])

    @cached_property
    def direct(self) -> fp.Result:
        """The result of one process with all tables."""
        return fp.IPERI().fit([self.folder / f"{name}.csv" for name in NAMES])

    @cached_property
    def two(self) -> fp.Result:
        """The result of one process with the tables of the first two sites."""
        return fp.IPERI().fit([self.folder / f"{name}.csv" for name in NAMES[:2]])

    def coordinate(
        self,
        *more: object,
        label: str = "coordinate",
        out: str = "results",
        timeout: float = 90,
        channel: str = "regrets",
    ) -> Running:
        arguments = ["coordinate", "--keys", "keys/coordinator", "--address", f"127.0.0.1:{self.port}"]
        return self.start(label, *arguments, "--out", out, "--timeout", timeout, "--channel", channel, *more)

    def site(
        self,
        name: str,
        *more: object,
        key: str | None = None,
        data: str | None = None,
        store: str | None = None,
        label: str | None = None,
        talking: bool = False,
        channel: str = "regrets",
    ) -> Running:
        key = key or name
        secure = ["--ca", f"keys/sites/{key}/ca.pem", "--key", f"keys/sites/{key}/{key}.key", "--name", name]
        kept = ["--store", store or f"store-{name}", *(["--approve"] if talking else [])]
        where = [f"{data or name}.csv", "--channel", channel, "--coordinator", f"localhost:{self.port}"]
        return self.start(label or name, "site", *where, *secure, *kept, "--wait", "300", *more, talking=talking)

    def start(self, label: str, *arguments: object, talking: bool = False) -> Running:
        return self.launch(label, [*COMMAND, *arguments], talking)

    def launch(self, label: str, command: Sequence[object], talking: bool = False) -> Running:
        self.processes.append(Running(self.folder, label, command, talking, self.fork))
        return self.processes[-1]

    def result(self, out: str = "results") -> fp.Result:
        return fp.Result.from_json((self.folder / out / "result.json").read_text())

    def place(self, name: str, store: str | None = None) -> Path:
        """The folder where a site keeps its permanent files."""
        return next((self.folder / (store or f"store-{name}")).glob(f"site-{name}-*"))

    def log_of(self, name: str, coordinator: Running, store: str | None = None) -> str:
        """The lines about a coordinator's run in the log of a site."""
        found = re.search(r"run ([0-9a-f]{12})", coordinator.said)
        assert found is not None, coordinator.said
        lines = (self.place(name, store) / "log.txt").read_text().splitlines()
        return "\n".join(line for line in lines if f"run {found[1]}" in line)

    def end(self, keep: Sequence[Running] = ()) -> None:
        """Kill all processes except those in `keep`."""
        for running in self.processes:
            if running not in keep and running.alive:
                running.process.kill()
                running.process.wait(timeout=30)
        self.processes = list(keep)


@contextmanager
def local_link() -> Iterator[tuple[Control, int]]:
    """Start a SuperLink without TLS; yield it and its port."""
    port = free_port()
    with superlink("127.0.0.1", port, None, {}) as control:
        yield control, port


@contextmanager
def serving(port: int, *works: SiteWork) -> Iterator[None]:
    """Run sites as threads of this process, for tests of messages rather than faults."""
    stop = threading.Event()
    threads = [
        threading.Thread(
            target=serve,
            args=(work, Address(f"127.0.0.1:{port}", insecure=True)),
            kwargs={"note": lambda line: None, "stop": stop, "poll": 0.05},
            daemon=True,
        )
        for work in works
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
