"""The output of the coordinator's SuperLink: written to a file; what users should know is also shown to them."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ....coordinator.tally import REFUSED_KEY
from ....names import visible
from .certificate import RENEWED

MOST_NOTED = 100
"""Number of lines about refused keys that are shown: more would only fill the log."""

CONNECTING = " when it connected"
"""End of a line about a key that was refused in the first request of a connection."""


def refused_line(key: bytes, address: str, connecting: bool) -> str:
    """Return a line about a refused key, with a hash of the key instead of the key itself.

    Parameters
    ----------
    key : bytes
        The key in the request: base64, or empty.
    address : str
        The sender of the request.
    connecting : bool
        Whether this was a first request, to connect. The key of a site can be refused there, too: while it is being
        registered, or in use on another connection.

    Examples
    --------
    >>> refused_line(b"", "10.0.0.7", False)
    'fedperi refused a key: none from 10.0.0.7'
    """
    return f"{REFUSED_KEY}: {_mark(key)} from {address}{CONNECTING * connecting}"


def follow(lines: Iterable[bytes], output: Path, note: Callable[[str], None], keys: Mapping[str, bytes]) -> None:
    """Append a SuperLink's lines to a file, and note what users should know, once; `keys` are those of the sites."""
    noted: set[bytes] = set()
    with output.open("ab") as sink:
        for line in lines:
            sink.write(line)
            sink.flush()
            if line.startswith(REFUSED_KEY.encode()) and line not in noted and len(noted) < MOST_NOTED:
                noted.add(line)
                if words := _explained(_plain(line), keys):
                    note(words)
            elif line.startswith(RENEWED.encode()):
                note(f"{_plain(line)}; new connections get it.")


def _explained(line: str, keys: Mapping[str, bytes]) -> str:
    """Say whose key was refused, and why; return nothing if the site was only too early, or is connected already."""
    line, connecting, _ = line.partition(CONNECTING)
    site = next((name for name, key in keys.items() if f" {_mark(b64encode(key))} " in line), None)
    if site is None:
        return f"{line}: not one of --keys, or a wrong clock."
    return "" if connecting else f"{line}: that of site {site!r}, with a wrong clock, or on an old connection."


def _mark(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:16] if key else "none"


def _plain(line: bytes) -> str:
    return " ".join(visible(line.decode(errors="replace")).split())
