"""Search over orders of the variables: given an order, each node takes its best parents among those before it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

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
    moved = True
    while moved:
        moved = False
        for node in rng.permutation(len(order)).tolist():
            better = _best_place(sets, order, node)
            if better is not None:
                order, moved = better, True
    return order


def _best_place(sets: ParentSets, order: list[int], node: int) -> list[int] | None:
    """Take a variable out of the order and put it where the whole scores best; None if it is best where it is."""
    rest = [v for v in order if v != node]
    bit = 1 << node
    before, own, behind, ahead = 0, [], [], []
    for v in rest:
        own.append(sets.best(node, before))
        without = sets.best(v, before)
        behind.append(without)
        ahead.append(sets.best(v, before | bit) if sets.candidates(v) & bit else without)
        before |= 1 << v
    own.append(sets.best(node, before))
    head = [0.0, *accumulate(behind)]  # those that come before the variable
    tail = [0.0, *accumulate(reversed(ahead))][::-1]  # those that come after it
    totals = [h + t + o for h, t, o in zip(head, tail, own, strict=True)]
    here = order.index(node)
    place = max(range(len(totals)), key=totals.__getitem__)
    if not totals[place] > totals[here] + RESOLUTION:
        return None
    return [*rest[:place], node, *rest[place:]]


def shaken(order: list[int], rng: np.random.Generator) -> list[int]:
    """Move a third of the variables, at least two, to random places."""
    p = len(order)
    out = list(order)
    for node in rng.permutation(p)[: max(2, p // 3)].tolist():
        out.remove(node)
        out.insert(int(rng.integers(p)), node)
    return out
