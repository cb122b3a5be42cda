"""Which variables could be parents of which, from pairs and triples: a first look that costs one or two rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .families import ParentSets, total_regret

Floats = NDArray[np.float64]

FULL = 12
"""Up to so many variables every parent set is asked, and the best order is found exactly."""

MOST_CANDIDATES = 13
"""Candidate parents a node is given at most: all their subsets are asked, up to 2^13 numbers."""

FEWEST_CANDIDATES = 10
"""Candidates a node is given even if they look unneeded: a weak parent beside a strong relative of it often does."""

PAIRS = 60
"""Up to so many variables all pairs of parents are looked at; beyond, pairs of the strongest 30 candidates."""


def candidate_parents(sets: ParentSets) -> list[int]:
    """Choose candidate parents for every node, as bit sets.

    A variable stays a candidate if it helps to explain the node alone and beside every other single variable, or the
    node helps to explain it; a true parent does, in the limit. What the first look misses, the search adds later
    (`fedperi.search.phase1`).
    """
    p = len(sets.oracle.names)
    if p <= FULL:
        everyone = (1 << p) - 1
        return [everyone ^ 1 << node for node in range(p)]
    alone, beside = _gains(sets)
    strength = np.minimum(alone, beside)
    strength = np.maximum(strength, strength.T)  # an edge may turn out to point either way
    chosen = list(sets.constraints.required)
    for node in range(p):
        if chosen[node].bit_count() > MOST_CANDIDATES:
            raise InputError(
                f"{chosen[node].bit_count()} edges into {sets.oracle.names[node]!r} are required; with more than "
                f"{FULL} variables at most {MOST_CANDIDATES} can be"
            )
        for place, j in enumerate(np.argsort(-strength[node], kind="stable")[:MOST_CANDIDATES].tolist()):
            if chosen[node].bit_count() == MOST_CANDIDATES:
                break
            if strength[node, j] > 0 or (place < FEWEST_CANDIDATES and j != node):
                chosen[node] |= 1 << j
    return chosen


def _gains(sets: ParentSets) -> tuple[Floats, Floats]:
    """What each variable adds to a node: alone, and the least beside any one other variable that matters."""
    p = len(sets.oracle.names)
    off = ~np.eye(p, dtype=bool)
    nodes, others = np.nonzero(off)
    singles = (nodes, np.zeros((len(nodes), 0), dtype=np.int64), others[:, None])
    triples = None
    if p <= PAIRS:
        node, j, k = (a.ravel() for a in np.meshgrid(*[np.arange(p)] * 3, indexing="ij"))
        keep = (j < k) & (j != node) & (k != node)
        triples = (node[keep], np.column_stack([j[keep], k[keep]]), np.zeros((int(keep.sum()), 0), dtype=np.int64))
        first, second = sets.oracle.regrets([singles, triples])
    else:
        (first,) = sets.oracle.regrets([singles])
    scores = -total_regret(first)  # (pairs, 2): without and with the other variable
    one = np.full((p, p), -np.inf)
    one[nodes, others] = scores[:, 1] - sets.edge_price
    none = np.zeros(p)
    none[nodes] = scores[:, 0]
    alone = one - none[:, None]
    if triples is None:
        triples = _strongest_pairs(alone)
        (second,) = sets.oracle.regrets([triples])
    beside = np.full((p, p), np.inf)
    two = -total_regret(second)[:, 0] - 2 * sets.edge_price
    node, j, k = triples[0], triples[1][:, 0], triples[1][:, 1]
    for this, other in ((j, k), (k, j)):
        matters = alone[node, other] > 0  # beside a variable that is nothing to the node, nothing is learnt
        np.minimum.at(beside, (node[matters], this[matters]), two[matters] - one[node[matters], other[matters]])
    return alone, beside


def _strongest_pairs(alone: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    nodes, pairs = [], []
    for node, row in enumerate(alone):
        strong = [int(j) for j in np.argsort(-row, kind="stable")[:30] if row[j] > 0]
        for t, j in enumerate(strong):
            for k in strong[t + 1 :]:
                nodes.append(node)
                pairs.append((min(j, k), max(j, k)))
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return np.array(nodes, dtype=np.int64), array, np.zeros((len(nodes), 0), dtype=np.int64)
