"""Questions and answers of the search: regrets of parent sets, aggregated, by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..graph.knowledge import Constraints
from ..scores.lattice import best_of_proper_subsets, best_of_subsets, subset_sizes
from .sums import total_regret

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RegretOracle(Protocol):
    """A federation as the search sees it: regrets of families of parent sets, one row per site."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> list[Floats]:
        """Answer blocks of (nodes, fixed, free) in one round: arrays of shape (sites, b, 2^free)."""


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """Regrets of one node for a fixed set joined with every subset of the free variables, in the order of a lattice."""

    fixed: int
    free: tuple[int, ...]
    regrets: Floats  # (sites, 2^free)
    scores: Floats  # (2^free,): aggregated, higher is better
    best: Floats  # (2^free,): the best score among the subsets that background knowledge allows
    largest: int  # fixed and free together

    def holds(self, parents: int) -> bool:
        """Whether the family contains a parent set."""
        return not self.fixed & ~parents and not parents & ~self.largest

    def index_of(self, parents: int) -> int:
        """Index in the lattice of the free variables that are in a set."""
        return sum([1 << t for t, v in enumerate(self.free) if parents >> v & 1])

    def members(self, index: int) -> int:
        """Return the parent set at an index."""
        return self.fixed | sum([1 << v for t, v in enumerate(self.free) if index >> t & 1])


