"""Search over orders of the variables: given an order, each node takes its best parents among those before it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..scores import _kernel as kernel
from ..scores.lattice import subset_sizes
from ..scores.score import RESOLUTION
from .families import ParentSets
from .sums import in_steps

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SHAKEN = 4
"""Number of variables that a shake moves."""


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
    """Find the best of all orders by dynamic programming over sets of first variables."""
    p = len(sets.oracle.names)
    first = np.arange(1 << p)
    best = [sets.best_of_each(node, first) for node in range(p)]
    value, last = np.zeros(1 << p), np.full(1 << p, -1)
    sizes = subset_sizes(p)
    for size in range(1, p + 1):  # sets of one size, each from those with one variable less
        some = np.flatnonzero(sizes == size)
        score, chosen = np.full(len(some), -np.inf), last[some]
        for node in range(p):
            rest = some & ~(1 << node)
            ends = value[rest] + best[node][rest]
            # Ties go to the lowest number: one graph, one order.
            better = (rest != some) & ((chosen < 0) | (ends > score + RESOLUTION))
            score[better], chosen[better] = ends[better], node
        value[some], last[some] = score, chosen
    order: list[int] = []
    left = (1 << p) - 1
    while left:
        order.append(int(last[left]))
        left ^= 1 << order[-1]
    return order[::-1]


def best_order(sets: ParentSets, rng: np.random.Generator, shakes: int, start: Sequence[int] | None) -> list[int]:
    """Improve an order by moving one variable at a time; then repeat: shake it in one place, and improve it again.

    Random restarts of the whole order lose what is good elsewhere: with 200 variables ten restarts ended hundreds of
    nats below the optimum that small shakes reach from any start.
    """
    order = Order(sets, greedy_order(sets) if start is None else start)
    order.improve(np.ones(len(order.nodes), dtype=bool), rng)
    for _ in range(shakes):
        before, score = order.state(), order.score
        order.improve(order.shake(rng), rng)
        if not order.score > score + RESOLUTION:
            order.restore(before)
    found: list[int] = order.nodes.tolist()
    return found


def greedy_order(sets: ParentSets) -> list[int]:
    """Place next the variable whose score suffers least if its parents must be among the variables before it.

    Ties (up to rounding) are broken by number. They are common: two variables that explain only each other.
    """
    p = len(sets.oracle.names)
    everyone, before = (1 << p) - 1, 0
    most = np.array([sets.best(node, everyone ^ 1 << node) for node in range(p)])
    now = np.array([sets.best(node, 0) for node in range(p)])
    order: list[int] = []
    while len(order) < p:
        loss = in_steps(_difference(most, now))
        loss[order] = np.nan
        order.append(int(np.nanargmin(loss)))
        before |= 1 << order[-1]
        for node in range(p):
            if sets.candidates(node) >> order[-1] & 1:
                now[node] = sets.best(node, before & ~(1 << node))
    return order


State = tuple[Ints, Ints, Ints, Floats]


class Order:
    """An order of the variables during its improvement, with the score of each variable.

    All lattices are in one array, and each has an index: the variables before its node. A variable that moves changes
    the index of its own lattices, and one bit in those of every node that it passes. So the gains of all moves of many
    variables need only a few array operations.

    Parameters
    ----------
    sets : ParentSets
        The scores.
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
    >>> order.improve(np.array([True, True]), np.random.default_rng(0))
    >>> order.nodes.tolist(), order.score
    ([0, 1], -1.5)
    """

    def __init__(self, sets: ParentSets, nodes: Sequence[int]) -> None:
        p = len(nodes)
        lattices = [(node, lattice) for node in range(p) for lattice in sets.lattices(node)]
        sizes = np.array([len(lattice.best) for _, lattice in lattices])
        self._scores = np.concatenate([lattice.best for _, lattice in lattices])
        self._begin = np.cumsum(sizes) - sizes  # where each lattice begins among the scores
        self._of = np.array([node for node, _ in lattices])  # the node of each lattice, in ascending order
        self._first = np.searchsorted(self._of, np.arange(p + 1))  # first lattice of each node
        self._bit = np.zeros((len(lattices), p), dtype=np.int64)  # bit of each variable in the index of each lattice
        for row, (_, lattice) in zip(self._bit, lattices, strict=True):
            row[list(lattice.free)] = 1 << np.arange(len(lattice.free))
        self._candidates = np.maximum.reduceat(self._bit, self._first[:-1]) > 0
        self._related = [np.flatnonzero(row) for row in self._candidates | self._candidates.T]
        # By variable, then by node: all lattices of the nodes that may take the variable as a parent.
        self._tail, self._lattice = (a.copy() for a in np.nonzero(self._candidates[self._of].T))
        self._head, self._tail_bit = self._of[self._lattice], self._bit[self._lattice, self._tail]
        self._tail_first = np.searchsorted(self._tail, np.arange(p + 1))
        self._own = [slice(*pair) for pair in itertools.pairwise(self._first.tolist())]
        self._theirs = [
            (self._lattice[a:b], self._head[a:b], self._tail_bit[a:b])
            for a, b in itertools.pairwise(self._tail_first.tolist())
        ]
        self.nodes = np.array(nodes)
        self._place = np.argsort(self.nodes)
        before = self._place < self._place[self._of][:, None]
        self._at = self._begin + (self._bit * before).sum(axis=1)
        self._value = self._values()
        # The loops change these arrays in place.
        self._loops = kernel.loops
        self._lent = kernel.loops.order(
            *(self._scores, self._bit, self._lattice, self._head, self._begin, self._first, self._tail_first),
            *(self._candidates, self.nodes, self._place, self._at, self._value),
        )

    @property
    def score(self) -> float:
        """Score of the best DAG that follows the order."""
        return float(self._value.sum())

    def state(self) -> State:
        """Return what `restore` needs."""
        return self.nodes.copy(), self._place.copy(), self._at.copy(), self._value.copy()

    def restore(self, state: State) -> None:
        """Go back to an earlier order."""
        self.nodes[:], self._place[:], self._at[:], self._value[:] = state

    def improve(self, stale: Bools, rng: np.random.Generator) -> None:
        """Move variables to their best positions until no move improves the score, beginning with those in `stale`.

        Many variables are tried together. Those that gain are moved one after the other; if one no longer gains by
        then, it moves back.
        """
        while stale.any():
            some = np.flatnonzero(stale)
            gains, behind = self._best_places(some)
            better = np.flatnonzero(gains > RESOLUTION)
            stale[some] = False
            in_turn = rng.permutation(better)
            self._move_in_turn(some[in_turn], behind[in_turn], stale)

    def shake(self, rng: np.random.Generator) -> Bools:
        """Move a few related variables to positions of variables related to them; return which ones to try again."""
        centre = int(rng.integers(len(self.nodes)))
        around, stale = [centre, *self._related[centre].tolist()], np.zeros(len(self.nodes), dtype=bool)
        for _ in range(SHAKEN):
            node = around[int(rng.integers(len(around)))]
            others = self._related[node]
            if len(others):
                self._move(node, int(self._place[others[int(rng.integers(len(others)))]]), stale)
        return stale

    def _values(self) -> Floats:
        """Score of each node with the variables before it."""
        return np.maximum.reduceat(self._read(self._at), self._first[:-1])

    def _read(self, index: Ints) -> Floats:
        """Look up the scores of the best parents; the search uses nothing else of the lattices."""
        return self._scores[index]

    def _move_in_turn(self, some: Ints, behind: Ints, stale: Bools) -> None:
        """Move variables behind others, one after the other; one that no longer gains moves back."""
        if self._loops.move_in_turn(self._lent, some, behind, RESOLUTION, stale):
            return
        for node, other in zip(some.tolist(), behind.tolist(), strict=True):
            score, affected = self.score, np.zeros_like(stale)
            back, to = int(self._place[node]), int(self._place[other]) + 1 if other >= 0 else 0
            self._move(node, to - (to > back), affected)
            if self.score > score + RESOLUTION:
                stale |= affected
            else:
                self._move(node, back, affected)

    def _move(self, node: int, to: int, stale: Bools) -> None:
        """Move a variable to a position; mark the variables whose best position may have changed.

        These are the variable, the nodes that now have other candidates before them, and the candidates of both.
        """
        if self._loops.move(self._lent, node, to, stale):
            return
        at, own, (lattice, head, bit) = int(self._place[node]), self._own[node], self._theirs[node]
        places = self._place[head]
        if to > at:
            passed, first = self.nodes[at + 1 : to + 1].copy(), at
            loses = (places > at) & (places <= to)
            self._at[own] += self._bit[own][:, passed].sum(axis=1, dtype=np.int64)
            self._at[lattice] -= bit * loses
        else:
            passed, first = self.nodes[to:at].copy(), to + 1
            loses = (places < at) & (places >= to)
            self._at[own] -= self._bit[own][:, passed].sum(axis=1, dtype=np.int64)
            self._at[lattice] += bit * loses
        self.nodes[first : first + len(passed)] = passed
        self.nodes[to] = node
        self._place[self.nodes[min(at, to) : max(at, to) + 1]] = np.arange(min(at, to), max(at, to) + 1)
        self._value[:] = self._values()
        changed = head[loses]
        stale |= self._candidates[node] | self._candidates[changed].any(axis=0)
        stale[changed] = stale[node] = True

    def _best_places(self, some: Ints) -> tuple[Floats, Ints]:
        """For each of some variables: the gain of its best position, and the variable before it (-1: first position).

        A variable that moves behind its own candidates may take them as parents. One that moves behind nodes that may
        have it as a parent is lost to these nodes. No other scores depend on its position.
        """
        gains, behind = np.empty(len(some)), np.empty_like(some)
        if self._loops.best_places(self._lent, some, RESOLUTION, gains, behind):
            return gains, behind
        p, chosen = len(self.nodes), np.zeros(len(self.nodes), dtype=bool)
        chosen[some] = True
        own = np.flatnonzero(chosen[self._of])
        index = np.empty((len(own), p + 1), dtype=np.int64)  # [lattice, how many variables come before]
        index[:, 0] = self._begin[own]
        index[:, 1:] = self._bit[own][:, self.nodes]
        counts = self._first[some + 1] - self._first[some]
        value = np.maximum.reduceat(self._read(np.cumsum(index, axis=1, out=index)), np.cumsum(counts) - counts)
        theirs = np.flatnonzero(chosen[self._tail])
        if len(theirs):
            head, tail, lattice, bit = (a[theirs] for a in (self._head, self._tail, self._lattice, self._tail_bit))
            flipped = self._at[lattice] + np.where(self._place[tail] < self._place[head], -bit, bit)
            pair = tail * p + head
            starts = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]]))
            head, tail = head[starts], tail[starts]
            other = np.maximum.reduceat(self._read(flipped), starts)
            lost = np.zeros((len(some), p + 1))
            lost[np.searchsorted(some, tail), self._place[head] + 1] = np.abs(_difference(self._value[head], other))
            value -= np.cumsum(lost, axis=1, out=lost)
        # Of positions that differ only by rounding take the first, so that rounding does not affect the search.
        rows, best = np.arange(len(some)), (value >= value.max(axis=1, keepdims=True) - RESOLUTION).argmax(axis=1)
        gains = _difference(value[rows, best], value[rows, self._place[some]])
        return gains, np.where(best > 0, self.nodes[best - 1], -1)


def _difference(a: Floats, b: Floats) -> Floats:
    """Subtract scores; two that are minus infinity, because a required parent is missing, do not differ."""
    return np.subtract(a, b, out=np.zeros_like(a), where=a != b)
