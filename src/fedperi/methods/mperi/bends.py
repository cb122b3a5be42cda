"""Whether a curved effect can explain that a regression line differs between sites, from means and covariances alone.

A straight line fitted to a curve changes with the patients: if they are older, it is steeper or flatter. Tables have
polynomials to check this; private releases have none, because every additional column would need more noise. But
moments show how different the causes are in two groups of sites, and so how much a curve of typical size can explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scores.mechanisms import CONSTANT, Mechanisms
from ...scores.mechanisms_numpy import columns_of, own_columns

Floats = NDArray[np.float64]

BEND = 0.1
"""Usual size of a curve: standard deviations of the effect per squared standard deviation of a cause, or per product of
two causes. On hospital-like tables (12 runs) false differences fall from 2.7 per run to 1.0, and the number of named
policies from 3.8 of 4 to 3.6; with 0.3 instead, the numbers are 0.7 and 3.2."""


class _Line(NamedTuple):
    """A regression in a group of sites: coefficients (level, strengths), their covariance, residual; causes."""

    weights: Floats
    error: Floats
    left: float
    mean: Floats
    covariance: Floats
    rows: float


def explained_by_curves(
    mechanisms: Mechanisms,
    node: int,
    parents: Sequence[int],
    usual: Sequence[int],
    others: Sequence[int],
    tau: float,
    least: float,
) -> set[int]:
    """Find the sites whose difference from the usual group can be explained by a curve.

    The variance of the difference between two lines is its sampling variance plus that of a curve whose size is normal
    with standard deviation `BEND`. The evidence must exceed the penalty on the parameters by `least` nats.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.summary.summaries import summaries
    >>> rng = np.random.default_rng(0)
    >>> def ward(age: float, policy: float) -> pd.DataFrame:
    ...     x = rng.normal(age, 1.0, 5000)
    ...     return pd.DataFrame({"age": x, "dose": x + 0.15 * x**2 + policy + rng.normal(size=5000)})
    >>> wards = summaries([ward(0, 0), ward(0, 0), ward(0.5, 0), ward(0.5, 2)])
    >>> mechanisms = Mechanisms([one.straight() for one in wards])
    >>> explained_by_curves(mechanisms, 1, [0], [0, 1], [2, 3], 0.0, 3.0)
    {2}
    """
    return {k for k in others if parents and _explained(mechanisms, node, parents, usual, k, tau, least)}


def _explained(
    mechanisms: Mechanisms, node: int, parents: Sequence[int], usual: Sequence[int], site: int, tau: float, least: float
) -> bool:
    before = columns_of(mechanisms, parents)
    spread, far, counted = bool(mechanisms.spread[node]), 0.0, 0
    for at, column in enumerate(own := own_columns(mechanisms, node)):
        one, other = (_line(mechanisms, [*before, *own[:at]], column, group, tau) for group in (usual, [site]))
        apart = other.weights - one.weights
        unsure = one.error + other.error + BEND**2 * _bends(one, other)
        far += float(apart @ np.linalg.solve(unsure, apart))
        counted += len(apart)
        if spread:
            more = BEND**2 * (_roughness(other) - _roughness(one)) / one.left
            doubt = 2 / one.rows + 2 / other.rows + 3 * more**2
            far += float(np.log(other.left / one.left) ** 2 / doubt)
            counted += 1
    return bool(far / 2 - counted / 2 * np.log(other.rows) < least)


def _line(mechanisms: Mechanisms, before: list[int], column: int, group: Sequence[int], tau: float) -> _Line:
    n = mechanisms.n[list(group)]
    rows = float((n / (1 + n * tau**2)).sum())
    moments = mechanisms.moments[list(group)].sum(axis=0) / n.sum()
    inside = [0, *before]
    among = moments[np.ix_(inside, inside)] + CONSTANT * np.eye(len(inside))
    weights = np.linalg.solve(among, moments[inside, column])
    left = max(float(moments[column, column] - moments[inside, column] @ weights), CONSTANT)
    mean = moments[0, before]
    covariance = moments[np.ix_(before, before)] - np.outer(mean, mean)
    return _Line(weights, left / rows * np.linalg.inv(among), left, mean, covariance, rows)


def _bends(one: _Line, other: _Line) -> Floats:
    """Sum, over pairs of causes, the outer product of the difference between two lines that their product makes.

    For normal causes the regression of x_i x_j has the coefficients m_j for x_i and m_i for x_j, and the intercept
    C_ij - m_i m_j. A square is the case i = j, with the coefficient 2 m_i.
    """
    q = len(one.mean)
    total = np.zeros((q + 1, q + 1))
    for i in range(q):
        for j in range(i, q):
            changes = np.zeros(q + 1)
            for line, sign in ((other, 1.0), (one, -1.0)):
                changes[0] += sign * (line.covariance[i, j] - line.mean[i] * line.mean[j])
                changes[1 + i] += sign * line.mean[j]
                changes[1 + j] += sign * line.mean[i]
            total += np.outer(changes, changes)
    return total


def _roughness(line: _Line) -> float:
    """Compute the residual variance of all these products around their lines, per squared size of a curve."""
    variances = np.diag(line.covariance)
    both = np.outer(variances, variances) + line.covariance**2
    return float(np.triu(both).sum())
