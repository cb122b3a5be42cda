"""The one error a user of fedperi has to know."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input: the message names the place, the value and the remedy.

    The command line turns it into one line on standard error and exit code 2. Anything else that escapes is a
    defect of ours.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.PDAG.from_edges(directed=[("A", "B"), ("B", "A")])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: edges A -> B and B -> A are both given: list the pair once, or as undirected
    """
