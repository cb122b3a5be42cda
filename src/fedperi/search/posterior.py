"""How probable each edge is: sums over all DAGs, given log scores of parent sets.

Every allowed DAG has the same prior probability. The weight of a DAG is the exponential of its score, which is the sum
of the scores of its nodes' parent sets. With up to a dozen variables the sums are exact (`layers`); with more they are
estimated from samples of DAGs (`chains`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..scores.lattice import best_of_subsets
from .chains import Chain, tables
from .layers import edge_sums

Floats = NDArray[np.float64]

MOST_EXACT = 12
"""Sums are exact up to this number of variables. Each further variable takes four times as long."""

BURN_IN = 0.2
"""Burn-in: number of discarded sweeps per sweep that counts."""

PARTS = 4
"""Number of parts of a chain; after each part the score of its DAG is recorded."""

STUCK = 20.0
"""Largest difference in nats between the mean score of a chain and that of the best chain. A chain further below is
stuck among DAGs with negligible weight, and does not count."""

MOST_SCORE = 1e12
"""Absolute log scores must be below this, so that no sum of them overflows."""


class Lattice(NamedTuple):
    """Log scores of the parent sets of one node.

    Examples
    --------
    >>> Lattice((1, 4), np.array([0.0, 2.5, -1.0, -np.inf])).free  # no parents, {1}, {4}; {1, 4} is not allowed
    (1, 4)
    """

    free: tuple[int, ...]
    """Candidate parents, in ascending order, without the node."""
    scores: Floats
    """Bit t of a position says whether ``free[t]`` is in the set; minus infinity if the set is not allowed."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probabilities of edges."""

    edges: Floats
    """``[i, j]``: the probability of i -> j."""
    exact: bool
    """Whether the sums are over all DAGs, not over a sample."""
    chains_differ: float
    """Largest difference of an edge's probability between two chains of a sample that are not stuck; zero if exact, one
    if all chains but one are stuck."""
    log_total: float | None
    """Logarithm of the weight of all DAGs; None if not exact."""


def exact_posterior(lattices: Sequence[Lattice]) -> Posterior:
    """Sum over all DAGs on at most twelve variables.

    Parameters
    ----------
    lattices : sequence of Lattice
        One for each variable.

    Raises
    ------
    InputError
        If there are too many variables, a lattice is not one, or no DAG is allowed.

    Examples
    --------
    >>> a = Lattice((1,), np.array([0.0, np.log(2.0)]))
    >>> b = Lattice((0,), np.array([0.0, 0.0]))
    >>> found = exact_posterior([a, b])  # no edge weighs 1, B -> A 2, A -> B 1
    >>> found.edges.round(12)
    array([[0.  , 0.25],
           [0.5 , 0.  ]])
    >>> round(float(np.exp(found.log_total)), 12)
    4.0
    """
    p = len(lattices)
    if p > MOST_EXACT:
        raise InputError(f"{p} variables are too many to add up all DAGs: take at most {MOST_EXACT}, or draw a sample")
    checked(lattices)
    scores = np.full((p, 1 << p), -np.inf)
    for own, (free, values) in zip(scores, lattices, strict=True):
        places = np.zeros(1, dtype=np.int64)
        for v in free:
            places = np.concatenate([places, places + (1 << v)])
        own[places] = values
    edges, log_total = edge_sums(scores)
    if log_total == -np.inf:
        raise no_dag()
    return Posterior(edges, exact=True, chains_differ=0.0, log_total=log_total)


