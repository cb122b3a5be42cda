"""networkx graphs. An undirected edge is two opposite arcs, as in pgmpy and in most code that stores PDAGs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from .build import Edge, build, merge_opposite_arcs

if TYPE_CHECKING:
    import networkx as nx

    from ..pdag import PDAG


def to_networkx(graph: PDAG) -> nx.DiGraph:
    """Return a ``networkx.DiGraph`` with every variable as a node, in order.

    Returns
    -------
    networkx.DiGraph
        ``A -> B`` is one arc, ``B -- C`` is the two arcs between B and C.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_networkx
    >>> list(to_networkx(fp.PDAG.from_edges([("A", "B")], [("B", "C")])).edges)
    [('A', 'B'), ('B', 'C'), ('C', 'B')]
    """
    try:
        import networkx as nx
    except ImportError:
        raise InputError(
            "to_networkx needs networkx, which is not installed; pip install networkx (the extra 'networkx' brings it)"
        ) from None
    out = nx.DiGraph()
    out.add_nodes_from(graph.names)
    tails, heads = np.nonzero(graph.adjacency)
    out.add_edges_from((graph.names[i], graph.names[j]) for i, j in zip(tails, heads, strict=True))
    return out


def from_networkx(graph: nx.Graph) -> PDAG:
    """Read a networkx graph; attributes of nodes and edges are ignored.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.Graph
        Nodes must be strings. In a directed graph two opposite arcs are an undirected edge; in an undirected graph
        every edge is one.

    Examples
    --------
    >>> import networkx as nx
    >>> from fedperi.graph.formats import from_networkx
    >>> from_networkx(nx.DiGraph([("A", "B"), ("B", "C"), ("C", "B")]))
    PDAG('A -> B, B -- C', names=['A', 'B', 'C'])
    """
    # Asked for by its methods: this needs no import, and takes subclasses and look-alikes.
    given: Any = graph
    if not all(callable(getattr(given, method, None)) for method in ("is_directed", "nodes", "edges")):
        raise InputError(f"networkx: expected a networkx graph, got {type(given).__name__}")
    names = list(given.nodes())
    for name in names:
        if not isinstance(name, str):
            remedy = "rename the nodes, e.g. networkx.relabel_nodes(graph, str)"
            raise InputError(f"networkx: node {name!r} is not a string; {remedy}")
    directed = given.is_directed()
    edges = [Edge(a, "->" if directed else "--", b, "networkx") for a, b in given.edges()]
    return build("networkx", names, merge_opposite_arcs(edges) if directed else edges)
