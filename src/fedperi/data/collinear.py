"""Columns that others determine, named: near-collinear pairs and sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .statistics import Statistics

NEAR = 0.999  # multiple correlation from which a column is called near-collinear
EXACT = 1 - 1e-10  # and from which it is called exactly so: the rest is rounding
_NEGLIGIBLE = 0.01  # standardised weight below which a column is tried without


@dataclass(frozen=True)
class Dependence:
    """Variables one of which the others determine, and the multiple correlation. Which one is a matter of view."""

    names: tuple[str, ...]
    correlation: float


def dependences(statistics: Statistics) -> list[Dependence]:
    """List the sets of variables in which the others determine one, closely or exactly.

    A Cholesky factorisation takes the columns in the order of their residual variance. Those left without any are
    determined by those taken, and their regression on them says by which.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi.data import summarize
    >>> a, b = np.random.default_rng(0).normal(size=(2, 50))
    >>> [found.names for found in dependences(summarize(pd.DataFrame({"a": a, "b": b, "sum": a + b})))]
    [('a', 'b', 'sum')]
    """
    owner = {column: name for name, block in zip(statistics.names, statistics.blocks, strict=True) for column in block}
    correlation = statistics.correlation
    taken = _pivots(correlation, 1 - NEAR**2)
    found: dict[tuple[str, ...], Dependence] = {}
    for column in sorted(set(range(len(correlation))) - set(taken)):
        support, multiple = _support(correlation, column, taken)
        names = tuple(dict.fromkeys(owner[c] for c in sorted([column, *support])))
        if len(names) > 1:
            found.setdefault(names, Dependence(names, multiple))
    return list(found.values())


def _pivots(correlation: NDArray[np.float64], tolerance: float) -> list[int]:
    """Return columns none of which the others determine, largest residual variance first."""
    q = len(correlation)
    residual, factor = np.ones(q), np.zeros((q, q))
    taken: list[int] = []
    while len(taken) < q:
        open_columns = [column for column in range(q) if column not in taken]
        best = max(open_columns, key=lambda column: (residual[column], -column))
        if residual[best] <= tolerance:
            break
        step = len(taken)
        factor[:, step] = (correlation[:, best] - factor[:, :step] @ factor[best, :step]) / np.sqrt(residual[best])
        residual = residual - factor[:, step] ** 2
        taken.append(best)
    return taken


def _support(correlation: NDArray[np.float64], column: int, taken: list[int]) -> tuple[list[int], float]:
    """Return the few columns that determine one, and the multiple correlation with them."""
    weights, multiple = _regress(correlation, column, taken)
    few = [c for c, weight in zip(taken, weights, strict=True) if abs(weight) > _NEGLIGIBLE]
    _, with_few = _regress(correlation, column, few)
    return (few, with_few) if with_few >= NEAR else (taken, multiple)


def _regress(correlation: NDArray[np.float64], column: int, on: list[int]) -> tuple[NDArray[np.float64], float]:
    weights: NDArray[np.float64] = np.linalg.solve(correlation[np.ix_(on, on)], correlation[on, column]).astype(
        np.float64
    )
    explained = float(np.clip(weights @ correlation[on, column], 0, 1))
    return weights, float(np.sqrt(explained))
