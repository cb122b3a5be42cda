"""Scores of discrete tables from their counts: multinomial BIC and BDeu."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from . import _kernel as kernel
from .lattice import Extremes, extremes_of
from .score import Flips, Query, lattice_by_queries

if TYPE_CHECKING:
    from ..tables.statistics import Counts


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class DiscreteScore:
    """BIC or BDeu of a table of categories, answered from the counts of its distinct rows.

    Parameters
    ----------
    counts : Counts
        The distinct rows of the table and how often each occurs.
    kind : {"bdeu", "bic"}
        The Bayesian score with a uniform prior over the joint table, or the multinomial likelihood with BIC's penalty.
    penalty : float
        Multiplies BIC's penalty of a parameter; BDeu has none.
    equivalent_sample_size : float
        The weight of BDeu's prior, in rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import summarize
    >>> from fedperi.scores.discrete import DiscreteScore
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
        self._rows, self._times = counts.codes, counts.counts
        self._sizes = [len(levels) for levels in counts.levels]
        self._kind = kind
        self._price = penalty * np.log(counts.n) / 2
        self._prior = equivalent_sample_size
        self._in_loops: Any = None  # the table in the compiled loops

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self._names

    @property
    def widest(self) -> int:
        """Largest number of levels of a variable."""
        return max(self._sizes, default=1)

    def local(self, queries: Sequence[Query]) -> Floats:
        """Answer a batch of (node, parents) queries."""
        nodes = np.array([node for node, _ in queries], dtype=np.int64)
        first = np.zeros(len(queries) + 1, dtype=np.int64)
        np.cumsum([parents.bit_count() for _, parents in queries], out=first[1:])
        inside = np.array([j for _, parents in queries for j in bits.members(parents)], dtype=np.int64)
        out = np.empty(len(queries))
        if kernel.loops.discrete_scores(*self._arguments, nodes, first, inside, out):
            return out
        answer = self._bdeu if self._kind == "bdeu" else self._bic
        return np.array([answer(node, parents) for node, parents in queries], dtype=np.float64)

    def with_one_more(self, node: int, parents: int, others: Ints) -> Floats:
        """Score a node with its parents and one more, for each of the others: as `local`, but rows are numbered once.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from fedperi.tables import summarize
        >>> from fedperi.scores.discrete import DiscreteScore
        >>> table = pd.DataFrame({"A": ["x", "y"] * 50, "B": ["u", "v"] * 50, "C": ["r", "r", "s", "s"] * 25})
        >>> DiscreteScore(summarize(table), "bic").with_one_more(0, 0b000, np.array([1, 2])).round(2)
        array([ -4.61, -73.92])
        """
        inside = bits.positions(parents, len(self._names))
        if np.isin(others, inside).any():  # those are in the set already, and stay
            return self.local([(node, parents | 1 << j) for j in others.tolist()])
        return self._flipped(node, inside, others)

    def flips(self) -> list[Flips]:
        """Follow all nodes while their parents change, one at a time (see `fedperi.scores.score.Flips`).

        Examples
        --------
        >>> import pandas as pd
        >>> from fedperi.tables import summarize
        >>> from fedperi.scores.discrete import DiscreteScore
        >>> table = pd.DataFrame({"A": ["x", "y"] * 50, "B": ["u", "v"] * 50, "C": ["r", "r", "s", "s"] * 25})
        >>> flips = DiscreteScore(summarize(table), "bic").flips()[0]
        >>> flips.flip(1)
        >>> flips.scores().round(2)  # the node itself; without B; with B and C
        array([  -inf, -71.62,  -9.21])
        """
        return [_Flips(self, node) for node in range(len(self._names))]

    def lattice(self, nodes: Ints, candidates: Ints) -> Floats:
        """Score nodes for all subsets of their candidates; see `fedperi.scores.lattice`.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from fedperi.tables import summarize
        >>> from fedperi.scores.discrete import DiscreteScore
        >>> table = pd.DataFrame({"A": ["x", "y"] * 50, "B": ["u", "v"] * 50, "C": ["r", "r", "s", "s"] * 25})
        >>> DiscreteScore(summarize(table), "bic").lattice(np.array([0]), np.array([[1, 2]])).round(2).tolist()
        [[-71.62, -4.61, -73.92, -9.21]]
        """
        nodes, candidates = (np.ascontiguousarray(one, dtype=np.int64) for one in (nodes, candidates))
        out = np.empty((len(nodes), 1 << candidates.shape[1]))
        if kernel.loops.discrete_lattices(*self._arguments, nodes, candidates, out):
            return out
        return lattice_by_queries(self.local, nodes, candidates)

    def extremes(self, nodes: Ints, candidates: Ints) -> Extremes:
        """Score nodes with none of their candidates, with all of them, and with their best subset."""
        return extremes_of(self.lattice(nodes, candidates))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table in the compiled loops, which cannot be copied; it is made again when needed."""
        return {**vars(self), "_in_loops": None}

    # -- in loops -------------------------------------------------------------------------------------------------

    @property
    def _arguments(self) -> tuple[Any, float, float]:
        """Arguments of the compiled loops: the table, the weight of the prior (0 for BIC), and the penalty."""
        if not self._in_loops:
            self._in_loops = kernel.loops.discrete(self._rows, self._times, np.array(self._sizes, dtype=np.int64))
        return self._in_loops, self._prior if self._kind == "bdeu" else 0.0, float(self._price)

    def _flipped(self, node: int, parents: Ints, others: Ints) -> Floats:
        """Score a node after each of the others has joined its parents, or left them if it is one."""
        out = np.empty(len(others))
        others = np.ascontiguousarray(others, dtype=np.int64)
        if kernel.loops.discrete_flips(*self._arguments, node, parents, others, out):
            return out
        before = sum(1 << parent for parent in parents.tolist())
        return self.local([(node, before ^ 1 << j) for j in others.tolist()])

    # -- with numpy -----------------------------------------------------------------------------------------------

    @cached_property
    def _columns(self) -> Ints:
        return np.ascontiguousarray(self._rows.T)

    def _tabulate(self, node: int, parents: int) -> tuple[Floats, int]:
        """Count the node's levels for each parent configuration that occurs; return also how many are possible."""
        key = np.zeros(len(self._times), dtype=np.int64)
        cells = possible = 1
        for parent in bits.members(parents):
            possible *= self._sizes[parent]
            cells *= self._sizes[parent]
            key = key * self._sizes[parent] + self._columns[parent]
            if cells > 4 * len(key):  # number the configurations that occur, before the product overflows
                found, key = np.unique(key, return_inverse=True)
                cells = len(found)
        size = self._sizes[node]
        flat = np.bincount(key * size + self._columns[node], weights=self._times, minlength=cells * size)
        table: Floats = flat.reshape(-1, size).astype(np.float64, copy=False)
        return table[table.any(axis=1)], possible

    def _bic(self, node: int, parents: int) -> float:
        table, possible = self._tabulate(node, parents)
        # With more parameters than a float can hold the penalty is infinite, not an overflow; without any it is zero.
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

    def _log_rising(self, counts: Floats, shares: int) -> Floats:
        """Compute the log of the rising factorial, a (a + 1) ... (a + count - 1), for a = an equal share of the prior.

        The first factor is computed separately: a share may be too small for a float, but its logarithm never is.
        """
        from scipy.special import gammaln

        share = self._prior / _as_float(shares)
        first = math.log(self._prior) - math.log(shares)
        rising: Floats = first + (gammaln(counts + share) - gammaln(1 + share))
        return rising


class _Flips:
    """A node of a discrete score whose parents change one at a time."""

    def __init__(self, score: DiscreteScore, node: int) -> None:
        self._score, self._node, self._parents = score, node, 0

    def flip(self, other: int) -> None:
        """Add a variable to the parents, or remove it if it is one."""
        self._parents ^= 1 << other

    def scores(self) -> Floats:
        """Score the node after each variable has joined or left; minus infinity for the node itself."""
        p = len(self._score.names)
        others = np.delete(np.arange(p), self._node)
        out = np.full(p, -np.inf)
        out[others] = self._score._flipped(self._node, bits.positions(self._parents, p), others)
        return out


def _as_float(number: int) -> float:
    return float(number) if number.bit_length() < 1024 else math.inf