class ParentSets:
    """The parent sets that were asked for: their regrets, and the best of them in any order of the variables.

    Parameters
    ----------
    oracle : RegretOracle
        Answers the questions.
    edge_price : float
        Penalty per edge, in addition to those in the sites' scores.
    constraints : Constraints
        Background knowledge.
    """

    def __init__(self, oracle: RegretOracle, edge_price: float, constraints: Constraints) -> None:
        self.oracle = oracle
        self.edge_price = edge_price
        self.constraints = constraints
        p = len(oracle.names)
        self._families: list[list[Family]] = [[] for _ in range(p)]
        self._best: list[dict[int, float]] = [{} for _ in range(p)]
        self._candidates = [0] * p

    def fetch(self, wanted: Iterable[tuple[int, int, int]]) -> None:
        """Ask for families (node, fixed, free), in one round, and remember them."""
        for (node, fixed, free), regrets, scores in self._ask(list(wanted)):
            members = tuple(bits.members(free))
            best = best_of_subsets(np.where(self.allowed(node, fixed, members), scores, -np.inf))
            self._families[node].append(Family(fixed, members, regrets, scores, best, fixed | free))
            self._candidates[node] |= fixed | free
            self._best[node].clear()

    def without(self, site: int, edge_price: float, oracle: RegretOracle) -> ParentSets:
        """Return the same sets without one site, from answers already known; `oracle` is asked for other sets.

        Examples
        --------
        >>> from fedperi.graph.knowledge import unconstrained
        >>> class Two:
        ...     names = ("A", "B")
        ...     def regrets(self, families):
        ...         return [np.array([[[0.0, 1.0]], [[9.0, 0.0]]]) for _ in families]
        >>> sets = ParentSets(Two(), 0.5, unconstrained("AB"))
        >>> sets.fetch([(0, 0, 0b10)])
        >>> sets.best_parents(0, 0b10), sets.without(1, 0.5, Two()).best_parents(0, 0b10)
        (2, 0)
        """
        rest = ParentSets(oracle, edge_price, self.constraints)
        rest._candidates = list(self._candidates)
        for node, families in enumerate(self._families):
            for family in families:
                regrets = np.concatenate([family.regrets[:site], family.regrets[site + 1 :]])
                sizes = subset_sizes(len(family.free)) + family.fixed.bit_count()
                scores = -total_regret(regrets) - edge_price * sizes
                best = best_of_subsets(np.where(self.allowed(node, family.fixed, family.free), scores, -np.inf))
                rest._families[node].append(replace(family, regrets=regrets, scores=scores, best=best))
        return rest

    def gains(self, wanted: Mapping[tuple[int, int], int]) -> tuple[Floats, Ints, Ints]:
        """Ask in one round how much the score of a known set gains from one more parent, for each of a bit set.

        Returns the gains, the nodes and the parents. The scores of the sets are known from an earlier round, so that
        each gain costs one number. The parent comes last among the variables: sites share work between such rows.
        """
        by_size: dict[int, list[tuple[int, int, int]]] = {}
        for (node, inside), others in wanted.items():
            if others:
                by_size.setdefault(inside.bit_count(), []).append((node, inside, others))
        blocks, known = [], []
        for some in by_size.values():
            counts = [others.bit_count() for _, _, others in some]
            nodes, given, _ = as_arrays([(node, inside, 0) for node, inside, _ in some])
            parents = np.array([j for _, _, others in some for j in bits.members(others)])
            fixed = np.column_stack([np.repeat(given, counts, axis=0), parents])
            blocks.append((np.repeat(nodes, counts), fixed, np.empty((len(fixed), 0), dtype=np.int64)))
            known.append(np.repeat([self.known_score(node, inside) for node, inside, _ in some], counts))
        answers = self.oracle.regrets(blocks) if blocks else []
        gains = [
            -total_regret(answer)[:, 0] - self.edge_price * block[1].shape[1] - before
            for block, before, answer in zip(blocks, known, answers, strict=True)
        ]
        return (
            np.concatenate([np.empty(0), *gains]),
            np.concatenate([np.empty(0, dtype=np.int64), *(nodes for nodes, _, _ in blocks)]),
            np.concatenate([np.empty(0, dtype=np.int64), *(fixed[:, -1] for _, fixed, _ in blocks)]),
        )

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

    def allowed(self, node: int, fixed: int, free: tuple[int, ...]) -> NDArray[np.bool_]:
        """Mark the sets of a family that contain all required parents and no forbidden one."""
        never, need = self.constraints.forbidden[node], self.constraints.required[node] & ~fixed
        at = np.arange(1 << len(free))
        out = np.full(len(at), not fixed & never)
        for t, v in enumerate(free):
            if never >> v & 1:
                out &= at >> t & 1 == 0
            if need >> v & 1:
                out &= at >> t & 1 == 1
                need ^= 1 << v
        return out & (need == 0)

    def candidates(self, node: int) -> int:
        """Return the variables that are in some known parent set of a node."""
        return self._candidates[node]

    def lattices(self, node: int) -> list[Family]:
        """Return the families of a node whose fixed set is empty."""
        return [family for family in self._families[node] if not family.fixed]

    def best(self, node: int, before: int) -> float:
        """Return the score of the best parent set among the variables before a node; -infinity if none is allowed."""
        key = before & self._candidates[node]
        known = self._best[node].get(key)
        if known is None:
            known = -np.inf
            for family in self._families[node]:
                if not family.fixed & ~key:
                    known = max(known, family.best.item(family.index_of(key)))
            self._best[node][key] = known
        return known

    def best_of_each(self, node: int, before: Ints) -> Floats:
        """Return `best` for many sets of variables, given as an array of bit sets, for up to 62 variables."""
        out = np.full(len(before), -np.inf)
        for family in self._families[node]:
            places = sum(((before >> v & 1) << t for t, v in enumerate(family.free)), start=np.zeros_like(before))
            inside = before & family.fixed == family.fixed
            np.maximum(out, np.where(inside, family.best[places], -np.inf), out=out)
        return out

    def best_parents(self, node: int, before: int) -> int:
        """Return the best parent set among the variables before a node, the smallest one if several are equal."""
        score = self.best(node, before)
        for family in self._families[node]:
            at = family.index_of(before)
            if family.fixed & ~before or family.best[at] < score:
                continue
            for t in range(len(family.free)):  # remove variables while the best score stays the same
                if at >> t & 1 and family.best[at ^ 1 << t] >= score:
                    at ^= 1 << t
            return family.members(at)
        return 0

    def strong(self, node: int, count: int) -> list[int]:
        """List the best parent sets of a node among those that are better than all their subsets, best first."""
        found: dict[int, float] = {}
        for family in self._families[node]:
            ahead = family.scores > best_of_proper_subsets(family.best)
            promising = np.flatnonzero(ahead & (family.scores == family.best))
            for at in promising[np.argsort(-family.scores[promising], kind="stable")[:count]].tolist():
                found[family.members(at)] = float(family.scores[at])
        return sorted(found, key=lambda parents: (-found[parents], parents))[:count]

    def knows(self, node: int, parents: int) -> bool:
        """Whether the regret of a parent set is known."""
        return self._family(node, parents) is not None

    def known_beside(self, node: int, parents: int) -> int:
        """Return the variables such that the parent set with this variable added is known, as a bit set."""
        known = 0
        for family in self._families[node]:
            if family.holds(parents):
                known |= family.largest
        return known

    def regrets(self, node: int, parents: int) -> Floats | None:
        """Return the regret of one parent set at each site, or None if it is not known."""
        family = self._family(node, parents)
        return None if family is None else family.regrets[:, family.index_of(parents)]

    def score(self, node: int, parents: int) -> float | None:
        """Return the aggregated score of one parent set, or None if it is not known."""
        family = self._family(node, parents)
        return None if family is None else float(family.scores[family.index_of(parents)])

    def known_score(self, node: int, parents: int) -> float:
        """Return the aggregated score of a parent set that was asked for."""
        score = self.score(node, parents)
        assert score is not None
        return score

    def _family(self, node: int, parents: int) -> Family | None:
        return next((family for family in self._families[node] if family.holds(parents)), None)


def as_arrays(block: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    """Turn families with bit sets of equal sizes into arrays of positions."""
    nodes = np.array([node for node, _, _ in block], dtype=np.int64)
    fixed = np.array([list(bits.members(f)) for _, f, _ in block], dtype=np.int64).reshape(len(block), -1)
    free = np.array([list(bits.members(f)) for _, _, f in block], dtype=np.int64).reshape(len(block), -1)
    return nodes, fixed, free
