"""Certificates and site keys for a pilot: a CA of its own, the coordinator's certificate, one key pair a site."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ipaddress
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CA_DAYS = 3650
# Apple's TLS, and others, refuse certificates of more than 825 days; and what is renewed that rarely is forgotten.
MAX_DAYS = 825
# The coordinator's own processes connect to it on loopback and check its certificate like any site does.
LOOPBACK_HOST = "localhost"
LOOPBACK = ("127.0.0.1", "::1")

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SITE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Keys:
    """What `make_keys` wrote.

    Parameters
    ----------
    folder : Path
        The pilot's folder.
    hosts, addresses : tuple of str
        What the coordinator's certificate is for, besides loopback; empty if none was made.
    until : datetime or None
        When that certificate ends.
    ca : str
        SHA-256 fingerprint of the CA's certificate, as ``openssl x509 -fingerprint -sha256`` shows it.
    sites : dict of str to str
        The new sites, each with the fingerprint of its public key as ``ssh-keygen -l`` shows it.
    replaced : Path or None
        Where the former certificate and its key are, after a renewal.

    Examples
    --------
    >>> Keys(Path("keys"), (), (), None, "AB:CD", {"west": "SHA256:x"}).sites
    {'west': 'SHA256:x'}
    """

    folder: Path
    hosts: tuple[str, ...]
    addresses: tuple[str, ...]
    until: datetime | None
    ca: str
    sites: dict[str, str]
    replaced: Path | None = None


def make_keys(
    out: str | os.PathLike[str],
    *,
    hosts: Sequence[str] = (),
    addresses: Sequence[str] = (),
    sites: Sequence[str] = (),
    days: int | None = None,
    renew: bool = False,
) -> Keys:
    """Begin a pilot's folder of keys, add sites to it, or renew the coordinator's certificate.

    Nothing is overwritten: a renewal moves the former certificate aside. Bad input is refused before anything is written.

    Parameters
    ----------
    out : path
        The folder: new or empty to begin a pilot, else one that this function made.
    hosts, addresses : sequence of str
        Names and IP addresses under which sites reach the coordinator. In a renewal, those of the former certificate if
        none are given.
    sites : sequence of str
        Sites to make a key pair for.
    days : int, optional
        How long the coordinator's certificate holds, 1 to 825; 365 if not given.
    renew : bool
        Make a new coordinator's certificate in a folder that has one.

    Examples
    --------
    >>> make_keys("keys", hosts=["coordinator.example.org:9092"], sites=["north"])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the host 'coordinator.example.org:9092' is no host name: give the name alone, without
    https:// and without a port, as in coordinator.example.org
    """
    hosts = _distinct("host", [_host(host) for host in hosts])
    addresses = _distinct("IP address", [_address(address) for address in addresses])
    sites = _distinct("site", [_site(site) for site in sites])
    if days is not None and (isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MAX_DAYS):
        raise InputError(f"a certificate cannot hold for {days!r} days: choose 1 to {MAX_DAYS}")
    folder = _folder(out)
    begun = _begun(folder)
    _check_task(folder, begun, bool(hosts or addresses), sites, days, renew)
    _need_cryptography()
    if not begun:
        return _begin(folder, hosts, addresses, sites, days or 365)
    with _explained(folder):
        ca = _read_certificate(folder / "ca" / "ca.pem")
        if ca.not_valid_after_utc <= _now():
            raise InputError(
                f"the CA in {str(folder)!r} ended on {_date(ca.not_valid_after_utc)}: begin a new folder of keys"
            )
        return _extend(folder, ca, hosts, addresses, sites, (days or 365) if renew else None)


def _check_task(folder: Path, begun: bool, named: bool, sites: Sequence[str], days: int | None, renew: bool) -> None:
    """Refuse what cannot be meant, given whether the pilot was begun before."""
    where = str(folder)
    if not begun and renew:
        raise InputError(f"{where!r} holds no keys to renew: check the folder, or leave out --renew to begin a pilot")
    if not begun and not named:
        raise InputError(
            f"{where!r} holds no keys yet: give the coordinator's name to begin a pilot, as in --host "
            "coordinator.example.org, or its address, as in --ip 10.0.0.5"
        )
    if begun and named and not renew:
        raise InputError(
            f"{where!r} has a certificate for the coordinator already: give --renew to replace it, or leave out --host "
            "and --ip to add sites only"
        )
    if begun and not sites and not renew:
        raise InputError(f"{where!r} holds keys already, and there is nothing to add: give --sites, or --renew")
    if begun and days is not None and not renew:
        raise InputError("the days are those of the coordinator's certificate, and none is made: leave out --days")


def _begin(folder: Path, hosts: Sequence[str], addresses: Sequence[str], sites: Sequence[str], days: int) -> Keys:
    ca_key = _new_key()
    ca = _make_ca(ca_key)
    files = {
        "README.txt": _PILOT,
        "ca/README.txt": _CA,
        "ca/ca.key": _pem_key(ca_key),
        "ca/ca.pem": _pem(ca),
        "coordinator/README.txt": _COORDINATOR,
        "coordinator/ca.pem": _pem(ca),
    }
    server, made = _server(ca, ca_key, hosts, addresses, days)
    pairs, prints = _site_files(ca, sites, _names(server)[0])
    _write(folder, {**files, **made, **pairs}, ("coordinator/sites", "sites"))
    return Keys(folder, *_names(server), server.not_valid_after_utc, _fingerprint(ca), prints)


def _extend(
    folder: Path,
    ca: x509.Certificate,
    hosts: Sequence[str],
    addresses: Sequence[str],
    sites: Sequence[str],
    days: int | None,
) -> Keys:
    old = _read_certificate(folder / "coordinator" / "server.pem")
    if not hosts and not addresses:
        hosts, addresses = _names(old)
    pairs, prints = _site_files(ca, sites, hosts)
    for name in pairs:
        if (folder / name).exists() or (folder / name).parent.name in sites and (folder / name).parent.exists():
            raise InputError(
                f"site {_site_of(name)!r} has keys in {str(folder)!r} already: choose another name; or, to give it "
                f"new ones, first remove {str(folder / 'sites' / _site_of(name))!r} and its .pub in coordinator/sites"
            )
    done = Keys(folder, (), (), None, _fingerprint(ca), prints)
    if days is None:
        _write(folder, pairs, ("coordinator/sites", "sites"))
        return done
    ca_key = _read_ca_key(folder / "ca" / "ca.key", ca)
    server, made = _server(ca, ca_key, hosts, addresses, days)
    aside = f"coordinator/replaced-{old.serial_number:x}"[:40]
    former = {f"{aside}/{name}": path.read_bytes() for name, path in _server_files(folder).items() if path.exists()}
    _write(folder, {**former, **pairs}, ("coordinator/sites", "sites"))
    for name, content in made.items():
        _replace(folder / name, content)
    return replace(
        done,
        hosts=tuple(hosts),
        addresses=tuple(addresses),
        until=server.not_valid_after_utc,
        replaced=folder / aside,
    )
