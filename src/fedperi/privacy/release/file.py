"""The release file: one small text that a person can read, with a version and a checksum.

It is JSON. Everything in it follows from the release, including the sentences at its top. A file is refused if they
contradict the numbers, if it has another field, or if its noise is too small for its promise.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from ... import disk
from ...errors import InputError
from .reader import AGAIN, largest_text, read_release, refusal
from .release import Release
from .signature import Roster, check_signer, read_roster
from .text import sign_release, write_release

__all__ = ["is_release", "load_release", "read_release", "save_release", "sign_release", "write_release"]

_HEAD = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"fedperi\.release"')


def save_release(release: Release, path: str | PathLike[str]) -> None:
    """Write a release file completely or not at all. A file with the same text is kept, any other is not overwritten.

    Examples
    --------
    >>> save_release(None, "no/such/h1.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: release file 'no/such/h1.fedperi': there is no folder 'no/such'; make it first
    """
    target = Path(path)
    refuse = refusal(str(target), ": ")
    if not target.parent.is_dir():
        refuse(f"there is no folder {str(target.parent)!r}; make it first")
    text = write_release(release).encode()
    try:
        if target.is_symlink() or target.exists():
            if target.is_file() and target.read_bytes() == text:
                return
            refuse("another file is there already; remove it, or choose another name")
        disk.write_whole(target, text, mode=0o666)  # minus the user's umask: others may read it, since it will be sent
    except OSError as error:
        refuse(f"it cannot be written: {error.strerror or error}; choose another place")


def load_release(path: str | PathLike[str], keys: Roster | str | PathLike[str] | None = None) -> Release:
    """Read a release file.

    Parameters
    ----------
    path : path
        The file.
    keys : path or mapping, optional
        The public keys of the sites: a folder of files such as ``north.pub``, or what
        `fedperi.privacy.release.signature` read from it. If given, only files that their site has signed are read.

    Examples
    --------
    >>> load_release("no/such/file.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: release file 'no/such/file.fedperi' does not exist; check the path
    """
    file = Path(path)
    refuse = refusal(str(file))
    try:
        if not file.exists():
            refuse("does not exist; check the path")
        if not file.is_file():
            refuse("is not a file; give one that `fedperi release` wrote")
        if file.stat().st_size > 2 * largest_text():  # letters beyond ASCII take two bytes or more
            refuse("is far too large to be one; give a file that `fedperi release` wrote")
        release = read_release(file.read_text(encoding="utf-8-sig"), str(file))
    except OSError as error:
        refuse(f"cannot be read: {error.strerror or error}; check its permissions")
    except UnicodeDecodeError:
        refuse(f"is not text; {AGAIN}")
    if keys is not None:
        roster = read_roster(keys) if isinstance(keys, str | PathLike) else keys
        try:
            check_signer(release, roster)
        except InputError as error:
            refuse(str(error))
    return release


def is_release(path: str | PathLike[str]) -> bool:
    """Whether a file begins like a release file; it may still be refused when it is read.

    Examples
    --------
    >>> is_release("no/such/file.fedperi")
    False
    """
    try:
        file = Path(path)
        if not file.is_file():  # opening a pipe would wait for somebody to write
            return False
        with file.open("rb") as stream:
            return _HEAD.match(stream.read(256)) is not None
    except (OSError, ValueError):
        return False
