"""Screening: which variables could be parents of which, in three rounds."""

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
"""Up to this number of variables all parent sets are asked for, and the best order is found exactly."""

MOST_CANDIDATES = 13
"""Most candidate parents of a node: all their subsets are asked for, up to 2^13 numbers."""

FEWEST_CANDIDATES = 10
"""Candidates of a node that is asked about again, even if some seem unnecessary: a weak parent often does, beside a
strong variable that is correlated with it."""

MANY = 60
"""Beyond this number of variables a search may take more rounds."""

SCREENING = 3
"""Number of rounds for choosing candidates."""

GROWTH = 10
"""Number of candidates of a node in the first search for its best set."""


def candidate_parents(sets: ParentSets) -> list[int]:
    """Choose candidate parents for every node, as bit sets: all of them, or those that seem to be neighbours.

    First the best set among the few strongest variables is found; then we ask how much every other variable adds to it.
    Pairs alone are not informative enough: in a connected graph nearly all variables are correlated, and the strongest
    correlations are often not between neighbours. But a variable that is not a neighbour adds nothing to a set that
    explains the node well, and the node adds nothing to the set that explains that variable. So the strength of a pair
    is the smaller one of both directions. The search adds later what this misses (`fedperi.search.widening`).
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
        if wanted & ~chosen[node]:  # otherwise all their subsets are known already
            chosen[node] = bits.filled(wanted, _ranked(either[node]), FEWEST_CANDIDATES)
    return chosen


def _alone(sets: ParentSets) -> Floats:
    """Return how much each variable alone improves a node's score: ``[node, variable]``."""
    p = len(sets.oracle.names)
    nodes, others = np.nonzero(~np.eye(p, dtype=bool))
    answer = sets.oracle.regrets([(nodes, np.zeros((len(nodes), 0), dtype=np.int64), others[:, None])])[0]
    scores = -total_regret(answer)  # (pairs, 2): without and with the other variable
    alone = np.full((p, p), -np.inf)
    alone[nodes, others] = scores[:, 1] - scores[:, 0] - sets.edge_price
    return alone


def _contributions(sets: ParentSets, best: list[int]) -> Floats:
    """Ask in one round how much a variable adds to a node's best set, or contributes to it: ``[node, variable]``."""
    p = len(best)
    adds = np.full((p, p), -np.inf)
    for node, inside in enumerate(best):
        for j in bits.members(inside):
            # All subsets of the candidates are known.
            adds[node, j] = sets.known_score(node, inside) - sets.known_score(node, inside ^ 1 << j)
    everyone = (1 << p) - 1
    gains, nodes, others = sets.gains({(i, inside): everyone & ~inside & ~(1 << i) for i, inside in enumerate(best)})
    adds[nodes, others] = gains
    return adds


def _ranked(row: Floats) -> list[int]:
    ranked: list[int] = np.argsort(-in_steps(row), kind="stable").tolist()
    return ranked
