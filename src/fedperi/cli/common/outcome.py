"""The outcome of a run, in words on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...phrases import with_noun
from .say import say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ...methods import Result
    from ...methods.fci.result import FCIResult
    from ...methods.tables import EdgeRow

PROBABILITY = (
    "Probability: of the direction shown, or of the more probable one where it is open. The rest is the other "
    "direction, or no edge."
)


def summarize(console: Console, result: Result | FCIResult, out: Path | None) -> None:
    """Say in words what was found, and which files were written."""
    from ...methods.fci.result import FCIResult

    if isinstance(result, FCIResult):
        _say_pag(console, result)
    elif result.groups:
        say_mechanisms(console, result)
    elif result.regrets:
        _say_regrets(console, result)
    else:
        _say_baseline(console, result)
    if result.privacy is not None:
        _say_privacy(console, result)
    if not isinstance(result, FCIResult):
        if result.stability:
            console.print(f"Stability from {result.replicates} resampled runs is in the report.")
        if out is not None and result.moments is not None:
            kind = "exact" if result.privacy is None else "stated"
            console.print(
                f"summaries.json, for `fedperi effect`, holds each site's {kind} means and covariances: keep it safe."
            )
    if out is not None:
        console.print(f"Wrote report.html, edges.csv, result.json, manifest.json and graph.* to {out}.", soft_wrap=True)


def say_mechanisms(console: Console, result: Result) -> None:
    """Say how certain each edge is, what sites do differently, and what to be careful about."""
    from rich.text import Text

    from ...methods.certainty import meaning
    from ...report.grades import counted

    if len(result.graph):
        console.print(graded_edges(result))
        console.print(Text(f"{PROBABILITY} {meaning()}", style="dim"))
    console.print(counted(result))
    console.print(Text("\nWhat the sites do differently", style="bold"))
    console.print(
        _items(one.words for one in result.differences) if result.differences else "  The data show no difference."
    )
    _say_warnings(console, result)
    console.print()


def _say_warnings(console: Console, result: Result | FCIResult) -> None:
    """List what a reader should know before using the result."""
    from rich.text import Text

    if result.warnings:
        console.print(Text("\nWarnings", style="bold"))
        console.print(_items(result.warnings))


def graded_edges(result: Result) -> Table:
    """Make a table of the edges of a result: how sure each is in a number and a word, and what its direction rests on.

    Examples
    --------
    >>> import fedperi as fp
    >>> graded_edges(fp.MPERI().fit(fp.simulate(["a", "b"], clients=3, samples=500, seed=1).sites)).row_count
    1
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Edge")
    for heading in ("Probability", "How sure"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Direction")
    for row, said in edges_in_words(result):
        style = {"confirmed": "bold green", "open": "dim"}.get(said, "yellow")
        number = "-" if row.probability is None else f"{row.probability:.2f}"
        edge = Text(f"{row.a} {'->' if row.directed else '--'} {row.b}")
        table.add_row(edge, number, Text(row.how_sure or "-"), Text(said, style=style))
    return table


def edges_in_words(result: Result) -> Iterator[tuple[EdgeRow, str]]:
    """Yield every edge, and what its direction rests on."""
    from ...methods.tables import edge_rows
    from ...report.grades import grade_words

    robustness = {frozenset((one.a, one.b)): one for one in result.robustness}
    for row in edge_rows(result, effects=False):
        yield row, grade_words(robustness.get(frozenset((row.a, row.b))), len(result.sites))


def _items(sentences: Iterable[str]) -> Table:
    """Make a list of sentences, wrapped with an indent."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sentence in sentences:
        grid.add_row(" -", Text(sentence))
    return grid


def _say_pag(console: Console, result: FCIResult) -> None:
    """Say what each edge of a PAG means."""
    from rich.table import Table
    from rich.text import Text

    from ...report.pag.words import counted, edge_words

    if result.graph.edges:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("Edge", no_wrap=True)
        table.add_column("Meaning")
        for a, symbol, b in result.graph.edges:
            table.add_row(Text(f"{a} {symbol} {b}"), Text(edge_words(a, symbol, b)))
        console.print(table)
    console.print(counted(result.graph))
    _say_warnings(console, result)


def _say_regrets(console: Console, result: Result) -> None:
    from ...report.pictures.text import edge_table

    edges, directed, common = len(result.graph), len(result.graph.directed), len(result.cpdag.directed)
    graphs = {"common": result.cpdag, "with differences": result.phi_cpdag, "closed": result.graph}
    console.print(edge_table(graphs))
    console.print(
        f"{edges} edges; {directed} directed: {common} by the common structure, "
        f"{directed - common} only because sites differ."
    )
    worst = max(result.regrets, key=result.regrets.__getitem__)
    console.print(f"Worst regret: {result.regrets[worst]:.1f} nats at {worst}. {_rounds(result)}")
    _say_warnings(console, result)


def _say_baseline(console: Console, result: Result) -> None:
    from ...report.pictures.text import edge_table

    console.print(edge_table({"found": result.graph}))
    console.print(f"{len(result.graph)} edges; {len(result.graph.directed)} directed. {_rounds(result)}")
    console.print(f"{result.method['name']} is NOT PRIVATE, and its result has no regrets.")


def _rounds(result: Result) -> str:
    return f"{with_noun(result.rounds, 'round')}."


def _say_privacy(console: Console, result: Result | FCIResult) -> None:
    """Say what was promised to the people in the tables; what a site reports in an unknown form is not a promise."""
    from ...report.privacy import promises

    found = promises(result)
    bare = [one.site for one in found if not one.private]
    if bare:
        console.print(f"NOT PRIVATE: {', '.join(bare)}. Do not call this result differentially private.")
    kept = [one for one in found if one.private]
    if kept:
        dearest = max(kept, key=lambda one: one.epsilon or 0.0)
        console.print(
            f"Differential privacy for one row of {with_noun(len(kept), 'site')}: epsilon = "
            f"{dearest.epsilon:g}, delta = {dearest.delta:g} (mechanism {dearest.mechanism!r})."
        )


def say_dropped(result: Result) -> None:
    """Say which sites did not take part, and what that means."""
    if not result.dropped:
        return
    for site, why in result.dropped.items():
        say(f"Did not take part: {site} ({why}).")
    who = f"{len(result.sites)} sites: {', '.join(result.sites)}"
    if not result.regrets:
        say(f"The graph is of {who}. It says nothing about the others.")
        return
    say(
        f"The graph and the worst regret are of {who}. They say nothing about the others: for these the graph may be "
        "worse than the worst regret shows."
    )
