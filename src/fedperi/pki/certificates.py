"""Make, write and read certificates and keys, and compute their fingerprints."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

# Defined elsewhere, but users look for them here.
from .private import OwnKey as OwnKey
from .private import check_unshared as check_unshared
from .private import need_cryptography as need_cryptography
from .private import pem_key as pem_key
from .private import read_site_key as read_site_key

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CA_DAYS = 3650
# The coordinator's own processes connect to it on loopback and check its certificate like any site does.
LOOPBACK_HOST = "localhost"
LOOPBACK = ("127.0.0.1", "::1")

WARN_DAYS = 30
"""Days before its end from which on a certificate is mentioned at every start, and once a day."""


def make_ca(key: EllipticCurvePrivateKey, now: datetime, below: int = 0) -> x509.Certificate:
    """Make a self-signed certificate of a CA; `below` is the allowed number of levels of authorities under it."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.x509.oid import NameOID

    # Names differ by pilot: a certificate of another pilot then fails with "unknown issuer", not "bad signature".
    title = f"fedperi pilot CA {os.urandom(4).hex()}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    return (
        _builder(key, title, subject, now, now + timedelta(days=CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=below), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .sign(key, SHA384())
    )


def make_server(
    key: EllipticCurvePrivateKey,
    ca: x509.Certificate,
    ca_key: EllipticCurvePrivateKey,
    hosts: Sequence[str],
    addresses: Sequence[str],
    now: datetime,
    until: datetime,
    loopback: bool = True,
) -> x509.Certificate:
    """Make the coordinator's certificate for host names and addresses, and for loopback unless it is left out."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.x509.oid import ExtendedKeyUsageOID

    if loopback:
        hosts, addresses = [*hosts, LOOPBACK_HOST], [*addresses, *LOOPBACK]
    names = [
        *map(x509.DNSName, dict.fromkeys(hosts)),
        *(x509.IPAddress(ipaddress.ip_address(text)) for text in dict.fromkeys(addresses)),
    ]
    return (
        _builder(key, "fedperi coordinator", ca.subject, now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, SHA384())
    )


def _builder(
    key: EllipticCurvePrivateKey, title: str, issuer: x509.Name, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)]))
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        # A day of grace: the clocks of hospitals differ.
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(**given: bool) -> x509.KeyUsage:
    from cryptography import x509

    kinds = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{kind: given.get(kind, False) for kind in kinds})


def new_key() -> EllipticCurvePrivateKey:
    """Make a key pair, of the kind that Flower expects of sites."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP384R1())


def pem(certificate: x509.Certificate) -> bytes:
    """Write a certificate."""
    from cryptography.hazmat.primitives.serialization import Encoding

    text: bytes = certificate.public_bytes(Encoding.PEM)
    return text


def openssh_private(key: EllipticCurvePrivateKey) -> bytes:
    """Write a key as a SuperNode reads it: in OpenSSH's own format, without a passphrase."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return text


def openssh_public(key: EllipticCurvePrivateKey) -> bytes:
    """Write the public half of a key in OpenSSH's format."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    text: bytes = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return text


