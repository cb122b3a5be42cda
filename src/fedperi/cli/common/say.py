"""Output to a terminal for single lines and for JSON."""

from __future__ import annotations

from typing import IO, Any

import typer

from ...names import visible


def say(text: str, file: IO[Any] | None = None) -> None:
    r"""Print a text; characters that could act on a terminal are shown as escapes.

    JSON keeps its value: such characters occur only inside its strings, where escapes stand for them.

    Examples
    --------
    >>> say("dose\x1b[2J [/day]")
    dose\u001b[2J [/day]
    """
    typer.echo(visible(text), file=file)
