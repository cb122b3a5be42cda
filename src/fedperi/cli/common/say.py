"""Single lines and JSON for a terminal, and questions at one."""

from __future__ import annotations

import sys
from collections.abc import Container
from typing import IO, Any

import typer

from ...errors import InputError
from ...names import visible

YES = ("y", "Y", "yes", "Yes", "YES")


def say(text: str, file: IO[Any] | None = None) -> None:
    r"""Print a text; characters that could act on a terminal are shown as escapes.

    JSON keeps its value: such characters occur only inside its strings, where escapes stand for them.

    Examples
    --------
    >>> say("dose\x1b[2J [/day]")
    dose\u001b[2J [/day]
    """
    typer.echo(visible(text), file=file)


def confirm(question: str, *, no_terminal: str, denied: str, yes: Container[str] = YES) -> None:
    """Ask at the terminal; anything but a clear yes is a no.

    Parameters
    ----------
    question : str
        What is asked.
    no_terminal, denied : str
        Messages of the error without a terminal, and after a no.
    yes : container of str
        Answers that are a yes.
    """
    if not sys.stdin.isatty():
        raise InputError(no_terminal)
    try:
        answer = input(question)
    except EOFError:
        answer = ""
    if answer.strip() not in yes:
        raise InputError(denied)