def public_fingerprint(text: str) -> str:
    """Name a public key in OpenSSH's format as ``ssh-keygen -l`` does.

    Examples
    --------
    >>> public_fingerprint("ecdsa-sha2-nistp384 AAAA north")
    'SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw'
    """
    digest = hashlib.sha256(base64.b64decode(text.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def fingerprint(certificate: x509.Certificate) -> str:
    """Name a certificate as ``openssl x509 -fingerprint -sha256`` does."""
    from cryptography.hazmat.primitives.hashes import SHA256

    digest: bytes = certificate.fingerprint(SHA256())
    return digest.hex(":").upper()


def names_in(certificate: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the host names and addresses in a certificate, without loopback."""
    hosts, addresses = _alternative_names(certificate)
    return (
        tuple(host for host in hosts if host != LOOPBACK_HOST),
        tuple(address for address in addresses if address not in LOOPBACK),
    )


def _alternative_names(certificate: x509.Certificate) -> tuple[list[str], list[str]]:
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return [], []
    return found.get_values_for_type(x509.DNSName), [str(ip) for ip in found.get_values_for_type(x509.IPAddress)]


def reached_as(certificate: x509.Certificate, here: str) -> str:
    """Return the name or address under which the coordinator's own processes accept a certificate.

    They connect to `here`, an address of this machine. A certificate of an organisation's own authority rarely contains
    it; then its first name is used, as sites do.

    Raises
    ------
    InputError
        If the certificate has no name at all.
    """
    hosts, addresses = _alternative_names(certificate)
    if not hosts and not addresses:
        raise InputError(
            "the coordinator's certificate has no subject alternative names, and no site would accept it: have it "
            "issued for the host name that sites connect to"
        )
    return here if here in addresses else [*hosts, *addresses][0].replace("*", "coordinator", 1)


def read_certificate(path: Path) -> x509.Certificate:
    """Read a certificate of the pilot."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{str(path)!r} is missing: restore it from your backup") from None
    except ValueError:
        raise InputError(f"{str(path)!r} is not a certificate: restore it from your backup") from None


def read_ca_key(path: Path, ca: x509.Certificate) -> EllipticCurvePrivateKey:
    """Read the CA's key, if it is that of this CA and nobody else can read it."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        text = path.read_bytes()
        open_to_others = os.name == "posix" and path.stat().st_mode & 0o077
    except FileNotFoundError:
        raise InputError(
            f"renewing needs the CA's key, and {str(path)!r} is not there: restore it from where you keep it"
        ) from None
    if open_to_others:
        raise InputError(f"others on this machine can read the CA's key: chmod 600 {str(path)!r}, and ask who did")
    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != ca.public_key():
        raise InputError(f"{str(path)!r} is not the key of the CA in coordinator/ca.pem: restore the right one")
    return key


def days_left(until: datetime, now: datetime | None = None) -> int:
    """Return the number of whole days left, below 0 after the end.

    Examples
    --------
    >>> days_left(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 1, 12, tzinfo=UTC))
    0
    """
    return (until - (now or datetime.now(UTC))).days


def ending(what: str, until: datetime, now: datetime | None = None) -> str | None:
    """Return a warning that a certificate ends soon or has ended; None if there is enough time.

    Examples
    --------
    >>> ending("ca.pem", datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 2, 10, tzinfo=UTC))
    'WARNING: ca.pem ends on 2026-03-02, in 20 days'
    """
    left = days_left(until, now)
    if left < 0:
        return f"WARNING: {what} ended on {until:%Y-%m-%d}"
    return f"WARNING: {what} ends on {until:%Y-%m-%d}, in {left} days" if left < WARN_DAYS else None


def warnings_of(paths: Sequence[Path]) -> list[str]:
    """Return warnings about certificates in some files that end soon, with what to do; a file may contain several."""
    found = []
    for path in paths:
        for until in _ends(path):
            words = ending(repr(path.name), until)
            if words is not None:
                found.append(f"{words}: renew it (fedperi keys --renew, or your own authority)")
    return list(dict.fromkeys(found))


def _ends(path: Path) -> list[datetime]:
    from cryptography import x509

    try:
        return [certificate.not_valid_after_utc for certificate in x509.load_pem_x509_certificates(path.read_bytes())]
    except (OSError, ValueError):
        return []  # the code that uses the file reports errors in it


def check_not_ended(path: Path) -> None:
    """Raise if the certificate in a file has ended: no site would accept it."""
    until = read_certificate(path).not_valid_after_utc
    if days_left(until) < 0:
        raise InputError(
            f"the certificate {str(path)!r} ended on {until:%Y-%m-%d}, so that no site would accept it: renew it "
            "(fedperi keys --renew, or your own authority)"
        )
