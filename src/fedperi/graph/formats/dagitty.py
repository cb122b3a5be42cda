"""The language of DAGitty, the web page and the R package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...errors import InputError
from .build import build, ordered_edges
from .dotlang import GraphLanguage, read_statements

if TYPE_CHECKING:
    from ..pdag import PDAG

RESERVED = frozenset({"graph", "node"})
"""Words that DAGitty keeps for itself: no variable can have them as its name."""


def to_dagitty(graph: PDAG) -> str:
    """Write a graph for DAGitty: a ``dag`` if every edge is directed, else a ``pdag``.

    Parameters
    ----------
    graph : PDAG
        DAGitty has no variables named graph or node, and no control characters in names: both are an error.

    Returns
    -------
    str
        Every variable has a statement of its own, in order. Names are quoted.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_dagitty
    >>> print(to_dagitty(fp.PDAG.from_edges([("A", "B")], [("B", "C")])), end="")
    pdag {
      "A"
      "B"
      "C"
      "A" -> "B"
      "B" -- "C"
    }
    """
    for name in graph.names:
        if name in RESERVED:
            raise InputError(f"DAGitty has no variable named {name!r}; give it another name with renamed()")
        if re.search(r"[\x00-\x1f\x7f]", name):
            raise InputError(
                f"DAGitty has no control characters in names: {name!r}; give it another name with renamed()"
            )
    directed, undirected = ordered_edges(graph)
    lines = [_quoted(name) for name in graph.names]
    lines += [f"{_quoted(a)} -> {_quoted(b)}" for a, b in directed]
    lines += [f"{_quoted(a)} -- {_quoted(b)}" for a, b in undirected]
    return f"{'dag' if graph.is_dag else 'pdag'} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def from_dagitty(text: str) -> PDAG:
    """Read a graph from DAGitty; the variables are in order of appearance.

    Parameters
    ----------
    text : str
        ``dag { ... }`` or ``pdag { ... }``. Positions, roles such as ``[exposure]`` and other attributes are ignored.
        Bidirected edges and those of ancestral graphs are an error.

    Examples
    --------
    >>> from fedperi.graph.formats import from_dagitty
    >>> from_dagitty('pdag { x [exposure,pos="0,1"] x -> y <- z; z -- w }')
    PDAG('x -> y, z -> y, z -- w', names=['x', 'y', 'z', 'w'])
    """
    kind, names, edges = read_statements(text, _DAGITTY)
    undirected = next((edge for edge in edges if edge.kind == "--"), None)
    if kind == "dag" and undirected:
        raise InputError(
            f"{undirected.where}: {undirected} is undirected, in a text that begins with dag; begin with pdag"
        )
    return build("DAGitty", names, edges)


def _quoted(name: str) -> str:
    # In DAGitty a backslash escapes only a quote. One at the end of a name would escape the closing quote; an escaped
    # line break, which is read as nothing, keeps the two apart.
    escaped = name.replace('"', '\\"')
    return f'"{escaped}\\\n"' if name.endswith("\\") else f'"{escaped}"'


def _unquoted(inside: str) -> str:
    return re.sub(r'\\(?:(")|[\r\n]+)', lambda found: found.group(1) or "", inside)


def _meaning(operator: str, attributes: Mapping[str, str]) -> str:
    return operator


_DAGITTY = GraphLanguage(
    title="DAGitty",
    kinds=("dag", "pdag"),
    keywords=RESERVED,
    operators=("<->", "@->", "<-@", "--@", "@--", "@-@", "<-", "->", "--"),
    string=r'"(?:[^"\\]|\\"|\\(?!"))*+"',  # possessive: an unpaired quote must not be tried in many ways
    unquote=_unquoted,
    meaning=_meaning,
)
