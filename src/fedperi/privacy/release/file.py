"""The release file: one small text that a person can read, with a version and a checksum.

It is JSON. Everything in it follows from the release, including the sentences at its top. A file is refused if they
contradict the numbers, if it has another field, or if its noise is too small for its promise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ... import disk
from ...errors import InputError
from .reader import AGAIN, largest_text, read_release, refusal
from .release import Release
from .signature import Roster, Signed, check_signer, read_roster
from .text import sign_release, write_release

__all__ = ["is_release", "load_release", "read_release", "save_release", "sign_release", "write_release"]

HEAD = re.compile(r'\ufeff?\s*\{\s*"format"\s*:\s*"fedperi\.(release|summary)"')
"""The beginning of a release and of an exact summary."""


def save_release(release: Release, path: str | PathLike[str]) -> None:
    """Write a release file completely or not at all. A file with the same text is kept, any other is not overwritten.

    Examples
    --------
    >>> save_release(None, "no/such/h1.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: release file 'no/such/h1.fedperi': there is no folder 'no/such'; make it first
    """
    save_text(lambda: write_release(release), path, "release file")


def save_text(write: Callable[[], str], path: str | PathLike[str], what: str) -> None:
    """Write a file as `save_release` does; `write` returns its text, and errors call it `what`."""
    target = Path(path)
    refuse = refusal(f"{what} {str(target)!r}:")
    if not target.parent.is_dir():
        refuse(f"there is no folder {str(target.parent)!r}; make it first")
    text = write().encode()
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
    return load_signed(path, keys, read_release, "release file", largest_text(), AGAIN)


def load_signed(
    path: str | PathLike[str],
    keys: Roster | str | PathLike[str] | None,
    read: Callable[[str, str], Signed],
    what: str,
    longest: int,
    again: str,
) -> Signed:
    """Read a file as `load_release` does: `read` takes its text and its name, and errors call it `what`.

    Such a file has at most `longest` characters; `again` says what to do if it is damaged.
    """
    file = Path(path)
    refuse = refusal(f"{what} {str(file)!r}")
    try:
        if not file.exists():
            refuse("does not exist; check the path")
        if not file.is_file():
            refuse("is not a file; give one that `fedperi release` wrote")
        if file.stat().st_size > 2 * longest:  # letters beyond ASCII take two bytes or more
            refuse("is far too large to be one; give a file that `fedperi release` wrote")
        found = read(file.read_text(encoding="utf-8-sig"), str(file))
    except OSError as error:
        refuse(f"cannot be read: {error.strerror or error}; check its permissions")
    except UnicodeDecodeError:
        refuse(f"is not text; {again}")
    if keys is not None:
        roster = read_roster(keys) if isinstance(keys, str | PathLike) else keys
        try:
            check_signer(found, roster)
        except InputError as error:
            refuse(str(error))
    return found


def is_release(path: str | PathLike[str]) -> bool:
    """Whether a file begins like a release file; it may still be refused when it is read.

    Examples
    --------
    >>> is_release("no/such/file.fedperi")
    False
    """
    return kind_of(path) == "release"


def kind_of(path: str | PathLike[str]) -> str | None:
    """Return "release" or "summary" if a file begins like one; None for any other file.

    Examples
    --------
    >>> kind_of("no/such/file.fedperi") is None
    True
    """
    try:
        file = Path(path)
        if not file.is_file():  # opening a pipe would wait for somebody to write
            return None
        with file.open("rb") as stream:
            head = HEAD.match(stream.read(256).decode("utf-8", "replace"))
        return None if head is None else head[1]
    except (OSError, ValueError):
        return None
