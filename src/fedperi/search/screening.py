"""Which variables could be parents of which: a first look that costs one round, or three with many variables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from .families import ParentSets, total_regret

Floats = NDArray[np.float64]

FULL = 12
"""Up to so many variables every parent set is asked, and the best order is found exactly."""

MOST_CANDIDATES = 13
"""Candidate parents a node is given at most: all their subsets are asked, up to 2^13 numbers."""

FEWEST_CANDIDATES = 10
"""Candidates a node is given even if they look unneeded: a weak parent beside a strong relative of it often does."""

PAIRS = 60
"""Up to so many variables all pairs of parents are looked at; beyond, candidate sets grow (`_grown`)."""

GROWTH = 10
"""Candidates a node has when its best set is first looked for, from which sets grow."""


def candidate_parents(sets: ParentSets) -> list[int]:
    """Choose candidate parents for every node, as bit sets.

    A variable stays a candidate if it helps to explain the node alone and beside others, or the node helps to explain
    it; a true parent does, in the limit. What the first look misses, the search adds later (`fedperi.search.phase1`).
    """
    p = len(sets.oracle.names)
    if p <= FULL:
        everyone = (1 << p) - 1
        return [everyone ^ 1 << node for node in range(p)]
    for node, required in enumerate(sets.constraints.required):
        if required.bit_count() > MOST_CANDIDATES:
            raise InputError(
                f"{required.bit_count()} edges into {sets.oracle.names[node]!r} are required; with more than "
                f"{FULL} variables at most {MOST_CANDIDATES} can be"
            )
    if p > PAIRS:
        return _grown(sets, _first_look(sets, pairs=False)[0])
    strength = np.minimum(*_first_look(sets, pairs=True))
    strength = np.maximum(strength, strength.T)  # an edge may turn out to point either way
    chosen = []
    for node, required in enumerate(sets.constraints.required):
        ranked = np.argsort(-strength[node], kind="stable")[:MOST_CANDIDATES].tolist()
        useful = [j for at, j in enumerate(ranked) if strength[node, j] > 0 or (at < FEWEST_CANDIDATES and j != node)]
        chosen.append(_joined(required, useful, MOST_CANDIDATES))
    return chosen


def _first_look(sets: ParentSets, *, pairs: bool) -> tuple[Floats, Floats]:
    """What each variable adds to a node: alone, and the least beside any one other variable that matters."""
    p = len(sets.oracle.names)
    off = ~np.eye(p, dtype=bool)
    nodes, others = np.nonzero(off)
    asked = [(nodes, np.zeros((len(nodes), 0), dtype=np.int64), others[:, None])]
    if pairs:
        node, j, k = (a.ravel() for a in np.meshgrid(*[np.arange(p)] * 3, indexing="ij"))
        keep = (j < k) & (j != node) & (k != node)
        node, j, k = node[keep], j[keep], k[keep]
        asked.append((node, np.column_stack([j, k]), np.zeros((len(node), 0), dtype=np.int64)))
    answers = sets.oracle.regrets(asked)
    scores = -total_regret(answers[0])  # (pairs, 2): without and with the other variable
    one = np.full((p, p), -np.inf)
    one[nodes, others] = scores[:, 1] - sets.edge_price
    none = np.zeros(p)
    none[nodes] = scores[:, 0]
    alone = one - none[:, None]
    beside = np.full((p, p), np.inf)
    if pairs:
        two = -total_regret(answers[1])[:, 0] - 2 * sets.edge_price
        for this, other in ((j, k), (k, j)):
            matters = alone[node, other] > 0  # beside a variable that is nothing to the node, nothing is learnt
            np.minimum.at(beside, (node[matters], this[matters]), two[matters] - one[node[matters], other[matters]])
    return alone, beside


def _grown(sets: ParentSets, alone: Floats) -> list[int]:
    """Let candidate sets grow: find the best set among a few, ask what every other variable adds to it, choose again.

    Among many variables of one network nearly all are related, and the closest in number are often not neighbours:
    pairs tell too little. But a variable that is not a neighbour adds nothing to a set that explains the node well,
    and the node adds nothing to the set that explains it. So a pair is as strong as the weaker of its two sides.
    """
    p = len(alone)
    required = sets.constraints.required
    chosen = [
        _joined(need, [j for j in _ranked(row) if row[j] > 0], max(GROWTH, need.bit_count()))
        for need, row in zip(required, alone, strict=True)
    ]
    sets.fetch((node, 0, free) for node, free in enumerate(chosen))
    best = [sets.best_parents(node, (1 << p) - 1 ^ 1 << node) for node in range(p)]
    adds = _contributions(sets, best)
    strength, either = np.minimum(adds, adds.T), np.maximum(adds, adds.T)
    for node, need in enumerate(required):
        useful = [j for j in _ranked(strength[node]) if strength[node, j] > 0]
        members = [j for j in _ranked(adds[node]) if best[node] >> j & 1]
        chosen[node] = _joined(need, [*useful, *members], MOST_CANDIDATES)
        chosen[node] = _joined(chosen[node], _ranked(either[node]), FEWEST_CANDIDATES)
    return chosen


def _contributions(sets: ParentSets, best: list[int]) -> Floats:
    """What a variable adds to a node's best set, or is worth in it: ``[node, variable]``. Takes one round."""
    p = len(best)
    adds = np.full((p, p), -np.inf)
    for node, inside in enumerate(best):
        for j in bits.members(inside):
            with_it, without = sets.score(node, inside), sets.score(node, inside ^ 1 << j)
            assert with_it is not None and without is not None  # all subsets of the candidates were asked
            adds[node, j] = with_it - without
    everyone = (1 << p) - 1
    asked = [(i, inside, 1 << j) for i, inside in enumerate(best) for j in bits.members(everyone & ~inside & ~(1 << i))]
    for gain, node, other in sets.gains(asked):
        adds[node, other.bit_length() - 1] = gain
    return adds


def _ranked(row: Floats) -> list[int]:
    return [int(j) for j in np.argsort(-row, kind="stable")]


def _joined(inside: int, others: list[int], most: int) -> int:
    """Add variables to a set, in their order, while it has room."""
    for j in others:
        if inside.bit_count() < most:
            inside |= 1 << j
    return inside
