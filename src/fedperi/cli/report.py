"""`fedperi report`: the report of a run again, from its result.json."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import InputError
from . import app
from .common.say import say


@app.command()
def report(
    directory: Path = typer.Argument(..., metavar="DIR", help="A directory that `fedperi run` wrote."),
) -> None:
    """Write report.html and the graph files of a run again, from its result.json."""
    from ..methods import Result

    source = directory / "result.json"
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{str(source)!r} cannot be read: {error}; give a directory that `fedperi run` wrote"
        ) from None
    Result.from_json(text).save(directory)
    say(f"Wrote {directory / 'report.html'}")
