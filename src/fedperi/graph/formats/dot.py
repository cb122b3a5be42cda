"""Graphviz's DOT language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .build import build, ordered_edges
from .dotlang import GraphLanguage, read_statements

if TYPE_CHECKING:
    from ..pdag import PDAG

# Other shapes, such as odot in drawings of PAGs, mean something else than an arrow.
_ARROWHEADS = ("normal", "vee", "open", "empty")


def to_dot(graph: PDAG) -> str:
    r"""Write a graph for Graphviz: a digraph, its undirected edges drawn without arrowheads.

    Returns
    -------
    str
        Every variable has a statement of its own, in order. Names are quoted; in them, a backslash is written twice,
        as Graphviz wants it where names serve as labels.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_dot
    >>> print(to_dot(fp.PDAG.from_edges([("A", "B")], [("B", "C")])), end="")
    digraph {
      "A";
      "B";
      "C";
      "A" -> "B";
      "B" -> "C" [dir=none];
    }
    """
    directed, undirected = ordered_edges(graph)
    lines = [f"{quoted(name)};" for name in graph.names]
    lines += [f"{quoted(a)} -> {quoted(b)};" for a, b in directed]
    lines += [f"{quoted(a)} -> {quoted(b)} [dir=none];" for a, b in undirected]
    return "digraph {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def from_dot(text: str) -> PDAG:
    """Read a graph in the DOT language; the variables are the nodes' identifiers, in order of appearance.

    Parameters
    ----------
    text : str
        ``a -> b`` is an arrow and ``a -- b`` an undirected edge, in a digraph as in a graph. The attributes ``dir``,
        ``arrowhead`` and ``arrowtail`` count, also when set by ``edge [...]``: ``dir=none`` is an undirected edge.
        All others, labels included, are ignored. Ports and HTML names are not read.

    Examples
    --------
    >>> from fedperi.graph.formats import from_dot
    >>> from_dot('digraph { age -> "blood pressure"; age -> sex [dir=none] }')
    PDAG('age -> blood pressure, age -- sex', names=['age', 'blood pressure', 'sex'])
    """
    _, names, edges = read_statements(text, _DOT)
    return build("DOT", names, edges)


def quoted(name: str) -> str:
    """Write a name as a quoted identifier."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unquoted(inside: str) -> str:
    # A backslash at the end of a line joins it with the next; before other characters it stands for itself.
    return re.sub(r'\\(?:(["\\])|\r?\n)', lambda found: found.group(1) or "", inside)


def _meaning(operator: str, attributes: Mapping[str, str]) -> str:
    """Return the edge that Graphviz would draw."""
    direction = attributes.get("dir", "forward" if operator == "->" else "none").lower()
    if direction not in ("forward", "back", "both", "none"):
        return f"[dir={direction}]"
    tail = attributes.get("arrowtail", "normal") if direction in ("back", "both") else "none"
    head = attributes.get("arrowhead", "normal") if direction in ("forward", "both") else "none"
    if not {tail, head} <= {"none", *_ARROWHEADS}:
        return f"[arrowtail={tail}, arrowhead={head}]"
    return {(False, False): "--", (False, True): "->", (True, False): "<-", (True, True): "<->"}[
        tail != "none", head != "none"
    ]


_DOT = GraphLanguage(
    title="DOT",
    kinds=("digraph", "graph"),
    keywords=frozenset({"strict", "graph", "digraph", "subgraph", "node", "edge"}),
    operators=("->", "--"),
    string=r'"(?:[^"\\]|\\.)*+"',  # possessive: an unpaired quote must not be tried in many ways
    unquote=_unquoted,
    meaning=_meaning,
)
