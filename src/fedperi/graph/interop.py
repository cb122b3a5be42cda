"""How a PDAG is written for other tools and read back: thin methods over `fedperi.graph.formats`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from .validate import Pair

if TYPE_CHECKING:
    import networkx as nx

    from .formats import EdgeLists
    from .pdag import PDAG

# The formats build PDAGs, and PDAG has this mixin: so they are imported when a method is called.


class Interop:
    """Readers and writers that every PDAG has; texts are strings, files are the caller's.

    Examples
    --------
    >>> import fedperi as fp
    >>> g = fp.PDAG.from_edges([("A", "B")], [("B", "C")])
    >>> fp.PDAG.from_dagitty(g.to_dagitty()) == g
    True
    """

    __slots__ = ()

    def _graph(self) -> PDAG:
        return cast("PDAG", self)

    def to_networkx(self) -> nx.DiGraph:
        """Return a ``networkx.DiGraph``; an undirected edge is two opposite arcs.

        Examples
        --------
        >>> import fedperi as fp
        >>> list(fp.PDAG.from_edges([("A", "B")], [("B", "C")]).to_networkx().edges)
        [('A', 'B'), ('B', 'C'), ('C', 'B')]
        """
        from .formats import to_networkx

        return to_networkx(self._graph())

    @classmethod
    def from_networkx(cls, graph: nx.Graph) -> PDAG:
        """Read a networkx graph whose nodes are strings; two opposite arcs are an undirected edge.

        Examples
        --------
        >>> import fedperi as fp
        >>> import networkx as nx
        >>> fp.PDAG.from_networkx(nx.DiGraph([("A", "B"), ("B", "C"), ("C", "B")]))
        PDAG('A -> B, B -- C', names=['A', 'B', 'C'])
        """
        from .formats import from_networkx

        return from_networkx(graph)

    def to_dot(self) -> str:
        """Write the graph for Graphviz; undirected edges have ``[dir=none]``.

        Examples
        --------
        >>> import fedperi as fp
        >>> print(fp.PDAG.from_edges(undirected=[("A", "B")]).to_dot(), end="")
        digraph {
          "A";
          "B";
          "A" -> "B" [dir=none];
        }
        """
        from .formats import to_dot

        return to_dot(self._graph())

    @classmethod
    def from_dot(cls, text: str) -> PDAG:
        """Read a graph in Graphviz's DOT language.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_dot("digraph { A -> B; B -> C [dir=none] }")
        PDAG('A -> B, B -- C', names=['A', 'B', 'C'])
        """
        from .formats import from_dot

        return from_dot(text)

    def to_dagitty(self) -> str:
        """Write the graph for DAGitty, as a ``dag`` or a ``pdag``.

        Examples
        --------
        >>> import fedperi as fp
        >>> print(fp.PDAG.from_edges(undirected=[("A", "B")]).to_dagitty(), end="")
        pdag {
          "A"
          "B"
          "A" -- "B"
        }
        """
        from .formats import to_dagitty

        return to_dagitty(self._graph())

    @classmethod
    def from_dagitty(cls, text: str) -> PDAG:
        """Read a ``dag`` or ``pdag`` from DAGitty; positions and roles are ignored.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_dagitty("dag { A [exposure] A -> B <- C }")
        PDAG('A -> B, C -> B', names=['A', 'B', 'C'])
        """
        from .formats import from_dagitty

        return from_dagitty(text)

    def to_gml(self) -> str:
        """Write the graph as GML, for DoWhy; an undirected edge is two opposite edges.

        Examples
        --------
        >>> import fedperi as fp
        >>> print(fp.PDAG.from_edges([("A", "B")]).to_gml(), end="")
        graph [
          comment "kind arrow: source causes target. kind open: a line, written once each way; its direction is ..."
          directed 1
          node [ id 0 label "A" ]
          node [ id 1 label "B" ]
          edge [ source 0 target 1 kind "arrow" ]
        ]
        """
        from .formats import to_gml

        return to_gml(self._graph())

    @classmethod
    def from_gml(cls, text: str) -> PDAG:
        """Read a graph in GML; the variables are the labels.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_gml('graph [ directed 1 node [ id 0 label "A" ] ]').names
        ('A',)
        """
        from .formats import from_gml

        return from_gml(text)

    def to_causallearn(self) -> NDArray[np.int_]:
        """Return causal-learn's matrix: ``i -> j`` is ``[j, i] = 1`` and ``[i, j] = -1``, ``i -- j`` is -1 in both.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_edges([("A", "B")]).to_causallearn().tolist()
        [[0, -1], [1, 0]]
        """
        from .formats import to_causallearn

        return to_causallearn(self._graph())

    @classmethod
    def from_causallearn(cls, graph: Any, names: Iterable[str] | None = None) -> PDAG:
        """Read causal-learn's matrix of end marks or its graph object.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_causallearn([[0, -1], [1, 0]], names=["A", "B"])
        PDAG('A -> B', names=['A', 'B'])
        """
        from .formats import from_causallearn

        return from_causallearn(graph, names)

    def to_pgmpy(self) -> EdgeLists:
        """Return the arrows and the undirected edges as two lists of pairs, for ``pgmpy.base.PDAG(*g.to_pgmpy())``.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_edges([("A", "B")], [("B", "C")]).to_pgmpy()
        EdgeLists(directed_ebunch=[('A', 'B')], undirected_ebunch=[('B', 'C')])
        """
        from .formats import to_pgmpy

        return to_pgmpy(self._graph())

    @classmethod
    def from_pgmpy(
        cls,
        directed_ebunch: Iterable[Pair] = (),
        undirected_ebunch: Iterable[Pair] = (),
        names: Iterable[str] | None = None,
    ) -> PDAG:
        """Read pgmpy's two lists of edges; `names` adds isolated variables and sets the order.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_pgmpy([("A", "B")], [("B", "C")])
        PDAG('A -> B, B -- C', names=['A', 'B', 'C'])
        """
        from .formats import from_pgmpy

        return from_pgmpy(directed_ebunch, undirected_ebunch, names)

    def to_tetrad(self) -> str:
        """Write the text that Tetrad saves and loads: ``-->`` for an arrow, ``---`` for an open edge.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_edges([("A", "B")]).to_tetrad().splitlines()[-1]
        '1. A --> B'
        """
        from .formats import to_tetrad

        return to_tetrad(self._graph())

    @classmethod
    def from_tetrad(cls, text: str) -> PDAG:
        """Read a text as Tetrad saves it.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_tetrad(fp.PDAG.from_edges([], [("A", "B")]).to_tetrad())
        PDAG('A -- B', names=['A', 'B'])
        """
        from .formats import from_tetrad

        return from_tetrad(text)

    def to_csv(self) -> str:
        """Write a table with the columns from, to, type; a row of type ``node`` per variable, then the edges.

        Examples
        --------
        >>> import fedperi as fp
        >>> print(fp.PDAG.from_edges([("A", "B")]).to_csv(), end="")
        from,to,type
        A,,node
        B,,node
        A,B,->
        """
        from .formats import to_csv

        return to_csv(self._graph())

    @classmethod
    def from_csv(cls, text: str) -> PDAG:
        """Read a table with the columns from, to, type (``->``, ``--`` or ``node``).

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_csv("from,to,type" + chr(10) + "A,B,--")
        PDAG('A -- B', names=['A', 'B'])
        """
        from .formats import from_csv

        return from_csv(text)

    def to_json(self) -> str:
        """Write our own format: versioned JSON, names and edges in the order of the variables.

        Examples
        --------
        >>> import json
        >>> import fedperi as fp
        >>> json.loads(fp.PDAG.from_edges([("A", "B")]).to_json())["directed"]
        [['A', 'B']]
        """
        from .formats import to_json

        return to_json(self._graph())

    @classmethod
    def from_json(cls, text: str) -> PDAG:
        """Read what `to_json` writes.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_json(fp.PDAG.from_edges([("A", "B")]).to_json())
        PDAG('A -> B', names=['A', 'B'])
        """
        from .formats import from_json

        return from_json(text)
