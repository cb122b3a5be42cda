"""Search over orders of the variables: given an order, each node takes its best parents among those before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graph import bits
from ..local.score import RESOLUTION
from .families import ParentSets

SHAKEN = 4
"""Variables that a shake moves."""


def parents_in(sets: ParentSets, order: Sequence[int]) -> list[int]:
    """Return the parents that every node takes in an order, as bit sets."""
    parents, before = [0] * len(order), 0
    for node in order:
        parents[node] = sets.best_parents(node, before)
        before |= 1 << node
    return parents


def order_score(sets: ParentSets, order: Sequence[int]) -> float:
    """Score the best DAG that follows an order."""
    total, before = 0.0, 0
    for node in order:
        total += sets.best(node, before)
        before |= 1 << node
    return total


def exact_order(sets: ParentSets) -> list[int]:
    """Find the best of all orders, by dynamic programming over the sets of variables that come first."""
    p = len(sets.oracle.names)
    value = [0.0] * (1 << p)
    last = [0] * (1 << p)
    for first in range(1, 1 << p):
        best, chosen = -np.inf, -1
        for node in bits.members(first):
            rest = first ^ 1 << node
            score = value[rest] + sets.best(node, rest)
            if score > best + RESOLUTION or chosen < 0:  # ties go to the lowest number: one graph, one order
                best, chosen = score, node
        value[first], last[first] = best, chosen
    order = []
    first = (1 << p) - 1
    while first:
        order.append(last[first])
        first ^= 1 << last[first]
    return order[::-1]


def best_order(sets: ParentSets, rng: np.random.Generator, shakes: int, start: Sequence[int] | None) -> list[int]:
    """Improve an order by moving one variable at a time; then shake it in one place and improve it again, many times.

    Shaking all of it at once throws away what is good elsewhere: with 200 variables ten such restarts ended hundreds of
    nats below the optimum that small shakes reach from any start.
    """
    order = Order(sets, greedy_order(sets) if start is None else start)
    order.improve((1 << len(order.nodes)) - 1, rng)
    for _ in range(shakes):
        before, score = order.state(), order.score
        order.improve(order.shake(rng), rng)
        if not order.score > score + RESOLUTION:
            order.restore(before)
    return list(order.nodes)


def greedy_order(sets: ParentSets) -> list[int]:
    """Put next the variable that loses least by having only those before it to choose its parents from."""
    p = len(sets.oracle.names)
    everyone, before, order = (1 << p) - 1, 0, []
    most = [sets.best(node, everyone ^ 1 << node) for node in range(p)]
    left = set(range(p))
    while left:
        node = min(left, key=lambda v: (most[v] - sets.best(v, before), v))
        left.remove(node)
        order.append(node)
        before |= 1 << node
    return order


State = tuple[list[int], list[int], list[int], list[float]]


class Order:
    """An order of the variables that is being improved, and what each of them scores in it.

    Parameters
    ----------
    sets : ParentSets
        Who knows the scores.
    nodes : sequence of int
        The variables in order.

    Examples
    --------
    >>> from fedperi.graph.knowledge import unconstrained
    >>> class Chained:                                    # 0 explains 1; nothing explains 0
    ...     names = ("A", "B")
    ...     def regrets(self, families):
    ...         return [np.array([[[0.0, 0.0], [9.0, 1.0]]]) for _ in families]
    >>> sets = ParentSets(Chained(), 0.5, unconstrained("AB"))
    >>> sets.fetch([(0, 0, 0b10), (1, 0, 0b01)])
    >>> order = Order(sets, [1, 0])
    >>> order.improve(0b11, np.random.default_rng(0))
    >>> order.nodes, order.score
    ([0, 1], -1.5)
    """

    def __init__(self, sets: ParentSets, nodes: Sequence[int]) -> None:
        self._best = sets.best
        p = len(nodes)
        self._memory = [sets.memory(node) for node in range(p)]
        self._candidates = [sets.useful(node) for node in range(p)]
        self._heads = bits.transpose(self._candidates)  # those that may take a node as a parent
        self._related = [list(bits.members(c | h)) for c, h in zip(self._candidates, self._heads, strict=True)]
        self.nodes = list(nodes)
        self._place, self._before, passed = [0] * p, [0] * p, 0
        for at, node in enumerate(self.nodes):
            self._place[node], self._before[node] = at, passed
            passed |= 1 << node
        self._value = [self._best(node, self._before[node]) for node in range(p)]

    @property
    def score(self) -> float:
        """Score of the best DAG that follows the order."""
        return sum(self._value)

    def state(self) -> State:
        """Return what `restore` needs."""
        return list(self.nodes), list(self._place), list(self._before), list(self._value)

    def restore(self, state: State) -> None:
        """Go back to an earlier order."""
        self.nodes, self._place, self._before, self._value = state

    def improve(self, stale: int, rng: np.random.Generator) -> None:
        """Move variables to their best places until no move gains, looking at those in `stale` first."""
        while stale:
            some = list(bits.members(stale))
            stale = 0
            for at in rng.permutation(len(some)).tolist():
                place = self._best_place(some[at])
                if place is not None:
                    stale |= self._move(some[at], place)

    def shake(self, rng: np.random.Generator) -> int:
        """Move a few related variables to places of variables related to them; return who should be looked at."""
        centre = int(rng.integers(len(self.nodes)))
        around, stale = [centre, *self._related[centre]], 0
        for _ in range(SHAKEN):
            node = around[int(rng.integers(len(around)))]
            others = self._related[node]
            if others:
                stale |= self._move(node, self._place[others[int(rng.integers(len(others)))]])
        return stale

    def _move(self, node: int, to: int) -> int:
        """Put a variable at a place; return those whose best place may be another one now."""
        at, bit = self._place[node], 1 << node
        self.nodes.pop(at)
        self.nodes.insert(to, node)
        stale, passed = bit, 0
        for place in range(min(at, to), max(at, to) + 1):
            other = self.nodes[place]
            self._place[other] = place
            if other == node:
                continue
            passed |= 1 << other
            self._before[other] ^= bit
            if self._candidates[other] & bit:
                self._value[other] = self._best(other, self._before[other])
                stale |= 1 << other | self._candidates[other]
        self._before[node] ^= passed
        if self._candidates[node] & passed:
            self._value[node] = self._best(node, self._before[node])
            stale |= self._candidates[node]
        return stale

    def _best_place(self, node: int) -> int | None:
        """Find the place where a variable does best; None if it is there.

        Those that may take it as a parent lose it when it moves behind them; it can take its own candidates when it
        moves behind those. Nobody else sees where it is.
        """
        best_of, memory, place, before = self._best, self._memory, self._place, self._before
        candidates, scores = self._candidates, self._value
        bit, own, heads, known = 1 << node, candidates[node], self._heads[node], memory[node]
        inside, lost = 0, 0.0
        mine = value = best = best_of(node, 0)
        behind, here, at = -1, value, place[node]
        for v in sorted(self._related[node], key=place.__getitem__):
            if heads >> v & 1:
                others = before[v] ^ bit  # it is before v or not, and this is the other way round
                other = memory[v].get(others & candidates[v])  # a look-up by hand: all the time is spent here
                if other is None:
                    other = best_of(v, others)
                loss = scores[v] - other if before[v] & bit else other - scores[v]
                if loss > 0:
                    lost += loss
            if own >> v & 1:
                inside |= 1 << v
                score = known.get(inside)
                mine = best_of(node, inside) if score is None else score
            value = mine - lost
            if place[v] < at:
                here = value
            if value > best:
                behind, best = place[v], value
        if not best > here + RESOLUTION:
            return None
        return behind if behind > at else behind + 1  # what stands behind it moves up when it leaves
