"""The coordinator's certificate while its SuperLink runs: a renewed one is taken for every connection from then on."""

from __future__ import annotations

import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOOK = 2.0
"""Seconds between two looks at the files."""

RENEWED = "fedperi took a new certificate: "
"""How a line of the output begins that the coordinator repeats to its people."""


def renewing_context(config: Any, make: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Make the TLS settings of a server (uvicorn's ``ssl_context_factory``), and keep its certificate up to date."""
    context = make()
    files = Path(config.ssl_certfile), Path(config.ssl_keyfile)
    threading.Thread(target=_follow, args=(context, *files), daemon=True).start()
    return context


def _follow(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    seen = _mark(certificate, key)
    while True:
        time.sleep(LOOK)
        now = _mark(certificate, key)
        if now != seen and renew(context, certificate, key):
            seen = now


def renew(context: ssl.SSLContext, certificate: Path, key: Path) -> bool:
    """Use a new certificate, if it fits its key; else go on with the old one, and return False.

    The two files are copied one after the other, so that for a moment they do not fit.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError):
        return False
    sys.stdout.write(f"{RENEWED}{certificate.name}\n")
    sys.stdout.flush()
    return True


def _mark(*paths: Path) -> list[tuple[int, int]]:
    marks = []
    for path in paths:
        try:
            told = path.stat()
            marks.append((told.st_mtime_ns, told.st_size))
        except OSError:
            marks.append((0, 0))
    return marks
