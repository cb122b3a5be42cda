"""`fedperi report`: write the report of a run again, from its result.json."""

from __future__ import annotations

from pathlib import Path

import typer

from ...errors import InputError
from .. import app
from ..common.say import say


@app.command()
def report(
    directory: Path = typer.Argument(..., metavar="DIR", help="A directory that `fedperi run` wrote."),
) -> None:
    """Write report.html and the graph files of a run again, from its result.json."""
    from ...methods.files.loading import load_any

    if not (directory / "result.json").is_file():
        raise InputError(f"{str(directory)!r} cannot be read: it has no result.json; give a directory of `fedperi run`")
    load_any(directory).save(directory, overwrite=True)
    say(f"Wrote {directory / 'report.html'}")
