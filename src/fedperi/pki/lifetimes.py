"""The contents of a folder of keys and certificates, and how long they are valid."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from .certificates import days_left, ending, fingerprint, names_in, public_fingerprint, read_certificate


def overview(place: Path) -> list[str]:
    """Describe the certificates and keys of a folder, or one file, in lines without secrets.

    Examples
    --------
    >>> overview(Path("nowhere"))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: there is nothing at 'nowhere': give a folder of keys, or one of its files
    """
    if not place.exists():
        raise InputError(f"there is nothing at {str(place)!r}: give a folder of keys, or one of its files")
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    lines: list[str] = []
    for path in files:
        name = str(path if place.is_file() else path.relative_to(place))
        if path.suffix in (".pem", ".crt", ".cer"):
            lines += _of_certificate(path, name)
        elif path.suffix == ".pub":
            lines.append(f"{name}: public key of a site, {_public_print(path)}; valid until it is withdrawn")
        elif path.suffix == ".key":
            how = "encrypted" if b"ENCRYPTED" in path.read_bytes() else "NOT encrypted"
            lines.append(f"{name}: private key, {how}")
    if not lines:
        raise InputError(f"{str(place)!r} holds neither certificates (.pem) nor keys (.pub, .key)")
    return lines


def _of_certificate(path: Path, name: str) -> list[str]:
    certificate = read_certificate(path)
    until = certificate.not_valid_after_utc
    hosts, addresses = names_in(certificate)
    who = f" for {', '.join((*hosts, *addresses))}" if hosts or addresses else ""
    title = certificate.subject.rfc4514_string()
    line = f"{name}: certificate{who} ({title}), until {until:%Y-%m-%d}, {days_left(until)} days left"
    return [line, f"  SHA-256 {fingerprint(certificate)}", *filter(None, [ending(name, until)])]


def _public_print(path: Path) -> str:
    try:
        return public_fingerprint(path.read_text(encoding="utf-8"))
    except (ValueError, IndexError):
        raise InputError(f"{str(path)!r} is not a public key of a site (ECDSA, OpenSSH's format)") from None
