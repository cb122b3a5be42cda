"""Certificates and keys as such: made, written, read, and named by their fingerprints."""

from __future__ import annotations

import ipaddress
import os
import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CA_DAYS = 3650
# The coordinator's own processes connect to it on loopback and check its certificate like any site does.
LOOPBACK_HOST = "localhost"
LOOPBACK = ("127.0.0.1", "::1")


def make_ca(key: EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    """Make a CA's certificate of its own."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.x509.oid import NameOID

    # Pilots are told apart by name: certificates of another one then fail with "unknown issuer", not "bad signature".
    title = f"fedperi pilot CA {os.urandom(4).hex()}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    return (
        _builder(key, title, subject, now, now + timedelta(days=CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
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
) -> x509.Certificate:
    """Make the coordinator's certificate, for some names and for loopback."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.x509.oid import ExtendedKeyUsageOID

    names = [
        *map(x509.DNSName, dict.fromkeys([*hosts, LOOPBACK_HOST])),
        *(x509.IPAddress(ipaddress.ip_address(text)) for text in dict.fromkeys([*addresses, *LOOPBACK])),
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


def pem_key(key: EllipticCurvePrivateKey) -> bytes:
    """Write a key as TLS servers read it."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
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


def fingerprint(certificate: x509.Certificate) -> str:
    """Name a certificate as ``openssl x509 -fingerprint -sha256`` does."""
    from cryptography.hazmat.primitives.hashes import SHA256

    digest: bytes = certificate.fingerprint(SHA256())
    return digest.hex(":").upper()


def names_in(certificate: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Host names and addresses that a certificate of ours is for, without loopback."""
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return (), ()
    hosts = tuple(name for name in found.get_values_for_type(x509.DNSName) if name != LOOPBACK_HOST)
    addresses = (str(address) for address in found.get_values_for_type(x509.IPAddress))
    return hosts, tuple(address for address in addresses if address not in LOOPBACK)


def read_certificate(path: Path) -> x509.Certificate:
    """Read a certificate of the pilot."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{str(path)!r} is missing: bring it back from your backup") from None
    except ValueError:
        raise InputError(f"{str(path)!r} is no certificate: bring it back from your backup") from None


def read_ca_key(path: Path, ca: x509.Certificate) -> EllipticCurvePrivateKey:
    """Read the CA's key, if it is that of this CA and nobody else can read it."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        text = path.read_bytes()
        open_to_others = os.name == "posix" and path.stat().st_mode & 0o077
    except FileNotFoundError:
        raise InputError(
            f"renewing needs the CA's key, and {str(path)!r} is not there: bring it back from where you guard it"
        ) from None
    if open_to_others:
        raise InputError(f"others on this machine can read the CA's key: chmod 600 {str(path)!r}, and ask who did")
    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != ca.public_key():
        raise InputError(f"{str(path)!r} is not the key of the CA in coordinator/ca.pem: bring back the right one")
    return key


def read_site_key(path: Path) -> EllipticCurvePrivateKey:
    """Read a site's private key, if nobody else can read it: anyone who can may answer in the site's name.

    Examples
    --------
    >>> read_site_key(Path("nowhere.key"))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the key 'nowhere.key' cannot be read: No such file or directory
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"the key {str(path)!r} cannot be read: {error.strerror or error}") from None
    check_unshared(path)
    need_cryptography("reading a key")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InputError(
            f"the key {str(path)!r} is no private key that a site can use (ECDSA, OpenSSH's format, no passphrase): "
            "make one with `fedperi keys`"
        )
    return key


def check_unshared(path: Path) -> None:
    """Raise if a private key, which is there, is open to other accounts of this machine.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:  # mode 600
    ...     check_unshared(Path(file.name))
    """
    mode = path.stat().st_mode
    if os.name == "posix" and mode & 0o077:
        raise InputError(
            f"the key {str(path)!r} can be read or changed by others on this machine (mode {mode & 0o777:o}): run "
            f"chmod 600 {shlex.quote(str(path))}; if others may have seen it, ask for a new key"
        )


def need_cryptography(what: str = "making keys") -> None:
    """Raise unless keys and certificates can be made and read here."""
    try:
        import cryptography.x509  # noqa: F401
    except ImportError:
        remedy = "pip install cryptography (the extra 'keys' brings it)"
        raise InputError(f"{what} needs the package cryptography; {remedy}") from None
