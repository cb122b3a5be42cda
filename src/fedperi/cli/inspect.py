"""`fedperi inspect`: explain a release file in plain words, for people who decide whether it may be sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..strict import write_json
from . import app
from .common.say import say
from .common.statements import exact_values, explained

if TYPE_CHECKING:
    from rich.console import Console

    from ..privacy.release.explain import Section
    from ..privacy.release.release import Release
    from ..privacy.statement import Statement


@app.command()
def inspect(
    file: str = typer.Argument(..., metavar="FILE", help="A file that `fedperi release` wrote."),
    site_keys: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder with the public keys of the sites (SITE.pub); refuse a file not signed by its site.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the explanation as JSON and nothing else."),
) -> None:
    """Explain a release file: what it promises, what it holds, what can be learned from it."""
    from ..console import console as terminal
    from ..privacy.exact.reveals import sections as revealed
    from ..privacy.release.explain import explain
    from ..privacy.statement import load_statement
    from ..tables.summary.summary import Summary

    statement = load_statement(file, site_keys)
    exact = isinstance(statement, Summary)
    sections = revealed(statement) if isinstance(statement, Summary) else explain(statement)
    if as_json:
        values = exact_values(file, statement) if isinstance(statement, Summary) else _values(file, statement)
        say(write_json({**values, "explanation": explained(sections)}, indent=2))
        return
    console = terminal()
    for section in sections:
        _print_section(console, section)
    _print_proof(console, statement, site_keys is not None, exact)


def _print_section(console: Console, section: Section) -> None:
    from rich import box
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console.print(Text(section.heading, style="bold red" if section.heading == "NOT PRIVATE" else "bold"))
    for paragraph in section.paragraphs:
        console.print(Padding(Text(paragraph), (0, 0, 0, 2)))
    if section.table:
        head, *rows = section.table
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for heading in head:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(Padding(table, (1, 0, 0, 2)))
    console.print()


def _print_proof(console: Console, statement: Statement, checked: bool, exact: bool) -> None:
    """Say what the file proves about itself."""
    from rich.text import Text

    noise = "and its numbers fit together" if exact else "and its noise is large enough for its promise"
    console.print(f"The file is intact: its checksum matches, {noise}.")
    if checked:
        console.print(f"It is signed by the key of site {statement.site!r} in --site-keys.")
    elif statement.signature is None:
        console.print("It is not signed, so that this proves nothing about who made it.")
    if not exact and not statement.private:
        console.print(Text("NOT PRIVATE: its noise is from a test.", style="bold red"))


def _values(file: str, release: Release) -> dict[str, Any]:
    from ..privacy.release.explain import guesses

    claimed, average = guesses(release.price)
    return {
        "file": file,
        "site": release.site,
        "identifier": release.identifier,
        "created": release.created,
        "fedperi": release.version,
        "private": release.private,
        "signed_by": None if release.signature is None else release.signature.fingerprint,
        "price": release.price.to_dict(),
        "membership_guess": {"by_promise": claimed, "on_average": average},
        "data": release.data,
        "columns": list(release.schema.names),
        "targets": None if release.targets is None else list(release.targets),
        "rows": release.rows,
        "effective_rows": release.statistics().n,
        "ledger": release.ledger,
    }
