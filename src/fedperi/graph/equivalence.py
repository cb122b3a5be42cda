"""Markov equivalence: v-structures, the CPDAG of a DAG, and a DAG of a PDAG's class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from . import bits
from .order import topological_order
from .pdag import PDAG

Triple = tuple[str, str, str]


def v_structures(graph: PDAG) -> frozenset[Triple]:
    """Find the unshielded colliders a -> c <- b, with a and b not adjacent, among the directed edges.

    Parameters
    ----------
    graph : PDAG
        Any graph of the package.

    Returns
    -------
    frozenset of (a, c, b)
        The collider in the middle, its two parents in the order of `PDAG.names`.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.v_structures(fp.PDAG.from_edges(directed=[("A", "C"), ("B", "C")]))
    frozenset({('A', 'C', 'B')})
    """
    adjacency, names = graph.adjacency, graph.names
    parents = bits.columns(adjacency & ~adjacency.T)
    adjacent = bits.rows(adjacency | adjacency.T)
    return frozenset(
        (names[a], names[c], names[b])
        for c in range(len(names))
        for a in bits.members(parents[c])
        for b in bits.members(parents[c] & ~adjacent[a] & (-1 << (a + 1)))
    )


def cpdag(dag: PDAG) -> PDAG:
    """Return C(G), the completed PDAG that represents the Markov equivalence class of a DAG.

    Parameters
    ----------
    dag : PDAG
        A graph without undirected edges.

    Returns
    -------
    PDAG
        Directed edges point the same way in every member of the class; the others are undirected.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.cpdag(fp.PDAG.from_edges(directed=[("A", "B"), ("B", "C")]))
    PDAG('A -- B, B -- C', names=['A', 'B', 'C'])
    """
    order = topological_order(parents_of(dag))
    assert order is not None  # a PDAG has no directed cycle
    ranked = dag.adjacency[np.ix_(order, order)]
    compelled = bits.matrix(compelled_parents(bits.columns(ranked))).T if order else ranked
    completed = np.empty_like(ranked)
    completed[np.ix_(order, order)] = ranked | (ranked & ~compelled).T
    return PDAG._known_acyclic(completed, dag.names)


def compelled_parents(parents: Sequence[int]) -> list[int]:
    """Find, for each node, the parents whose arrow is the same in the whole equivalence class.

    The nodes must be numbered in topological order. This is Chickering's Label-Edges (1995): for one head y it settles
    all edges into y by looking at the last parent x alone, and his loops over nodes are set operations here.
    """
    compelled = [0] * len(parents)
    for y, into_y in enumerate(parents):
        if not into_y:
            continue
        x = into_y.bit_length() - 1
        chain = compelled[x] & ~into_y  # w -> x -> y, w and y not adjacent: reversing x -> y would make a v-structure
        other = into_y & ~parents[x] & ~(1 << x)  # z -> y <- x with z no parent of x: a v-structure is there
        # Otherwise only w -> y with w -> x compelled is: reversing it alone would close a cycle through x.
        compelled[y] = into_y if chain or other else compelled[x]
    return compelled


def consistent_extension(graph: PDAG) -> PDAG:
    """Return a DAG with the same adjacencies, arrows and v-structures (Dor and Tarsi, 1992).

    Parameters
    ----------
    graph : PDAG
        For example a CPDAG or a Phi-CPDAG.

    Returns
    -------
    PDAG
        A DAG. Where there is a choice, variables listed first become causes.

    Raises
    ------
    InputError
        If every orientation of the undirected edges makes a cycle or a new v-structure.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.consistent_extension(fp.PDAG.from_edges(undirected=[("A", "B"), ("B", "C")]))
    PDAG('A -> B, B -> C', names=['A', 'B', 'C'])
    """
    adjacency = graph.adjacency
    children = bits.rows(adjacency & ~adjacency.T)
    lines = bits.rows(adjacency & adjacency.T)
    adjacent = bits.rows(adjacency | adjacency.T)
    oriented = bits.columns(adjacency & ~adjacency.T)
    left = (1 << len(lines)) - 1
    while left:
        # A sink whose undirected neighbours are joined to all its other neighbours can take every edge inwards.
        for x in reversed(list(bits.members(left))):
            around = adjacent[x] & left
            if children[x] & left == 0 and all(
                around & ~adjacent[y] & ~(1 << y) == 0 for y in bits.members(lines[x] & left)
            ):
                oriented[x] |= lines[x] & left
                left ^= 1 << x
                break
        else:
            edges = [f"{a} -- {b}" for a, b in sorted(graph.undirected) if _both_left(graph, left, a, b)]
            raise InputError(
                "the graph has no consistent extension: however the undirected edges "
                f"{', '.join(edges[:6])}{', ...' if len(edges) > 6 else ''} are directed, "
                "a cycle or a new v-structure appears"
            )
    return PDAG._known_acyclic(bits.matrix(oriented).T if oriented else adjacency, graph.names)


def is_cpdag(graph: PDAG) -> bool:
    """Whether a graph is the CPDAG of some DAG.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.is_cpdag(fp.PDAG.from_edges(directed=[("A", "B")]))
    False
    """
    try:
        return cpdag(consistent_extension(graph)) == graph
    except InputError:
        return False


def parents_of(dag: PDAG) -> list[int]:
    """Bit sets of parents; an error that names an undirected edge if the graph is not a DAG."""
    if not dag.is_dag:
        a, b = min(dag.undirected, key=lambda pair: (dag.index(pair[0]), dag.index(pair[1])))
        raise InputError(f"a DAG is needed, but {a} -- {b} is undirected (consistent_extension gives a member DAG)")
    return bits.columns(dag.adjacency)


def _both_left(graph: PDAG, left: int, a: str, b: str) -> bool:
    return bool(left >> graph.index(a) & 1 and left >> graph.index(b) & 1)
