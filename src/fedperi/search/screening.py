"""Which variables could be parents of which: a first look, in three rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from ..scores.score import RESOLUTION
from .families import ParentSets
from .sums import in_steps, total_regret

Floats = NDArray[np.float64]

FULL = 12
"""Up to this number of variables every parent set is asked, and the best order is found exactly."""

MOST_CANDIDATES = 13
"""Candidate parents a node is given at most: all their subsets are asked, up to 2^13 numbers."""

FEWEST_CANDIDATES = 10
"""Candidates that a node gets when it is asked again, even if some look unneeded: a weak parent beside a strong
relative of it often does."""

MANY = 60
"""Beyond this number of variables a search may take more rounds."""

SCREENING = 3
"""Rounds that it takes to choose candidates."""

GROWTH = 10
"""Candidates a node has when its best set is first looked for, from which sets grow."""


def candidate_parents(sets: ParentSets) -> list[int]:
    """Choose candidate parents for every node, as bit sets: all of them, or those that seem to be neighbours.

    The best set among the strongest few is found; every other variable is asked what it adds to it. Pairs of variables
    tell too little, since in one network nearly all are related, and the closest in number are often not neighbours.
    But a variable that is not a neighbour adds nothing to a set that explains the node well, and the node adds nothing
    to the set that explains it. So a pair is as strong as the weaker of its two sides. What this misses, the search
    adds later (`fedperi.search.widening`).
    """
    p = len(sets.oracle.names)
    everyone = (1 << p) - 1
    if p <= FULL:
        return [everyone ^ 1 << node for node in range(p)]
    required = sets.constraints.required
    for node, need in enumerate(required):
        if need.bit_count() > MOST_CANDIDATES:
            raise InputError(
                f"{need.bit_count()} edges into {sets.oracle.names[node]!r} are required; with more than "
                f"{FULL} variables at most {MOST_CANDIDATES} can be"
            )
    chosen = [
        bits.filled(need, [j for j in _ranked(row) if row[j] > 0], max(GROWTH, need.bit_count()))
        for need, row in zip(required, _alone(sets), strict=True)
    ]
    sets.fetch((node, 0, free) for node, free in enumerate(chosen))
    best = [sets.best_parents(node, everyone ^ 1 << node) for node in range(p)]
    adds = _contributions(sets, best)
    strength, either = np.minimum(adds, adds.T), np.maximum(adds, adds.T)  # an edge may turn out to point either way
    for node, need in enumerate(required):
        useful = [j for j in _ranked(strength[node]) if strength[node, j] > RESOLUTION]
        members = [j for j in _ranked(adds[node]) if best[node] >> j & 1]
        wanted = bits.filled(need, [*useful, *members], MOST_CANDIDATES)
        if wanted & ~chosen[node]:  # else nothing need be asked: all their subsets are known
            chosen[node] = bits.filled(wanted, _ranked(either[node]), FEWEST_CANDIDATES)
    return chosen


def _alone(sets: ParentSets) -> Floats:
    """What each variable adds to a node that has no other parent: ``[node, variable]``."""
    p = len(sets.oracle.names)
    nodes, others = np.nonzero(~np.eye(p, dtype=bool))
    answer = sets.oracle.regrets([(nodes, np.zeros((len(nodes), 0), dtype=np.int64), others[:, None])])[0]
    scores = -total_regret(answer)  # (pairs, 2): without and with the other variable
    alone = np.full((p, p), -np.inf)
    alone[nodes, others] = scores[:, 1] - scores[:, 0] - sets.edge_price
    return alone


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
    gains, nodes, others = sets.gains({(i, inside): everyone & ~inside & ~(1 << i) for i, inside in enumerate(best)})
    adds[nodes, others] = gains
    return adds


def _ranked(row: Floats) -> list[int]:
    ranked: list[int] = np.argsort(-in_steps(row), kind="stable").tolist()
    return ranked
