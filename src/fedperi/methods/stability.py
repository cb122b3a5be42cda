"""Edge stability: how often an edge, and its direction, are found when every site resamples its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..graph.pdag import PDAG

if TYPE_CHECKING:
    from .result import Result


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


def with_stability(result: Result, again: Callable[[int, str], PDAG | None], seed: int, runs: int) -> Result:
    """Add the stability of edges to a result; `again` finds the graph from resampled data, given a seed and a title.

    If `again` returns None, or after Ctrl-C, no further runs are started.
    """
    graphs: list[PDAG] = []
    try:
        for draw in range(runs):
            graph = again(seed * 1_000_003 + draw, f"bootstrap {draw + 1}/{runs}")
            if graph is None:
                break
            graphs.append(graph)
    except KeyboardInterrupt:
        pass
    stability = edge_stability(result.graph, graphs) if graphs else ()
    return replace(result, stability=stability, replicates=len(graphs), complete=len(graphs) == runs)


def edge_stability(graph: PDAG, replicates: Sequence[PDAG]) -> tuple[EdgeStability, ...]:
    """Count, for each pair with an edge in any graph, how often each kind of edge is found in resampled data."""
    pairs = {tuple(sorted(pair, key=graph.index)) for g in (graph, *replicates) for pair in g.directed | g.undirected}
    out = []
    for a, b in sorted(pairs, key=lambda pair: (graph.index(pair[0]), graph.index(pair[1]))):
        i, j = graph.index(a), graph.index(b)
        seen = Counter((bool(g.adjacency[i, j]), bool(g.adjacency[j, i])) for g in replicates)
        kinds = ((True, False), (False, True), (True, True), (False, False))
        out.append(EdgeStability(a, b, *(seen[kind] / len(replicates) for kind in kinds)))
    return tuple(out)
