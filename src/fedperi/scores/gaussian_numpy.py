"""Block-Gaussian BIC with numpy: the reference for the compiled loops, and for cases that they do not compute."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..graph import bits
from ..graph.validate import checked_names
from .lattice import eliminate, log_determinants, subset_widths
from .regression import SINGULAR
from .score import Query, lattice_by_queries

BATCH = 1 << 14
"""Number of matrices that are factored at once, which limits the memory."""

LATTICE_CELLS = 1 << 17
"""Number of values held while lattices are computed: they fit into a processor's cache, more would be slower."""


class GaussianByNumpy:
    """Correlations of blocks of columns, and their scores; see `fedperi.scores.gaussian.GaussianScore`."""

    _singular = SINGULAR  # columns are collinear if a residual variance is at most this

    def __init__(
        self,
        moments: ArrayLike,
        n: float,
        names: Sequence[str] | None = None,
        *,
        blocks: Sequence[Sequence[int]] | None = None,
        penalty: float = 1.0,
        site: str = "",
    ) -> None:
        self._site = f" at site {site!r}" if site else ""
        correlation = _checked_correlation(moments, self._site)
        given = blocks if blocks is not None else [[i] for i in range(len(correlation))]
        self._width = np.array([len(block) for block in given], dtype=np.int64)
        first = np.cumsum(self._width) - self._width
        # Columns in the order of the variables, so that a variable of one column has its number if all have one.
        order = [c for block in given for c in block]
        self._correlation = correlation[np.ix_(order, order)]
        self._first = np.append(first, len(order))
        if (self._width < 1).any():
            raise InputError(f"variable {int(np.argmin(self._width))}{self._site} has no columns")
        self._blocks = [list(range(at, at + len(block))) for at, block in zip(first.tolist(), given, strict=True)]
        self._wide = bool((self._width > 1).any())
        self._names = checked_names(names, len(self._blocks))
        if not n > 1:
            raise InputError(f"a score needs more than one row; got n = {n}{self._site}")
        if not penalty >= 0:
            raise InputError(f"penalty must be zero or positive, not {penalty}")
        self._n = float(n)
        self._price = penalty * np.log(self._n) / 2

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self._names

    @property
    def n(self) -> float:
        """The number of rows."""
        return self._n

    @property
    def widest(self) -> int:
        """Largest number of columns of a variable."""
        return int(self._width.max(initial=1))

    def _local_by_numpy(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """Answer a batch of queries."""
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        columns = []
        for at, (node, parents) in enumerate(queries):
            inside = list(bits.members(parents))
            if self._wide:
                inside = [c for parent in inside for c in self._blocks[parent]]
            columns.append(inside + self._blocks[node])
            groups[len(inside), len(self._blocks[node])].append(at)
        out = np.empty(len(queries))
        for (given, own), members in groups.items():
            if 2 * (given + own) > self._n:
                out[members] = -np.inf
                continue
            for start in range(0, len(members), BATCH):
                some = members[start : start + BATCH]
                log_det = self._log_residual(np.array([columns[at] for at in some]), own)
                out[some] = -self._n / 2 * log_det - self._price * given * own
        return out

    def _lattice_by_numpy(self, variables: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score lattices of variables, the node last in each row."""
        if not self._wide:
            return self._in_batches(variables, (1,) * (variables.shape[1] - 1), 1)
        out = np.empty((len(variables), 1 << variables.shape[1] - 1))
        shapes, which = np.unique(self._width[variables], axis=0, return_inverse=True)
        for shape, (*blocks, own) in enumerate(shapes.tolist()):
            rows = np.flatnonzero(which.ravel() == shape)
            out[rows] = self._in_batches(variables[rows], tuple(blocks), own)
        return out

    def _in_batches(self, variables: NDArray[np.int64], widths: tuple[int, ...], own: int) -> NDArray[np.float64]:
        size = sum(widths) + own
        count = max(1, LATTICE_CELLS // (max(size * size, (1 + own) ** 2 << len(widths))))
        if len(variables) <= count:
            return self._lattice(variables, widths, own)
        out = np.empty((len(variables), 1 << len(widths)), order="F")  # the memory order of the batches
        for start in range(0, len(variables), count):
            some = slice(start, start + count)
            out[some] = self._lattice(variables[some], widths, own)
        return out

    def _lattice(self, variables: NDArray[np.int64], widths: tuple[int, ...], own: int) -> NDArray[np.float64]:
        """Score lattices of variables with blocks of equal widths, the nodes last, with numpy."""
        if 2 * (sum(widths) + own) > self._n:  # too few rows for the largest sets, which score minus infinity
            return lattice_by_queries(self._local_by_numpy, variables[:, -1], variables[:, :-1])
        columns = variables
        if self._wide:
            columns = np.array([[c for v in row for c in self._blocks[v]] for row in variables.tolist()])
        residual, smallest = eliminate(self._correlation[columns[:, :, None], columns[:, None, :]], widths)
        scores, least = log_determinants(residual)
        if (np.minimum(smallest, least) <= self._singular).any():
            self._refuse(variables[np.argmin(np.minimum(smallest, least))])
        scores *= -self._n / 2
        scores -= self._price * own * subset_widths(widths)
        return scores

    def _log_residual(self, columns: NDArray[np.int64], own: int) -> NDArray[np.float64]:
        """Compute the log-determinant of the residual covariance of the last `own` columns given the others."""
        if columns.shape[1] == 1:
            return np.zeros(len(columns))
        if columns.shape[1] == 2 and own == 1:
            residual = 1 - self._correlation[columns[:, 0], columns[:, 1]] ** 2
            if (residual <= self._singular).any():
                self._refuse(self._owners(columns[np.argmin(residual)]))
            return np.log(residual)
        stack = self._correlation[columns[:, :, None], columns[:, None, :]]
        try:
            roots = np.diagonal(np.linalg.cholesky(stack), axis1=1, axis2=2) ** 2
        except np.linalg.LinAlgError:
            roots = np.array([_pivots(one) for one in stack])
        if (roots <= self._singular).any():
            self._refuse(self._owners(columns[np.argmin(roots.min(axis=1))]))
        return np.asarray(np.log(roots[:, -own:]).sum(axis=1))

    def _owners(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the variables to which columns belong."""
        return np.searchsorted(self._first, columns, side="right") - 1

    def _refuse(self, variables: NDArray[np.int64]) -> None:
        involved = dict.fromkeys(self._names[v] for v in variables.tolist())
        raise InputError(
            f"the columns {', '.join(involved)}{self._site} are exactly collinear: one is a linear combination of the "
            "others; drop one of them (fedperi check names such sets)"
        )


def _pivots(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the pivots of a Cholesky factorisation; zeros after the one at which the matrix is singular."""
    work = matrix.copy()
    out = np.zeros(len(work))
    for i in range(len(work)):
        out[i] = work[i, i]
        if out[i] <= SINGULAR:
            return out
        work[i + 1 :, i + 1 :] -= np.outer(work[i + 1 :, i], work[i, i + 1 :]) / out[i]
    return out


def _checked_correlation(moments: ArrayLike, site: str) -> NDArray[np.float64]:
    matrix = np.array(moments, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(map(str, matrix.shape)) or "a scalar"
        raise InputError(f"the covariance{site} must be a square matrix; got {shape}")
    if not np.isfinite(matrix).all():
        raise InputError(f"the covariance{site} holds values that are not finite")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * float(np.abs(matrix).max(initial=1.0))):
        raise InputError(f"the covariance{site} is not symmetric")
    variance = np.diag(matrix)
    if (variance <= 0).any():
        raise InputError(f"the covariance{site} has a variance that is not positive, in row {int(np.argmin(variance))}")
    scale = np.sqrt(variance)
    correlation: NDArray[np.float64] = matrix / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    return correlation
