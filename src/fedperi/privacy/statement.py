"""A site's statement as a file or a message: a private release or an exact summary, read and written here."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from ..errors import InputError
from ..tables.summary.summary import Summary
from .exact import file as exact
from .release.file import HEAD, kind_of, load_release, load_signed, save_text
from .release.reader import read_release
from .release.release import Release
from .release.signature import Roster
from .release.text import sign_release, write_release

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

Statement = Release | Summary


def is_statement(path: str | PathLike[str]) -> bool:
    """Whether a file begins like a statement; it may still be refused when it is read.

    Examples
    --------
    >>> is_statement("no/such/file.fedperi")
    False
    """
    return kind_of(path) is not None


def read_statement(text: str, where: str) -> Statement:
    """Read a statement, and refuse everything else.

    Examples
    --------
    >>> read_statement("{}", "the message of site 'north'")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the message of site 'north' is not a statement: it is neither a release nor an exact ...
    """
    head = HEAD.match(text)
    if head is None:
        raise InputError(
            f"{where} is not a statement: it is neither a release nor an exact summary of `fedperi release`"
        )
    return read_release(text, where) if head[1] == "release" else exact.read_summary(text, where)


def load_statement(path: str | PathLike[str], keys: Roster | str | PathLike[str] | None = None) -> Statement:
    """Read the file of a statement; with the sites' public keys, only one that its site has signed.

    Examples
    --------
    >>> load_statement("no/such/file.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: release file 'no/such/file.fedperi' does not exist; check the path
    """
    if kind_of(path) != "summary":
        return load_release(path, keys)
    return load_signed(path, keys, exact.read_summary, "summary file", exact.LONGEST, exact.AGAIN)


def save_statement(statement: Statement, path: str | PathLike[str]) -> None:
    """Write the file of a statement completely or not at all. A file with the same text is kept, any other is an error.

    Examples
    --------
    >>> save_statement(None, "no/such/h1.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: summary file 'no/such/h1.fedperi': there is no folder 'no/such'; make it first
    """
    what = "release file" if isinstance(statement, Release) else "summary file"
    save_text(lambda: write_statement(statement), path, what)


def write_statement(statement: Statement) -> str:
    """Write a statement as text."""
    return write_release(statement) if isinstance(statement, Release) else exact.write_summary(statement)


def sign_statement(statement: Statement, key: EllipticCurvePrivateKey) -> Statement:
    """Return a statement with a signature under a site's private key."""
    return sign_release(statement, key) if isinstance(statement, Release) else exact.sign_summary(statement, key)


def as_summary(statement: Statement) -> Summary:
    """Return a statement as a summary; the summary of a release includes the size of its noise."""
    if isinstance(statement, Summary):
        return statement
    from .release.summaries import released_summaries

    return released_summaries([statement])[0]
