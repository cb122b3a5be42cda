"""What a search asks of a score, and the memory that asks each question once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .lattice import Extremes

Query = tuple[int, int]
"""A node and a candidate parent set, as a bit set (see `fedperi.graph.bits`)."""

RESOLUTION = 1e-4
"""Score differences below this are rounding (at n = 10^10 it reaches 10^-6), never evidence: BIC weighs an edge with
half the logarithm of n. Searches move only for more, so they cannot cycle on noise."""


class Score(Protocol):
    """A decomposable score, higher is better. Plain BIC, an oracle and a federation's regrets all satisfy it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables; queries count them from 0 in this order."""

    def local(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Answer a batch: how well each query's node is explained by its parent set."""


Addition = tuple[int, int, NDArray[np.int64]]
"""A node, its parents as a bit set, and others that may join them, one at a time."""


@runtime_checkable
class AddingScore(Score, Protocol):
    """A score that also answers for one more parent, any of many, at once."""

    def with_one_more(self, node: int, parents: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score the node with its parents and each of the others in turn."""


class LatticeScore(Score, Protocol):
    """A score that also answers for all subsets of a candidate set at once."""

    @property
    def widest(self) -> int:
        """Columns, or levels, of the widest variable."""

    def lattice(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Row r: the scores of ``nodes[r]`` for all subsets of ``candidates[r]``, as in `fedperi.scores.lattice`."""

    def extremes(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> Extremes:
        """Row r: scores of ``nodes[r]`` for none of ``candidates[r]``, for all of them, and for their best subset."""


class Flips(Protocol):
    """A node whose parents change one at a time, and what every next change would make of its score."""

    def flip(self, other: int) -> None:
        """Let a variable join the parents, or leave them if it is one."""

    def scores(self) -> NDArray[np.float64]:
        """Score of the node after each variable has joined or left; minus infinity for the node itself."""


class FlipsByQueries:
    """The same for scores that know no better way."""

    def __init__(self, score: Score, node: int) -> None:
        self._score, self._node, self._parents = score, node, 0

    def flip(self, other: int) -> None:
        """Let a variable join the parents, or leave them if it is one."""
        self._parents ^= 1 << other

    def scores(self) -> NDArray[np.float64]:
        """Score of the node after each variable has joined or left; minus infinity for the node itself."""
        others = [j for j in range(len(self._score.names)) if j != self._node]
        out = np.full(len(others) + 1, -np.inf)
        out[others] = self._score.local([(self._node, self._parents ^ 1 << j) for j in others])
        return out


@runtime_checkable
class FlippingScore(Score, Protocol):
    """A score that follows changes of one parent in a better way."""

    def flips(self) -> list[Flips]:
        """Begin with all nodes, without parents."""


@runtime_checkable
class ClimbingScore(Score, Protocol):
    """A score that knows a faster way to climb to a good DAG."""

    def climb(self, resolution: float, most_steps: int) -> list[int] | None:
        """Return the parents of each node as bit sets; None if there is no faster way this time."""


def flips(score: Score) -> list[Flips]:
    """Follow every node of a score, from no parents on."""
    if isinstance(score, FlippingScore):
        return score.flips()
    return [FlipsByQueries(score, node) for node in range(len(score.names))]


def lattice_by_queries(
    local: Callable[[Sequence[Query]], NDArray[np.float64]], nodes: NDArray[np.int64], candidates: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute lattices one subset at a time, from answers to queries, for scores that know no better way."""
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
    """Remember the answers of a score, and ask the missing ones in one batch.

    Searches are written as plain code over ``cache[node, parents]``; calling `fetch` first with everything a step will
    look at turns thousands of questions into one.

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
        """Ask what is not known yet, in one batch."""
        missing = [query for query in dict.fromkeys(queries) if query not in self._known]
        if missing:
            self._known.update(zip(missing, self.score.local(missing).tolist(), strict=True))

    def __getitem__(self, query: Query) -> float:
        value = self._known.get(query)
        if value is None:
            value = self._known[query] = float(self.score.local([query])[0])
        return value

    def gains(self, additions: Sequence[Addition]) -> list[NDArray[np.float64]]:
        """Tell what each of the others would add to a node's parents."""
        self.fetch((node, parents) for node, parents, _ in additions)
        if self._one_more is None:
            self.fetch((node, parents | 1 << j) for node, parents, others in additions for j in others.tolist())
        one_more = self._one_more or self._one_by_one
        found = []
        for node, parents, others in additions:
            before = self[node, parents]
            # Nothing is added to a set that is too large to be judged already.
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
