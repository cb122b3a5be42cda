"""Certificates and site keys for a pilot: its own CA, the coordinator's certificate, one key pair per site."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..disk import write_whole
from ..errors import InputError
from .certificates import (
    CA_DAYS,
    LOOPBACK_HOST,
    fingerprint,
    make_ca,
    make_server,
    names_in,
    need_cryptography,
    new_key,
    openssh_private,
    openssh_public,
    pem,
    pem_key,
    public_fingerprint,
    read_ca_key,
    read_certificate,
)
from .folder import checked, explained, has_begun, host_name, ip_address, key_folder, site_name, write_files
from .texts import CA_README, COORDINATOR_README, SITE_README

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

__all__ = ["CA_DAYS", "MAX_DAYS", "Keys", "make_keys"]

# Apple's TLS and others refuse certificates with more than 825 days. Also, people forget to renew what lasts so long.
MAX_DAYS = 825


@dataclass(frozen=True)
class Keys:
    """What `make_keys` wrote.

    Parameters
    ----------
    folder : Path
        The pilot's folder.
    hosts, addresses : tuple of str
        The names and addresses in the coordinator's certificate, besides loopback; empty if none was made.
    until : datetime or None
        The end of this certificate.
    ca : str
        SHA-256 fingerprint of the CA's certificate, as ``openssl x509 -fingerprint -sha256`` shows it.
    sites : dict of str to str
        The new sites, each with the fingerprint of its public key as ``ssh-keygen -l`` shows it.
    replaced : Path or None
        Folder of the former certificate and its key, after a renewal.

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

    Nothing is lost: a renewal keeps the former certificate. Bad input is refused before anything is written.

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
        Days that the coordinator's certificate is valid, 1 to 825; 365 if not given.
    renew : bool
        Make a new coordinator's certificate in a folder that has one.

    Examples
    --------
    >>> make_keys("keys", hosts=["coordinator.example.org:9092"], sites=["north"])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the host 'coordinator.example.org:9092' is not a host name: give the name alone, without
    https:// and without a port, as in coordinator.example.org
    """
    hosts = checked("host", hosts, host_name)
    addresses = checked("IP address", addresses, ip_address)
    sites = checked("site", sites, site_name)
    if days is not None and (isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MAX_DAYS):
        raise InputError(f"a certificate cannot hold for {days!r} days: choose 1 to {MAX_DAYS}")
    folder = key_folder(out)
    with explained(folder):
        begun = has_begun(folder)
        _check_task(folder, begun, bool(hosts or addresses), bool(sites), days, renew)
        need_cryptography()
        if begun:
            return _extend(folder, hosts, addresses, sites, (days or 365) if renew else None)
        return _begin(folder, hosts, addresses, sites, days or 365)


def _check_task(folder: Path, begun: bool, named: bool, sites: bool, days: int | None, renew: bool) -> None:
    """Refuse combinations of options that make no sense for a new or an existing pilot."""
    where = repr(str(folder))
    if not begun and renew:
        raise InputError(f"{where} holds no keys to renew: check the folder, or leave out --renew to begin a pilot")
    if not begun and not named:
        raise InputError(
            f"{where} holds no keys yet: give the coordinator's name to begin a pilot, as in --host "
            "coordinator.example.org, or its address, as in --ip 10.0.0.5"
        )
    if begun and named and not renew:
        raise InputError(
            f"{where} has a certificate for the coordinator already: give --renew to replace it, or leave out --host "
            "and --ip to add sites only"
        )
    if begun and not sites and not renew:
        raise InputError(f"{where} holds keys already, and there is nothing to add: give --sites, or --renew")
    if begun and days is not None and not renew:
        raise InputError("the days are those of the coordinator's certificate, and none is made: leave out --days")


def _begin(folder: Path, hosts: tuple[str, ...], addresses: tuple[str, ...], sites: tuple[str, ...], days: int) -> Keys:
    key = new_key()
    ca = make_ca(key, _now())
    server, until = _server_files(ca, key, hosts, addresses, days)
    pairs, prints = _site_files(ca, sites, hosts, addresses)
    files = {
        "ca/ca.key": pem_key(key),
        "ca/ca.pem": pem(ca),
        "ca/README.txt": CA_README.encode(),
        "coordinator/ca.pem": pem(ca),
        "coordinator/README.txt": COORDINATOR_README.encode(),
    }
    write_files(folder, {**files, **server, **pairs})
    return Keys(folder, hosts, addresses, until, fingerprint(ca), prints)


def _extend(
    folder: Path, hosts: tuple[str, ...], addresses: tuple[str, ...], sites: tuple[str, ...], days: int | None
) -> Keys:
    # Not from ca/, which may be in a safe: only a renewal needs it.
    ca = read_certificate(folder / "coordinator" / "ca.pem")
    if ca.not_valid_after_utc <= _now():
        raise InputError(
            f"the CA in {str(folder)!r} ended on {ca.not_valid_after_utc:%Y-%m-%d}: begin a new folder of keys"
        )
    _check_new(folder, sites)
    old = read_certificate(folder / "coordinator" / "server.pem")
    if not hosts and not addresses:
        hosts, addresses = names_in(old)
    pairs, prints = _site_files(ca, sites, hosts, addresses)
    if days is None:
        write_files(folder, pairs)
        return Keys(folder, (), (), None, fingerprint(ca), prints)
    server, until = _server_files(ca, read_ca_key(folder / "ca" / "ca.key", ca), hosts, addresses, days)
    aside = folder / "coordinator" / f"replaced-{old.serial_number:040x}"[:21]
    former = {
        f"coordinator/{aside.name}/{path.name}": path.read_bytes()
        for path in (folder / name for name in server)
        if path.exists() and not (aside / path.name).exists()  # it exists if an earlier renewal was interrupted
    }
    write_files(folder, {**former, **pairs})
    # The key first: after an interruption the pair does not match; a SuperLink reports this, and --renew repairs it.
    for name in sorted(server):
        write_whole(folder / name, server[name])
    return Keys(folder, hosts, addresses, until, fingerprint(ca), prints, aside)


def _check_new(folder: Path, sites: Sequence[str]) -> None:
    """Refuse a site that has keys already; file systems and people may confuse North with north."""
    existing = {path.stem.lower() for path in (folder / "coordinator" / "sites").glob("*.pub")}
    existing |= {path.name.lower() for path in (folder / "sites").glob("*")}
    for site in sites:
        if site.lower() in existing:
            raise InputError(
                f"site {site!r} has keys in {str(folder)!r} already: choose another name; or, to give it new ones, "
                f"first put the old ones aside (fedperi keys --out {folder} --withdraw {site})"
            )


def _site_files(
    ca: x509.Certificate, sites: Sequence[str], hosts: Sequence[str], addresses: Sequence[str]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Make the files of new sites, by their names in the pilot's folder, and the fingerprints of their keys."""
    literal = [f"[{address}]" if ":" in address else address for address in addresses]
    reach = [*hosts, *literal, LOOPBACK_HOST][0]
    files: dict[str, bytes] = {}
    prints: dict[str, str] = {}
    for site in sites:
        key = new_key()
        public = openssh_public(key)
        prints[site] = public_fingerprint(public.decode())
        text = SITE_README.format(site=site, reach=reach, key=prints[site], ca=fingerprint(ca))
        files[f"sites/{site}/{site}.key"] = openssh_private(key)
        files[f"sites/{site}/ca.pem"] = pem(ca)
        files[f"sites/{site}/README.txt"] = text.encode()
        files[f"coordinator/sites/{site}.pub"] = public + f" {site}\n".encode()
    return files, prints


def _server_files(
    ca: x509.Certificate, ca_key: EllipticCurvePrivateKey, hosts: Sequence[str], addresses: Sequence[str], days: int
) -> tuple[dict[str, bytes], datetime]:
    """Make the coordinator's key and certificate, and say when the certificate ends."""
    until = _now() + timedelta(days=days)
    if until > ca.not_valid_after_utc:
        left = (ca.not_valid_after_utc - _now()).days
        raise InputError(
            f"the CA ends on {ca.not_valid_after_utc:%Y-%m-%d}, before a certificate of {days} days would: choose at "
            f"most --days {left}, or begin a new folder of keys"
        )
    key = new_key()
    certificate = make_server(key, ca, ca_key, hosts, addresses, _now(), until)
    return {"coordinator/server.key": pem_key(key), "coordinator/server.pem": pem(certificate)}, until


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
