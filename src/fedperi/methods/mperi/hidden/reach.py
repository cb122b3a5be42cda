"""Edges that nothing passes in either direction: a sign of a hidden common cause of two variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph import bits
from ....graph.order import descendants
from ....graph.pdag import PDAG
from ....scores.mechanisms import CONSTANT
from ....tables.summary.summary import Summary
from .sign import Sign

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BY_SITES = 25.0
"""Nats by which "changes of the one do not reach the other" must be ahead of "they reach it"."""

BY_VARIABLE = 12.0
"""The same for the influence of one variable."""

AGAINST = -3.0
"""Nats of the changes at sites below which no variable can say that nothing passes."""

CLEAR = 5.0
"""Standard errors of a change, or of an influence, from which it counts."""

OWN_CHANGE = 3.0
"""Standard errors from both "stays" and "is reached" beyond which the other variable has a change of its own there."""

STAYS = 1.5
"""Standard errors within which a variable does not reach another one. A direct effect may cancel what passes an arrow:
the wider this is, the more often by chance."""

PARTNERS = 48
"""With how many other sites every site is compared; an even number. The pairs of 1,000 sites would take minutes."""


def untold_changes(parts: Sequence[Summary], dag: PDAG) -> Iterator[Sign]:
    """Find edges that nothing passes in either direction: what holds without the one does not hold with it.

    If a causes b, what acts on a reaches b: a change at a site, or the effect of a third variable. If it does not, the
    law of b is invariant, but only without a: given a, it differs. If what acts on b does not reach a either, a hidden
    cause is the simplest reason why the two are correlated.
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
        given = [v for v in bits.members((parents[a] | parents[b]) & ~below) if sites.varies[v]]
        forward, backward = (_barrier(sites, *pair, given) for pair in ((a, b), (b, a)))
        if forward and backward:
            yield Sign(
                (dag.names[a], dag.names[b]),
                min(forward.nats, backward.nats),
                f"{dag.names[a]} and {dag.names[b]} may have a hidden common cause: they are correlated, but "
                f"{_words(dag.names[a], dag.names[b], forward, backward, dag.names)} "
                f"({forward.nats:.0f} and {backward.nats:.0f} nats).",
            )


class _Barrier(NamedTuple):
    """That nothing passes an edge one way: nats, and the variable whose influence stops there, or None for sites."""

    nats: float
    by: int | None


def _words(a: str, b: str, forward: _Barrier, backward: _Barrier, names: Sequence[str]) -> str:
    if forward.by is None and backward.by is None:
        return "where a site changes the one, the other stays as elsewhere"
    who = ["what sites change in" if way.by is None else f"what {names[way.by]} does to" for way in (forward, backward)]
    return f"{who[0]} {a} does not reach {b}, and {who[1]} {b} does not reach {a}"


class _Sites(NamedTuple):
    """Moments of all sites: rows, means, covariances, and covariances within sites, pooled.

    Units are standard deviations within sites; `varies` says which columns have one.
    """

    rows: Floats
    means: Floats
    covariances: Floats
    pooled: Floats
    varies: NDArray[np.bool_]

    @classmethod
    def of(cls, parts: Sequence[Summary]) -> _Sites:
        rows = np.array([float(part.n) for part in parts])
        means, covariances = np.stack([part.mean for part in parts]), np.stack([part.covariance for part in parts])
        pooled = np.einsum("k,kij->ij", rows / rows.sum(), covariances)
        within = np.diag(pooled)
        varies = within > CONSTANT * (within + means.var(axis=0))
        unit = np.sqrt(np.where(varies, within, 1.0))
        return cls(rows, means / unit, covariances / np.outer(unit, unit), pooled / np.outer(unit, unit), varies)


def _barrier(sites: _Sites, a: int, b: int, given: list[int]) -> _Barrier | None:
    """Say what speaks for it that nothing passes from a to b, for the same values of `given`, if it is enough."""
    pooled = sites.pooled
    inverse = np.linalg.pinv(pooled[np.ix_(given, given)], rcond=CONSTANT, hermitian=True)
    slopes = inverse @ pooled[np.ix_(given, [a, b])]
    left = pooled[np.ix_([a, b], [a, b])] - pooled[np.ix_([a, b], given)] @ slopes
    if left[0, 0] * left[1, 1] - left[0, 1] ** 2 <= CONSTANT or not (sites.varies[a] and sites.varies[b]):
        return None
    strength = float(left[0, 1] / left[0, 0])
    nats = _by_sites(sites, [a, b], given, slopes, strength)
    if nats > BY_SITES:
        return _Barrier(nats, None)
    if nats < AGAINST or np.linalg.matrix_rank(inverse, CONSTANT, hermitian=True) < len(given):
        return None
    variance = np.diag(inverse) / sites.rows.sum()
    acts = np.abs(slopes[:, 0]) >= CLEAR * np.sqrt(left[0, 0] * variance)
    stays = np.abs(slopes[:, 1]) / np.sqrt(left[1, 1] * variance)
    beyond = np.abs(slopes[:, 1] - strength * slopes[:, 0])
    reached = beyond / np.sqrt((left[1, 1] - strength**2 * left[0, 0]) * variance)
    if (acts & (stays > OWN_CHANGE) & (reached < OWN_CHANGE)).any():
        return None
    gains = np.where(acts & (stays < STAYS), (reached**2 - stays**2) / 2, 0.0)
    if not len(gains) or gains.max() < BY_VARIABLE:
        return None
    return _Barrier(float(gains.max()), given[int(gains.argmax())])


def _by_sites(sites: _Sites, pair: list[int], given: list[int], slopes: Floats, strength: float) -> float:
    """Nats by which "changes of a do not reach b" is ahead of "they reach it with the strength that both have".

    Levels of a and b, for the same values of `given`, are compared between pairs of sites.
    """
    level = sites.means[:, pair] - sites.means[:, given] @ slopes
    weights = np.vstack([np.eye(2), -slopes]).T
    columns = [*pair, *given]
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
