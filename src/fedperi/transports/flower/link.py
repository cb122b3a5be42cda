"""The coordinator's side of Flower: start a SuperLink process, register the sites' keys, begin a run, and use its grid.

The SuperLink starts no app: that is left to the process that knows a secret, which is this one. The search runs in this
process, so that nobody executes the bundle that a run of Flower needs.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ...errors import InputError
from ...pki.certificates import (
    check_not_ended,
    check_unshared,
    need_cryptography,
    reached_as,
    read_certificate,
    warnings_of,
)
from . import QUIET, need_flower
from .address import Own, check_free, trusting
from .exchange import LinkLost
from .inner.control import Control
from .live.output import follow
from .live.site_keys import followed

T = TypeVar("T")

RESTARTS = 5
"""How often a lost SuperLink is started again within one run."""

START = 60.0
"""Seconds within which a SuperLink must be up."""


@dataclass(frozen=True)
class Certificates:
    """The coordinator's certificate and key, and the certificate of the authority that signed it."""

    ca: Path
    certificate: Path
    key: Path

    def check(self) -> None:
        """Raise if a file is missing, others can read the key, or it does not belong to the certificate."""
        for option, path in (("--ca", self.ca), ("--cert", self.certificate), ("--key", self.key)):
            if not path.is_file():
                raise InputError(f"{option} {str(path)!r}: there is no such file; `fedperi keys` makes one for a pilot")
        check_unshared(self.key)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, password="")
        except (ssl.SSLError, OSError) as error:
            raise InputError(
                f"--cert {str(self.certificate)!r} and --key {str(self.key)!r} do not fit together: {error}"
            ) from None
        trusting(self.ca)
        need_cryptography("reading certificates")
        check_not_ended(self.certificate)

    def ending(self) -> list[str]:
        """Return warnings about certificates that end soon."""
        return warnings_of([self.certificate, self.ca])


@contextmanager
def superlink(
    host: str,
    port: int,
    certificates: Certificates | None,
    site_keys: Mapping[str, bytes],
    log: Path | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> Iterator[Control]:
    """Start a SuperLink that knows the sites' keys, yield an object to control it, and stop it at the end.

    Parameters
    ----------
    host, port
        Where to listen.
    certificates : Certificates, optional
        For TLS and the authentication of sites; without them, there is neither.
    site_keys : mapping of str to bytes
        Names of sites and their public keys (PEM); empty without TLS. Those of a `SiteKeys` may change meanwhile.
    log : Path, optional
        File to which the SuperLink's log is appended.
    note : callable
        Called with a sentence about every key that is refused, added or withdrawn, and about certificates.
    """
    need_flower()
    if certificates is not None:
        certificates.check()
    check_free(host, port)
    here = "::1" if ":" in host else "127.0.0.1" if host in ("0.0.0.0", "localhost") else host
    with tempfile.TemporaryDirectory(prefix="fedperi-link-") as folder:
        home, secret = Path(folder), secrets.token_bytes(32)
        output = log or home / "superlink.log"
        process = _start(host, port, certificates, secret, home)
        follower = threading.Thread(target=follow, args=(process.stdout, output, note, site_keys), daemon=True)
        follower.start()
        try:
            at = f"[{here}]:{port}" if ":" in here else f"{here}:{port}"
            name = here if certificates is None else reached_as(read_certificate(certificates.certificate), here)
            _wait_until_up(process, here, port, certificates, name, output)
            control = Control(Own(at, None if certificates is None else certificates.ca.read_bytes(), name), secret)
            with followed(site_keys, control, note, list if certificates is None else certificates.ending):
                yield control
        finally:
            _stop(process)
            follower.join(timeout=5)


def surviving(attempt: Callable[[], T], note: Callable[[str], None]) -> T:
    """Call `attempt`, which starts and uses a SuperLink; call it again, a few times, when the SuperLink is lost.

    A coordinator that was frozen for a while loses its SuperLink as well, which regards a silent run as dead.
    """
    for left in range(RESTARTS, 0, -1):
        try:
            return attempt()
        except LinkLost as error:
            note(f"{error}; starting it again, and continuing with what is known ({left} attempts left).")
    return attempt()


def _start(
    host: str, port: int, certificates: Certificates | None, secret: bytes, home: Path
) -> subprocess.Popen[bytes]:
    handed, at = _hand_over(secret, home)
    command = [sys.executable, "-m", "fedperi.transports.flower.guard", "--host", host, "--port", str(port)]
    command += ["--isolation", "process", "--superexec-auth-secret-file", at]
    command += ["--disable-runtime-dependency-installation"]
    if certificates is None:
        command += ["--insecure"]
    else:
        command += ["--enable-supernode-auth", "--ssl-ca-certfile", str(certificates.ca)]
        command += ["--ssl-certfile", str(certificates.certificate), "--ssl-keyfile", str(certificates.key)]
    # In a new session, so that Ctrl-C does not end the SuperLink before the sites are told that the run is over.
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **QUIET, "FLWR_HOME": str(home), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
            pass_fds=handed,
        )
    finally:
        for descriptor in handed:
            os.close(descriptor)


def _hand_over(secret: bytes, home: Path) -> tuple[tuple[int, ...], str]:
    """Pass a secret to the new process and nobody else: in memory if possible, so that no crash leaves it on a disk.

    Returns the file descriptors to pass on, and the path at which the process finds the secret.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("fedperi")
        os.write(descriptor, secret)
        return (descriptor,), f"/proc/self/fd/{descriptor}"
    file = home / "secret"  # this system has no files in memory
    file.touch(mode=0o600)
    file.write_bytes(secret)
    return (), str(file)


def _wait_until_up(
    process: subprocess.Popen[bytes],
    here: str,
    port: int,
    certificates: Certificates | None,
    name: str,
    output: Path,
) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end:
        if process.poll() is not None:
            lines = output.read_text(errors="replace").strip().splitlines()[-5:]
            raise InputError(f"the SuperLink did not start; the end of its log: {' / '.join(lines)}")
        try:
            with socket.create_connection((here, port), timeout=2) as plain:
                if certificates is not None:
                    trusting(certificates.ca).wrap_socket(plain, server_hostname=name).close()
                return
        except ssl.SSLCertVerificationError as error:
            raise InputError(
                f"the coordinator's certificate is not accepted for {name} ({error.verify_message}): it must be signed "
                "by the authority of --ca; if there are authorities between the two, --cert must hold their "
                "certificates too, after the coordinator's own"
            ) from None
        except OSError:
            time.sleep(0.1)
    raise InputError(f"the SuperLink was not up within {START:g} s; its log is {str(output)!r}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, wait briefly, and then kill it with all processes that it started."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)
