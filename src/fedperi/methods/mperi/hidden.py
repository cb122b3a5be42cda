"""Signs of hidden common causes in a run of M-PERI, each with its evidence, as sentences that name the variables.

M-PERI assumes that there are none. Four things should then not happen. Each has a threshold that was set on simulations
without hidden causes (docs/guides/hidden-causes.md), so that all together raise a false alarm in about 5 % of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...discovery.fci.moments import SiteTests
from ...graph import bits
from ...graph.order import descendants
from ...graph.pdag import PDAG
from ...tables.summary.summary import Summary
from ..parts import Groups
from .factor import one_cause
from .wording import listed

Floats = NDArray[np.float64]

CHANCE = 0.01
"""Probability, over all pairs of a run, that mechanisms change together or residuals correlate by chance."""

UNTOLD = 12.0
"""Nats by which "the change of one does not reach the other" must be ahead, in both directions."""

CLEAR = 5.0
"""Standard errors by which a variable must differ at a site for this to count as a change."""

OWN_CHANGE = 3.0
"""Standard errors from both "stays" and "is reached" beyond which the other variable has a change of its own there."""

ONE_CAUSE = 4.0
"""Nats by which one hidden cause must explain four variables better than the edges between them."""

MOST_NAMED = 5


class Sign(NamedTuple):
    """One sign of a hidden cause: the variables, how strong it is (larger is stronger), and the sentence."""

    variables: tuple[str, ...]
    evidence: float
    words: str


def hidden_causes(said: Sequence[Summary], dag: PDAG, groups: Sequence[Groups]) -> list[str]:
    """List the sentences about hidden causes, the strongest signs of each kind first.

    Thresholds are those of exact summaries: under privacy noise nothing is said.
    """
    if not all(part.exact for part in said):
        return []
    return [sign.words for sign in find_signs(said, dag, groups)]


def find_signs(said: Sequence[Summary], dag: PDAG, groups: Sequence[Groups]) -> list[Sign]:
    """Look for all four signs.

    Parameters
    ----------
    said : sequence of Summary
        One per site.
    dag : PDAG
        A DAG that agrees with the graph of the run.
    groups : sequence of Groups
        Which sites share the mechanism of each variable.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> chain = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    >>> sim = fp.simulate(chain, clients=3, samples=500, weights=(0.5, 1.0), seed=1)
    >>> find_signs(summaries(sim.sites), chain, [])
    []
    """
    parts = [part.straight() for part in said]
    ordered = dag.reordered(parts[0].names)
    kinds = (
        changing_together(parts, groups),
        residual_correlations(parts, ordered),
        untold_changes(parts, ordered),
        one_cause_of_four(parts, ordered),
    )
    return [sign for kind in kinds for sign in sorted(kind, key=lambda sign: -sign.evidence)[:MOST_NAMED]]


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


def residual_correlations(parts: Sequence[Summary], dag: PDAG) -> Iterator[Sign]:
    """Find pairs without an edge that are dependent given the causes of the later one."""
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
            yield Sign(
                (dag.names[a], dag.names[b]),
                -log(max(chance, 1e-300)),
                f"{dag.names[a]} and {dag.names[b]} may have a hidden common cause: they have no edge, but depend on "
                f"each other{adjusted} (by chance: {chance:.1g}).",
            )


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


def one_cause_of_four(parts: Sequence[Summary], dag: PDAG) -> Iterator[Sign]:
    """Find four variables, all joined, that one hidden cause explains with fewer parameters than six edges."""
    if any(len(block) > 1 for block in parts[0].blocks):
        return
    joined = dag.adjacency | dag.adjacency.T
    children, parents = bits.rows(dag.adjacency), bits.columns(dag.adjacency)
    pooled = _pooled(parts)
    rows = sum(float(part.n) for part in parts)
    for four in _all_joined(bits.rows(joined), 4):
        inside = sum(1 << v for v in four)
        above = 0
        for v in four:
            above |= parents[v]
        given = list(bits.members(above & ~descendants(children, inside)))
        gain = log(rows) - rows * one_cause(_given(pooled, list(four), given))
        if gain > ONE_CAUSE:
            names = tuple(dag.names[v] for v in four)
            yield Sign(
                names,
                gain,
                f"{listed(names)} may have a hidden common cause: it would explain all six edges between them with "
                f"fewer parameters ({gain:.0f} nats).",
            )


def _all_joined(neighbours: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """List the sets of `size` variables that are all neighbours of each other, in the order of `combinations`."""

    def grow(chosen: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
        if len(chosen) == size:
            yield chosen
            return
        for v in bits.members(left):
            yield from grow((*chosen, v), left & neighbours[v] & ~((2 << v) - 1))

    return grow((), (1 << len(neighbours)) - 1)


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
