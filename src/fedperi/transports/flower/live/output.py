"""What a coordinator's SuperLink prints: kept in a file, and repeated where people should know it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ....coordinator.tally import REFUSED_KEY
from ....names import visible
from .certificate import RENEWED

MOST_TOLD = 100
"""Number of lines about refused keys that are shown: more would only fill a log."""


def refused_line(key: bytes, address: str, connecting: bool) -> str:
    """Write a line about a key that was not accepted: whose it may be, never the key.

    Parameters
    ----------
    key : bytes
        As the request has it: base64, or empty.
    address : str
        Where the request came from.
    connecting : bool
        Whether it was refused when it wanted to connect. Known keys are, too, while they are registered or in use.

    Examples
    --------
    >>> refused_line(b"", "10.0.0.7", False)
    'fedperi refused a key: none from 10.0.0.7'
    """
    return f"{REFUSED_KEY}: {_mark(key)} from {address}{' at its first word' * connecting}"


def follow(lines: Iterable[bytes], output: Path, note: Callable[[str], None], keys: Mapping[str, bytes]) -> None:
    """Keep what a SuperLink prints, and repeat what people should know; each line once.

    Parameters
    ----------
    lines : iterable of bytes
        What it prints.
    output : Path
        Where it is added to.
    note : callable
        Gets the lines that people should know.
    keys : mapping of str to bytes
        Public keys of the sites, as they are now.
    """
    told: set[bytes] = set()
    with output.open("ab") as sink:
        for line in lines:
            sink.write(line)
            sink.flush()
            if line.startswith(REFUSED_KEY.encode()) and line not in told and len(told) < MOST_TOLD:
                told.add(line)
                words = _explained(_plain(line), keys)
                if words:
                    note(words)
            elif line.startswith(RENEWED.encode()):
                note(f"{_plain(line)}; new connections get it.")


def _explained(line: str, keys: Mapping[str, bytes]) -> str:
    """Say whose key was refused, and why; nothing of a site that was only too early, or is connected already."""
    line, at_first, _ = line.partition(" at its first word")
    site = next((name for name, key in keys.items() if f" {_mark(b64encode(key))} " in line), None)
    if site is None:
        return f"{line}: not one of --keys, or a wrong clock."
    return "" if at_first else f"{line}: that of site {site!r}, with a wrong clock, or on a connection from before."


def _mark(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:16] if key else "none"


def _plain(line: bytes) -> str:
    return " ".join(visible(line.decode(errors="replace")).split())
