"""A site's statement as a file or a message: a private release or an exact summary, read and written here."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .. import disk
from ..errors import InputError
from ..tables.summary.summary import Summary
from .exact.file import LONGEST, read_summary, sign_summary, write_summary
from .release.file import is_release, load_release
from .release.reader import read_release
from .release.release import Release
from .release.signature import Roster, check_signer, read_roster
from .release.text import sign_release, write_release

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

Statement = Release | Summary

_HEAD = re.compile(r'\ufeff?\s*\{\s*"format"\s*:\s*"fedperi\.(release|summary)"')


def is_statement(path: str | PathLike[str]) -> bool:
    """Whether a file begins like a statement; it may still be refused when it is read.

    Examples
    --------
    >>> is_statement("no/such/file.fedperi")
    False
    """
    return is_release(path) or _is_exact(path)


def read_statement(text: str, where: str) -> Statement:
    """Read a statement, and refuse everything else.

    Examples
    --------
    >>> read_statement("{}", "the message of site 'north'")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the message of site 'north' is not a statement: it is neither a release nor an exact ...
    """
    head = _HEAD.match(text)
    if head is None:
        raise InputError(
            f"{where} is not a statement: it is neither a release nor an exact summary of `fedperi release`"
        )
    return read_release(text, where) if head[1] == "release" else read_summary(text, where)


def load_statement(path: str | PathLike[str], keys: Roster | str | PathLike[str] | None = None) -> Statement:
    """Read the file of a statement; with the sites' public keys, only one that its site has signed.

    Examples
    --------
    >>> load_statement("no/such/file.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: release file 'no/such/file.fedperi' does not exist; check the path
    """
    if not _is_exact(path):
        return load_release(path, keys)
    file = Path(path)
    try:
        if file.stat().st_size > 2 * LONGEST:
            raise InputError(f"summary file {str(file)!r} is far too large to be one")
        summary = read_summary(file.read_text(encoding="utf-8-sig"), str(file))
    except OSError as error:
        raise InputError(f"summary file {str(file)!r} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"summary file {str(file)!r} is not text") from None
    if keys is not None:
        try:
            check_signer(summary, read_roster(keys) if isinstance(keys, str | PathLike) else keys)
        except InputError as error:
            raise InputError(f"summary file {str(file)!r} {error}") from None
    return summary


def save_statement(statement: Statement, path: str | PathLike[str]) -> None:
    """Write the file of a statement completely or not at all. A file with the same text is kept, any other is an error.

    Examples
    --------
    >>> save_statement(None, "no/such/h1.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: 'no/such/h1.fedperi': there is no folder 'no/such'; make it first
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{str(target)!r}: there is no folder {str(target.parent)!r}; make it first")
    text = write_statement(statement).encode()
    try:
        if target.is_symlink() or target.exists():
            if target.is_file() and target.read_bytes() == text:
                return
            raise InputError(f"{str(target)!r}: another file is there already; remove it, or choose another name")
        disk.write_whole(target, text, mode=0o666)  # less what the user's umask takes away: it is to be sent
    except OSError as error:
        raise InputError(
            f"{str(target)!r} cannot be written: {error.strerror or error}; choose another place"
        ) from None


def write_statement(statement: Statement) -> str:
    """Write a statement as text."""
    return write_release(statement) if isinstance(statement, Release) else write_summary(statement)


def sign_statement(statement: Statement, key: EllipticCurvePrivateKey) -> Statement:
    """Return a statement with a signature under a site's private key."""
    return sign_release(statement, key) if isinstance(statement, Release) else sign_summary(statement, key)


def as_summary(statement: Statement) -> Summary:
    """Return a statement as a summary; the summary of a release includes the size of its noise."""
    if isinstance(statement, Summary):
        return statement
    from .release.summaries import released_summaries

    return released_summaries([statement])[0]


def _is_exact(path: str | PathLike[str]) -> bool:
    try:
        file = Path(path)
        if not file.is_file():  # opening a pipe would wait for somebody to write
            return False
        with file.open("rb") as stream:
            head = _HEAD.match(stream.read(256).decode("utf-8", "replace"))
        return head is not None and head[1] == "summary"
    except (OSError, ValueError):
        return False
