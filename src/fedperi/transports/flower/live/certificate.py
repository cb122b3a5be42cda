"""Replace the coordinator's certificate while its SuperLink runs: new connections get the renewed one."""

from __future__ import annotations

import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .repeat import stamps

LOOK = 2.0
"""Seconds between two looks at the files."""

RENEWED = "fedperi took a new certificate: "
"""Beginning of a line of the SuperLink's output that the coordinator shows to its users."""


def renewing_context(config: Any, make: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Make the TLS settings of a server (uvicorn's ``ssl_context_factory``), and keep its certificate up to date."""
    context = make()
    certificate, key = Path(config.ssl_certfile), Path(config.ssl_keyfile)
    threading.Thread(target=_follow, args=(context, certificate, key), daemon=True).start()
    return context


def _follow(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    seen = stamps((certificate, key))
    while True:
        time.sleep(LOOK)
        now = stamps((certificate, key))
        if now != seen and renew(context, certificate, key):
            seen = now


def renew(context: ssl.SSLContext, certificate: Path, key: Path) -> bool:
    """Use a new certificate if it fits its key; otherwise keep the old one, and return False.

    The two files are copied one after the other, so that for a moment they do not fit each other.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError):
        return False
    sys.stdout.write(f"{RENEWED}{certificate.name}\n")
    sys.stdout.flush()
    return True
