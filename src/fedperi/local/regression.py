"""A node's linear regression on its parents, kept up to date while they join and leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .score import FlipsByQueries, Score

SINGULAR = 1e-10
"""Share of a column's variance below which it counts as an exact linear combination of others: a correlation computed
from 8-byte floats is no more exact."""


class Regression(FlipsByQueries):
    """The score of a node after every change of one parent, where all variables have one column.

    Kept are the rows of a Cholesky factorisation, one for each parent in the order in which they joined: the part of it
    that the parents before it leave over, in units of its deviation, as its covariance with every variable and as a
    combination of the parents. A parent that joins adds a row, so that a step costs no factorisation.

    Parameters
    ----------
    score : Score
        The score of which this is a part. It is asked if variables are collinear, which it says better, and for sets
        that are too large for the rows.
    node : int
        The node.
    correlation : array, shape (p, p)
        Of all variables.
    n : float
        Number of rows.
    price : float
        What a parent costs.
    """

    def __init__(self, score: Score, node: int, correlation: NDArray[np.float64], n: float, price: float) -> None:
        super().__init__(score, node)
        self._correlation, self._n, self._price = correlation, n, price
        self._begin()

    def _begin(self) -> None:
        p = len(self._correlation)
        self._joined: list[int] = []
        self._covariances = np.empty((0, p))  # of the rows with every variable
        self._shares = np.empty((0, p))  # of each parent in the rows
        self._squares = np.ones(p)  # of a parent's shares, added up
        self._variance = 1.0  # of the node, given the parents
        self._left = np.ones(p)  # of the others, given the parents; infinite if they can't join
        self._left[self._node] = np.inf
        self._between = self._correlation[self._node].copy()  # covariances with the node, given the parents
        self._prices = np.full(p, self._price)

    def flip(self, other: int) -> None:
        """Let a variable join the parents, or leave them if it is one."""
        super().flip(other)
        if self._parents >> other & 1:
            self._join(other)
        else:
            stay = [parent for parent in self._joined if parent != other]
            self._begin()
            for parent in stay:
                self._join(parent)

    def _join(self, other: int) -> None:
        before, deviation = self._covariances[:, other], np.sqrt(self._left[other])
        row = (self._correlation[other] - before @ self._covariances) / deviation
        shares = before @ self._shares / -deviation
        shares[other] = 1 / deviation
        self._covariances = np.concatenate([self._covariances, row[None]])
        self._shares = np.concatenate([self._shares, shares[None]])
        self._squares += shares * shares
        self._squares[other] -= 1.0
        self._variance -= float(row[self._node]) ** 2
        self._left -= row * row
        self._left[other] = np.inf
        self._between -= row[self._node] * row
        self._prices += self._price
        self._prices[other] -= 2 * self._price
        self._joined.append(other)

    def scores(self) -> NDArray[np.float64]:
        """Score of the node after each variable has joined or left; minus infinity for the node itself."""
        if 2 * (len(self._joined) + 2) > self._n or self._left.min() <= SINGULAR:
            return super().scores()
        # One that joins explains what it shares with the node. One that leaves was worth the square of its coefficient
        # over the variance of that, up to a factor that both share.
        coefficients = self._covariances[:, self._node] @ self._shares
        residual = self._variance - self._between**2 / self._left + coefficients**2 / self._squares
        if residual.min() <= SINGULAR:
            return super().scores()
        scores: NDArray[np.float64] = -self._n / 2 * np.log(residual) - self._prices
        scores[self._node] = -np.inf
        return scores
