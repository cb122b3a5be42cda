"""Scores of discrete tables from their counts: multinomial BIC and BDeu."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from .lattice import Extremes, extremes_of
from .score import Query, lattice_by_queries

if TYPE_CHECKING:
    from ..data.statistics import Counts


class DiscreteScore:
    """BIC or BDeu of a table of categories, answered from the counts of its distinct rows.

    Parameters
    ----------
    counts : Counts
        The distinct rows of the table and how often each occurs.
    kind : {"bdeu", "bic"}
        The Bayesian score with a uniform prior over the joint table, or the multinomial likelihood with BIC's price.
    penalty : float
        Multiplies BIC's price of a parameter; BDeu has none.
    equivalent_sample_size : float
        The weight of BDeu's prior, in rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.data import summarize
    >>> from fedperi.local import DiscreteScore
    >>> table = pd.DataFrame({"A": ["x", "y"] * 50, "B": ["u", "v"] * 50})
    >>> score = DiscreteScore(summarize(table), kind="bic")
    >>> score.local([(0, 0b00), (0, 0b10)]).round(2)
    array([-71.62,  -4.61])
    """

    def __init__(
        self,
        counts: Counts,
        kind: Literal["bdeu", "bic"] = "bdeu",
        *,
        penalty: float = 1.0,
        equivalent_sample_size: float = 1.0,
    ) -> None:
        if kind not in ("bdeu", "bic"):
            raise InputError(f"a discrete score is 'bdeu' or 'bic', not {kind!r}")
        if not penalty >= 0:
            raise InputError(f"penalty must be zero or positive, not {penalty}")
        if not 0 < equivalent_sample_size < math.inf:
            raise InputError(f"equivalent_sample_size must be positive and finite, not {equivalent_sample_size}")
        self._names = counts.names
        self._codes = np.ascontiguousarray(counts.codes.T.astype(np.int64))
        self._counts = counts.counts.astype(np.float64)
        self._sizes = [len(levels) for levels in counts.levels]
        self._answer = self._bdeu if kind == "bdeu" else self._bic
        self._price = penalty * np.log(counts.n) / 2
        self._prior = equivalent_sample_size

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self._names

    def local(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Answer a batch of (node, parents) queries."""
        return np.array([self._answer(node, parents) for node, parents in queries])

    def lattice(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score nodes for all subsets of their candidates; see `fedperi.local.lattice`."""
        return lattice_by_queries(self, nodes, candidates)

    def extremes(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> Extremes:
        """Score nodes with none of their candidates, with all of them, and with their best subset."""
        return extremes_of(self.lattice(nodes, candidates))

    def _tabulate(self, node: int, parents: int) -> tuple[NDArray[np.float64], int]:
        """Count the node's levels for each parent configuration that occurs; say how many configurations could."""
        key = np.zeros(len(self._counts), dtype=np.int64)
        cells = possible = 1
        for parent in bits.members(parents):
            possible *= self._sizes[parent]
            cells *= self._sizes[parent]
            key = key * self._sizes[parent] + self._codes[parent]
            if cells > 4 * len(key):  # number the configurations that occur, before the product overflows
                found, key = np.unique(key, return_inverse=True)
                cells = len(found)
        size = self._sizes[node]
        flat = np.bincount(key * size + self._codes[node], weights=self._counts, minlength=cells * size)
        table: NDArray[np.float64] = flat.reshape(-1, size).astype(np.float64, copy=False)
        return table[table.any(axis=1)], possible

    def _bic(self, node: int, parents: int) -> float:
        table, possible = self._tabulate(node, parents)
        # A set with more parameters than a float can hold is priced out, not an overflow; one without any is free.
        parameters = _as_float(possible * (self._sizes[node] - 1))
        price = self._price * parameters if self._price and parameters else 0.0
        filled = table[table > 0]
        totals = table.sum(axis=1)
        return float((filled * np.log(filled)).sum() - (totals * np.log(totals)).sum() - price)

    def _bdeu(self, node: int, parents: int) -> float:
        table, possible = self._tabulate(node, parents)
        # Empty cells and rows contribute nothing.
        cells = self._log_rising(table[table > 0], possible * self._sizes[node])
        return float(cells.sum() - self._log_rising(table.sum(axis=1), possible).sum())

    def _log_rising(self, counts: NDArray[np.float64], shares: int) -> NDArray[np.float64]:
        """Log of the rising factorial, prior (prior + 1) ... (prior + count - 1), of a prior split into equal shares.

        The first factor is taken apart: a share may be too small for a float, but its logarithm never is.
        """
        from scipy.special import gammaln

        share = self._prior / _as_float(shares)
        first = math.log(self._prior) - math.log(shares)
        rising: NDArray[np.float64] = first + (gammaln(counts + share) - gammaln(1 + share))
        return rising


def _as_float(number: int) -> float:
    return float(number) if number.bit_length() < 1024 else math.inf
