"""Correlations that the fitted graph does not explain: pairs that it declares independent, and that are not.

A DAG says that a variable is independent of every earlier one that is no cause of it, given its causes. Each of these
independences is tested at all sites together, within each site, with straight lines and with curves. What fails is no
proof of a hidden cause: an edge may be missing. Either way, the graph is not the whole story there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ....discovery.fci.moments import SiteTests
from ....discovery.pc.gaussian import partial_correlations
from ....graph import bits
from ....graph.order import descendants, topological_order
from ....graph.pdag import PDAG
from ....tables.summary.summary import Summary

Indices = NDArray[np.intp]

LEVEL = 1e-3
"""Probability that chance alone makes the program say that a correlation is not explained, over all pairs of a run."""

MOST_NAMED = 5

LEAST = 1e-99
"""Smaller p-values are not written out."""

BATCH = 4096
"""Tests at a time, which bounds the memory."""


def unexplained(said: Sequence[Summary], dag: PDAG) -> list[str]:
    """Say in one sentence which correlations the DAG leaves, the clearest first.

    Parameters
    ----------
    said : sequence of Summary
        One per site, exact.
    dag : PDAG
        Over the same variables in the same order.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> chain = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    >>> parts = summaries(fp.simulate(chain, clients=3, samples=500, weights=(0.5, 1.0), seed=1).sites)
    >>> unexplained(parts, chain)
    []
    >>> unexplained(parts, fp.PDAG.from_edges([("A", "B")], names=["A", "B", "C"]))[0].split(":")[0]
    'The graph leaves correlations that it does not explain'
    """
    found = failed_independences(said, dag)
    if not found:
        return []
    clearest = sorted(found, key=lambda pair: (found[pair][0], -abs(found[pair][1]), pair))
    shown = []
    for a, b in clearest[:MOST_NAMED]:
        p, r = found[a, b]
        strength = f"r = {r:.2f}, " if np.isfinite(r) else ""
        shown.append(
            f"{dag.names[a]} and {dag.names[b]} ({strength}p {f'= {p:.0e}' if p >= LEAST else f'< {LEAST:.0e}'})"
        )
    more = f", and {len(clearest) - MOST_NAMED} more," if len(clearest) > MOST_NAMED else ""
    return [
        f"The graph leaves correlations that it does not explain: {'; '.join(shown)}{more}. An edge near them is "
        "missing or wrong, or a cause of both is not in the tables."
    ]


def failed_independences(said: Sequence[Summary], dag: PDAG) -> dict[tuple[int, int], tuple[float, float]]:
    """Pairs of which an independence fails, with the p-value over all pairs, and the partial correlation."""
    parts = [part.straight() for part in said]
    pairs = len(dag.names) * (len(dag.names) - 1) // 2
    straight, curved = SiteTests(parts, contexts=False), SiteTests(said, contexts=False)
    out: dict[tuple[int, int], tuple[float, float]] = {}
    for x, y, given in _independences(dag):
        p_values = straight.p_values(x, y, given)
        low = np.flatnonzero(p_values * pairs < LEVEL)
        if not len(low):
            continue
        x, y, given = x[low], y[low], given[low]
        p_values = np.maximum(p_values[low], curved.p_values(x, y, given)) * pairs
        strengths = _strengths(parts, x, y, given)
        for a, b, p, r in zip(x.tolist(), y.tolist(), p_values.tolist(), strengths, strict=True):
            if p < out.get((a, b), (LEVEL, 0.0))[0]:
                out[a, b] = p, r
    return out


def repaired(said: Sequence[Summary], dag: PDAG) -> PDAG:
    """Add the edges that the DAG lacks: one wherever an independence fails, from the earlier variable to the later.

    A graph leaves out what is not probable enough, or not sure to have this direction. No DAG without that edge fits,
    so that next to it a hidden cause would look better than any arrows.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> pair = fp.PDAG.from_edges([("A", "B")], names=["A", "B", "C"])
    >>> parts = summaries(fp.simulate(pair, clients=3, samples=500, weights=(0.5, 1.0), seed=1).sites)
    >>> repaired(parts, fp.PDAG.from_edges(names=["A", "B", "C"]))
    PDAG('A -> B', names=['A', 'B', 'C'])
    """
    adjacency = dag.adjacency.copy()
    place = np.argsort(topological_order(bits.columns(adjacency)) or [])
    for a, b in failed_independences(said, dag):
        adjacency[(a, b) if place[a] < place[b] else (b, a)] = True
    return PDAG(adjacency, dag.names)


def _independences(dag: PDAG) -> Iterator[tuple[Indices, Indices, Indices]]:
    """What a DAG says: each variable and every earlier one, given its causes. In groups with sets of one size."""
    adjacency = dag.adjacency
    parents, children = bits.columns(adjacency), bits.rows(adjacency)
    asked: dict[int, list[tuple[int, int, list[int]]]] = defaultdict(list)
    for b, causes in enumerate(parents):
        earlier = ((1 << len(parents)) - 1) & ~descendants(children, 1 << b) & ~causes & ~(1 << b)
        given = list(bits.members(causes))
        asked[len(given)] += [(min(a, b), max(a, b), given) for a in bits.members(earlier)]
    for size, some in sorted(asked.items()):
        for start in range(0, len(some), BATCH):
            x, y, sets = zip(*some[start : start + BATCH], strict=True)
            given_all = np.array(sets, dtype=np.intp).reshape(len(sets), size)
            yield np.array(x, dtype=np.intp), np.array(y, dtype=np.intp), given_all


def _strengths(parts: Sequence[Summary], x: Indices, y: Indices, given: Indices) -> list[float]:
    """Mean partial correlations over the rows of all sites; not a number where a variable has several columns."""
    blocks = parts[0].blocks
    out = []
    for a, b, z in zip(x.tolist(), y.tolist(), given.tolist(), strict=True):
        columns = np.array([[column for v in z for column in blocks[v]]], dtype=np.intp)
        if len(blocks[a]) > 1 or len(blocks[b]) > 1:
            out.append(np.nan)
            continue
        total = 0.0
        for part in parts:
            scale = np.sqrt(np.diag(part.covariance))
            correlation = part.covariance / np.outer(scale, scale).clip(np.finfo(float).tiny)
            r, _ = partial_correlations(correlation, np.array([blocks[a][0]]), np.array([blocks[b][0]]), columns)
            total += float(part.rows * r[0])
        out.append(total / sum(part.rows for part in parts))
    return out
