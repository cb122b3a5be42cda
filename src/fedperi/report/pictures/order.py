"""The order from top to bottom in which a picture shows variables: causes first, as far as known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...graph.pdag import PDAG

Pair = tuple[int, int]


def probable_order(graph: PDAG, chances: npt.NDArray[np.float64] | None = None) -> list[int]:
    """Order the variables along the arrows, and along open edges in their probable direction.

    Readers take the variable at the top as a root cause. So a variable with only open edges comes after its neighbours:
    it is the first of a part of the graph only if this part has no arrow.

    Parameters
    ----------
    graph : PDAG
        A graph without directed cycles.
    chances : matrix of float, optional
        Entry [i, j] is the probability that i causes j; one half for open edges if not given.

    Examples
    --------
    >>> import fedperi as fp
    >>> graph = fp.PDAG.from_edges([("b", "c")], [("a", "b"), ("c", "d")], list("abcd"))
    >>> [graph.names[i] for i in probable_order(graph)]
    ['b', 'a', 'c', 'd']
    """
    arrows, lines = graph.adjacency & ~graph.adjacency.T, graph.adjacency & graph.adjacency.T
    vague = ~arrows.any(axis=0) & ~arrows.any(axis=1)
    causing = np.where(lines, 0.5 if chances is None else chances, 0.0)
    # For each variable: arrows and open edges from remaining variables, and the expected number of causes.
    above, beside, expected = arrows.sum(axis=0), lines.sum(axis=0), causing.sum(axis=0)
    all_beside = beside
    order: list[int] = []
    waiting = set(range(len(graph.names)))
    while waiting:
        ready = (i for i in waiting if not above[i])
        # A variable with only open edges waits for all its neighbours if possible, or for one of them.
        late = vague * np.where(beside == all_beside, 2, 1) * (beside > 0)
        first = min(ready, key=lambda i: (late[i], round(float(expected[i]), 9), i))
        waiting.remove(first)
        order.append(first)
        above, beside, expected = above - arrows[first], beside - lines[first], expected - causing[first]
    return order


def downward(graph: PDAG, chances: npt.NDArray[np.float64] | None = None) -> list[Pair]:
    """List all edges as pairs of indices, each beginning with the variable that comes first in `probable_order`."""
    rank = {node: k for k, node in enumerate(probable_order(graph, chances))}
    both = np.argwhere(np.triu(graph.adjacency | graph.adjacency.T)).tolist()
    return [(i, j) if rank[i] < rank[j] else (j, i) for i, j in both]
