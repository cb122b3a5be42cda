"""How badly one hidden common cause explains the correlations of a few variables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def one_cause(covariance: Floats) -> float:
    """Half the likelihood ratio per row, of any covariance against a factor model with one factor.

    Parameters
    ----------
    covariance : ndarray, shape (d, d)

    Examples
    --------
    >>> strengths = np.array([0.8, 0.7, 0.6, 0.5])
    >>> covariance = np.outer(strengths, strengths)
    >>> np.fill_diagonal(covariance, 1.0)
    >>> round(one_cause(covariance), 6)
    0.0
    """
    from scipy.optimize import minimize

    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)

    def misfit(raw: Floats) -> float:
        strengths = np.tanh(raw)
        model = np.outer(strengths, strengths)
        np.fill_diagonal(model, 1.0)
        sign, logarithm = np.linalg.slogdet(model)
        if sign <= 0:
            return 1e6
        return float(logarithm + np.trace(np.linalg.solve(model, correlation))) / 2

    # Signs relative to each variable in turn: the best start is among these.
    starts = [np.arctanh(np.where(row < 0, -0.5, 0.5)) for row in correlation]
    best = min(float(minimize(misfit, start, method="BFGS").fun) for start in starts)
    return max(0.0, best - (float(np.linalg.slogdet(correlation)[1]) + len(correlation)) / 2)
