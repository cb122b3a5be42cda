"""Sums over sites that do not depend on the order of the sites, and ranks that do not depend on rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..scores import _kernel as kernel
from ..scores.score import RESOLUTION

Floats = NDArray[np.float64]

ENDLESS = 1e200
"""Regrets of this size or more count as infinite, so that sums of smaller ones cannot overflow."""


def in_steps(scores: Floats) -> Floats:
    """Round scores to multiples of a small step, for ranking: scores that differ only by rounding become equal.

    Such ties are common: all variables that are useful at no site have the same penalty.

    Examples
    --------
    >>> in_steps(np.array([0.25, 0.25 + 1e-12, -np.inf])).tolist()
    [2500.0, 2500.0, -inf]
    """
    return np.round(scores / RESOLUTION)


def total_regret(regrets: Floats) -> Floats:
    """Add up over sites: the result does not depend on the order of the sites, to the last bit.

    Every regret is split into two parts at a digit that depends on the largest regret of the sites. The upper parts are
    added without rounding, so that their order does not matter; then the lower parts, in the same way. The remainder is
    below the last digit. A regret that is infinite, or nearly so, makes its sum infinite.

    Examples
    --------
    >>> total_regret(np.array([[1e16, 0.25], [1.0, 0.5], [-1e16, np.inf]])).tolist()
    [1.0, inf]
    """
    sites, cells = len(regrets), regrets.shape[1:]
    out = np.empty(cells)
    if kernel.loops.add_up(np.ascontiguousarray(regrets).reshape(sites, -1), out.reshape(-1)):
        return out
    most = np.abs(regrets).max(axis=0)
    finite = most < ENDLESS
    rest = np.where(finite, regrets, 0.0)
    unit = _unit(np.where(finite, most, 0.0), sites)
    total = np.zeros(cells)
    for _ in range(2):
        parts = (rest + unit) - unit
        total = total + parts.sum(axis=0)
        rest -= parts
        unit = _unit(unit * 2.0**-52, sites)
    return np.where(finite, total, np.inf)


def _unit(value: Floats, count: int) -> Floats:
    """1.5 times a power of two, above the sum of `count` values: adding it makes `total_regret` round."""
    return np.asarray(np.ldexp(1.5, np.frexp(value * count)[1] + 1))
