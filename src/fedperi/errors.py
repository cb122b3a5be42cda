"""The errors of fedperi for its users."""

from __future__ import annotations

import re

# The user and password in the address of a database, and passwords among its options.
_LOGIN = re.compile(r"(?<=://)[^\s/?#@]*@|((?<=[?&])\w*(?:passw|token|secret)\w*=)[^\s&'\"]*", re.IGNORECASE)


class InputError(ValueError):
    """Bad input: the message names the place, the value and the remedy.

    The command line turns it into one line on standard error and exit code 2. Any other exception that reaches the
    user is a defect of fedperi.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.PDAG.from_edges(directed=[("A", "B"), ("B", "A")])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: edges A -> B and B -> A are both given: list the pair once, or as undirected
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(without_logins(message))


class TemporaryError(InputError):
    """Something outside failed that may work again later: a site or the coordinator is out of reach.

    The command line exits with code 75 (`EX_TEMPFAIL` of Unix mail systems), so that a service manager can start the
    command again: a run then resumes where it stopped.

    Examples
    --------
    >>> try:
    ...     raise TemporaryError("coordinator.example.org:9092 cannot be reached")
    ... except InputError as error:
    ...     print(error)
    coordinator.example.org:9092 cannot be reached
    """


def without_logins(text: str) -> str:
    """Remove users and passwords from addresses.

    Examples
    --------
    >>> without_logins("'postgresql://ann:secret@host/clinic?table=visits' is a table")
    "'postgresql://host/clinic?table=visits' is a table"
    """
    return _LOGIN.sub(lambda found: f"{found[1]}***" if found[1] else "", text)
