"""Edge stability: how often an edge, and its direction, are found when every site resamples its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..graph.pdag import PDAG


class EdgeStability(NamedTuple):
    """Shares of bootstrap runs: a -> b, a <- b, a -- b, no edge. They add up to 1.

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.IPERI(bootstrap=10).fit(fp.simulate(3, clients=2, samples=500, seed=1).sites)
    >>> [round(sum(edge[2:]), 6) for edge in result.stability]
    [1.0, 1.0, 1.0]
    """

    a: str
    b: str
    forward: float
    backward: float
    undirected: float
    absent: float


def edge_stability(graph: PDAG, replicates: Sequence[PDAG]) -> tuple[EdgeStability, ...]:
    """For each pair with an edge in any graph: count, over graphs from resampled data, how it is joined."""
    pairs = {tuple(sorted(pair, key=graph.index)) for g in (graph, *replicates) for pair in g.directed | g.undirected}
    out = []
    for a, b in sorted(pairs, key=lambda pair: (graph.index(pair[0]), graph.index(pair[1]))):
        i, j = graph.index(a), graph.index(b)
        seen = Counter((bool(g.adjacency[i, j]), bool(g.adjacency[j, i])) for g in replicates)
        kinds = ((True, False), (False, True), (True, True), (False, False))
        out.append(EdgeStability(a, b, *(seen[kind] / len(replicates) for kind in kinds)))
    return tuple(out)