def sampled_posterior(
    lattices: Sequence[Lattice], starts: Sequence[Sequence[int]], *, seed: int, sweeps: int, threads: int = 1
) -> Posterior:
    """Estimate edge probabilities from chains that visit DAGs in proportion to their weights.

    Parameters
    ----------
    lattices : sequence of Lattice
        One for each variable.
    starts : sequence of sequences of int
        An order of all variables for each chain. A chain starts at the best DAG of its order. If background knowledge
        allows no DAG in this order, variables move back until a parent set is allowed for them.
    seed : int
        The result depends on it, but not on the number of threads.
    sweeps : int
        Length of each chain; a sweep draws about four parent sets of each node.
    threads : int, optional
        Number of chains that run in parallel.

    Raises
    ------
    InputError
        If a lattice or a start is not one, or no DAG is allowed.

    Examples
    --------
    >>> a = Lattice((1,), np.array([0.0, np.log(2.0)]))
    >>> b = Lattice((0,), np.array([0.0, 0.0]))
    >>> found = sampled_posterior([a, b], [(0, 1), (1, 0)], seed=1, sweeps=2000)
    >>> bool(abs(found.edges - exact_posterior([a, b]).edges).max() < 0.02), found.chains_differ < 0.05
    (True, True)
    """
    checked(lattices)
    if sweeps < 1 or threads < 1 or seed < 0:
        raise InputError(f"sweeps {sweeps}, threads {threads}, seed {seed}: at least 1, 1 and 0 are needed")
    _check_starts(starts, len(lattices))
    best = {start: best_under(lattices, start) for start in {tuple(start) for start in starts}}
    made = tables([free for free, _ in lattices], [scores for _, scores in lattices])
    seeds = np.random.SeedSequence(seed).spawn(len(starts))
    chains = [Chain(made, best[tuple(start)], own) for start, own in zip(starts, seeds, strict=True)]

    def run(chain: Chain) -> tuple[Floats, float]:
        chain.run(int(np.ceil(BURN_IN * sweeps)))
        lengths = np.diff(np.linspace(0, sweeps, min(PARTS, sweeps) + 1).astype(int)).tolist()
        total, scores = np.zeros((len(lattices), len(lattices))), []
        for length in lengths:
            total += chain.run(length) * length
            scores.append(sum(float(own.scores[at]) for own, at in zip(lattices, chain.now.tolist(), strict=True)))
        return total / sweeps, float(np.mean(scores))

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(run, chains))
    highest = max(score for _, score in found)
    edges = np.array([edges for edges, score in found if score >= highest - STUCK])
    alone = len(edges) < len(found) and len(edges) == 1
    return Posterior(
        np.clip(edges.mean(axis=0), 0.0, 1.0),
        exact=False,
        chains_differ=1.0 if alone else float((edges.max(axis=0) - edges.min(axis=0)).max()),
        log_total=None,
    )


def _check_starts(starts: Sequence[Sequence[int]], p: int) -> None:
    for start in starts:
        if sorted(start) != list(range(p)):
            raise InputError(f"a start is {list(start)}: list each variable from 0 to {p - 1} once")
    if not starts:
        raise InputError("there are no starts: give one order of the variables for each chain")


def best_under(lattices: Sequence[Lattice], order: Sequence[int]) -> list[int]:
    """Find the position of each node's best parent set among the variables before it.

    A node without an allowed set is moved back: with more variables before it, it has more possible sets.

    Examples
    --------
    >>> best_under([Lattice((1,), np.array([0.0, 1.0])), Lattice((0,), np.array([0.0, 1.0]))], (1, 0))
    [1, 0]
    """
    best = [best_of_subsets(scores) for _, scores in lattices]
    out, placed, waiting = [0] * len(lattices), set[int](), list(order)

    def before(node: int) -> int:
        return sum(1 << t for t, v in enumerate(lattices[node].free) if v in placed)

    while waiting:
        node = next((v for v in waiting if best[v][before(v)] > -np.inf), None)
        if node is None:
            raise no_dag()
        here = np.arange(len(best[node]))
        out[node] = int(np.argmax(np.where(here & ~before(node), -np.inf, lattices[node].scores)))
        waiting.remove(node)
        placed.add(node)
    return out


def checked(lattices: Sequence[Lattice]) -> None:
    """Check that lattices have the form that the sums require.

    Examples
    --------
    >>> checked([Lattice((0,), np.zeros(2))])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: candidate parents of variable 0 are (0,): list other variables, from 0 to 0, in ascending
    order
    """
    p = len(lattices)
    if not p:
        raise InputError("there are no lattices: give one for each variable")
    for node, (free, scores) in enumerate(lattices):
        if node in free or list(free) != sorted(set(free)) or not all(0 <= v < p for v in free):
            raise InputError(
                f"candidate parents of variable {node} are {free}: list other variables, from 0 to {p - 1}, in "
                "ascending order"
            )
        if scores.shape != (1 << len(free),):
            raise InputError(
                f"{len(free)} candidate parents of variable {node} have scores of shape {scores.shape}: give "
                f"{1 << len(free)} scores, one for each subset"
            )
        strange = scores[~((np.abs(scores) < MOST_SCORE) | (scores == -np.inf))]
        if len(strange):
            raise InputError(
                f"a log score of variable {node} is {strange[0]}: it must be minus infinity, or between "
                f"{-MOST_SCORE:g} and {MOST_SCORE:g}"
            )


def no_dag() -> InputError:
    """Return the error for lattices in which every DAG has a parent set that is not allowed."""
    return InputError("no DAG is allowed: every one has a log score of minus infinity; allow more parent sets")
