"""The folder of a pilot's keys: allowed names, and files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .. import disk
from ..errors import InputError

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SITE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")


def host_name(text: str) -> str:
    """Return a host name in small letters, or raise.

    Examples
    --------
    >>> host_name("Coordinator.example.org")
    'coordinator.example.org'
    """
    host = text.strip().lower()
    if _is_address(host):
        raise InputError(f"the host {text!r} is an address, not a name: give it with --ip")
    if not host.isascii():
        raise InputError(f"the host {text!r} has letters beyond ASCII: give the form that begins with xn--")
    labels = host.split(".")
    # The last label of a name is not a number: a text that ends in one is a mistyped address.
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdigit():
        raise InputError(
            f"the host {text!r} is not a host name: give the name alone, without https:// and without a port, as in "
            "coordinator.example.org"
        )
    return host


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def ip_address(text: str) -> str:
    """Return an address that sites can connect to, or raise.

    Examples
    --------
    >>> ip_address("FD00::5")
    'fd00::5'
    """
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        raise InputError(f"{text!r} is not an IP address such as 10.0.0.5 or fd00::5; names go to --host") from None
    if address.is_unspecified or address.is_multicast or getattr(address, "scope_id", None):
        raise InputError(f"no site can reach a coordinator at {text!r}: give the address that sites connect to")
    return str(address)


def site_name(text: str) -> str:
    """Return a name that files can have, or raise.

    Examples
    --------
    >>> site_name("hospital-1 ")
    'hospital-1'
    """
    site = text.strip()
    if not _SITE.fullmatch(site):
        raise InputError(
            f"{text!r} cannot name a site's keys: use up to 63 letters, digits, - and _, as in north or hospital-1"
        )
    return site


def checked(kind: str, values: Sequence[str], check: Callable[[str], str]) -> tuple[str, ...]:
    """Check each of some names, and that no name is given twice.

    Examples
    --------
    >>> checked("site", ["north", "North"], site_name)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the site 'North' is given twice: give it once (capitals do not count)
    """
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


def key_folder(out: str | os.PathLike[str]) -> Path:
    """Return the folder, or raise if this cannot be one."""
    if not str(out) or "\0" in str(out):
        raise InputError(f"the folder of keys is {str(out)!r}: give a name, as in --out keys")
    return Path(out)


def has_begun(folder: Path) -> bool:
    """Whether this is the folder of a pilot (or one where a pilot can begin); any other is refused."""
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


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write new files that only their owner can read; all of them, or after a failure none."""
    made: list[Path] = []
    try:
        _make_folder(folder, made)
        if os.name == "posix":
            folder.chmod(0o700)
        for name, content in files.items():
            path = folder / name
            for parent in reversed(path.relative_to(folder).parents[:-1]):
                _make_folder(folder / parent, made)
            disk.write_new(path, content)
            made.append(path)
    except BaseException:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def _make_folder(path: Path, made: list[Path]) -> None:
    if not path.is_dir():
        path.mkdir(mode=0o700)
        made.append(path)


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn errors of the operating system into clear messages."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        place = error.filename or str(folder)
        raise InputError(
            f"the folder of keys {str(folder)!r} cannot be used ({reason}: {str(place)!r}): choose one that "
            "you can write"
        ) from None
