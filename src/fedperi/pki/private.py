"""A site's private key: read from its file, decrypted if necessary, and read again when its owner replaces it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

PASSPHRASE_FILE = "FEDPERI_PASSPHRASE_FILE"
"""Environment variable that names the file with the passphrase; the passphrase itself is in no variable."""

CREDENTIAL = "fedperi-passphrase"
"""Name under which systemd provides the passphrase (``LoadCredential=``)."""

SHORTEST = 8
"""Smallest number of characters of a passphrase: shorter ones can be guessed in seconds."""


def read_site_key(path: Path, passphrase: Path | None = None) -> EllipticCurvePrivateKey:
    """Read a site's private key, if nobody else can read it: anyone who can may answer in the site's name.

    Parameters
    ----------
    path : Path
        The key: OpenSSH's format or PKCS8, encrypted or not.
    passphrase : Path, optional
        File with the passphrase of an encrypted key; see `find_passphrase`.

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
    from cryptography.hazmat.primitives.asymmetric import ec

    encrypted = _is_encrypted(content)
    secret = find_passphrase(passphrase) if encrypted else None
    if encrypted and secret is None:
        raise InputError(
            f"the key {str(path)!r} is encrypted: give the file with its passphrase (--passphrase-file, or "
            f"{PASSPHRASE_FILE}, or the credential {CREDENTIAL} of its systemd unit)"
        )
    key = _loaded(content, secret)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        if secret is not None:
            raise InputError(f"the key {str(path)!r} cannot be decrypted: the passphrase is not that of this key")
        raise InputError(
            f"the key {str(path)!r} is not a private key that a site can use (ECDSA, OpenSSH's format or PKCS8): make "
            "one with `fedperi keys`"
        )
    return key


def _is_encrypted(content: bytes) -> bool:
    """Whether a key needs a passphrase, judged by its text."""
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    if b"ENCRYPTED" in content:
        return True
    try:
        load_ssh_private_key(content, None)
    except TypeError:  # OpenSSH's format without the necessary passphrase
        return True
    except Exception:
        return False
    return False


def _loaded(content: bytes, secret: bytes | None) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    for load in (load_ssh_private_key, load_pem_private_key):
        try:
            key: object = load(content, secret)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
        return key
    return None


def find_passphrase(file: Path | None) -> bytes | None:
    """Read a passphrase: from this file, the file that the environment names, or from systemd.

    Never from an argument or a variable: ``ps`` shows these to other accounts, and shells keep them in histories.

    Examples
    --------
    >>> find_passphrase(Path("nowhere.txt"))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the passphrase file 'nowhere.txt' cannot be read: No such file or directory
    """
    named, handed = os.environ.get(PASSPHRASE_FILE), os.environ.get("CREDENTIALS_DIRECTORY")
    if file is None and named:
        file = Path(named)
    credential = None if handed is None else Path(handed) / CREDENTIAL
    try:
        if file is None and credential is not None and credential.is_file():
            file = credential
    except OSError as error:
        raise InputError(f"the credential {str(credential)!r} cannot be read: {error.strerror or error}") from None
    if file is None:
        return None
    try:
        secret = file.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"the passphrase file {str(file)!r} cannot be read: {error.strerror or error}") from None
    if file != credential:  # systemd protects its file by other means than modes
        check_unshared(file, "passphrase file")
    if secret in (b"", b"-") and file == credential:
        return None  # the unit's default: no passphrase was set up
    if not secret:
        raise InputError(f"the passphrase file {str(file)!r} is empty")
    return secret


def encrypt_key(path: Path, passphrase: Path | None) -> None:
    """Encrypt a site's key with a passphrase, in place (PKCS8 as `cryptography` encrypts it by default).

    An encrypted key is refused: two passphrases would be needed, and might be confused.
    """
    from ..disk import write_whole

    key = read_site_key(path, passphrase)
    if _is_encrypted(path.read_bytes()):
        raise InputError(f"the key {str(path)!r} is encrypted already")
    secret = find_passphrase(passphrase)
    if secret is None:
        raise InputError("give a file with the passphrase: --passphrase-file FILE")
    if len(secret) < SHORTEST:
        raise InputError(f"the passphrase has {len(secret)} characters, and {SHORTEST} are needed: take a longer one")
    write_whole(path, pem_key(key, secret))


def pem_key(key: EllipticCurvePrivateKey, secret: bytes | None = None) -> bytes:
    """Write a key in PKCS8, as TLS servers read it; encrypted, if there is a passphrase."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    how = NoEncryption() if secret is None else BestAvailableEncryption(secret)
    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how)
    return text


class OwnKey:
    """A site's key while the site runs: its owner may replace the file without a restart.

    Parameters
    ----------
    path : Path
        The key.
    passphrase : Path, optional
        File with its passphrase.
    """

    def __init__(self, path: Path, passphrase: Path | None = None) -> None:
        self._path, self._passphrase = path, passphrase
        self._file: EllipticCurvePrivateKey = read_site_key(path, passphrase)
        self._used = self._accepted = self._file
        self.problem: str | None = None

    def current(self) -> EllipticCurvePrivateKey:
        """Return the key for the connection and for signatures."""
        return self._used

    def accepted(self) -> None:
        """Record that the coordinator accepts the current key."""
        self._accepted = self._used

    def next(self) -> EllipticCurvePrivateKey:
        """Choose the key for the next attempt: that in the file; after a refusal alternate with the former one.

        The coordinator may learn a new key before or after it is in the file.
        """
        try:
            self._file = read_site_key(self._path, self._passphrase)
            self.problem = None
        except InputError as error:  # half copied
            self.problem = str(error)
        tried = self._used
        self._used = self._file
        if _same(tried, self._file) and not _same(tried, self._accepted):
            self._used = self._accepted
        return self._used


def _same(one: EllipticCurvePrivateKey, other: EllipticCurvePrivateKey) -> bool:
    return bool(one.public_key() == other.public_key())


def check_unshared(path: Path, what: str = "key") -> None:
    """Raise if other accounts of this machine can read a private key, which must exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:  # mode 600
    ...     check_unshared(Path(file.name))
    """
    mode = path.stat().st_mode
    if os.name == "posix" and mode & 0o077:
        raise InputError(
            f"the {what} {str(path)!r} can be read or changed by others on this machine (mode {mode & 0o777:o}): run "
            f"chmod 600 {shlex.quote(str(path))}; if others may have seen it, ask for a new key"
        )


def need_cryptography(what: str = "making keys") -> None:
    """Raise unless keys and certificates can be made and read here."""
    try:
        import cryptography.x509  # noqa: F401
    except ImportError:
        remedy = "pip install cryptography (the extra 'keys' brings it)"
        raise InputError(f"{what} needs the package cryptography; {remedy}") from None
