"""A network of its own for the sites of a test, which can be cut and lose packets; needs root, and a fit kernel."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Away:
    """A network namespace, joined to this machine by one cable.

    Parameters
    ----------
    name : str
        Of the namespace.
    here : str
        The address of this machine as the namespace sees it.
    cable : str
        This machine's end of the cable.
    """

    name: str
    here: str
    cable: str

    def command(self, *words: object) -> list[object]:
        """Return a command that runs in the namespace."""
        return ["ip", "netns", "exec", self.name, *words]

    def cut(self) -> None:
        """Pull the cable: packets vanish, and nobody is told."""
        _run("ip", "link", "set", self.cable, "down")

    def mend(self) -> None:
        """Plug it in again."""
        _run("ip", "link", "set", self.cable, "up")

    def lose(self, share: float) -> None:
        """Lose a share of the packets of each direction; skip the test where the kernel cannot."""
        for chain in ("INPUT", "OUTPUT"):
            rule = ["-A", chain, "-m", "statistic", "--mode", "random", "--probability", str(share), "-j", "DROP"]
            _need(*self.command("iptables", *rule))


@contextmanager
def another_network() -> Iterator[Away]:
    """Make a namespace with a cable to this machine; skip the test where that is not allowed."""
    mark = f"fp{os.getpid()}"
    subnet = f"10.{211 + os.getpid() % 40}.{os.getpid() // 40 % 250}"
    made = Away(mark, f"{subnet}.1", f"{mark}a")
    _need("ip", "netns", "add", mark)
    try:
        _need("ip", "link", "add", made.cable, "type", "veth", "peer", "name", f"{mark}b", "netns", mark)
        _run("ip", "addr", "add", f"{made.here}/24", "dev", made.cable)
        _run("ip", "link", "set", made.cable, "up")
        _run(*made.command("ip", "addr", "add", f"{subnet}.2/24", "dev", f"{mark}b"))
        for device in ("lo", f"{mark}b"):
            _run(*made.command("ip", "link", "set", device, "up"))
        yield made
    finally:
        subprocess.run(["ip", "netns", "del", mark], capture_output=True)
        subprocess.run(["ip", "link", "del", made.cable], capture_output=True)


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Put a disk of this size, in memory, at a new folder; skip the test where that is not allowed."""
    place.mkdir()
    _need("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], capture_output=True)


def read_only(place: Path) -> None:
    """Let nobody write to a small disk any more, root neither."""
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
