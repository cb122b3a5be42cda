"""The order from top to bottom in which a picture shows variables: causes first, as far as known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...graph.pdag import PDAG

Pair = tuple[int, int]


def probable_order(graph: PDAG, chances: npt.NDArray[np.float64] | None = None) -> list[int]:
    """Order the variables along the arrows, and along open edges as is probable.

    What stands on top is read as a root cause. So a variable that has open edges only comes after its neighbours: a
    part of the graph begins with one only if it has no arrow at all.

    Parameters
    ----------
    graph : PDAG
        Its arrows have no cycle.
    chances : matrix of float, optional
        At [i, j] the probability that i causes j; one half for open edges if it is not given.

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
    # Of each variable: arrows and open edges from variables still to come, and how many causes these probably are.
    above, beside, expected = arrows.sum(axis=0), lines.sum(axis=0), causing.sum(axis=0)
    all_beside = beside
    order: list[int] = []
    waiting = set(range(len(graph.names)))
    while waiting:
        ready = (i for i in waiting if not above[i])
        # One with open edges only waits for all its neighbours, or else for one of them.
        late = vague * np.where(beside == all_beside, 2, 1) * (beside > 0)
        first = min(ready, key=lambda i: (late[i], round(float(expected[i]), 9), i))
        waiting.remove(first)
        order.append(first)
        above, beside, expected = above - arrows[first], beside - lines[first], expected - causing[first]
    return order


def downward(graph: PDAG, chances: npt.NDArray[np.float64] | None = None) -> list[Pair]:
    """All edges as index pairs, each from the variable that comes first in `probable_order`."""
    rank = {node: k for k, node in enumerate(probable_order(graph, chances))}
    both = np.argwhere(np.triu(graph.adjacency | graph.adjacency.T)).tolist()
    return [(i, j) if rank[i] < rank[j] else (j, i) for i, j in both]
