"""The federation as the search sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...coordinator.coordinator import Coordinator
from ...protocol.messages import Families, Floats, Ints, Orientations


@dataclass(frozen=True)
class CoordinatorOracle:
    """The coordinator as an oracle for the search."""

    coordinator: Coordinator

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.coordinator.names

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> list[Floats]:
        """Answer blocks of families in one round."""
        return self.coordinator.ask([Families(*block) for block in families])

    def discrepancies(self, dag: NDArray[np.bool_], nodes: Ints, marks: Ints) -> Floats:
        """Return the sites' discrepancies with given directions, in one round."""
        return self.coordinator.ask([Orientations(dag, nodes, marks)])[0]
