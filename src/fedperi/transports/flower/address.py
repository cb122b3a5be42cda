"""The address of a site's coordinator, and how to verify that it is the right one."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ...errors import InputError

_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")
"""OpenSSL's reasons for an error when the other side does not use TLS; trying again does not help then."""


class Away(Exception):
    """The coordinator is out of reach; it may come back."""


@dataclass(frozen=True)
class Address:
    """The address of the coordinator, and how to verify that it is the right one.

    Parameters
    ----------
    coordinator : str
        ``host:port``.
    ca : Path, optional
        Certificate of the authority that signed the coordinator's certificate; by default, those of the system.
    key : Path, optional
        The site's private key, in OpenSSH's format or PKCS8.
    passphrase : Path, optional
        File with the passphrase of that key.
    insecure : bool
        Neither encrypt nor authenticate.
    """

    coordinator: str
    ca: Path | None = None
    key: Path | None = None
    insecure: bool = False
    passphrase: Path | None = None

    @property
    def host(self) -> str:
        """The host."""
        return self.coordinator.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port."""
        return int(self.coordinator.rpartition(":")[2])

    def check(self) -> None:
        """Raise if the address, the certificate or the key cannot be used.

        Examples
        --------
        >>> Address("coordinator.example.org").check()
        Traceback (most recent call last):
        ...
        fedperi.errors.InputError: the coordinator is 'coordinator.example.org', and must be host:port, such as ...
        """
        host, colon, port = self.coordinator.rpartition(":")
        if not colon or not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise InputError(
                f"the coordinator is {self.coordinator!r}, and must be host:port, such as coordinator.example.org:8443"
            )
        if self.insecure and (self.ca is not None or self.key is not None):
            raise InputError("--insecure uses neither certificate nor key; leave --ca and --key out, or --insecure")
        for option, path in (("--ca", self.ca), ("--key", self.key)):
            if path is not None and not path.is_file():
                raise InputError(f"{option} {str(path)!r}: there is no such file")


@dataclass(frozen=True)
class Own:
    """Where the coordinator's own SuperLink is, by whom its certificate is signed, and for which name it is issued."""

    address: str
    root: bytes | None
    name: str


def check_reachable(address: Address) -> datetime | None:
    """Open a connection and verify the coordinator; return when its certificate ends, or None without TLS.

    Raises
    ------
    InputError
        If trying again would not help, for example because the certificate is not accepted.
    Away
        If the coordinator is out of reach for now.
    """
    try:
        context = None if address.insecure else trusting(address.ca)
        with socket.create_connection((address.host, address.port), timeout=10) as plain:
            if context is None:
                return None
            with context.wrap_socket(plain, server_hostname=address.host) as secure:
                shown = secure.getpeercert() or {}
                return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(shown["notAfter"])), UTC)
    except ssl.SSLCertVerificationError as error:
        raise InputError(
            f"the certificate of {address.coordinator} is not accepted ({error.verify_message}): give the "
            "certificate of the authority that signed it (--ca), and the host name that it was made for"
        ) from None
    except ssl.SSLError as error:
        if error.reason in _NO_TLS:
            raise InputError(
                f"{address.coordinator} does not use TLS ({error.reason}): the coordinator may run with --insecure, "
                "or this is not the coordinator"
            ) from None
        # The handshake was cut by the network, or by a coordinator with too many connections: try again later.
        raise Away(f"{address.coordinator} broke off while the connection was set up") from None
    except socket.gaierror:
        raise Away(f"the host {address.host!r} is not known") from None
    except OSError as error:
        raise Away(f"{address.coordinator} cannot be reached ({error.strerror or error})") from None


def trusting(ca: Path | None) -> ssl.SSLContext:
    """Make a TLS context that trusts one authority, or those of the system."""
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except ssl.SSLError:
        raise InputError(f"--ca {str(ca)!r} holds no certificate in PEM format: give that of the authority") from None


def check_free(host: str, port: int) -> None:
    """Raise if the coordinator cannot listen at this address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot listen at {host}:{port} ({error.strerror or error}): choose another --address, or stop what "
                "listens there"
            ) from None
