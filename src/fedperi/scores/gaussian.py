"""Block-Gaussian BIC from a correlation matrix: one score for continuous, categorical and non-linear columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from . import _kernel as kernel
from .gaussian_numpy import GaussianByNumpy
from .lattice import Extremes, extremes_of
from .regression import Regression
from .score import Flips, FlipsByQueries, Query

if TYPE_CHECKING:
    from ..tables.statistics import Statistics


class GaussianScore(GaussianByNumpy):
    """BIC of linear-Gaussian regressions between blocks of columns, answered from their correlation matrix alone.

    ``L(i, S) = -(n/2) log det cov(i | S) - penalty * (d_i * d_S / 2) * log n``, where ``d`` counts the columns of a
    block. Variables with one column give the usual BIC. Columns are taken in units of their standard deviation, which
    adds a constant for each node, so the score does not depend on shift or scale.

    Parameters
    ----------
    moments : array_like, shape (q, q)
        Covariance or correlation matrix of the columns: of a sample, or of a population for an oracle.
    n : float
        Number of rows, or the nominal number for an oracle.
    names : sequence of str, optional
        The variables.
    blocks : sequence of sequences of int, optional
        The columns of each variable; one column each if not given.
    penalty : float
        Multiplies the penalty of a parameter.
    site : str
        Whose table it is, for error messages.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.scores.gaussian import GaussianScore
    >>> score = GaussianScore(np.array([[1.0, 0.8], [0.8, 1.0]]), n=100, names=["A", "B"])
    >>> score.local([(0, 0b00), (0, 0b10)]).round(2)  # A alone; A with parent B
    array([-0.  , 48.78])
    """

    @classmethod
    def of(cls, statistics: Statistics, penalty: float = 1.0) -> GaussianScore:
        """Score a site's table from its statistics."""
        s = statistics
        return cls(s.correlation, s.n, s.names, blocks=s.blocks, penalty=penalty, site=s.site)

    def local(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Answer a batch of (node, parents) queries.

        A set that uses more than half as many columns as there are rows scores minus infinity: with about as many
        coefficients as rows the residual variance would be nearly zero, whatever the data.
        """
        variables, starts = [], [0]
        for node, parents in queries:
            variables += [*bits.members(parents), node]
            starts.append(len(variables))
        asked, at = np.array(variables, dtype=np.int64), np.array(starts)
        out, smallest = np.empty(len(queries)), np.empty(len(queries))
        if not kernel.loops.local(*self._table, asked, at, out, smallest):
            return self._local_by_numpy(queries)
        if (smallest <= self._singular).any():
            worst = int(np.argmin(smallest))
            self._refuse(asked[at[worst] : at[worst + 1]])
        return out

    @property
    def _table(self) -> tuple[NDArray[np.float64], NDArray[np.int64], float, float, float]:
        """Arguments of the compiled loops."""
        return self._correlation, self._first, self._n, self._price, self._singular

    def with_one_more(self, node: int, parents: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score a node with its parents and one more, for each of the others: as `local`, from one factorisation.

        Examples
        --------
        >>> import numpy as np
        >>> from fedperi.scores.gaussian import GaussianScore
        >>> score = GaussianScore(np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]), n=100)
        >>> score.with_one_more(2, 0b00, np.array([0, 1])).round(1).tolist()
        [12.1, 12.1]
        """
        inside = list(bits.members(parents))
        if not self._wide and 2 * (len(inside) + 2) <= self._n:
            scores = self._with_one_more(node, inside, others)
            if scores is not None:
                return scores
        return self.local([(node, parents | 1 << j) for j in others.tolist()])

    def _with_one_more(self, node: int, inside: list[int], others: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Do the same for variables of one column each; None if some are collinear: `local` has the better message."""
        between, left, variance = self._correlation[node, others], np.ones(len(others)), 1.0
        if inside:
            rows = self._correlation[inside]
            try:
                root = np.linalg.inv(np.linalg.cholesky(rows[:, inside]))
            except np.linalg.LinAlgError:
                return None
            known, mine = root @ rows[:, others], root @ rows[:, node]
            between = between - mine @ known
            left = left - np.einsum("ij,ij->j", known, known)
            variance -= float(mine @ mine)
        residual = variance - between**2 / np.where(left > self._singular, left, np.inf)
        if (np.minimum(left, residual) <= self._singular).any():
            return None
        scores: NDArray[np.float64] = -self._n / 2 * np.log(residual) - self._price * (len(inside) + 1)
        return scores

    def flips(self) -> list[Flips]:
        """Follow all nodes while their parents change, one at a time (see `fedperi.scores.score.Flips`).

        Examples
        --------
        >>> import numpy as np
        >>> from fedperi.scores.gaussian import GaussianScore
        >>> score = GaussianScore(np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]), n=100)
        >>> flips = score.flips()[2]
        >>> flips.flip(0)
        >>> flips.scores()[1:].round(1).tolist()  # with 0 and 1; the node itself
        [30.1, -inf]
        """
        nodes = range(len(self._names))
        if self._wide:
            return [FlipsByQueries(self, node) for node in nodes]
        start = np.hstack([self._correlation, np.zeros_like(self._correlation)])
        return [Regression(self, node, start, self._n, self._price) for node in nodes]

    def climb(self, resolution: float, most_steps: int) -> list[int] | None:
        """Climb to a DAG as `fedperi.discovery.optimum.hill_climb` does; None if the compiled loops do not do it.

        Examples
        --------
        >>> import numpy as np
        >>> from fedperi.scores.gaussian import GaussianScore
        >>> chain = np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
        >>> GaussianScore(chain, n=1000).climb(1e-4, 100) in ([2, 4, 0], None)  # None without compiled loops
        True
        """
        p = len(self._names)
        into = np.zeros((p, p), dtype=bool)
        return bits.rows(into) if kernel.loops.climb(*self._table, resolution, most_steps, into) else None

    def lattice(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score nodes for all subsets of their candidates: row r answers for ``nodes[r]`` and ``candidates[r]``.

        See `fedperi.scores.lattice` for the order of the subsets.

        Examples
        --------
        >>> import numpy as np
        >>> from fedperi.scores.gaussian import GaussianScore
        >>> score = GaussianScore(np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]), n=100)
        >>> score.lattice(np.array([2]), np.array([[0, 1]])).round(1).tolist()  # {}, {0}, {1}, {0, 1}
        [[-0.0, 12.1, 12.1, 30.1]]
        """
        variables = np.column_stack([candidates, nodes])
        out, smallest = np.empty((len(nodes), 1 << candidates.shape[1])), np.empty(len(nodes))
        for_loops = 2 * self._most_columns(variables) <= self._n
        if not for_loops or not kernel.loops.scores(*self._table, variables, out, smallest):
            return self._lattice_by_numpy(variables)
        if (smallest <= self._singular).any():
            self._refuse(variables[np.argmin(smallest)])
        return out

    def _most_columns(self, variables: NDArray[np.int64]) -> int:
        """Return the largest number of columns in a row of variables."""
        return int(self._width[variables].sum(axis=1).max(initial=0)) if self._wide else variables.shape[1]

    def extremes(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> Extremes:
        """Score nodes with none of their candidates, with all of them, and with their best subset, row by row.

        Consecutive rows that differ in the last candidate only are computed together, which is much faster than their
        lattices.

        Examples
        --------
        >>> import numpy as np
        >>> from fedperi.scores.gaussian import GaussianScore
        >>> score = GaussianScore(np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]), n=100)
        >>> [one.round(1).tolist() for one in score.extremes(np.array([2, 2]), np.array([[0, 1], [1, 0]]))]
        [[-0.0, -0.0], [30.1, 30.1], [30.1, 30.1]]
        """
        variables = np.column_stack([candidates, nodes])
        for_loops = candidates.shape[1] > 0 and 2 * self._most_columns(variables) <= self._n
        out, smallest = np.empty((3, len(nodes))), np.empty(1)
        if not for_loops or not kernel.loops.extremes(*self._table, variables, out, smallest):
            return extremes_of(self._lattice_by_numpy(variables))
        if smallest[0] <= self._singular:  # `lattice` has the better message
            return extremes_of(self.lattice(nodes, candidates))
        return out[0], out[1], out[2]
