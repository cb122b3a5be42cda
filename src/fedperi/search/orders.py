"""Search over orders of the variables: given an order, each node takes its best parents among those before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graph import bits
from ..local.score import RESOLUTION
from .families import ParentSets


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


def best_order(sets: ParentSets, rng: np.random.Generator, restarts: int, start: Sequence[int] | None) -> list[int]:
    """Improve an order by moving one variable at a time; then shake the best one and try again, some times over."""
    best = improve(sets, list(start) if start is not None else greedy_order(sets), rng)
    score = order_score(sets, best)
    for _ in range(restarts):
        order = improve(sets, shaken(best, rng), rng)
        found = order_score(sets, order)
        if found > score + RESOLUTION:
            best, score = order, found
    return best


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


def improve(sets: ParentSets, order: list[int], rng: np.random.Generator) -> list[int]:
    """Move variables to their best places, one at a time, until no move gains."""
    order = list(order)
    heads = bits.transpose([sets.candidates(node) for node in range(len(order))])
    place, before = _places(order)
    moved = True
    while moved:
        moved = False
        for node in rng.permutation(len(order)).tolist():
            behind = _best_place(sets, place, before, node, heads[node])
            if behind is None:
                continue
            order.remove(node)
            order.insert(order.index(behind) + 1 if behind >= 0 else 0, node)
            place, before = _places(order)
            moved = True
    return order


def _places(order: Sequence[int]) -> tuple[list[int], list[int]]:
    """For every node, its place in an order and the nodes before it, as a bit set."""
    place, before, passed = [0] * len(order), [0] * len(order), 0
    for at, node in enumerate(order):
        place[node], before[node] = at, passed
        passed |= 1 << node
    return place, before


def _best_place(sets: ParentSets, place: list[int], before: list[int], node: int, heads: int) -> int | None:
    """Find the node behind which a variable does best, -1 for the very front; None if it is best where it is.

    `heads` are the nodes that may take the variable as a parent. They lose it when it moves behind them; it can take
    its own candidates when it moves behind those. Nobody else sees where it is.
    """
    bit, own = 1 << node, sets.candidates(node)
    inside, lost = 0, 0.0
    mine = value = best = sets.best(node, 0)
    behind, here, at = -1, value, place[node]
    for v in sorted(bits.members(own | heads), key=place.__getitem__):
        if heads >> v & 1:
            others = before[v] & ~bit
            with_it, without = sets.best(v, others | bit), sets.best(v, others)
            lost += with_it - without if with_it > without else 0.0
        if own >> v & 1:
            inside |= 1 << v
            mine = sets.best(node, inside)
        value = mine - lost
        if place[v] < at:
            here = value
        if value > best:
            behind, best = v, value
    return behind if best > here + RESOLUTION else None


def shaken(order: list[int], rng: np.random.Generator) -> list[int]:
    """Move a third of the variables, at least two, to random places."""
    p = len(order)
    out = list(order)
    for node in rng.permutation(p)[: max(2, p // 3)].tolist():
        out.remove(node)
        out.insert(int(rng.integers(p)), node)
    return out
