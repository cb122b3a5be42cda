"""Certificates and site keys for a pilot: a CA of its own, the coordinator's certificate, one key pair a site."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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

    Nothing is lost: a renewal keeps the former certificate aside. Bad input is refused before anything is written.

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
    hosts = _checked("host", hosts, _host)
    addresses = _checked("IP address", addresses, _address)
    sites = _checked("site", sites, _site)
    if days is not None and (isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MAX_DAYS):
        raise InputError(f"a certificate cannot hold for {days!r} days: choose 1 to {MAX_DAYS}")
    folder = _folder(out)
    with _explained(folder):
        begun = _begun(folder)
        _check_task(folder, begun, bool(hosts or addresses), bool(sites), days, renew)
        _need_cryptography()
        if begun:
            return _extend(folder, hosts, addresses, sites, (days or 365) if renew else None)
        return _begin(folder, hosts, addresses, sites, days or 365)


def _check_task(folder: Path, begun: bool, named: bool, sites: bool, days: int | None, renew: bool) -> None:
    """Refuse what cannot be meant, given whether the pilot was begun before."""
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
    key = _new_key()
    ca = _make_ca(key)
    server, until = _server_files(ca, key, hosts, addresses, days)
    pairs, prints = _site_files(ca, sites, hosts, addresses)
    files = {
        "ca/ca.key": _pem_key(key),
        "ca/ca.pem": _pem(ca),
        "ca/README.txt": _CA_README.encode(),
        "coordinator/ca.pem": _pem(ca),
        "coordinator/README.txt": _COORDINATOR_README.encode(),
    }
    _write(folder, {**files, **server, **pairs})
    return Keys(folder, hosts, addresses, until, _fingerprint(ca), prints)


def _extend(
    folder: Path, hosts: tuple[str, ...], addresses: tuple[str, ...], sites: tuple[str, ...], days: int | None
) -> Keys:
    # Not from ca/, which may be in a safe: only a renewal needs it.
    ca = _read_certificate(folder / "coordinator" / "ca.pem")
    if ca.not_valid_after_utc <= _now():
        raise InputError(
            f"the CA in {str(folder)!r} ended on {_date(ca.not_valid_after_utc)}: begin a new folder of keys"
        )
    _check_new(folder, sites)
    old = _read_certificate(folder / "coordinator" / "server.pem")
    if not hosts and not addresses:
        hosts, addresses = _names(old)
    pairs, prints = _site_files(ca, sites, hosts, addresses)
    if days is None:
        _write(folder, pairs)
        return Keys(folder, (), (), None, _fingerprint(ca), prints)
    server, until = _server_files(ca, _read_ca_key(folder / "ca" / "ca.key", ca), hosts, addresses, days)
    aside = folder / "coordinator" / f"replaced-{old.serial_number:040x}"[:21]
    former = {
        f"coordinator/{aside.name}/{path.name}": path.read_bytes()
        for path in (folder / name for name in server)
        if path.exists() and not (aside / path.name).exists()  # there: of a renewal that was cut off
    }
    _write(folder, {**former, **pairs})
    # The key first: cut off between the two, the pair does not match, which a SuperLink says, and --renew mends.
    for name in sorted(server):
        _replace(folder / name, server[name])
    return Keys(folder, hosts, addresses, until, _fingerprint(ca), prints, aside)


def _check_new(folder: Path, sites: Sequence[str]) -> None:
    """Refuse a site that has keys; file systems may not tell North from north, and neither may people."""
    there = {path.stem.lower() for path in (folder / "coordinator" / "sites").glob("*.pub")}
    there |= {path.name.lower() for path in (folder / "sites").glob("*")}
    for site in sites:
        if site.lower() in there:
            raise InputError(
                f"site {site!r} has keys in {str(folder)!r} already: choose another name; or, to give it new ones, "
                f"first remove the folder sites/{site} and the file coordinator/sites/{site}.pub there"
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
        key = _new_key()
        public = _openssh_public(key)
        digest = hashlib.sha256(base64.b64decode(public.split()[1])).digest()
        prints[site] = "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
        told = _SITE_README.format(site=site, reach=reach, key=prints[site], ca=_fingerprint(ca))
        files[f"sites/{site}/{site}.key"] = _openssh_private(key)
        files[f"sites/{site}/ca.pem"] = _pem(ca)
        files[f"sites/{site}/README.txt"] = told.encode()
        files[f"coordinator/sites/{site}.pub"] = public + f" {site}\n".encode()
    return files, prints


def _server_files(
    ca: x509.Certificate, ca_key: EllipticCurvePrivateKey, hosts: Sequence[str], addresses: Sequence[str], days: int
) -> tuple[dict[str, bytes], datetime]:
    """Make the coordinator's key and certificate, and say when the certificate ends."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.x509.oid import ExtendedKeyUsageOID

    until = _now() + timedelta(days=days)
    if until > ca.not_valid_after_utc:
        left = (ca.not_valid_after_utc - _now()).days
        raise InputError(
            f"the CA ends on {_date(ca.not_valid_after_utc)}, before a certificate of {days} days would: choose at "
            f"most --days {left}, or begin a new folder of keys"
        )
    key = _new_key()
    names = [
        *map(x509.DNSName, dict.fromkeys([*hosts, LOOPBACK_HOST])),
        *(x509.IPAddress(ipaddress.ip_address(text)) for text in dict.fromkeys([*addresses, *LOOPBACK])),
    ]
    certificate = (
        _builder(key, "fedperi coordinator", ca.subject, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, SHA384())
    )
    return {"coordinator/server.key": _pem_key(key), "coordinator/server.pem": _pem(certificate)}, until


