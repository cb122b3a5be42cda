"""Lists of edges as pgmpy's graph classes take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import InputError
from ..validate import Pair
from .build import Edge, build, checked_name_list, ordered_edges

if TYPE_CHECKING:
    from ..pdag import PDAG


class EdgeLists(NamedTuple):
    """The two first arguments of ``pgmpy.base.PDAG``; for a DAG, ``pgmpy.base.DAG`` takes the first list alone.

    Examples
    --------
    >>> from fedperi.graph.formats import EdgeLists
    >>> EdgeLists([("A", "B")], []).directed_ebunch
    [('A', 'B')]
    """

    directed_ebunch: list[Pair]
    undirected_ebunch: list[Pair]


def to_pgmpy(graph: PDAG) -> EdgeLists:
    """Return the arrows and the undirected edges as lists of pairs, for ``pgmpy.base.PDAG(*to_pgmpy(graph))``.

    Lists of edges cannot hold isolated variables: add those with pgmpy's ``add_nodes_from(graph.names)``.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_pgmpy
    >>> to_pgmpy(fp.PDAG.from_edges([("A", "B")], [("B", "C")]))
    EdgeLists(directed_ebunch=[('A', 'B')], undirected_ebunch=[('B', 'C')])
    """
    return EdgeLists(*ordered_edges(graph))


def from_pgmpy(
    directed_ebunch: Iterable[Pair] = (),
    undirected_ebunch: Iterable[Pair] = (),
    names: Iterable[str] | None = None,
) -> PDAG:
    """Make a graph from pgmpy's lists of edges, such as its ``directed_edges`` and ``undirected_edges``.

    Parameters
    ----------
    directed_ebunch : iterable of (tail, head)
        Arrows.
    undirected_ebunch : iterable of (name, name)
        Edges without a direction.
    names : iterable of str, optional
        All variables in order, isolated ones included. If not given, the names in order of appearance.

    Examples
    --------
    >>> from fedperi.graph.formats import from_pgmpy
    >>> from_pgmpy([("A", "B")], [("B", "C")], names=["C", "B", "A", "D"])
    PDAG('A -> B, C -- B', names=['C', 'B', 'A', 'D'])
    """
    edges = [*_edges(directed_ebunch, "directed_ebunch", "->"), *_edges(undirected_ebunch, "undirected_ebunch", "--")]
    if names is None:
        return build("pgmpy", dict.fromkeys(name for e in edges for name in (e.first, e.second)), edges)
    return build("pgmpy", checked_name_list(names, "pgmpy"), edges)


def _edges(pairs: Any, key: str, kind: str) -> list[Edge]:
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise InputError(f"pgmpy: {key} must be a list of pairs of names, not {pairs!r}")
    edges = []
    for i, pair in enumerate(pairs):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise InputError(
                f"pgmpy: {key}[{i}] must be a pair of names, not {pair!r}; rename nodes that are not strings"
            )
        edges.append(Edge(pair[0], kind, pair[1], f"pgmpy, {key}[{i}]"))
    return edges
