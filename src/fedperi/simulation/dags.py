"""Random DAGs: Erdos-Renyi and scale-free, with colliders shielded on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..graph.equivalence import v_structures
from ..graph.pdag import PDAG

GraphModel = Literal["erdos-renyi", "scale-free"]


def most_edges(p: int) -> int:
    """Count the pairs of p variables: the edges of a complete DAG.

    Examples
    --------
    >>> most_edges(4)
    6
    """
    return p * (p - 1) // 2


def random_order(names: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """Shuffle the names, for example into the topological order of a random DAG.

    Examples
    --------
    >>> sorted(random_order(["A", "B", "C"], np.random.default_rng(0)))
    ['A', 'B', 'C']
    """
    return tuple(names[int(i)] for i in rng.permutation(len(names)))


def random_dag(
    names: Sequence[str],
    order: Sequence[str],
    edges: float,
    rng: np.random.Generator,
    graph: GraphModel = "erdos-renyi",
) -> PDAG:
    """Draw a DAG whose arrows all follow the given order.

    Parameters
    ----------
    names : sequence of str
        The variables, as the graph will list them.
    order : sequence of str
        The same variables in topological order.
    edges : float
        Expected number of edges, from 0 to p (p - 1) / 2.
    rng : numpy Generator
        Source of randomness.
    graph : "erdos-renyi" or "scale-free"
        Erdos-Renyi: every pair is an edge with the same probability, independently. Scale-free: variables join in
        the given order and take parents among the earlier ones with probability proportional to degree + 1, so
        that a few early variables become causes of many.

    Examples
    --------
    >>> random_dag(["A", "B", "C"], ["C", "A", "B"], 3, np.random.default_rng(0))
    PDAG('A -> B, C -> A, C -> B', names=['A', 'B', 'C'])
    """
    p = len(names)
    drawn = _erdos_renyi(p, edges, rng) if graph == "erdos-renyi" else _scale_free(p, edges, rng)
    at = [list(names).index(name) for name in order]
    adjacency = np.zeros((p, p), dtype=bool)
    adjacency[np.ix_(at, at)] = drawn
    return PDAG(adjacency, names)


def shield_colliders(dag: PDAG, order: Sequence[str]) -> PDAG:
    """Join the two parents of every v-structure by an edge along the order, in one pass.

    No v-structure of the given DAG is left; the added edges may form others. They follow a topological order of the
    DAG, so that no cycle can arise. A shielded collider is invisible in observational data and becomes a v-structure
    at a site where an intervention removed the shield.

    Examples
    --------
    >>> import fedperi as fp
    >>> shield_colliders(fp.PDAG.from_edges([("A", "C"), ("B", "C")]), ["B", "A", "C"])
    PDAG('A -> C, B -> A, B -> C', names=['A', 'C', 'B'])
    """
    rank = {name: i for i, name in enumerate(order)}
    adjacency = np.array(dag.adjacency)
    for first, _, second in v_structures(dag):
        tail, head = sorted((first, second), key=rank.__getitem__)
        adjacency[dag.index(tail), dag.index(head)] = True
    return PDAG(adjacency, dag.names)


def _erdos_renyi(p: int, edges: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    probability = edges / max(most_edges(p), 1)
    return np.triu(rng.random((p, p)) < probability, 1)


def _scale_free(p: int, edges: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    # A fractional expectation is met by rounding at random.
    total = int(edges) + int(rng.random() < edges - int(edges))
    drawn = np.zeros((p, p), dtype=bool)
    placed = 0
    for node in range(1, p):
        # Every new variable gets an even share of the edges. An early one may have too few possible parents; then
        # later ones get more. The last one can always take the rest: `edges` is at most the number of pairs.
        count = min(node, total * node // (p - 1) - placed)
        degree = (drawn[:node].sum(axis=1) + drawn[:, :node].sum(axis=0) + 1).astype(float)
        parents = rng.choice(node, size=count, replace=False, p=degree / degree.sum())
        drawn[parents, node] = True
        placed += count
    return drawn
