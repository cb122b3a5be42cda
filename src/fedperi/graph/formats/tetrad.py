"""The text that Tetrad saves and loads; causal-learn reads it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InputError
from ..ancestral.pag import PAG
from . import pag
from .build import ordered_edges

if TYPE_CHECKING:
    from ..pdag import PDAG


def to_tetrad(graph: PDAG) -> str:
    """Write a graph for Tetrad: an arrow is ``-->``, an open edge ``---``.

    Examples
    --------
    >>> import fedperi as fp
    >>> print(to_tetrad(fp.PDAG.from_edges([("A", "B")], [("B", "C")])), end="")
    Graph Nodes:
    A;B;C
    <BLANKLINE>
    Graph Edges:
    1. A --> B
    2. B --- C
    """
    directed, undirected = ordered_edges(graph)
    triples = [(a, "-->", b) for a, b in directed] + [(a, "---", b) for a, b in undirected]
    return pag.to_tetrad(PAG.from_edges(triples, graph.names))


def from_tetrad(text: str) -> PDAG:
    """Read a text as Tetrad saves it; marks of a PAG, such as ``o->``, are an error: `PAG.from_tetrad` reads them.

    Examples
    --------
    >>> import fedperi as fp
    >>> graph = fp.PDAG.from_edges([("pressure", "stroke")], [("age", "stroke")])
    >>> from_tetrad(to_tetrad(graph)) == graph
    True
    """
    read = pag.from_tetrad(text)
    directed, undirected = [], []
    for a, symbol, b in read.edges:
        if symbol == "---":
            undirected.append((a, b))
        elif symbol in ("-->", "<--"):
            directed.append((a, b) if symbol == "-->" else (b, a))
        else:
            raise InputError(f"Tetrad: {a} {symbol} {b} is an edge of a PAG; read it with PAG.from_tetrad")
    from ..pdag import PDAG

    return PDAG.from_edges(directed, undirected, read.names)
