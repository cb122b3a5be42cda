"""Turn the values of a model into the table of a site: hidden variables, errors of measurement, units, bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .mechanisms import Matrix

if TYPE_CHECKING:
    import pandas as pd

Bins = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class Recording:
    """How the values of all variables become a table; the same at all sites.

    Parameters
    ----------
    names : tuple of str
        The columns of the table.
    observed : tuple of int
        Their positions among all variables of the model.
    errors : array
        Standard deviation of each column's error of measurement; 0 for none.
    units, offsets : array
        A column is its value times the unit, plus the offset.
    bins : tuple of (low, high) or None
        Range that is cut into bins, for each column.
    count : int or None
        Number of bins.

    Examples
    --------
    >>> celsius = Recording(("warmth",), (1,), np.zeros(1), np.full(1, 0.5), np.full(1, 37.0), None, None)
    >>> table(celsius, np.array([[9.0, 2.0]]), np.random.default_rng(0))["warmth"].tolist()
    [38.0]
    """

    names: tuple[str, ...]
    observed: tuple[int, ...]
    errors: Matrix
    units: Matrix
    offsets: Matrix
    bins: Bins | None
    count: int | None


def table(recording: Recording, values: Matrix, rng: np.random.Generator) -> pd.DataFrame:
    """Turn the values of a site into its table; the generator draws the errors of measurement."""
    import pandas as pd

    seen = values[:, recording.observed]
    if recording.errors.any():
        seen = seen + rng.standard_normal(seen.shape) * recording.errors
    seen = seen * recording.units + recording.offsets
    columns = list(recording.names)
    if recording.bins is None or recording.count is None:
        return pd.DataFrame(seen, columns=columns)
    return pd.DataFrame(_cut(seen, recording.bins, recording.count), columns=columns)


def recorded_moments(recording: Recording, mean: Matrix, covariance: Matrix) -> tuple[Matrix, Matrix]:
    """Turn mean and covariance of all variables into those of the columns.

    Examples
    --------
    >>> scale = Recording(("a",), (0,), np.ones(1), np.full(1, 2.0), np.full(1, 5.0), None, None)
    >>> recorded_moments(scale, np.array([1.0]), np.array([[3.0]]))
    (array([7.]), array([[16.]]))
    """
    at = np.ix_(recording.observed, recording.observed)
    seen = mean[list(recording.observed)] * recording.units + recording.offsets
    spread = (covariance[at] + np.diag(recording.errors**2)) * np.outer(recording.units, recording.units)
    return seen, spread


def _cut(values: Matrix, bins: Bins, count: int) -> NDArray[np.int64]:
    low, high = np.array(bins).T
    shares = np.clip((values - low) / (high - low), 0.0, 1.0)
    # The upper end of the range belongs to the last bin.
    codes: NDArray[np.int64] = np.minimum(np.floor(shares * count), count - 1).astype(np.int64)
    return codes
