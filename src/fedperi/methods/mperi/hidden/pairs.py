"""Signs of a hidden common cause of two variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from math import fsum, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph import bits
from ....graph.order import descendants
from ....graph.pdag import PDAG
from ....tables.summary.summary import Summary
from ...parts import Groups
from ..wording import listed
from .sign import Sign

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CHANCE = 0.01
"""Probability, over all pairs of a run, that mechanisms change together by chance."""

UNTOLD = 25.0
"""Nats by which "the change of one does not reach the other" must be ahead, in both directions."""

CLEAR = 5.0
"""Standard errors by which a variable must differ at a site for this to count as a change."""

OWN_CHANGE = 3.0
"""Standard errors from both "stays" and "is reached" beyond which the other variable has a change of its own there."""


PARTNERS = 48
"""With how many other sites every site is compared; an even number. The pairs of 1,000 sites would take minutes."""


def changing_together(parts: Sequence[Summary], groups: Sequence[Groups]) -> Iterator[Sign]:
    """Find pairs whose mechanisms differ at the same sites more often than chance allows (Fisher's exact test)."""
    changed = [{*chain.from_iterable(some.groups[1:]), *some.constant} for some in groups]
    pairs = list(combinations(range(len(groups)), 2))

    @cache
    def chance_of(both: int, first: int, second: int) -> float:
        from scipy.stats import hypergeom

        return float(hypergeom.sf(both - 1, len(parts), first, second))

    for one, other in pairs:
        both = sorted(changed[one] & changed[other])
        if not both:
            continue
        chance = chance_of(len(both), *sorted((len(changed[one]), len(changed[other]))))
        if chance < CHANCE / len(pairs):
            names = groups[one].variable, groups[other].variable
            yield Sign(
                names,
                -log(chance),
                f"{names[0]} and {names[1]} may have a hidden common cause: their mechanisms change together "
                f"at {listed(both)} (by chance: {chance:.1g}).",
            )


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
    sites = _Sites.of(parts)
    for a, b in np.argwhere(np.triu(adjacency | adjacency.T)).tolist():
        below = descendants(children, 1 << a | 1 << b)
        given = list(bits.members((parents[a] | parents[b]) & ~below))
        nats = [_untold(sites, *pair, given) for pair in ((a, b), (b, a))]
        if min(nats) > UNTOLD:
            yield Sign(
                (dag.names[a], dag.names[b]),
                min(nats),
                f"{dag.names[a]} and {dag.names[b]} may have a hidden common cause: they are correlated, but where a "
                f"site changes the one, the other stays as elsewhere ({nats[0]:.0f} and {nats[1]:.0f} nats).",
            )


class _Sites(NamedTuple):
    """Moments of all sites: rows, means, covariances, and the covariances within sites, pooled."""

    rows: Floats
    means: Floats
    covariances: Floats
    pooled: Floats

    @classmethod
    def of(cls, parts: Sequence[Summary]) -> _Sites:
        rows = np.array([float(part.n) for part in parts])
        covariances = np.stack([part.covariance for part in parts])
        pooled = np.einsum("k,kij->ij", rows / rows.sum(), covariances)
        return cls(rows, np.stack([part.mean for part in parts]), covariances, pooled)


def _untold(sites: _Sites, a: int, b: int, given: list[int]) -> float:
    """Nats by which "changes of a do not reach b" is ahead of "they reach it with the strength that both have".

    Levels of a and b, for the same values of `given`, are compared between pairs of sites.
    """
    both = _given(sites.pooled, [a, b], given)
    strength = both[0, 1] / both[0, 0]
    slopes = np.linalg.solve(sites.pooled[np.ix_(given, given)], sites.pooled[np.ix_(given, [a, b])])
    level = sites.means[:, [a, b]] - sites.means[:, given] @ slopes
    weights = np.vstack([np.eye(2), -slopes]).T
    columns = [a, b, *given]
    spread = ((weights @ sites.covariances[:, columns][:, :, columns]) * weights).sum(axis=2)
    error = spread / sites.rows[:, None]
    one, other = compared(level)
    change, variance = level[one] - level[other], error[one] + error[other]
    clear = (variance.min(axis=1) > 0) & (np.abs(change[:, 0]) >= CLEAR * np.sqrt(variance[:, 0]))
    change, variance = change[clear], variance[clear]
    stays = change[:, 1] ** 2 / variance[:, 1]
    reached = (change[:, 1] - strength * change[:, 0]) ** 2 / (variance[:, 1] + strength**2 * variance[:, 0])
    counts = np.minimum(stays, reached) < OWN_CHANGE**2
    # Every site is in several pairs, so that pairs repeat what they tell.
    return fsum((reached - stays)[counts]) / (1 + min(len(level) - 1, PARTNERS))


def compared(level: Floats) -> tuple[Indices, Indices]:
    """Choose the pairs of sites to compare: all of few sites; of many, a number that grows with the sites only.

    Then every site is compared with `PARTNERS` others, which are spread evenly over the levels of the first variable.

    Examples
    --------
    >>> one, other = compared(np.array([[0.5, 1.0], [0.0, 2.0], [1.5, 0.0]]))
    >>> one.tolist(), other.tolist()
    ([0, 0, 1], [1, 2, 2])
    >>> len(compared(np.arange(2000.0).reshape(1000, 2))[0]) == 1000 * PARTNERS / 2
    True
    """
    count = len(level)
    if count <= PARTNERS + 1:
        return np.triu_indices(count, 1)
    order = np.lexsort(level.T[::-1])
    steps = np.arange(1, PARTNERS // 2 + 1) * count // (PARTNERS + 1)
    at = np.arange(count)
    return np.tile(order, len(steps)), order[(at + steps[:, None]) % count].ravel()


def _given(covariance: Floats, some: list[int], given: list[int]) -> Floats:
    """Covariances of some columns given others."""
    across = covariance[np.ix_(given, some)]
    return np.asarray(
        covariance[np.ix_(some, some)] - across.T @ np.linalg.solve(covariance[np.ix_(given, given)], across)
    )
