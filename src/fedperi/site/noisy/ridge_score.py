"""Scores of moments with a ridge, for sites that add noise to every answer."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...privacy.regret_noise import EXACT
from ...protocol.messages import Floats
from ...scores.gaussian import GaussianScore
from ...scores.score import LatticeScore


class RidgeScore(GaussianScore):
    """A score of moments with a ridge: it is never singular, so it never refuses a table.

    To refuse collinear columns would reveal something about the rows that no noise covers.
    """

    _singular = 0.0

    def _refuse(self, variables: NDArray[np.int64]) -> None:
        return


def best_of_all(score: LatticeScore, p: int) -> Floats:
    """Return every node's best score over sets that do not depend on the rows: all sets, or all pairs."""
    others = np.array([[j for j in range(p) if j != i] for i in range(p)], dtype=np.int64).reshape(p, p - 1)
    if p <= EXACT:
        return np.asarray(score.lattice(np.arange(p), others).max(axis=1))
    pairs = np.array(list(combinations(range(p - 1), 2)))
    best = [score.lattice(np.full(len(pairs), node), others[node][pairs]).max(initial=-np.inf) for node in range(p)]
    return np.array(best)
