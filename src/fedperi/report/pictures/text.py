"""Graphs in a terminal: one row per adjacent pair and one column per graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...graph.pdag import PDAG, same_variables

if TYPE_CHECKING:
    from rich.table import Table

MARKS = {(True, True): "--", (True, False): "->", (False, True): "<-", (False, False): ""}


def edge_mark(graph: PDAG, a: str, b: str) -> str:
    """Write the edge between two variables: ``->``, ``<-``, ``--``, or nothing.

    Examples
    --------
    >>> import fedperi as fp
    >>> edge_mark(fp.PDAG.from_edges([("B", "A")]), "A", "B")
    '<-'
    """
    i, j = graph.index(a), graph.index(b)
    return MARKS[bool(graph.adjacency[i, j]), bool(graph.adjacency[j, i])]


def edge_table(graphs: Mapping[str, PDAG], title: str | None = None) -> Table:
    """Lay out graphs over the same variables side by side: one row per pair that is adjacent in any of them.

    Examples
    --------
    >>> import fedperi as fp
    >>> dag = fp.PDAG.from_edges([("A", "B")])
    >>> edge_table({"DAG": dag, "CPDAG": fp.cpdag(dag)}).row_count
    1
    """
    from rich.table import Table
    from rich.text import Text

    first = next(iter(graphs.values()))
    for graph in graphs.values():
        same_variables(first, graph.names)
    rank = {name: i for i, name in enumerate(first.names)}
    pairs = {
        (a, b) if rank[a] < rank[b] else (b, a)
        for graph in graphs.values()
        for a, b in graph.directed | graph.undirected
    }
    table = Table(
        title=None if title is None else Text(title), title_justify="left", title_style="bold", header_style="bold"
    )
    table.add_column("", justify="right")
    for heading in graphs:
        table.add_column(Text(heading), justify="center", no_wrap=True)
    table.add_column("")
    for a, b in sorted(pairs, key=lambda pair: (rank[pair[0]], rank[pair[1]])):
        marks = [edge_mark(graph, a, b) for graph in graphs.values()]
        table.add_row(Text(a), *(Text(mark, style="dim" if mark == "--" else "bold green") for mark in marks), Text(b))
    return table
