"""Find columns that other columns determine: near-collinear pairs and sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..statistics import Statistics

NEAR = 0.999  # multiple correlation from which a column is called near-collinear
# Residual share of a column's variance, given others, below which it is called exactly determined: the rest is
# rounding. Scores and tests refuse at the same share (fedperi.scores.regression.SINGULAR).
SINGULAR = 1e-10
_NEGLIGIBLE = (0.01, 1e-4, 1e-6)  # standardised weights below which columns may not be needed, tried in this order


@dataclass(frozen=True)
class Dependence:
    """Variables that determine one of them, which may be any of them, and the multiple correlation."""

    names: tuple[str, ...]
    correlation: float
    exact: bool


def dependences(statistics: Statistics) -> list[Dependence]:
    """List the sets of variables in which one is determined by the others: first exactly, then nearly.

    A Cholesky factorisation takes the columns in the order of their residual variance. A column without any is
    determined by the columns taken before; a regression tells by which of them. With few rows, columns determine each
    other by chance: with at most two rows per column only exact pairs are listed.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi.tables import summarize
    >>> a, b = np.random.default_rng(0).normal(size=(2, 50))
    >>> [found.names for found in dependences(summarize(pd.DataFrame({"a": a, "b": b, "sum": a + b})))]
    [('a', 'b', 'sum')]
    """
    owner = {column: name for name, block in zip(statistics.names, statistics.blocks, strict=True) for column in block}
    correlation = statistics.correlation
    q = len(correlation)
    found: dict[tuple[str, ...], Dependence] = {}

    def add(columns: list[int], multiple: float, exact: bool) -> None:
        names = tuple(dict.fromkeys(owner[c] for c in sorted(columns)))
        if len(names) > 1:
            found.setdefault(names, Dependence(names, multiple, exact))

    columns = list(range(q))
    for x, y in np.argwhere(np.triu(1 - correlation**2 <= SINGULAR, 1)).tolist() if statistics.n > 2 else []:
        if x in columns and y in columns:  # of three copies, each further one is listed with the first only
            add([x, y], 1.0, exact=True)
            columns.remove(y)
    if statistics.n <= 2 * q:
        return list(found.values())
    for tolerance in (SINGULAR, 1 - NEAR**2):
        taken = _pivots(correlation, columns, tolerance)
        for column in sorted(set(columns) - set(taken)):
            support, multiple = _support(correlation, column, taken, tolerance)
            add([column, *support], multiple, exact=tolerance == SINGULAR)
        columns = sorted(taken)  # columns that are determined exactly are listed already
    return list(found.values())


def _pivots(correlation: NDArray[np.float64], columns: list[int], tolerance: float) -> list[int]:
    """Return columns of which none is determined by the others, largest residual variance first."""
    residual = np.full(len(correlation), -np.inf)
    residual[columns] = 1.0
    factor = np.zeros((len(correlation), len(columns)))
    taken: list[int] = []
    while (residual > tolerance).any():
        best, step = int(residual.argmax()), len(taken)
        factor[:, step] = (correlation[:, best] - factor[:, :step] @ factor[best, :step]) / np.sqrt(residual[best])
        residual = residual - factor[:, step] ** 2
        residual[best] = -np.inf
        taken.append(best)
    return taken


def _support(
    correlation: NDArray[np.float64], column: int, taken: list[int], tolerance: float
) -> tuple[list[int], float]:
    """Return the few columns that determine one, and the multiple correlation with them."""
    weights, multiple = _regress(correlation, column, taken)
    for negligible in _NEGLIGIBLE:
        few = [c for c, weight in zip(taken, weights, strict=True) if abs(weight) > negligible]
        _, with_few = _regress(correlation, column, few)
        if 1 - with_few**2 <= tolerance:
            return few, with_few
    return taken, multiple


def _regress(correlation: NDArray[np.float64], column: int, on: list[int]) -> tuple[NDArray[np.float64], float]:
    weights: NDArray[np.float64] = np.linalg.solve(correlation[np.ix_(on, on)], correlation[on, column]).astype(
        np.float64
    )
    explained = float(np.clip(weights @ correlation[on, column], 0, 1))
    return weights, float(np.sqrt(explained))
