"""A node's linear regression on its parents, kept up to date while they join and leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .score import FlipsByQueries, Score

SINGULAR = 1e-10
"""Share of a column's variance below which it counts as an exact linear combination of others: correlations computed
from 8-byte floats are not more exact."""


class Regression(FlipsByQueries):
    """The score of a node after every change of one parent, where all variables have one column.

    The rows of a Cholesky factorisation are kept, one per parent in the order in which they joined. A row describes the
    residual of the parent given those before it, divided by its standard deviation: its covariance with every variable,
    and its weights on the parents. A parent that joins adds a row, so that no step needs a factorisation.

    Parameters
    ----------
    score : Score
        The score of which this is a part. It is used for sets that are too large for the number of rows, and if
        variables are collinear: it has the better message.
    node : int
        The node.
    start : array, shape (p, 2p)
        Correlations of all variables, and zeros.
    n : float
        Number of rows.
    price : float
        Penalty of a parent.
    """

    def __init__(self, score: Score, node: int, start: NDArray[np.float64], n: float, price: float) -> None:
        super().__init__(score, node)
        self._start, self._n, self._price = start, n, price
        self._begin()

    def _begin(self) -> None:
        # Every array has two halves, for the variables that may join and for the parents that may leave. A parent that
        # leaves explained its squared coefficient divided by the sum of its squared weights in the rows; one that joins
        # will explain its squared covariance with the node divided by its variance, both given the parents.
        p = self._start.shape[0]
        self._joined: list[int] = []
        self._rows = np.empty((0, 2 * p))  # covariance with every variable; weight of every parent
        self._over = np.repeat([1.0, -1.0], p)  # variances; minus the sums of squares
        self._over[self._node] = np.inf  # it never joins
        self._with_node = self._start[self._node].copy()  # covariances; minus the coefficients
        self._variance = 1.0  # of the node, given the parents
        self._prices = np.full(p, self._price)

    def flip(self, other: int) -> None:
        """Add a variable to the parents, or remove it if it is one."""
        super().flip(other)
        if self._parents >> other & 1:
            self._join(other)
        else:
            stay = [parent for parent in self._joined if parent != other]
            self._begin()
            for parent in stay:
                self._join(parent)

    def _join(self, other: int) -> None:
        p = len(self._prices)
        row = self._start[other] - self._rows[:, other] @ self._rows
        row[p + other] = 1.0
        row *= self._over.item(other) ** -0.5
        mine = row.item(self._node)
        self._rows = np.concatenate([self._rows, row[None]])
        self._over -= row * row
        self._over[other] = np.inf
        self._over[p + other] += 1.0
        self._with_node -= mine * row
        self._variance -= mine * mine
        self._prices[other] -= 2 * self._price
        self._joined.append(other)

    def scores(self) -> NDArray[np.float64]:
        """Score the node after each variable has joined or left; minus infinity for the node itself."""
        p, size = len(self._prices), len(self._joined)
        if 2 * (size + 2) > self._n or self._over[:p].min() <= SINGULAR:
            return super().scores()
        explained = self._with_node * self._with_node
        explained /= self._over
        residual = self._variance - explained[:p] - explained[p:]
        if residual.min() <= SINGULAR:
            return super().scores()
        scores: NDArray[np.float64] = -self._n / 2 * np.log(residual) - (self._prices + size * self._price)
        scores[self._node] = -np.inf
        return scores
