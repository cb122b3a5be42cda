"""What the search asks and remembers: regrets of parent sets, aggregated, by node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..local.lattice import best_of_proper_subsets, subset_sizes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RegretOracle(Protocol):
    """All that a search knows of a federation: regrets of families of parent sets, one row a site."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> list[Floats]:
        """Answer blocks of (nodes, fixed, free) in one round: arrays of shape (sites, b, 2^free)."""


class Family(NamedTuple):
    """Regrets of one node for a fixed set joined with every subset of the free variables."""

    fixed: int
    free: tuple[int, ...]
    regrets: Floats  # (sites, 2^free)
    scores: Floats  # (2^free,), aggregated, higher is better


class ParentSets:
    """The parent sets asked so far: their regrets, and for each node the list of those that could be best.

    Parameters
    ----------
    oracle : RegretOracle
        Who answers.
    edge_price : float
        What every edge costs, beside what the sites charge.
    allowed : callable
        Whether a node may have a parent set, by background knowledge: ``allowed(node, parents)``.
    """

    def __init__(self, oracle: RegretOracle, edge_price: float, allowed: Callable[[int, int], bool]) -> None:
        self.oracle = oracle
        self.edge_price = edge_price
        self.allowed = allowed
        p = len(oracle.names)
        self._families: list[list[Family]] = [[] for _ in range(p)]
        self._ranked: list[list[tuple[float, int]]] = [[] for _ in range(p)]
        self._best: list[dict[int, tuple[float, int]]] = [{} for _ in range(p)]
        self._union = [0] * p

    def fetch(self, wanted: Iterable[tuple[int, int, int]]) -> None:
        """Ask for families (node, fixed, free), in one round, and rank the parent sets anew."""
        asked = list(wanted)
        for (node, fixed, free), regrets, scores in self._ask(asked):
            self._families[node].append(Family(fixed, tuple(bits.members(free)), regrets, scores))
        for node in {node for node, _, _ in asked}:
            self._rank(node)

    def gains(self, wanted: Iterable[tuple[int, int, int]]) -> list[tuple[float, int, int]]:
        """Ask, in one round, what one more parent would add: (gain, node, parent) for each (node, fixed, parent)."""
        answers = self._ask(list(wanted))
        return [(float(scores[1] - scores[0]), node, free) for (node, _, free), _, scores in answers]

    def _ask(self, asked: list[tuple[int, int, int]]) -> Iterator[tuple[tuple[int, int, int], Floats, Floats]]:
        by_shape: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for node, fixed, free in asked:
            by_shape.setdefault((fixed.bit_count(), free.bit_count()), []).append((node, fixed, free))
        blocks = list(by_shape.values())
        answers = self.oracle.regrets([as_arrays(block) for block in blocks]) if blocks else []
        for block, ((fixed, free), regrets) in zip(blocks, zip(by_shape, answers, strict=True), strict=True):
            scores = -total_regret(regrets) - self.edge_price * (subset_sizes(free) + fixed)
            for row, family in enumerate(block):
                yield family, regrets[:, row], scores[row]

    def _rank(self, node: int) -> None:
        """List the sets of a node, best first, that beat all their known subsets: no other can be best in any order."""
        found: dict[int, float] = {}
        for family in self._families[node]:
            promising = family.scores > best_of_proper_subsets(family.scores)
            for at in np.flatnonzero(promising).tolist():
                parents = family.fixed | sum(1 << v for t, v in enumerate(family.free) if at >> t & 1)
                if self.allowed(node, parents):
                    found[parents] = float(family.scores[at])
        kept: list[tuple[float, int]] = []
        for parents, score in sorted(found.items(), key=lambda item: (-item[1], item[0].bit_count(), item[0])):
            if not any(better & ~parents == 0 for _, better in kept):
                kept.append((score, parents))
        self._ranked[node] = kept
        self._best[node] = {}
        self._union[node] = 0
        for _, parents in kept:
            self._union[node] |= parents

    def candidates(self, node: int) -> int:
        """Variables that are a parent in some promising set."""
        return self._union[node]

    def best(self, node: int, before: int) -> tuple[float, int]:
        """Find the best parent set among the variables before a node: (score, parents)."""
        key = before & self._union[node]
        known = self._best[node].get(key)
        if known is None:
            known = next(((s, m) for s, m in self._ranked[node] if not m & ~key), (-np.inf, 0))
            self._best[node][key] = known
        return known

    def ranked(self, node: int) -> list[tuple[float, int]]:
        """List the promising parent sets of a node, best first."""
        return self._ranked[node]

    def regrets(self, node: int, parents: int) -> Floats | None:
        """Regret of one parent set at each site, or None if it was not asked."""
        at = self._find(node, parents)
        return None if at is None else at[0].regrets[:, at[1]]

    def score(self, node: int, parents: int) -> float | None:
        """Aggregated score of one parent set, or None if it was not asked."""
        at = self._find(node, parents)
        return None if at is None else float(at[0].scores[at[1]])

    def _find(self, node: int, parents: int) -> tuple[Family, int] | None:
        for family in self._families[node]:
            extra = parents & ~family.fixed
            if family.fixed & ~parents == 0 and not extra & ~sum(1 << v for v in family.free):
                return family, sum(1 << t for t, v in enumerate(family.free) if extra >> v & 1)
        return None


def as_arrays(block: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    """Turn families with bit sets of equal sizes into arrays of positions."""
    nodes = np.array([node for node, _, _ in block], dtype=np.int64)
    fixed = np.array([list(bits.members(f)) for _, f, _ in block], dtype=np.int64).reshape(len(block), -1)
    free = np.array([list(bits.members(f)) for _, _, f in block], dtype=np.int64).reshape(len(block), -1)
    return nodes, fixed, free


def total_regret(regrets: Floats) -> Floats:
    """Add up over sites, smallest first: the result does not depend on the order of the sites, to the last bit."""
    return np.asarray(np.sort(regrets, axis=0).sum(axis=0))
