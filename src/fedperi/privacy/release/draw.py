"""Making a release: the units of the columns are chosen privately, and noise is added to the moments."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from ...tables.bounded import GRID, PublicEmbedding, bounded_moments, cell_counts
from ...tables.checks.profile import Missing
from ...tables.embedding import REACH
from ...tables.readers.private import limits
from ...tables.schema import Column
from ...tables.table import Table
from ..accounting import Price
from ..noise import Noise
from .release import BESIDE, DEGREE, DIAGONAL, Integers, Plan, Release

CELLS = 256
"""Cells between the bounds of a column among which its quartiles are chosen."""


MOST = (1 << 62) // BESIDE
"""Largest sum, in whole steps, to which noise is added."""


QUARTILES = 1.349
"""Standard deviations between the quartiles of a normal variable."""


@dataclass(frozen=True)
class TrueCounts:
    """What only the site may know: its true number of rows, and how many of them were clipped."""

    rows: int
    clipped: int


def count_rows(table: Table, plan: Plan, missing: Missing) -> tuple[dict[str, Integers], int]:
    """Read the table once: cells for the quartiles, and the number of rows, which stays here. Refuses no row."""
    return cell_counts(table, plan.schema, plan.data, missing, CELLS, plan.decimal)


def draw_release(
    table: Table,
    plan: Plan,
    counts: dict[str, Integers],
    noise: Noise,
    missing: Missing,
    targets: tuple[str, ...] | None = None,
) -> tuple[Release, TrueCounts]:
    """Draw the noise and make the release: once for a table, which `fedperi.privacy.release_table` sees to."""
    price = plan.price
    units = {column.name: _unit(column, counts[column.name], noise, price) for column in plan.numeric}
    embedding = PublicEmbedding(plan.schema, plan.data, DEGREE, units)
    exact = bounded_moments(table, embedding, plan.limit, missing, plan.decimal)
    rows, columns = np.triu_indices(len(exact.total))
    weights = np.where(rows == columns, DIAGONAL, BESIDE)
    # More rows than 8 bytes can count are held at the largest sum: to refuse them would tell how many there are, and
    # two sums come no further apart by being held.
    held = np.clip(exact.total[rows, columns], -MOST, MOST)
    noisy = noise.gaussian(held * weights, plan.sensitivity, price.gaussian)
    moments = np.empty(exact.total.shape)
    moments[rows, columns] = moments[columns, rows] = (noisy / weights / GRID**2).round(3)
    release = Release(
        table.name,
        plan.schema,
        plan.data,
        plan.epsilon,
        plan.delta,
        price,
        units,
        plan.limit,
        plan.noise,
        moments,
        targets,
        noise.private,
        secrets.token_hex(8),
        datetime.now(UTC).date().isoformat(),
    )
    return release, TrueCounts(exact.rows, exact.clipped)


def _unit(column: Column, counts: Integers, noise: Noise, price: Price) -> tuple[float, float]:
    """Centre and scale of a column from its quartiles; where these coincide, from the bounds.

    The score of an edge between cells is how far the rows below and above are from 1 : 3, or 3 : 1; a row changes it by
    3 at most.
    """
    low, high = limits(column)
    edges = np.linspace(low, high, CELLS + 1)[1:-1]
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    rho = price.selections[0] ** 2 / 8
    lower = edges[noise.select(-np.abs(3 * below - above), 3, rho)]
    upper = edges[noise.select(-np.abs(below - 3 * above), 3, rho)]
    if upper <= lower:
        return (low + high) / 2, (high - low) / 2 / REACH
    return float(lower + upper) / 2, float(upper - lower) / QUARTILES
