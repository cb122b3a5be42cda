"""One linear regression at one site, from its means and covariances: strengths and how uncertain they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .moments import SiteMoments
from .noise import repaired, spread_of_draws
from .pooling import student_quantile

Floats = NDArray[np.float64]

FLAT = 1e-10
"""Share of a column's variance below which it is determined by others, or does not vary."""

NORMAL = 1.959964
"""Half the width of a 95 % interval of a normal variable, in standard errors."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Regression coefficients of some columns for others at a site.

    Attributes
    ----------
    estimate, error, half : array, shape (columns of the cause, columns of the effect)
        Coefficients, their standard errors, and half the width of their 95 % intervals. NaN where there is no estimate:
        the cause does not vary there, or others determine it, or there are too few rows.
    """

    estimate: Floats
    error: Floats
    half: Floats


def regress(site: SiteMoments, cause: Sequence[int], adjust: Sequence[int], effect: Sequence[int]) -> Fit:
    """Regress columns of an effect on those of a cause and of an adjustment set; keep the former's coefficients.

    Without noise the standard errors are those of least squares. With it, they come from a parametric bootstrap that
    repeats both sampling and noise (`fedperi.methods.effects.noise`).

    Examples
    --------
    >>> covariance = np.array([[1.0, 0.5], [0.5, 1.25]])
    >>> fit = regress(SiteMoments("north", 1002, np.zeros(2), covariance), [0], [], [1])
    >>> float(fit.estimate[0, 0]), round(float(fit.error[0, 0]), 4)
    (0.5, 0.0316)
    """
    first, m = len(cause), len(cause) + len(adjust)
    columns = [*cause, *adjust, *effect]
    inside = site.covariance[np.ix_(columns, columns)]
    if site.noise is not None:
        inside = repaired(inside)
    strengths, inverse, estimable = _solve(inside, m, first)
    free = site.n - 1 - np.count_nonzero(np.diag(inside)[:m])
    if free <= 0:
        nothing = np.full((first, len(effect)), np.nan)
        return Fit(nothing, nothing, nothing)
    estimate = strengths[:first]
    left = np.diag(inside)[m:] - np.einsum("ij,ij->j", inside[:m, m:], strengths)
    error = np.sqrt(np.outer(np.diag(inverse)[:first], np.clip(left, 0.0, None) / free))
    half = error * student_quantile(free)
    if site.noise is not None:
        half = spread_of_draws(site, columns[:m], effect)[:first]
        error = half / NORMAL
    blank = np.where(estimable, 1.0, np.nan)[:, None]
    return Fit(estimate * blank, error * blank, half * blank)


def _solve(covariance: Floats, m: int, first: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Regress the last columns on the first m: strengths, inverse covariance, and which strengths can be estimated.

    Constant columns are left out. Columns are divided by their deviations, so that units do not matter.
    """
    scale = np.sqrt(np.diag(covariance)[:m])
    varies = scale > 0
    unit = np.where(varies, scale, 1.0)
    inside = covariance[:m, :m] / np.outer(unit, unit)
    inverse = np.linalg.pinv(inside, rcond=FLAT, hermitian=True)
    estimable = varies & (np.abs(np.diag(inverse @ inside) - 1.0) < 1e-6)
    strengths = inverse @ (covariance[:m, m:] / unit[:, None]) / unit[:, None]
    return strengths, inverse / np.outer(unit, unit), estimable[:first]
