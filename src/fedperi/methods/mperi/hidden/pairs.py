"""Signs of a hidden common cause of two variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray

from ....discovery.fci.moments import SiteTests
from ....graph import bits
from ....graph.order import descendants
from ....graph.pdag import PDAG
from ....tables.summary.summary import Summary
from ...parts import Groups
from ..wording import listed
from .sign import Sign

Floats = NDArray[np.float64]

CHANCE = 0.01
"""Probability, over all pairs of a run, that mechanisms change together or residuals correlate by chance."""

UNTOLD = 12.0
"""Nats by which "the change of one does not reach the other" must be ahead, in both directions."""

CLEAR = 5.0
"""Standard errors by which a variable must differ at a site for this to count as a change."""

OWN_CHANGE = 3.0
"""Standard errors from both "stays" and "is reached" beyond which the other variable has a change of its own there."""

MISSED = 0.05
"""Probability of an edge from which on a dependence without one is told as an edge that was left out. A category of
many levels needs many rows for an edge: of two with four and five levels it has twelve strengths."""


def changing_together(parts: Sequence[Summary], groups: Sequence[Groups]) -> Iterator[Sign]:
    """Find pairs whose mechanisms differ at the same sites more often than chance allows (Fisher's exact test)."""
    from scipy.stats import hypergeom

    pairs = list(combinations(groups, 2))
    for one, other in pairs:
        first, second = (
            {site for group in some.groups[1:] for site in group} | set(some.constant) for some in (one, other)
        )
        both = sorted(first & second)
        chance = float(hypergeom.sf(len(both) - 1, len(parts), len(first), len(second)))
        if chance < CHANCE / len(pairs):
            yield Sign(
                (one.variable, other.variable),
                -log(chance),
                f"{one.variable} and {other.variable} may have a hidden common cause: their mechanisms change together "
                f"at {listed(both)} (by chance: {chance:.1g}).",
            )


def residual_correlations(parts: Sequence[Summary], dag: PDAG, chances: Floats | None = None) -> Iterator[Sign]:
    """Find pairs without an edge that are dependent given the causes of the later one.

    Where an edge was left out although it is not improbable, the dependence is told as that edge.
    """
    adjacency = dag.adjacency
    parents = bits.columns(adjacency)
    test = SiteTests(parts, contexts=False)
    p = len(dag.names)
    before = [descendants(parents, 1 << v) for v in range(p)]  # the causes of each, through others too
    free = [(a, b) for a, b in combinations(range(p), 2) if not adjacency[a, b] and not adjacency[b, a]]
    pairs = [(b, a) if before[a] >> b & 1 else (a, b) for a, b in free]
    for (a, b), chance in zip(pairs, _chances(test, pairs, parents), strict=True):
        if chance < CHANCE / len(pairs) / p:
            causes = [dag.names[v] for v in bits.members(parents[b])]
            adjusted = f" for the same {listed(causes)}" if causes else ""
            both = f"{dag.names[a]} and {dag.names[b]}"
            depend = f"depend on each other{adjusted} (by chance: {chance:.1g})"
            edge = 0.0 if chances is None else float(chances[a, b] + chances[b, a])
            words = f"{both} may have a hidden common cause: they have no edge, but {depend}."
            if edge >= MISSED:
                words = (
                    f"{both} {depend}, although the graph has no edge there: its probability is {edge:.2f}, and an "
                    "edge is drawn from one half on. More rows, or fewer levels of a category, would decide."
                )
            yield Sign((dag.names[a], dag.names[b]), -log(max(chance, 1e-300)), words)


def _chances(test: SiteTests, pairs: Sequence[tuple[int, int]], parents: Sequence[int]) -> list[float]:
    """Test each pair given the parents of its second; pairs with equally many of them at once."""
    out = np.ones(len(pairs))
    counts = np.array([parents[b].bit_count() for _, b in pairs])
    for count in np.unique(counts[counts < len(parents) - 1]):
        some = np.flatnonzero(counts == count)
        x, y = np.array([pairs[i] for i in some.tolist()]).T
        given = np.array([list(bits.members(parents[b])) for b in y.tolist()], dtype=np.intp).reshape(len(some), -1)
        out[some] = test.p_values(x, y, given)
    return [float(chance) for chance in out]


def untold_changes(parts: Sequence[Summary], dag: PDAG) -> Iterator[Sign]:
    """Find edges that carry changes in neither direction: what holds without the one does not hold with it.

    If a causes b, a change of a at a site reaches b. If it does not, b's law is the same at all sites, but not given a.
    If changes of b do not reach a either, a hidden cause is the simplest reason why the two are correlated.
    """
    single = all(len(block) == 1 for block in parts[0].blocks)
    if not single or len(parts) < 2:
        return
    adjacency = dag.adjacency
    children = bits.rows(adjacency)
    parents = bits.columns(adjacency)
    for a, b in np.argwhere(np.triu(adjacency | adjacency.T)).tolist():
        below = descendants(children, 1 << a | 1 << b)
        given = list(bits.members((parents[a] | parents[b]) & ~below))
        pooled = _pooled(parts)
        nats = [_untold(parts, pooled, *pair, given) for pair in ((a, b), (b, a))]
        if min(nats) > UNTOLD:
            yield Sign(
                (dag.names[a], dag.names[b]),
                min(nats),
                f"{dag.names[a]} and {dag.names[b]} may have a hidden common cause: they are correlated, but where a "
                f"site changes the one, the other stays as elsewhere ({nats[0]:.0f} and {nats[1]:.0f} nats).",
            )


def _untold(parts: Sequence[Summary], pooled: Floats, a: int, b: int, given: list[int]) -> float:
    """Nats by which "changes of a do not reach b" is ahead of "they reach it with the strength that both have".

    Levels of a and b, for the same values of `given`, are compared between all pairs of sites.
    """
    both = _given(pooled, [a, b], given)
    strength = both[0, 1] / both[0, 0]
    slopes = np.linalg.solve(pooled[np.ix_(given, given)], pooled[np.ix_(given, [a, b])])
    level = np.array([part.mean[[a, b]] - part.mean[given] @ slopes for part in parts])
    weights = np.zeros((2, len(pooled)))
    weights[[0, 1], [a, b]] = 1.0
    weights[:, given] -= slopes.T
    error = np.array([np.diag(weights @ part.covariance @ weights.T) / float(part.n) for part in parts])
    total = 0.0
    for k, m in combinations(range(len(parts)), 2):
        change, variance = level[k] - level[m], error[k] + error[m]
        if variance.min() <= 0 or abs(change[0]) < CLEAR * np.sqrt(variance[0]):
            continue
        stays = change[1] ** 2 / variance[1]
        reached = (change[1] - strength * change[0]) ** 2 / (variance[1] + strength**2 * variance[0])
        if min(stays, reached) < OWN_CHANGE**2:
            total += (reached - stays) / 2
    # Every site is in all but one of the pairs with it, so that pairs repeat what they tell.
    return float(total) * 2 / len(parts)


def _pooled(parts: Sequence[Summary]) -> Floats:
    """Covariances within sites, pooled."""
    rows = np.array([float(part.n) for part in parts])
    covariance = np.einsum("k,kij->ij", rows / rows.sum(), np.stack([part.covariance for part in parts]))
    return np.asarray(covariance)


def _given(covariance: Floats, some: list[int], given: list[int]) -> Floats:
    """Covariances of some columns given others."""
    across = covariance[np.ix_(given, some)]
    return np.asarray(
        covariance[np.ix_(some, some)] - across.T @ np.linalg.solve(covariance[np.ix_(given, given)], across)
    )
