"""Centre and unit of a column, chosen privately: its median, and the median distance from it.

Both are chosen among the cells between the public bounds by the exponential mechanism. The scores are differences of
two counts of rows. Every row is in exactly one of the two counts, so that one row, added or removed, changes a score by
exactly 1: the sensitivity is 1. The quartiles that releases of fedperi 0.1 took had scores of sensitivity 3, and with
1,000 rows and 10 columns at epsilon 1 many units came out far too wide.
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
"""What units were chosen from: quartiles in releases of fedperi 0.1, median absolute deviations since."""

CELLS = 1024
"""Cells between the bounds of a column. More of them cost no noise: chances depend on the scores alone, which are
nearly the same in neighbouring cells. Fewer would be too wide where bounds are 200 times as wide as the data."""

OLD_CELLS = 256
"""The same in releases of fedperi 0.1."""

SENSITIVITY = 1
"""How much one row changes a score."""

HALF = 0.6745
"""Standard deviations around its mean within which a normal variable has half of its values."""

DENSITY = 0.318
"""Density of a standard normal variable at this distance, which is that of its quartiles."""

SAMPLING = {"quartiles": 1.573, "deviations": 0.787}
"""Standard error of the distance between the quartiles of n normal values, and of the median distance from their
median, in standard deviations over root n."""


def median_scores(counts: Integers) -> Integers:
    """Score the edges between cells: how much the rows below an edge and those above it differ in number.

    A further row is either below an edge or above it. So the difference changes by 1, and its size by 1 at most.

    Examples
    --------
    >>> median_scores(np.array([1, 2, 0, 3])).tolist()
    [-4, 0, 0]
    """
    below = np.cumsum(counts)[:-1]
    return np.asarray(-np.abs(2 * below - counts.sum()), dtype=np.int64)


def radius_scores(counts: Integers, middle: int) -> Integers:
    """Score radii of 1, 2, ... cells around an edge: how much the rows within and those outside differ in number.

    The edge is given: it was chosen before, and paid for. A further row is either within a radius or outside. So the
    difference changes by 1, and its size by 1 at most.

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
    """Choose centre and unit of a column; each of the two choices costs `rho`.

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
    """Return centre and unit that follow from two choices.

    A radius of one cell says only that half of the rows lie in two cells: bounds are far too wide, or one value is
    frequent and the others are far away. The unit is then between those of these two cases.

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
    """Return the two choices from which centre and unit follow: what `unit_of` was given.

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
    """Whether a unit says little about the column: its radius was one cell, or its quartiles coincided.

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
    """Standard error of a column's log variance as estimated from its unit: root mean square over columns.

    A choice is off by its noise, by the width of a cell, and by sampling. Around the best choice the score falls by
    four densities per row and standard deviation. So what is chosen has a Laplace distribution, and its standard
    deviation is sqrt(2) times the scale of the noise over this slope.
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
