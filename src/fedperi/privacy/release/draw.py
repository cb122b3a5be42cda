"""Make a release: the units of the columns are chosen privately, and noise is added to the moments."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from ...tables.bounded import GRID, PublicEmbedding, bounded_moments, cell_counts
from ...tables.checks.profile import Missing
from ...tables.table import Table
from ..noise import Noise
from .release import BESIDE, DEGREE, DIAGONAL, Integers, Plan, Release
from .units import CELLS, choose_unit

MOST = (1 << 62) // BESIDE
"""Largest sum, in whole steps, to which noise is added."""


@dataclass(frozen=True)
class TrueCounts:
    """Secrets of the site: its true number of rows, and how many of them were clipped."""

    rows: int
    clipped: int


def count_rows(table: Table, plan: Plan, missing: Missing) -> tuple[dict[str, Integers], int]:
    """Read the table once: cells for the units, and the number of rows, which stays at the site. No row is refused."""
    return cell_counts(table, plan.schema, plan.data, missing, CELLS, plan.decimal)


def draw_release(
    table: Table,
    plan: Plan,
    counts: dict[str, Integers],
    noise: Noise,
    missing: Missing,
    targets: tuple[str, ...] | None = None,
) -> tuple[Release, TrueCounts]:
    """Draw the noise and make the release. `fedperi.privacy.release_table` ensures that a table has only one."""
    price = plan.price
    rho = price.selections[0] ** 2 / 8
    units = {column.name: choose_unit(column, counts[column.name], noise, rho) for column in plan.numeric}
    embedding = PublicEmbedding(plan.schema, plan.data, DEGREE, units)
    exact = bounded_moments(table, embedding, plan.limit, missing, plan.decimal)
    rows, columns = np.triu_indices(len(exact.total))
    weights = np.where(rows == columns, DIAGONAL, BESIDE)
    # Sums beyond 8 bytes are set to the largest sum: a refusal would reveal how many rows there are, and this
    # never increases the difference of two sums.
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