def _make_ca(key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.x509.oid import NameOID

    # Pilots are told apart by name: certificates of another one then fail with "unknown issuer", not "bad signature".
    title = f"fedperi pilot CA {os.urandom(4).hex()}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    return (
        _builder(key, title, subject, _now() + timedelta(days=CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .sign(key, SHA384())
    )


def _builder(key: EllipticCurvePrivateKey, title: str, issuer: x509.Name, until: datetime) -> x509.CertificateBuilder:
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
        .not_valid_before(_now() - timedelta(days=1))
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


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP384R1())


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    text: bytes = certificate.public_bytes(Encoding.PEM)
    return text


def _pem_key(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return text


def _openssh_private(key: EllipticCurvePrivateKey) -> bytes:
    """Write a key as a SuperNode reads it: in OpenSSH's own format, without a passphrase."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return text


def _openssh_public(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    text: bytes = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return text


def _fingerprint(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.hashes import SHA256

    digest: bytes = certificate.fingerprint(SHA256())
    return digest.hex(":").upper()


def _names(certificate: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Host names and addresses that a certificate of ours is for, without loopback."""
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return (), ()
    hosts = tuple(name for name in found.get_values_for_type(x509.DNSName) if name != LOOPBACK_HOST)
    addresses = (str(address) for address in found.get_values_for_type(x509.IPAddress))
    return hosts, tuple(address for address in addresses if address not in LOOPBACK)


def _read_certificate(path: Path) -> x509.Certificate:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{str(path)!r} is missing: bring it back from your backup") from None
    except ValueError:
        raise InputError(f"{str(path)!r} is no certificate: bring it back from your backup") from None


def _read_ca_key(path: Path, ca: x509.Certificate) -> EllipticCurvePrivateKey:
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


def _host(text: str) -> str:
    host = text.strip().lower()
    if _is_address(host):
        raise InputError(f"the host {text!r} is an address, not a name: give it with --ip")
    if not host.isascii():
        raise InputError(f"the host {text!r} has letters beyond ASCII: give the form that begins with xn--")
    labels = host.split(".")
    # The last label of a name is no number: what ends in one is an address with a mistake.
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdigit():
        raise InputError(
            f"the host {text!r} is no host name: give the name alone, without https:// and without a port, as in "
            "coordinator.example.org"
        )
    return host


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _address(text: str) -> str:
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        raise InputError(f"{text!r} is no IP address: give one as in 10.0.0.5 or fd00::5; names go to --host") from None
    if address.is_unspecified or address.is_multicast or getattr(address, "scope_id", None):
        raise InputError(f"no site can reach a coordinator at {text!r}: give the address that sites connect to")
    return str(address)


def _site(text: str) -> str:
    site = text.strip()
    if not _SITE.fullmatch(site):
        raise InputError(
            f"{text!r} cannot name a site's keys: use up to 63 letters, digits, - and _, as in north or hospital-1"
        )
    return site


def _checked(kind: str, values: Sequence[str], check: Callable[[str], str]) -> tuple[str, ...]:
    if (
        isinstance(values, str)
        or not isinstance(values, Sequence)
        or not all(isinstance(value, str) for value in values)
    ):
        raise InputError(f"the {kind} must be given as a list of texts, not {values!r:.80}")
    seen: dict[str, str] = {}
    for value in map(check, values):
        if value.lower() in seen:
            raise InputError(f"the {kind} {value!r} is given twice: give it once (capitals do not count)")
        seen[value.lower()] = value
    return tuple(seen.values())


def _folder(out: str | os.PathLike[str]) -> Path:
    if not str(out) or "\0" in str(out):
        raise InputError(f"the folder of keys is {str(out)!r}: give a name, as in --out keys")
    return Path(out)


def _begun(folder: Path) -> bool:
    """Tell a pilot's folder from one where a pilot can begin; refuse any other."""
    if (folder / "coordinator" / "ca.pem").exists():
        return True
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file: choose another name for the folder of keys")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(
            f"the folder {str(folder)!r} is not empty, and holds no keys of a pilot (no coordinator/ca.pem): choose a "
            "new folder"
        )
    if not folder.absolute().parent.is_dir():
        raise InputError(f"there is no folder {str(folder.absolute().parent)!r} to put the keys in: make it first")
    return False


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """Write new files for their owner's eyes only; all of them, or after a failure none."""
    made: list[Path] = []
    try:
        _make_folder(folder, made)
        if os.name == "posix":
            folder.chmod(0o700)
        for name, content in files.items():
            path = folder / name
            for parent in reversed(path.relative_to(folder).parents[:-1]):
                _make_folder(folder / parent, made)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                made.append(path)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def _make_folder(path: Path, made: list[Path]) -> None:
    if not path.is_dir():
        path.mkdir(mode=0o700)
        made.append(path)


def _replace(path: Path, content: bytes) -> None:
    new = path.with_name(f".new-{path.name}")
    new.unlink(missing_ok=True)
    _write(new.parent, {new.name: content})
    new.replace(path)


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        place = error.filename or str(folder)
        raise InputError(
            f"the folder of keys {str(folder)!r} cannot be used ({reason}: {str(place)!r}): choose one that "
            "you can write"
        ) from None


def _need_cryptography() -> None:
    try:
        import cryptography.x509  # noqa: F401
    except ImportError:
        raise InputError("making keys needs the package cryptography: pip install 'fedperi[flower]'") from None


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _date(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


_CA_README = """\
The pilot's certificate authority (CA)

ca.key   secret. Whoever has it can pretend to be the coordinator, to every site. It is needed only to renew the
         coordinator's certificate (fedperi keys --renew), not to add sites and not to run anything. Keep it off the
         coordinator and off the network: an encrypted stick in a safe is right. Keep a copy: without it, every site
         must be given a new ca.pem in the end.
ca.pem   public. Every site and the coordinator have a copy.

The key has no passphrase. Never send it by mail, and put it in no repository.
"""

_COORDINATOR_README = """\
For the machine of the coordinator

Copy this folder there, over a channel that nobody else reads, then:

    fedperi coordinate --keys THIS_FOLDER --out results

ca.pem         public: the pilot's CA
server.pem     public: the coordinator's certificate. Renew it before it ends: fedperi keys --out FOLDER --renew
server.key     secret: whoever has it and can redirect traffic can pretend to be the coordinator
sites/*.pub    public: the keys of the sites that may connect. Delete one, and restart, to shut a site out.

Files are readable by their owner only; leave it so.
"""

_SITE_README = """\
For site {site}

1. Check that this came to you unchanged. Ask for these two lines by telephone, and compare:
     CA      {ca}
     site    {key}
   To see what you have:
     openssl x509 -noout -fingerprint -sha256 -in ca.pem
     ssh-keygen -l -f {site}.key
2. Put the folder on the machine that has the table, readable only by the account that runs fedperi:
     chmod 700 .   and   chmod 600 *
3. Look first, at your own pace. This sends nothing. Add the options that were agreed on for privacy (--epsilon and
   --bounds), here and in step 4; without them answers carry no noise:
     fedperi site --data TABLE.csv --name {site} --dry-run
4. Take part. The machine calls out to the coordinator; no port needs to be opened at your side:
     fedperi site --data TABLE.csv --name {site} --coordinator {reach}:9092 --ca ca.pem --key {site}.key

ca.pem        public. By it your machine knows the coordinator, and refuses any other.
{site}.key
              secret. By it the coordinator knows you. Whoever has it can answer in your name; it opens nothing at your
              side. If it is lost or was seen by others, tell the coordinator, who shuts it out, and ask for a new one.
"""
