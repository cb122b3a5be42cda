"""What FCI found, in words on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..outcome import say_privacy, say_warnings, summarize

if TYPE_CHECKING:
    from rich.console import Console

    from ....methods import Result
    from ....methods.fci.result import FCIResult


def summarize_any(console: Console, result: Result | FCIResult, out: Path | None) -> None:
    """Say in words what was found, by whichever method."""
    from ....methods.fci.result import FCIResult

    if isinstance(result, FCIResult):
        summarize_pag(console, result, out)
    else:
        summarize(console, result, out)


def summarize_pag(console: Console, result: FCIResult, out: Path | None) -> None:
    """Say what each edge of a PAG means."""
    from rich.table import Table
    from rich.text import Text

    from ....report.pag.words import counted, edge_words

    if result.graph.edges:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("Edge", no_wrap=True)
        table.add_column("Meaning")
        for a, symbol, b in result.graph.edges:
            table.add_row(Text(f"{a} {symbol} {b}"), Text(edge_words(a, symbol, b)))
        console.print(table)
    console.print(counted(result.graph))
    say_warnings(console, result)
    if result.privacy is not None:
        say_privacy(console, result)
    if out is not None:
        console.print(f"Wrote report.html, edges.csv, result.json, manifest.json and graph.* to {out}.", soft_wrap=True)
