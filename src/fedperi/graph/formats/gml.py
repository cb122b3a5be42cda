"""GML, the text that DoWhy takes and networkx and igraph read.

A GML graph is either directed or undirected. An open edge is written as two entries, one in each direction, because
other tools would read a single entry as an arrow. Both entries have ``kind "open"`` and
``graphics [ arrow "none" ]``, which is GML for a line without arrowheads, so that drawing tools show no arrows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import name2codepoint
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ...errors import InputError
from .build import Edge, build, checked_text, merge_opposite_arcs

if TYPE_CHECKING:
    from ..pdag import PDAG

# Besides what GML itself does not allow: DoWhy guesses the format from .dot, .gml, .txt and "graph {" anywhere in a
# text, so names must not contain them.
_ESCAPED = re.compile(r'[^ -~]|[&"{]|\.(?=dot|gml|txt)')
_REFERENCE = re.compile(r"&(?:#(\d+)|#[xX]([0-9A-Fa-f]+)|([0-9A-Za-z]+));")
_TOKEN = re.compile(r'(?P<blank>\s+|#[^\n]*)|(?P<string>"[^"]*")|(?P<word>[^\s"\[\]#]+)|(?P<open>\[)|(?P<close>\])')

CONVENTION = "kind arrow: source causes target. kind open: a line, written once each way; its direction is not known."
ARROW, OPEN = 'kind "arrow"', 'kind "open" graphics [ arrow "none" ]'


class _Item(NamedTuple):
    key: str
    value: str | _Items
    line: int


_Items: TypeAlias = list[_Item]


def to_gml(graph: PDAG) -> str:
    """Write a graph as GML, for DoWhy's ``CausalModel(graph=...)`` and ``networkx.parse_gml``.

    Parameters
    ----------
    graph : PDAG
        A variable named ``()`` or ``[]`` is an error: networkx would read an empty tuple or list.

    Returns
    -------
    str
        ASCII; other characters of names are character references. DoWhy itself needs a DAG: it takes the two entries
        of an open edge for a cycle, and says so.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_gml
    >>> print(to_gml(fp.PDAG.from_edges([("A", "B")], [("B", "C")])), end="")
    graph [
      comment "kind arrow: source causes target. kind open: a line, written once each way; its direction is not known."
      directed 1
      node [ id 0 label "A" ]
      node [ id 1 label "B" ]
      node [ id 2 label "C" ]
      edge [ source 0 target 1 kind "arrow" ]
      edge [ source 1 target 2 kind "open" graphics [ arrow "none" ] ]
      edge [ source 2 target 1 kind "open" graphics [ arrow "none" ] ]
    ]
    """
    for name in graph.names:
        if name in ("()", "[]"):
            raise InputError(f"GML: networkx reads the name {name!r} as an empty value; give it another with renamed()")
    lines = [f'node [ id {i} label "{_escaped(name)}" ]' for i, name in enumerate(graph.names)]
    tails, heads = np.nonzero(graph.adjacency)
    lines += [
        f"edge [ source {i} target {j} {OPEN if graph.adjacency[j, i] else ARROW} ]"
        for i, j in zip(tails, heads, strict=True)
    ]
    return f'graph [\n  comment "{CONVENTION}"\n  directed 1\n' + "".join(f"  {line}\n" for line in lines) + "]\n"


def from_gml(text: str) -> PDAG:
    """Read a graph in GML; the variables are the labels of the nodes, in order.

    Parameters
    ----------
    text : str
        With ``directed 1``, two opposite edges are an undirected one; without, every edge is undirected. Other keys
        are ignored.

    Examples
    --------
    >>> from fedperi.graph.formats import from_gml
    >>> from_gml('graph [ directed 1 node [ id 0 label "A" ] node [ id 1 label "B" ] edge [ source 1 target 0 ] ]')
    PDAG('B -> A', names=['A', 'B'])
    """
    items = _parsed(checked_text(text, "GML"))
    graphs = [item for item in items if item.key == "graph" and isinstance(item.value, list)]
    if len(graphs) != 1:
        raise InputError(f"GML: expected one 'graph [ ... ]' (the text itself, not a file name), found {len(graphs)}")
    content = graphs[0].value
    assert isinstance(content, list)
    directed = _directed(content)
    names: dict[str, str] = {}
    for node in (item for item in content if item.key == "node"):
        identifier = _field(node, "id")
        if identifier in names:
            raise InputError(f"GML, line {node.line}: a second node has the id {identifier}")
        names[identifier] = _field(node, "label")
    edges = [_edge(item, names, "->" if directed else "--") for item in content if item.key == "edge"]
    return build("GML", names.values(), merge_opposite_arcs(edges) if directed else edges)


def _directed(content: _Items) -> bool:
    flag = next((item for item in content if item.key == "directed"), None)
    if flag is not None and flag.value not in ("0", "1"):
        raise InputError(f"GML, line {flag.line}: 'directed' must be 0 or 1")
    return flag is not None and flag.value == "1"


def _edge(item: _Item, names: dict[str, str], kind: str) -> Edge:
    where = f"GML, line {item.line}"
    ends = [_field(item, "source"), _field(item, "target")]
    for end in ends:
        if end not in names:
            raise InputError(f"{where}: an edge refers to the node id {end}, which no node has")
    return Edge(names[ends[0]], kind, names[ends[1]], where)


def _field(item: _Item, key: str) -> str:
    """Return the one value that a node or an edge must have."""
    found = [inner.value for inner in item.value if inner.key == key] if isinstance(item.value, list) else []
    if len(found) != 1 or not isinstance(found[0], str):
        raise InputError(f"GML, line {item.line}: every {item.key} needs one {key!r} with a single value")
    return found[0]


def _parsed(text: str) -> _Items:
    """Return the keys and values of a text, lists nested; with a stack, so that no depth of brackets is too deep."""
    items: _Items = []
    open_lists: list[tuple[_Items, int]] = []
    key: str | None = None
    for kind, part, line in _tokens(text):
        if key is None and kind == "word":
            key = part
        elif key is None and kind == "close" and open_lists:
            items, _ = open_lists.pop()
        elif key is not None and kind in ("word", "string"):
            items.append(_Item(key, _unescaped(part), line))
            key = None
        elif key is not None and kind == "open":
            inner: _Items = []
            items.append(_Item(key, inner, line))
            open_lists.append((items, line))
            items, key = inner, None
        else:
            expected = "a key or ]" if key is None else f"a value for {key!r}"
            raise InputError(f"GML, line {line}: expected {expected}, found {part[:40]!r}")
    if key is not None:
        raise InputError(f"GML: the text ends where a value for {key[:40]!r} should follow")
    if open_lists:
        raise InputError(f"GML, line {open_lists[-1][1]}: a bracket opens here and does not close; the text is cut off")
    return items


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:  # everything except an unpaired quote is a token
            raise InputError(f"GML, line {line}: a quoted value starts here and does not end")
        kind, part = str(found.lastgroup), found.group()
        if kind != "blank":
            yield kind, part[1:-1] if kind == "string" else part, line
        line += part.count("\n")
        at = found.end()


def _escaped(name: str) -> str:
    return _ESCAPED.sub(lambda found: f"&#{ord(found.group())};", name)


def _unescaped(value: str) -> str:
    def character(found: re.Match[str]) -> str:
        decimal, hexadecimal, entity = found.groups()
        digits = decimal or hexadecimal
        if digits is None:
            code = name2codepoint.get(entity, -1)
        else:
            # More digits than any character has are not a character, and slow to convert.
            code = int(digits, 10 if decimal else 16) if len(digits) <= 8 else -1
        return chr(code) if 0 <= code <= 0x10FFFF else found.group()

    return _REFERENCE.sub(character, value)
