"""PAGs for other tools: causal-learn's matrix, Tetrad's text and Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..ancestral.pag import ARROW, CIRCLE, PAG, SYMBOLS, TAIL, Triple
from .build import checked_text
from .causallearn import matrix_and_names
from .dot import quoted
from .tables import as_field

# causal-learn's graph[i, j] is the mark at i of the edge between i and j; ours is the one at j.
_CODES = {0: 0, TAIL: -1, ARROW: 1, CIRCLE: 2}

_HEADS = {TAIL: "none", ARROW: "normal", CIRCLE: "odot"}

# Tetrad splits its lines here: it fails on such a name, or reads another graph (tried with the sources of 7.6.11).
_SPLITS = re.compile(r"[,;\s]")


def to_causallearn(graph: PAG) -> NDArray[np.int_]:
    """Return the matrix of end marks, as in causal-learn's ``GeneralGraph.graph``.

    Examples
    --------
    >>> import fedperi as fp
    >>> to_causallearn(fp.PAG.from_edges([("A", "o->", "B")])).tolist()
    [[0, 2], [1, 0]]
    """
    table = np.array([_CODES[mark] for mark in range(4)], dtype=np.int_)
    return table[graph.marks.T]


def from_causallearn(graph: Any, names: Iterable[str] | None = None) -> PAG:
    """Read a matrix of end marks, or a causal-learn GeneralGraph such as ``fci(data)[0]``.

    Examples
    --------
    >>> from_causallearn([[0, 2], [1, 0]], names=["A", "B"])
    PAG('A o-> B', names=['A', 'B'])
    """
    matrix, labels = matrix_and_names(graph, names)
    raw = np.asarray(matrix)
    marks = np.zeros(raw.shape, dtype=np.int8)
    for mark, code in _CODES.items():
        marks[raw == code] = mark
    unknown = raw[~np.isin(raw, list(_CODES.values()))]
    if unknown.size:
        raise InputError(f"causal-learn: {unknown[0]} is not a mark of a PAG: -1 (tail), 1 (arrowhead), 2 (circle)")
    try:
        return PAG(marks.T, labels)
    except InputError as problem:
        raise InputError(f"causal-learn: {problem}") from None


def to_tetrad(graph: PAG) -> str:
    """Write the text that Tetrad saves and loads; a name with a space, comma or semicolon is an error.

    Examples
    --------
    >>> import fedperi as fp
    >>> print(to_tetrad(fp.PAG.from_edges([("A", "o->", "B"), ("B", "<->", "C")])), end="")
    Graph Nodes:
    A;B;C
    <BLANKLINE>
    Graph Edges:
    1. A o-> B
    2. B <-> C
    """
    for name in graph.names:
        if _SPLITS.search(name):
            raise InputError(
                f"Tetrad: the name {name!r} cannot be written in its text, which has no spaces, commas or semicolons "
                "in names; rename the variable"
            )
    edges = [f"{number}. {a} {symbol} {b}" for number, (a, symbol, b) in enumerate(graph.edges, start=1)]
    return "\n".join(["Graph Nodes:", ";".join(graph.names), "", "Graph Edges:", *edges]) + "\n"


def from_tetrad(text: str) -> PAG:
    """Read a text as Tetrad saves it; what it says after the edges is ignored.

    Examples
    --------
    >>> import fedperi as fp
    >>> graph = fp.PAG.from_edges([("pressure", "o-o", "age")])
    >>> from_tetrad(to_tetrad(graph)) == graph
    True
    """
    lines = [line.strip() for line in checked_text(text, "Tetrad").splitlines()]
    if "Graph Nodes:" not in lines or "Graph Edges:" not in lines:
        raise InputError("Tetrad: the text needs the lines 'Graph Nodes:' and 'Graph Edges:'")
    listed = lines[lines.index("Graph Nodes:") + 1]
    names = [name for name in listed.split(";" if ";" in listed else ",") if name]
    edges: list[Triple] = []
    for line in lines[lines.index("Graph Edges:") + 1 :]:
        if not line:
            break
        edges.append(_tetrad_edge(line, names))
    try:
        return PAG.from_edges(edges, names)
    except InputError as problem:
        raise InputError(f"Tetrad: {problem}") from None


def to_dot(graph: PAG) -> str:
    """Write a graph for Graphviz; circles are drawn as circles.

    Examples
    --------
    >>> import fedperi as fp
    >>> print(to_dot(fp.PAG.from_edges([("A", "o->", "B")])), end="")
    digraph {
      "A";
      "B";
      "A" -> "B" [dir=both, arrowtail=odot, arrowhead=normal];
    }
    """
    lines = [f"{quoted(name)};" for name in graph.names]
    for a, symbol, b in graph.edges:
        tail, head = (_HEADS[mark] for mark in SYMBOLS[symbol])
        lines.append(f"{quoted(a)} -> {quoted(b)} [dir=both, arrowtail={tail}, arrowhead={head}];")
    return "digraph {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def pag_files(graph: PAG) -> dict[str, str]:
    """Write a graph for other tools: the names of files and their content.

    There is no text for Tetrad if a name has what Tetrad cannot read: a space, a comma or a semicolon.

    Examples
    --------
    >>> import fedperi as fp
    >>> sorted(pag_files(fp.PAG.from_edges([("A", "o->", "B")])))
    ['edges.csv', 'graph.causallearn.csv', 'graph.dot', 'graph.tetrad.txt']
    """
    names = ",".join(as_field(name) for name in graph.names)
    edges = [f"{as_field(a)},{symbol},{as_field(b)}" for a, symbol, b in graph.edges]
    rows = [",".join(str(int(mark)) for mark in row) for row in to_causallearn(graph)]
    files = {
        "edges.csv": "\n".join(["a,edge,b", *edges]) + "\n",
        "graph.dot": to_dot(graph),
        "graph.causallearn.csv": "\n".join([names, *rows]) + "\n",
    }
    if not any(_SPLITS.search(name) for name in graph.names):
        files["graph.tetrad.txt"] = to_tetrad(graph)
    return files


def _tetrad_edge(line: str, names: list[str]) -> Triple:
    """Find the symbol between two names. Names may have spaces, so that the list of names decides."""
    number = re.match(r"\d+\.\s+", line)
    body = line[number.end() :] if number else line
    for symbol in SYMBOLS:
        for found in re.finditer(re.escape(f" {symbol} "), body):
            a, rest = body[: found.start()], body[found.end() :]
            b = next((name for name in names if rest == name or rest.startswith(f"{name} ")), None)
            if a in names and b is not None:
                return a, symbol, b
    raise InputError(f"Tetrad: {line!r} is not an edge between two of the nodes")
