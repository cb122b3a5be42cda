"""Shared by all readers and writers: edges in a fixed order; a graph from edges and their positions in a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import InputError
from ..validate import Pair

# PDAG has readers and writers as methods (interop.py), so modules here import it late, where a graph is built.
if TYPE_CHECKING:
    from ..pdag import PDAG


class TextFormat(NamedTuple):
    """A text format: how to write it, how to read it back, and the file that every result has in it, if any."""

    write: Callable[[PDAG], str]
    read: Callable[[str], PDAG]
    file: str = ""


class Edge(NamedTuple):
    """One edge as a reader found it; `kind` is ``->`` or ``--``; error messages about it begin with `where`."""

    first: str
    kind: str
    second: str
    where: str

    def __str__(self) -> str:
        return f"{self.first} {self.kind} {self.second}"


def ordered_edges(graph: PDAG) -> tuple[list[Pair], list[Pair]]:
    """List the arrows and the undirected edges in the order of the variables, so that one graph has one text."""
    place = {name: i for i, name in enumerate(graph.names)}

    def rank(pair: Pair) -> tuple[int, int]:
        return place[pair[0]], place[pair[1]]

    return sorted(graph.directed, key=rank), sorted(graph.undirected, key=rank)


def build(source: str, names: Iterable[str], edges: Iterable[Edge]) -> PDAG:
    """Build the graph; an error names the format, and the line if there is one.

    A second edge between two variables is refused, not merged: it is probably a mistake in the text, and merging would
    hide it.
    """
    seen: dict[frozenset[str], Edge] = {}
    for edge in edges:
        pair = frozenset((edge.first, edge.second))
        if len(pair) == 1:
            raise InputError(f"{edge.where}: edge {edge} joins a variable with itself")
        if pair in seen:
            raise InputError(f"{edge.where}: {edge} is a second edge between the two, after {seen[pair]}; keep one")
        seen[pair] = edge
    arrows = [(e.first, e.second) for e in seen.values() if e.kind == "->"]
    lines = [(e.first, e.second) for e in seen.values() if e.kind == "--"]
    from ..pdag import PDAG

    try:
        return PDAG.from_edges(arrows, lines, list(names))
    except InputError as problem:
        raise InputError(f"{source}: {problem}") from None


def merge_opposite_arcs(arcs: Iterable[Edge]) -> list[Edge]:
    """Turn every pair of opposite arcs into one undirected edge, for formats that write it that way."""
    arcs = list(arcs)
    present = {(arc.first, arc.second) for arc in arcs}
    seen: set[Pair] = set()
    merged = []
    for arc in arcs:
        here, back = (arc.first, arc.second), (arc.second, arc.first)
        # The first of two opposite arcs becomes the edge; an arc given twice stays, for `build` to refuse.
        if here in seen or back not in seen:
            merged.append(arc._replace(kind="--") if back in present and here != back else arc)
        seen.add(here)
    return merged


def checked_text(text: Any, source: str) -> str:
    """Return the text, or say that a reader takes a string."""
    if not isinstance(text, str):
        raise InputError(f"{source}: expected the text as a string, got {type(text).__name__}; read the file first")
    return text


def checked_name_list(names: Any, source: str) -> list[Any]:
    """Return names handed in by a caller as a list; what they are is checked with the graph."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{source}: names must be a list of strings, not {names!r}")
    return list(names)
