"""Centre and unit of a column, chosen privately: its median, and the median distance from it.

The exponential mechanism chooses both among the cells between the public bounds. The scores are differences of two
counts of rows. Every row is in exactly one of the two counts, so adding or removing one row changes a score by exactly
1: the sensitivity is 1. Releases of fedperi 0.1 used quartiles, with scores of sensitivity 3; with 1,000 rows and 10
columns at epsilon 1 many of their units were far too wide.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...tables.embedding import REACH
from ...tables.readers.private import limits
from ...tables.schema import Column
from ..noise import Noise

if TYPE_CHECKING:
    from .release import Release

Integers = NDArray[np.int64]
Source = Literal["quartiles", "deviations"]
"""Kinds of units: quartiles in releases of fedperi 0.1, median absolute deviations since then."""

CELLS = 1024
"""Number of cells between the bounds of a column. More cells do not add noise: probabilities depend only on the scores,
which are similar in neighbouring cells. Fewer cells would be too wide if bounds are 200 times as wide as the data."""

OLD_CELLS = 256
"""The number of cells in releases of fedperi 0.1."""

SENSITIVITY = 1
"""Change of a score by one row."""

HALF = 0.6745
"""Half of the values of a normal variable are within this number of standard deviations of its mean."""

DENSITY = 0.318
"""Density of a standard normal variable at this distance, that is at its quartiles."""

SAMPLING = {"quartiles": 1.573, "deviations": 0.787}
"""Standard error of the distance between the quartiles of n normal values, and of the median distance from their
median, in standard deviations over root n."""


def median_scores(counts: Integers) -> Integers:
    """Score the edges between cells: minus the difference between the numbers of rows below and above.

    An additional row is either below an edge or above it. So the difference changes by 1, and the score by at most 1.

    Examples
    --------
    >>> median_scores(np.array([1, 2, 0, 3])).tolist()
    [-4, 0, 0]
    """
    below = np.cumsum(counts)[:-1]
    return np.asarray(-np.abs(2 * below - counts.sum()), dtype=np.int64)


def radius_scores(counts: Integers, middle: int) -> Integers:
    """Score radii of 1, 2, ... cells around an edge: minus the difference between the rows within and outside.

    The edge is given: it was chosen, and paid for, before. An additional row is either within a radius or outside. So
    the difference changes by 1, and the score by at most 1.

    Examples
    --------
    >>> radius_scores(np.array([1, 2, 0, 3]), 2).tolist()
    [-2, -6, -6, -6]
    """
    sums = np.concatenate([[0], np.cumsum(counts)])
    radii = np.arange(1, len(counts) + 1)
    within = sums[np.minimum(middle + radii, len(counts))] - sums[np.maximum(middle - radii, 0)]
    return np.asarray(-np.abs(2 * within - sums[-1]), dtype=np.int64)


def choose_unit(column: Column, counts: Integers, noise: Noise, rho: float) -> tuple[float, float]:
    """Choose the centre and unit of a column; each of the two choices costs `rho`.

    Examples
    --------
    >>> from fedperi.privacy.noise import SecureNoise
    >>> column = Column("age", "continuous", bounds=(0, 256))
    >>> counts = np.bincount(np.repeat(np.arange(160, 240), 1000), minlength=CELLS)
    >>> centre, unit = choose_unit(column, counts, SecureNoise(), rho=1.0)
    >>> centre, round(unit, 1)
    (50.0, 7.4)
    """
    middle = noise.select(median_scores(counts), SENSITIVITY, rho) + 1
    radius = noise.select(radius_scores(counts, middle), SENSITIVITY, rho) + 1
    return unit_of(column, middle, radius)


def unit_of(column: Column, middle: int, radius: int) -> tuple[float, float]:
    """Return the centre and unit that follow from two choices.

    A radius of one cell only means that half of the rows are in two cells: either bounds are far too wide, or one value
    is frequent and the others are far away. The unit is then between those for these two cases.

    Examples
    --------
    >>> column = Column("age", "continuous", bounds=(0, 256))
    >>> [tuple(round(value, 2) for value in unit_of(column, 50, radius)) for radius in (1, 2, 10)]
    [(12.5, 3.98), (12.5, 0.74), (12.5, 3.71)]
    """
    low, high = limits(column)
    cell = (high - low) / CELLS
    unit = _between(column) if radius == 1 else radius * cell / HALF
    return low + middle * cell, unit


def choices_of(column: Column, centre: float, unit: float) -> tuple[int, int]:
    """Return the two choices from which centre and unit follow: the inverse of `unit_of`.

    Examples
    --------
    >>> column = Column("age", "continuous", bounds=(0, 1))
    >>> [choices_of(column, *unit_of(column, 50, radius)) for radius in (1, 2, 256)]
    [(50, 1), (50, 2), (50, 256)]
    """
    low, high = limits(column)
    cell = (high - low) / CELLS
    radius = 1 if is_rough(column, unit) else round(unit * HALF / cell)
    return round((centre - low) / cell), radius


def is_rough(column: Column, unit: float) -> bool:
    """Whether a unit is not informative about the column: its radius was one cell, or its quartiles were equal.

    Examples
    --------
    >>> column = Column("age", "continuous", bounds=(0, 256))
    >>> is_rough(column, unit_of(column, 50, 1)[1]), is_rough(column, unit_of(column, 50, 2)[1])
    (True, False)
    """
    return any(math.isclose(unit, rough, rel_tol=1e-9) for rough in (_between(column), _widest(column)))


def _widest(column: Column) -> float:
    low, high = limits(column)
    return (high - low) / 2 / REACH


def _between(column: Column) -> float:
    low, high = limits(column)
    return math.sqrt((high - low) / CELLS / HALF * _widest(column))


def units_error(release: Release, rows: float) -> float:
    """Return the standard error of a log variance estimated from a column's unit: root mean square over columns.

    The errors of a choice are noise, the width of a cell, and sampling. Around the best choice the score falls by four
    densities per row and standard deviation. So the choice has a Laplace distribution, with a standard deviation of
    sqrt(2) times the scale of the noise divided by this slope.
    """
    quartiles = release.units_from == "quartiles"
    noise = (3 if quartiles else SENSITIVITY) * 2 / release.price.selections[0]
    choice = math.sqrt(2) * noise / (4 * DENSITY * rows)
    errors = []
    for column in release.schema.columns:
        low, high = limits(column)
        cell = (high - low) / (OLD_CELLS if quartiles else CELLS) / release.units[column.name][1]
        ends = 2 if quartiles else 1
        errors.append(ends * (choice**2 + cell**2 / 12) + SAMPLING[release.units_from] ** 2 / rows)
    return 2 * math.sqrt(float(np.mean(errors))) / (2 * HALF if quartiles else HALF)
