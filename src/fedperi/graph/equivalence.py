"""Markov equivalence: v-structures, the CPDAG of a DAG, and a DAG of a PDAG's class."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from . import bits
from .order import topological_order
from .pdag import PDAG

Triple = tuple[str, str, str]


def v_structures(graph: PDAG) -> frozenset[Triple]:
    """Find the unshielded colliders a -> c <- b, with a and b not adjacent, among the directed edges.

    Each is a triple (a, c, b): the collider in the middle, its two parents in the order of `PDAG.names`.

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

    Its directed edges point the same way in every member of the class; the others are undirected.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.cpdag(fp.PDAG.from_edges(directed=[("A", "B"), ("B", "C")]))
    PDAG('A -- B, B -- C', names=['A', 'B', 'C'])
    """
    parents, lines = complete(parents_of(dag))
    matrix = bits.matrix([into | line for into, line in zip(parents, lines, strict=True)]).T
    return PDAG._known_acyclic(matrix, dag.names)


def complete(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Split the edges of a DAG into compelled and reversible ones: bit sets of parents and of neighbours.

    Chickering's Label-Edges (1995): in topological order, the last parent x of y decides all edges into y. Chickering's
    loops over nodes are set operations here.
    """
    order = topological_order(parents)
    assert order is not None, "the caller gives a DAG"
    rank = [0] * len(order)
    for position, node in enumerate(order):
        rank[node] = position
    compelled, lines = [0] * len(order), [0] * len(order)
    for y in order:
        into_y = parents[y]
        if not into_y:
            continue
        x = max(bits.members(into_y), key=rank.__getitem__)
        chain = compelled[x] & ~into_y  # w -> x -> y, w and y not adjacent: reversing x -> y would make a v-structure
        other = into_y & ~parents[x] & ~(1 << x)  # z -> y <- x with z no parent of x: a v-structure is there
        # Otherwise only w -> y with w -> x compelled is: reversing it alone would close a cycle through x.
        compelled[y] = into_y if chain or other else compelled[x]
        reversible = into_y & ~compelled[y]
        lines[y] |= reversible
        for z in bits.members(reversible):
            lines[z] |= 1 << y
    return compelled, lines


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
    parents, stuck = extend(bits.columns(adjacency & ~adjacency.T), bits.rows(adjacency & adjacency.T))
    if stuck:
        inside = {graph.names[i] for i in bits.members(stuck)}
        edges = [f"{a} -- {b}" for a, b in sorted(graph.undirected) if a in inside and b in inside]
        raise InputError(
            "the graph has no consistent extension: however the undirected edges "
            f"{', '.join(edges[:6])}{', ...' if len(edges) > 6 else ''} are directed, "
            "a cycle or a new v-structure appears"
        )
    return PDAG._known_acyclic(bits.matrix(parents).T, graph.names)


def extend(parents: Sequence[int], lines: Sequence[int]) -> tuple[list[int], int]:
    """Orient the undirected edges of a PDAG (bit sets); return the parents, and the nodes left over if it fails (or 0).

    Dor and Tarsi's algorithm removes sinks one by one. If a node has no children and its undirected neighbours are
    adjacent to all its other neighbours, all its edges can point to it. Any such node may be chosen.
    """
    oriented = list(parents)
    children = bits.transpose(parents)
    adjacent = [i | o | u for i, o, u in zip(parents, children, lines, strict=True)]
    left = (1 << len(oriented)) - 1
    peeled = True
    while left and peeled:
        peeled = False
        for x in reversed(list(bits.members(left))):
            if children[x] & left:
                continue
            around, open_ = adjacent[x] & left, lines[x] & left
            if all(not around & ~adjacent[y] & ~(1 << y) for y in bits.members(open_)):
                oriented[x] |= open_
                left ^= 1 << x
                peeled = True
    return oriented, left


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
    """Return bit sets of parents; refuse a graph that is not a DAG, naming an undirected edge."""
    if not dag.is_dag:
        a, b = min(dag.undirected, key=lambda pair: (dag.index(pair[0]), dag.index(pair[1])))
        raise InputError(f"a DAG is needed, but {a} -- {b} is undirected (consistent_extension gives a member DAG)")
    return bits.columns(dag.adjacency)
