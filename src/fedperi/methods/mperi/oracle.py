"""What the search of phase 1 sees of M-PERI: the score of all sites together, and what an edge costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
margin leaves a collider behind that is not there (docs/method.md)."""


def edge_price(p: int) -> float:
    """What an edge costs, in nats, beside its parameters.

    Nothing if there are few variables, so that all DAGs count alike; more if there are many, each of which might be a
    parent by chance.

    Examples
    --------
    >>> edge_price(4), round(edge_price(50), 2)
    (0.0, 1.59)
    """
    return log(max(1.0, (p - 1) / MOST_LIKELY_NEIGHBOURS))


@dataclass(frozen=True)
class ScoreOracle:
    """What the search sees: one site, whose regrets are the negative scores of all together."""

    mechanisms: Mechanisms

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.mechanisms.names

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> list[Floats]:
        """Return the negative scores of families, as those of one site."""
        return [
            -np.stack(
                [
                    self.mechanisms.lattice(node, fixed, free)
                    for node, fixed, free in zip(nodes.tolist(), held.tolist(), open_.tolist(), strict=True)
                ]
            )[None]
            for nodes, held, open_ in families
        ]
