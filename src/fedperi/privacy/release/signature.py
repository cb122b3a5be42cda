"""Who made a release: a signature with the site's own key, by which a coordinator knows the site.

A checksum shows damage. It does not prove who wrote a file: anyone can edit a release and compute the checksum again. A
signature (ECDSA, SHA-384) can only be made with the site's private key. It proves that the holder of this key wrote the
file as it is. A roster of public keys, or a telephone call, shows whose key it is.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import InputError
from ...pki.certificates import openssh_public, public_fingerprint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from ...tables.summary.summary import Summary
    from .release import Release

_PURPOSE = b"fedperi.release signature 1\n"  # the key also signs requests to a coordinator: the purposes differ
_LONGEST = 1000  # characters of a public key or a signature; those of P-521 have some 250

Signed = TypeVar("Signed", "Release", "Summary")

Roster = Mapping[str, str]
"""Public keys of sites, by their names, as `read_roster` returns them."""


@dataclass(frozen=True)
class Signature:
    """A public key, as ``ssh-keygen`` writes it but without a comment, and a signature, in base64."""

    key: str
    value: str

    @property
    def fingerprint(self) -> str:
        """The key's fingerprint, as ``ssh-keygen -l`` shows it.

        Examples
        --------
        >>> Signature("ecdsa-sha2-nistp384 AAAA", "").fingerprint
        'SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw'
        """
        return public_fingerprint(self.key)


def sign(message: str, key: EllipticCurvePrivateKey) -> str:
    """Return the signature of a text, in base64."""
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.hashes import SHA384

    return base64.b64encode(key.sign(_PURPOSE + message.encode(), ECDSA(SHA384()))).decode()


def public_text(key: EllipticCurvePrivateKey) -> str:
    """Return the public half of a key as `Signature` holds it."""
    return openssh_public(key).decode()


def verify(message: str, signature: Signature) -> bool:
    """Whether the owner of the key signed this text.

    Raises
    ------
    InputError
        If the package that verifies signatures is not installed; the message continues "release file ...".
    """
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
        from cryptography.hazmat.primitives.hashes import SHA384
        from cryptography.hazmat.primitives.serialization import load_ssh_public_key
    except ImportError:
        raise InputError(
            "is signed, and to check a signature the package cryptography is needed; pip install cryptography (the "
            "extra 'keys' brings it)"
        ) from None
    try:
        key: Any = load_ssh_public_key(signature.key.encode())
        if not isinstance(key, EllipticCurvePublicKey):
            return False
        key.verify(base64.b64decode(signature.value, validate=True), _PURPOSE + message.encode(), ECDSA(SHA384()))
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True


def is_key_text(value: object) -> bool:
    """Whether a value is a public key in canonical form: its type, a space, and base64.

    Examples
    --------
    >>> is_key_text("ecdsa-sha2-nistp384 AAAA"), is_key_text("ecdsa-sha2-nistp384  AAAA x")
    (True, False)
    """
    if not isinstance(value, str) or len(value) > _LONGEST or not value.startswith("ecdsa-sha2-nistp"):
        return False
    return len(value.split(" ")) == 2 and is_base64(value.split(" ")[1])


def is_base64(value: object) -> bool:
    """Whether a value is a short text in base64, exactly as `base64.b64encode` writes it.

    Examples
    --------
    >>> is_base64("AAAA"), is_base64("AAA"), is_base64(3)
    (True, False, False)
    """
    try:
        short = isinstance(value, str) and 0 < len(value) <= _LONGEST
        return short and base64.b64encode(base64.b64decode(str(value), validate=True)).decode() == value
    except (binascii.Error, ValueError):
        return False


def read_roster(folder: str | os.PathLike[str]) -> Roster:
    """Read the public keys of sites: files such as ``north.pub`` in a folder, as `fedperi keys` writes them.

    Examples
    --------
    >>> read_roster("nowhere")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the sites' public keys: 'nowhere' is not a folder; give the one with the files ...
    """
    keys = Path(folder)
    if not keys.is_dir():
        raise InputError(
            f"the sites' public keys: {str(keys)!r} is not a folder; give the one with the files SITE.pub "
            "(`fedperi keys` writes them to coordinator/sites)"
        )
    found: dict[str, str] = {}
    for file in sorted(keys.glob("*.pub")):
        try:
            key = " ".join(file.read_text(encoding="utf-8").split()[:2])
        except (OSError, UnicodeDecodeError):
            key = ""
        if not is_key_text(key):
            raise InputError(f"the sites' public keys: {str(file)!r} holds no public key (ECDSA, OpenSSH's format)")
        found[file.stem] = key
    if not found:
        raise InputError(f"the sites' public keys: there is no file SITE.pub in {str(keys)!r}")
    return found


def check_signer(release: Release | Summary, roster: Roster) -> None:
    """Raise unless a release is signed with its site's key in the roster; the message continues "release file ..."."""
    if release.site not in roster:
        raise InputError(
            f"is of site {release.site!r}, whose public key is not among the given ones "
            f"({', '.join(map(repr, roster))}): add {release.site}.pub, or leave the file out"
        )
    if release.signature is None:
        raise InputError(
            f"is not signed, so that anyone could have written it: have site {release.site!r} run `fedperi release` "
            "again with --key, which costs nothing"
        )
    if release.signature.key != roster[release.site]:
        raise InputError(
            f"is signed by another key ({release.signature.fingerprint}) than that of site {release.site!r}: do not "
            "use it, and ask the site"
        )
