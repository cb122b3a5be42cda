"""The DAGs that a graph with open directions represents, and the probability of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.order import topological_order
from ...graph.pdag import PDAG
from .moments import Moments, SiteMoments

MOST_LISTED = 10
"""Largest number of open edges for which all directions are tried (1,024)."""

STEPS = 200
"""Steps of the random walk per open edge, if there are more open edges."""

KEPT = 0.95
"""Share of the weight that the kept DAGs cover, as the interval of an effect covers 95 %."""

MOST_KEPT = 200
"""Largest number of DAGs that are kept, the most probable ones."""

SKEPTICAL = 1 / 3
"""Weight of the rows' log-likelihood. Tables are never exactly normal, and M-PERI weights rows in the same way."""

DOUBT = 1e-3
"""Smallest share of a direction. With a probability of zero there might be no DAG, if all others have cycles."""

Directions = Mapping[tuple[str, str], float]
"""(cause, effect) -> probability of this arrow."""


@dataclass(frozen=True)
class WeighedDag:
    """A DAG as bit sets, and its share of the weight of all DAGs kept."""

    parents: tuple[int, ...]
    children: tuple[int, ...]
    weight: float


def probable_dags(graph: PDAG, dag: PDAG, directions: Directions, moments: Moments) -> tuple[WeighedDag, ...]:
    """List the DAGs of a graph: arrows fixed, every open edge in both directions, no cycles; the most probable first.

    The weight of a DAG is the product of the probabilities of its directions and of the likelihood of the sites'
    moments: directions that create or remove a collider against the data have no weight. Without open edges there is
    one DAG.

    Parameters
    ----------
    graph : PDAG
        The graph.
    dag : PDAG
        One of its DAGs.
    directions : mapping
        Probabilities of arrows; if one is missing, both directions count equally.
    moments : Moments
        The sites' moments.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(fp.PDAG.from_edges([("a", "b"), ("b", "c")]), clients=1, samples=2000, weights=(0.5, 1.0))
    >>> moments = Moments.of([fp.Summary.of(sim.sites[0])])
    >>> chain = fp.PDAG.from_edges(undirected=[("a", "b"), ("b", "c")])
    >>> [round(one.weight, 2) for one in probable_dags(chain, sim.dag, {}, moments)]     # not a -> b <- c
    [0.33, 0.33, 0.33]
    """
    open_ = [(graph.index(a), graph.index(b)) for a, b in sorted(graph.undirected)]
    arrows = bits.columns(graph.adjacency & ~graph.adjacency.T)
    shares = [_log_shares(directions, graph.names[i], graph.names[j]) for i, j in open_]
    scores = _Scores(moments)
    found: dict[tuple[int, ...], float] = {}
    few = len(open_) <= MOST_LISTED
    for ways in _all_orientations(open_, arrows) if few else _walk(open_, arrows, shares, scores, dag):
        parents = _directed(open_, arrows, ways)
        if parents not in found:
            found[parents] = _weight(parents, ways, shares, scores)
    best = max(found.values())
    ranked = sorted(found, key=lambda parents: (-found[parents], parents))
    weights = np.array([exp(found[parents] - best) for parents in ranked])
    weights /= weights.sum()
    kept = min(int(np.searchsorted(np.cumsum(weights), KEPT)) + 1, len(ranked), MOST_KEPT)
    shown = weights[:kept] / weights[:kept].sum()
    return tuple(
        WeighedDag(parents, tuple(bits.transpose(parents)), float(weight))
        for parents, weight in zip(ranked[:kept], shown, strict=True)
    )


Ways = tuple[bool, ...]
"""For every open edge whether it is reversed."""


def _log_shares(directions: Directions, a: str, b: str) -> tuple[float, float]:
    forward, backward = directions.get((a, b), 0.0), directions.get((b, a), 0.0)
    share = forward / (forward + backward) if forward + backward > 0 else 0.5
    share = min(max(share, DOUBT), 1 - DOUBT)
    return log(share), log(1 - share)


def _directed(open_: Sequence[tuple[int, int]], arrows: Sequence[int], ways: Ways) -> tuple[int, ...]:
    parents = list(arrows)
    for (i, j), turned in zip(open_, ways, strict=True):
        tail, head = (j, i) if turned else (i, j)
        parents[head] |= 1 << tail
    return tuple(parents)


def _all_orientations(open_: Sequence[tuple[int, int]], arrows: Sequence[int]) -> Iterator[Ways]:
    for ways in product((False, True), repeat=len(open_)):
        if topological_order(_directed(open_, arrows, ways)) is not None:
            yield ways


def _walk(
    open_: Sequence[tuple[int, int]],
    arrows: Sequence[int],
    shares: Sequence[tuple[float, float]],
    scores: _Scores,
    dag: PDAG,
) -> Iterator[Ways]:
    """Visit probable DAGs, from a given one, by reversing one open edge at a time (Metropolis)."""
    rng = np.random.default_rng(0)
    here: Ways = tuple(bool(dag.adjacency[j, i]) for i, j in open_)
    weight = _weight(_directed(open_, arrows, here), here, shares, scores)
    yield here
    for at, luck in zip(
        rng.integers(len(open_), size=STEPS * len(open_)).tolist(), rng.random(STEPS * len(open_)).tolist(), strict=True
    ):
        other = (*here[:at], not here[at], *here[at + 1 :])
        parents = _directed(open_, arrows, other)
        if topological_order(parents) is None:
            continue
        new = _weight(parents, other, shares, scores)
        if log(max(luck, 1e-300)) < new - weight:
            here, weight = other, new
            yield here


def _weight(parents: Sequence[int], ways: Ways, shares: Sequence[tuple[float, float]], scores: _Scores) -> float:
    fit = sum(scores(node, into) for node, into in enumerate(parents))
    return SKEPTICAL * fit + sum(share[turned] for share, turned in zip(shares, ways, strict=True))


class _Scores:
    """BIC of a family, summed over sites, each with its own mechanism; every family is computed once."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._known: dict[tuple[int, int], float] = {}

    def __call__(self, node: int, parents: int) -> float:
        if (node, parents) not in self._known:
            self._known[node, parents] = self._score(node, parents)
        return self._known[node, parents]

    def _score(self, node: int, parents: int) -> float:
        moments = self._moments
        own = list(moments.blocks[node])
        above = [column for parent in bits.members(parents) for column in moments.blocks[parent]]
        total = 0.0
        for site in moments.sites:
            varies = np.diag(site.covariance) > 0
            used, mine = ([column for column in some if varies[column]] for some in (above, own))
            price = 0.5 * len(used) * len(mine) * log(max(site.n, 1.0))
            total += -0.5 * site.n * (_log_det(site, used + mine) - _log_det(site, used)) - price
        return total


def _log_det(site: SiteMoments, columns: Sequence[int]) -> float:
    """Log determinant of a correlation matrix; deviations cancel between DAGs, since every variable has one family."""
    if not columns:
        return 0.0
    covariance: NDArray[np.float64] = site.covariance[np.ix_(columns, columns)]
    scale = np.sqrt(np.diag(covariance))
    values = np.linalg.eigvalsh(covariance / np.outer(scale, scale))
    return float(np.log(np.maximum(values, 1e-9)).sum())
