"""Means and covariances of incomplete rows: EM for the normal model (Dempster, Laird and Rubin 1977).

EM maximises the likelihood of the observed values. This is right if values are missing at random: whether a value is
missing may depend on the observed values of the row, but not on the value itself. If values are missing completely at
random, the moments are right for any distribution, also for indicators and polynomials, because the equations that EM
solves hold for all variables with these moments. Otherwise conditional means must be linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..moments import Moments
from .patterns import BLOCK, Patterns

Floats = NDArray[np.float64]
State = tuple[Floats, Floats]
"""Mean and covariance."""

MOST_STEPS = 1000
"""Steps after which EM stops, even if it has not converged. With half of the cells missing it takes about 50."""

CONVERGED = 1e-7
"""Largest change of a mean or covariance in one step, in standard deviations, at which EM has converged."""

RIDGE = 1e-9
"""Share of a variance that is added, so that columns that determine each other cause no division by zero."""

TINY = 1e-300
"""Added to a variance of zero before it is inverted."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of EM: moments as if all rows were complete, and whether it converged."""

    moments: Moments
    converged: bool


def em(patterns: Patterns) -> Estimate:
    """Estimate mean and scatter of incomplete rows. Every column must have values.

    Examples
    --------
    >>> from .patterns import PatternStream
    >>> stream = PatternStream(np.zeros(2), np.ones(2))
    >>> stream.add(np.array([[0.0, 0.1], [1.0, 1.9], [2.0, 4.1], [3.0, 5.9], [10.0, np.nan]]))
    >>> estimate = em(stream.result())
    >>> estimate.moments.mean.round(2).tolist(), estimate.converged     # b is about twice a
    ([3.2, 6.33], True)
    """
    counts = patterns.counts.astype(np.float64)
    seen = counts @ patterns.present
    mean = patterns.sums.sum(axis=0) / seen
    covariance = np.diag(np.maximum(patterns.squares.sum(axis=0).diagonal() / seen - mean**2, 0.0))
    now, steps, change, before = (mean, covariance), 0, np.inf, np.inf
    while steps < MOST_STEPS and change > CONVERGED:
        one = _step(patterns, counts, *now)
        two = _step(patterns, counts, *one)
        steps += 2
        change = max(float(np.abs(b - a).max()) for a, b in zip(one, two, strict=True))
        now = two if change > before else _jump(now, one, two)
        before = change
    mean, covariance = two
    rows, unit = int(counts.sum()), patterns.unit
    found = Moments(rows, patterns.origin + unit * mean, rows * covariance * np.outer(unit, unit))
    return Estimate(found, change <= CONVERGED)


def _jump(start: State, one: State, two: State) -> State:
    """Go further in the direction of two steps (Varadhan and Roland 2008), if that still gives a covariance matrix."""
    first = [b - a for a, b in zip(start, one, strict=True)]
    bend = [(c - b) - d for b, c, d in zip(one, two, first, strict=True)]
    length, curve = (float(np.sqrt(sum((part**2).sum() for part in some))) for some in (first, bend))
    if not curve <= length:  # the jump would go less far than the two steps, or numbers are not finite
        return two
    pace = length / curve if curve > 0 else 1.0
    mean, covariance = (a + 2 * pace * d + pace**2 * e for a, d, e in zip(start, first, bend, strict=True))
    flat = np.diag(two[1]) <= 0
    size = np.sqrt(np.where(flat, 1.0, np.diag(two[1])))
    try:  # with the ridge, because columns that determine each other are no reason to refuse the jump
        np.linalg.cholesky(covariance / np.outer(size, size) + np.diag(np.where(flat, 1.0, RIDGE)))
    except np.linalg.LinAlgError:
        return two
    return mean, covariance


def _step(patterns: Patterns, counts: Floats, mean: Floats, covariance: Floats) -> State:
    """Return mean and covariance of the rows, with missing values filled by their expectation given observed ones."""
    size, n = len(mean), float(counts.sum())
    block = max(1, BLOCK // size**2)
    shift, second, one = np.zeros(size), n * covariance, np.eye(size)
    diagonal = range(size), range(size)
    for start in range(0, len(counts), block):
        part = slice(start, start + block)
        seen, rows = patterns.present[part].astype(np.float64), counts[part]
        among = covariance * (seen[:, :, None] * seen[:, None, :])
        # The observed part minus its expectation, which determines the covariances of the missing part.
        at, sums = mean * seen, patterns.sums[part]
        crossed = (sums - 0.5 * rows[:, None] * at)[:, :, None] * at[:, None, :]
        around = patterns.squares[part] - crossed - crossed.transpose(0, 2, 1) - rows[:, None, None] * among
        # Missing columns are given variance 1 and no correlations here: their part of the inverse is not used.
        among[:, *diagonal] += (1 - seen) + seen * (RIDGE * np.diag(covariance) + TINY)
        fill = (covariance @ np.linalg.inv(among)) * seen[:, None, :]
        fill = np.where(patterns.present[part][:, :, None], one, fill)
        shift += (fill @ (sums - rows[:, None] * at)[:, :, None]).sum(axis=0)[:, 0]
        second += np.tensordot(fill @ around, fill, axes=([0, 2], [0, 2]))
    covariance = second / n - np.outer(shift, shift) / n**2
    return mean + shift / n, (covariance + covariance.T) / 2
