"""A separate network for the sites of a test, which can be cut, lose packets and be slow; needs root."""

from __future__ import annotations

import os
import random
import select
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

_MAKE_TUNNEL = 0x400454CA
_PLAIN_PACKETS = 0x1001
"""From Linux's ``if_tun.h``: TUNSETIFF, and IFF_TUN without a header before each packet (IFF_NO_PI)."""


class Away:
    """A network namespace with one virtual cable to this machine; this process forwards each packet.

    So packets can be lost or delayed on every kernel with tunnels.

    Parameters
    ----------
    name : str
        Name of the namespace.
    here : str
        The address of this machine as the namespace sees it.
    ends : tuple of int
        Descriptors of the two ends of the cable.

    Attributes
    ----------
    loss : float
        Share of the packets of each direction that are lost.
    delay : float
        Seconds that a packet takes in each direction.
    """

    def __init__(self, name: str, here: str, ends: tuple[int, int]) -> None:
        self.name, self.here = name, here
        self.loss, self.delay = 0.0, 0.0
        self._ends, self._whole, self._done = ends, True, threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def command(self, *words: object) -> list[object]:
        """Return a command that runs in the namespace."""
        return ["ip", "netns", "exec", self.name, *words]

    def cut(self) -> None:
        """Cut the cable: packets are lost without an error."""
        self._whole = False

    def mend(self) -> None:
        """Restore the cable."""
        self._whole = True

    def end(self) -> None:
        """Stop forwarding packets."""
        self._done.set()
        self._thread.join()
        for descriptor in self._ends:
            os.close(descriptor)

    def _carry(self) -> None:
        to = dict(zip(self._ends, reversed(self._ends), strict=True))
        chance = random.Random(1)
        under_way: deque[tuple[float, int, bytes]] = deque()  # all have the same delay, so they stay in order
        while not self._done.is_set():
            due = under_way[0][0] - time.monotonic() if under_way else 0.1
            for source in select.select(self._ends, [], [], min(max(due, 0.0), 0.1))[0]:
                packet = os.read(source, 1 << 16)
                if self._whole and chance.random() >= self.loss:
                    under_way.append((time.monotonic() + self.delay, to[source], packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, target, packet = under_way.popleft()
                with suppress(OSError):  # an end that is not up yet
                    os.write(target, packet)


@contextmanager
def another_network() -> Iterator[Away]:
    """Make a namespace with a cable to this machine; skip the test if that is not allowed."""
    mark = f"fp{os.getpid()}"
    subnet = f"10.{211 + os.getpid() % 40}.{os.getpid() // 40 % 250}"
    here, there = f"{mark}a", f"{mark}b"
    _need("ip", "netns", "add", mark)
    with ExitStack() as stack:
        stack.callback(subprocess.run, ["ip", "netns", "del", mark], capture_output=True)
        away = Away(mark, f"{subnet}.1", (_tunnel(here), _tunnel(there)))
        stack.callback(away.end)  # closing its descriptor removes an end of the cable
        _run("ip", "link", "set", there, "netns", mark)
        _run("ip", "addr", "add", f"{away.here}/24", "dev", here)
        _run("ip", "link", "set", here, "up")
        _run(*away.command("ip", "addr", "add", f"{subnet}.2/24", "dev", there))
        for device in ("lo", there):
            _run(*away.command("ip", "link", "set", device, "up"))
        yield away


def _tunnel(name: str) -> int:
    """Make one end of a cable; skip the test if that is not allowed."""
    import fcntl

    try:
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(descriptor, _MAKE_TUNNEL, struct.pack("16sH", name.encode(), _PLAIN_PACKETS))
    except OSError as error:
        pytest.skip(f"this machine does not allow a tunnel: {error.strerror}")
    return descriptor


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a disk of this size, in memory, at a new folder; skip the test if that is not allowed."""
    place.mkdir()
    _need("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], capture_output=True)


def read_only(place: Path) -> None:
    """Make a small disk read-only, also for root."""
    _run("mount", "-o", "remount,ro", str(place))


def _need(*command: object) -> None:
    """Run a command; skip the test if this machine does not allow it."""
    try:
        done = _done(command)
    except FileNotFoundError:
        pytest.skip(f"there is no program {command[0]} on this machine")
    if done.returncode:
        pytest.skip(f"this machine does not allow {' '.join(map(str, command))}: {done.stderr.strip()}")


def _run(*command: object) -> None:
    done = _done(command)
    assert done.returncode == 0, done.stderr


def _done(command: Sequence[object]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)
