"""What the search of phase 1 sees of M-PERI: the score of all sites together, and the penalty of an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np
from numpy.typing import NDArray

from ...scores.mechanisms import Mechanisms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CANDIDATES = 13
"""Candidate parents of a variable that has many neighbours: a family costs fifty times what it costs I-PERI."""

MOST_LIKELY_NEIGHBOURS = 10
"""How many neighbours a variable has a priori, at most. Fewer made wrong arrows: an edge that is missed by a narrow
margin leaves a collider behind that is not there (docs/explanation/method.md)."""


def edge_price(p: int) -> float:
    """The penalty of an edge, in nats, in addition to that of its parameters.

    Nothing if there are few variables, so that all DAGs count alike; more if there are many, each of which might be a
    parent by chance.

    Examples
    --------
    >>> edge_price(4), round(edge_price(50), 2)
    (0.0, 1.59)
    """
    return log(max(1.0, (p - 1) / MOST_LIKELY_NEIGHBOURS))


FEWEST_REMEMBERED = 5
"""Number of candidates from which the scores of all their subsets are cached. All pairs of variables are asked once."""


@dataclass(frozen=True)
class ScoreOracle:
    """What the search sees: one site, whose regrets are the negative scores of all together.

    Rounds of the search ask again what one more parent would add to a set that did not change: with 100 variables, for
    two of three such questions. Their answers are remembered. So are those for all subsets of some candidates: the next
    lattice of a node has most of its candidates in common with the last one.
    """

    mechanisms: Mechanisms
    _seen: dict[tuple[int, ...], Floats] = field(default_factory=dict, repr=False, compare=False)
    _lattices: dict[int, list[tuple[list[int], Floats]]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.mechanisms.names

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> list[Floats]:
        """Return the negative scores of families, as those of one site."""
        return [
            -np.stack(
                [
                    self._scores(node, fixed, free)
                    for node, fixed, free in zip(nodes.tolist(), held.tolist(), open_.tolist(), strict=True)
                ]
            )[None]
            for nodes, held, open_ in families
        ]

    def _scores(self, node: int, fixed: list[int], free: list[int]) -> Floats:
        if not fixed and len(free) >= FEWEST_REMEMBERED:
            some = self._lattices.setdefault(node, [])
            found = self.mechanisms.lattice(node, fixed, free, known=_known(free, some) if some else None)
            some.append((free, found))
            return found
        if free or not fixed:
            return self.mechanisms.lattice(node, fixed, free)
        # The order of the columns decides the last digit, so that only the same order counts as the same question.
        beside = self._seen.setdefault((node, *fixed[:-1]), np.full(len(self.names), np.nan))
        last = fixed[-1]
        if np.isnan(beside[last]):
            beside[last] = self.mechanisms.lattice(node, fixed, ())[0]
        return beside[last : last + 1]


def _known(free: list[int], lattices: list[tuple[list[int], Floats]]) -> Floats:
    """Scores of the subsets of some candidates that were computed as subsets of others; NaN if not.

    Examples
    --------
    >>> _known([2, 5], [([2, 3], np.array([0.0, 1.0, 2.0, 3.0]))]).tolist()
    [0.0, 1.0, nan, nan]
    """
    out = np.full(1 << len(free), np.nan)
    for others, scores in lattices:
        here = there = np.zeros(1, dtype=np.int64)
        for t, v in enumerate(others):
            if v in free:
                here = np.concatenate([here, here + (1 << free.index(v))])
                there = np.concatenate([there, there + (1 << t)])
        out[here] = scores[there]
    return out
