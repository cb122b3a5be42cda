"""`fedperi explain`: say in words everything that a result contains about two variables."""

from __future__ import annotations

from pathlib import Path

import typer

from .. import app


@app.command()
def explain(
    directory: Path = typer.Argument(..., metavar="DIR", help="A directory that `fedperi run` wrote."),
    first: str = typer.Argument(..., metavar="A", help="A variable."),
    second: str = typer.Argument(..., metavar="B", help="Another variable."),
) -> None:
    """Explain the link between two variables: how certain, how strong, what changes it, how sites differ."""
    from ...console import console as terminal
    from ...methods import load
    from ...report.explain import explain as sentences

    console = terminal()
    for sentence in sentences(load(directory), first, second):
        console.print(sentence)
