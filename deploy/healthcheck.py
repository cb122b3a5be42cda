"""Check whether a container works: exit code 0, or 1 and a line that says what is wrong. Needs only Python.

``FEDPERI_HEALTH`` says what to check: ``tls://HOST:PORT`` (a TLS handshake with a coordinator) or
``http://HOST:PORT/healthz`` (a status page answers 200). If it is not set, the first process of the container must run
and not be stopped.
"""

import os
import socket
import ssl
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

SECONDS = 5.0


def main() -> int:
    """Run the check; on failure print the reason."""
    asked = os.environ.get("FEDPERI_HEALTH", "")
    try:
        check(asked)
    except (OSError, ValueError) as error:
        sys.stdout.write(f"{asked or 'the first process'}: {error}\n")
        return 1
    return 0


def check(asked: str) -> None:
    """Raise an OSError or a ValueError if the check fails."""
    place = urlsplit(asked)
    if not asked:
        _check_first_process()
    elif place.scheme == "tls":
        # Only the handshake: sites verify the certificate.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=SECONDS) as plain:
            context.wrap_socket(plain, server_hostname=place.hostname).close()
    elif place.scheme == "http":
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
            if answer.status != 200:
                raise ValueError(f"answered {answer.status}")
    else:
        raise ValueError("FEDPERI_HEALTH is tls://HOST:PORT or http://HOST:PORT/healthz")


def _check_first_process(number: int = 1) -> None:
    """Raise if a process is stopped or a zombie."""
    status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    state = status.rpartition(")")[2].split()[0]
    if state in "TtZX":
        raise ValueError(f"process {number} is in state {state}")


if __name__ == "__main__":
    sys.exit(main())
