"""The interface between searches and scores, and a cache of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .lattice import Extremes

Query = tuple[int, int]
"""A node and a candidate parent set, as a bit set (see `fedperi.graph.bits`)."""

RESOLUTION = 1e-4
"""Score differences below this are rounding errors (10^-6 at n = 10^10), not evidence: BIC's penalty of an edge is half
the logarithm of n. Searches move only if they gain more, so that rounding errors cannot make them cycle."""


class Score(Protocol):
    """A decomposable score, higher is better. Plain BIC, an oracle and a federation's regrets are such scores."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables; queries number them from 0 in this order."""

    def local(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Answer a batch: how well each query's node is explained by its parent set."""


Addition = tuple[int, int, NDArray[np.int64]]
"""A node, its parents as a bit set, and others that may join them, one at a time."""


@runtime_checkable
class AddingScore(Score, Protocol):
    """A score that also computes, in one call, what each of many further parents would make of it."""

    def with_one_more(self, node: int, parents: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score the node with its parents and each of the others in turn."""


class LatticeScore(Score, Protocol):
    """A score that also computes all subsets of a candidate set in one call."""

    @property
    def widest(self) -> int:
        """Largest number of columns, or levels, of a variable."""

    def lattice(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score ``nodes[r]`` for all subsets of ``candidates[r]`` in row r, as in `fedperi.scores.lattice`."""

    def extremes(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> Extremes:
        """Score ``nodes[r]`` for none of ``candidates[r]``, for all of them, and for their best subset."""


class Flips(Protocol):
    """A node whose parents change one at a time, and its score after every possible next change."""

    def flip(self, other: int) -> None:
        """Add a variable to the parents, or remove it if it is one."""

    def scores(self) -> NDArray[np.float64]:
        """Score the node after each variable has joined or left; minus infinity for the node itself."""


class FlipsByQueries:
    """The same for scores without a faster way."""

    def __init__(self, score: Score, node: int) -> None:
        self._score, self._node, self._parents = score, node, 0

    def flip(self, other: int) -> None:
        """Add a variable to the parents, or remove it if it is one."""
        self._parents ^= 1 << other

    def scores(self) -> NDArray[np.float64]:
        """Score the node after each variable has joined or left; minus infinity for the node itself."""
        others = [j for j in range(len(self._score.names)) if j != self._node]
        out = np.full(len(others) + 1, -np.inf)
        out[others] = self._score.local([(self._node, self._parents ^ 1 << j) for j in others])
        return out


@runtime_checkable
class FlippingScore(Score, Protocol):
    """A score with a faster way to follow changes of one parent."""

    def flips(self) -> list[Flips]:
        """Return the flips of every node, which start without parents."""


@runtime_checkable
class ClimbingScore(Score, Protocol):
    """A score with a faster way to climb to a good DAG."""

    def climb(self, resolution: float, most_steps: int) -> list[int] | None:
        """Return the parents of each node as bit sets; None if the faster way is not available."""


def flips(score: Score) -> list[Flips]:
    """Return the flips of every node of a score, which start without parents."""
    if isinstance(score, FlippingScore):
        return score.flips()
    return [FlipsByQueries(score, node) for node in range(len(score.names))]


def lattice_by_queries(
    local: Callable[[Sequence[Query]], NDArray[np.float64]], nodes: NDArray[np.int64], candidates: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute lattices one subset at a time, from answers to queries, for scores without a faster way."""
    queries = []
    for node, row in zip(nodes.tolist(), candidates.tolist(), strict=True):
        sets = [0]
        for candidate in row:
            sets += [parents | 1 << candidate for parents in sets]
        queries += [(node, parents) for parents in sets]
    known = dict.fromkeys(queries)
    answers = dict(zip(known, local(list(known)).tolist(), strict=True))
    return np.array([answers[query] for query in queries]).reshape(len(nodes), 1 << candidates.shape[1])


class ScoreCache:
    """A cache of the answers of a score; `fetch` computes missing ones in one batch.

    Searches are plain code that uses ``cache[node, parents]``; a call of `fetch` with everything that a step needs
    replaces thousands of queries.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.scores.gaussian import GaussianScore
    >>> from fedperi.scores.score import ScoreCache
    >>> cache = ScoreCache(GaussianScore(np.array([[1.0, 0.5], [0.5, 1.0]]), n=100))
    >>> cache.fetch([(0, 0b00), (0, 0b10)])
    >>> cache[0, 0b10] > cache[0, 0b00]
    True
    >>> len(cache)
    2
    """

    def __init__(self, score: Score) -> None:
        self.score = score
        self._known: dict[Query, float] = {}
        self._one_more = score.with_one_more if isinstance(score, AddingScore) else None
        self._more: dict[Query, int] = {}  # how many additions were asked at once

    def fetch(self, queries: Iterable[Query]) -> None:
        """Compute what is not cached yet, in one batch."""
        missing = [query for query in dict.fromkeys(queries) if query not in self._known]
        if missing:
            self._known.update(zip(missing, self.score.local(missing).tolist(), strict=True))

    def __getitem__(self, query: Query) -> float:
        value = self._known.get(query)
        if value is None:
            value = self._known[query] = float(self.score.local([query])[0])
        return value

    def gains(self, additions: Sequence[Addition]) -> list[NDArray[np.float64]]:
        """Compute how much the score of a node gains from each of the other variables as a further parent."""
        self.fetch((node, parents) for node, parents, _ in additions)
        if self._one_more is None:
            self.fetch((node, parents | 1 << j) for node, parents, others in additions for j in others.tolist())
        one_more = self._one_more or self._one_by_one
        found = []
        for node, parents, others in additions:
            before = self[node, parents]
            # A set that is already too large to be scored gains nothing.
            found.append(one_more(node, parents, others) - (before if before > -np.inf else np.inf))
            if self._one_more is not None:
                self._more[node, parents] = max(len(others), self._more.get((node, parents), 0))
        return found

    def _one_by_one(self, node: int, parents: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([self[node, parents | 1 << j] for j in others.tolist()])

    def __len__(self) -> int:
        """Count the distinct queries asked; one that was asked alone and with others counts twice."""
        return len(self._known) + sum(self._more.values())

    def total(self, parents: Sequence[int]) -> float:
        """Score a whole DAG, given by the parents of each node."""
        queries = list(enumerate(parents))
        self.fetch(queries)
        return sum(self._known[query] for query in queries)
