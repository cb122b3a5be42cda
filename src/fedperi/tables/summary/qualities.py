"""What is known about the numbers of a summary: their noise, and missing values in the rows behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noise:
    """What is known about the privacy noise in a summary.

    Parameters
    ----------
    worth : float
        How many rows without noise would give as much information.
    hidden : tuple of str
        Variables that are drowned by the noise; their numbers are borrowed from other sites.
    mean, covariance : array, optional
        Standard deviation of the noise in each mean and each covariance of the columns.
    whole_rows : float, optional
        How many rows that are not clipped would give as much information, if there were no noise.
    """

    worth: float
    hidden: tuple[str, ...] = ()
    mean: Floats | None = None
    covariance: Floats | None = None
    whole_rows: float | None = None

    def of(self, columns: Sequence[int]) -> Noise:
        """Keep some of the columns.

        Examples
        --------
        >>> noise = Noise(100.0, (), np.array([0.1, 0.2]), np.array([[0.3, 0.4], [0.4, 0.5]]))
        >>> noise.of([1]).covariance.tolist()
        [[0.5]]
        """
        some = list(columns)
        return replace(
            self,
            mean=None if self.mean is None else self.mean[some],
            covariance=None if self.covariance is None else self.covariance[np.ix_(some, some)],
        )


@dataclass(frozen=True)
class Gaps:
    """What is known about missing values, if moments were estimated from incomplete rows.

    Parameters
    ----------
    rows : int
        Rows of the table, including incomplete ones. The summary's `n` is the number that they count for.
    missing : tuple of (str, float)
        Variables that lack values, and the share that is missing.
    converged : bool
        Whether EM converged.
    """

    rows: int
    missing: tuple[tuple[str, float], ...]
    converged: bool = True


def covariance_of(n: float, mean: Floats, scatter: Floats) -> Floats:
    """Return covariances; a variance that is only rounding becomes zero.

    Examples
    --------
    >>> covariance_of(2, np.array([1e8, 0.0]), np.array([[1e-18, 0.0], [0.0, 3.0]])).tolist()
    [[0.0, 0.0], [0.0, 1.5]]
    """
    covariance: Floats = scatter / n
    flat = np.diag(covariance) <= (1e-13 * np.abs(mean)) ** 2
    covariance[flat, :] = covariance[:, flat] = 0.0
    return covariance
