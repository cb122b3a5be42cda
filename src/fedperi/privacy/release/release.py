"""The `statistics` mechanism: noise once, on the moments of the whole table. All else is computed from the release.

1. *Units.* Centre and scale of every column of numbers, from its quartiles, each chosen among `CELLS` cells between the
   public bounds by the exponential mechanism: `UNITS_SHARE` of the budget. Bounds are often far wider than the data,
   and rows measured by them alone would drown in the noise (docs/privacy.md).
2. *Moments.* Rows in these units, clipped to a norm, with a constant appended; the sum of their outer products;
   discrete Gaussian noise on its upper triangle. A row's outer product ``zz'`` has Frobenius norm ``|z|^2``, and an
   entry off the diagonal counts twice in it: weighing it by sqrt(2), here 41 / 29, makes its noise smaller by as much.

The price is counted in zero-concentrated differential privacy (zCDP), which adds up exactly.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._version import __version__
from ...errors import InputError
from ...tables.bounded import CONSTANT, GRID, PublicEmbedding, Units, bounded_moments, cell_counts
from ...tables.checks.profile import Missing
from ...tables.embedding import REACH, Data
from ...tables.frozen import frozen
from ...tables.readers.private import is_number, limits
from ...tables.schema import Column, Schema
from ...tables.statistics import Statistics
from ...tables.table import Table
from ..accounting import Price, zcdp_rho
from ..noise import Noise, noise_scale
from .repair import covariance_of, effective_rows, undo_clipping
from .signature import Signature

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNITS_SHARE = 0.1
"""Share of the budget, in rho, for the units of the columns."""

CELLS = 256
"""Cells between the bounds of a column among which its quartiles are chosen."""

CLIP_LINEAR, CLIP = 0.75, 1.0
"""Norm to which rows are clipped, in units of the square root of the number of columns. Where all columns are numbers
that enter as they are, the bias can be undone (`fedperi.privacy.release.repair.undo_clipping`), and shorter rows
pay."""

DIAGONAL, BESIDE = 29, 41
"""Weights of the entries on and off the diagonal before the noise: 41^2 <= 2 * 29^2, so the sensitivity is 29 |z|^2."""

MOST = (1 << 62) // BESIDE
"""Largest sum, in whole steps, to which noise is added."""

QUARTILES = 1.349
"""Standard deviations between the quartiles of a normal variable."""

DEGREE = 3

MOST_COLUMNS = 1000
"""Columns of an embedded table that is released: a file of at most some 15 MB, which every side can read."""


@dataclass(frozen=True, eq=False)
class Release:
    """What a site gives away of its table, once: noisy moments, and the constants that they were made with. No rows.

    Attributes
    ----------
    site : str
        Whose table it is.
    schema : Schema
        What was publicly declared of the columns.
    data : {"linear", "nonlinear", "mixed"}
        How columns were taken.
    epsilon, delta, price
        What was promised, and what it costs under composition.
    units : mapping
        Centre and scale of every column of numbers, as chosen privately.
    limit : float
        The norm to which rows were clipped.
    noise : float
        Standard deviation of the noise on a diagonal entry of `moments`.
    moments : array, shape (q + 1, q + 1)
        The noisy sum over rows of the outer products of (constant, z).
    targets : tuple of str or None
        Variables that the site declared to have set.
    private : bool
        False if the noise came from a seed, in a test.
    identifier, created, version : str
    ledger : dict or None
        The site's ledger after this release.
    signature : Signature or None
        Who signed the file, and what; of everything above, so that it fits no other release.
    """

    site: str
    schema: Schema
    data: Data
    epsilon: float
    delta: float
    price: Price
    units: Units
    limit: float
    noise: float
    moments: Floats
    targets: tuple[str, ...] | None = None
    private: bool = True
    identifier: str = ""
    created: str = ""
    version: str = __version__
    degree: int = DEGREE
    ledger: dict[str, Any] | None = None
    signature: Signature | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "moments", frozen(self.moments, np.float64))

    @property
    def embedding(self) -> PublicEmbedding:
        """How rows were taken."""
        return PublicEmbedding(self.schema, self.data, self.degree, self.units)

    @property
    def noise_beside(self) -> float:
        """Standard deviation of the noise on an entry off the diagonal."""
        return self.noise * DIAGONAL / BESIDE

    @property
    def rows(self) -> float:
        """The number of rows, as far as the noise lets it be known."""
        return covariance_of(self.moments, CONSTANT, self.noise)[1]

    def summary(self) -> dict[str, Any]:
        """Return what a result tells about this site's privacy: plain values."""
        return {
            "mechanism": "statistics",
            "data": self.data,
            "private": self.private,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.price.rho,
            "neighbours": "one row added or removed; the number of rows is protected",
            "rows": round(self.rows),
            "worth": self.statistics().n,
            "release": self.identifier,
            "signed_by": None if self.signature is None else self.signature.fingerprint,
            "ledger": self.ledger,
        }

    def statistics(self) -> Statistics:
        """Return statistics to learn from; their `n` counts the rows that the noisy moments are worth."""
        covariance, rows = covariance_of(self.moments, CONSTANT, self.noise)
        worth = effective_rows(rows, self.noise_beside / rows, float(np.diag(covariance).mean()))
        if undoes_clipping(self.schema, self.data):
            covariance = undo_clipping(covariance, self.limit)
        scale = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(scale, scale)
        np.fill_diagonal(correlation, 1.0)
        return Statistics(
            self.schema.names,
            self.embedding.positions,
            max(2, round(worth)),
            self.moments[0, 1:] / CONSTANT / rows,
            scale,
            (correlation + correlation.T) / 2,
            tuple("continuous" if is_number(column, self.data) else "categorical" for column in self.schema.columns),
            site=self.site,
        )


@dataclass(frozen=True)
class Plan:
    """How a release will be made and what it costs; known before the table is read.

    Examples
    --------
    >>> schema = Schema((Column("a", "continuous", bounds=(0, 1)), Column("b", "continuous", bounds=(0, 1))))
    >>> plan = Plan.of(schema, "auto", 1.0, 1e-6)
    >>> plan.data, plan.columns, round(plan.price.rho, 4)
    ('linear', 2, 0.0244)
    """

    schema: Schema
    data: Data
    epsilon: float
    delta: float
    decimal: str | None = None

    @classmethod
    def of(cls, schema: Schema, data: Data, epsilon: float, delta: float, decimal: str | None = None) -> Plan:
        """Decide how columns are taken."""
        if data == "discrete":
            raise InputError(
                "data='discrete' counts combinations of levels, and there is no private release of these; use "
                "data='mixed', which takes categories as indicators"
            )
        if data == "auto":
            data = "linear" if all(column.kind == "continuous" for column in schema.columns) else "mixed"
        words = [c.name for c in schema.columns if is_number(c, data) and not all(map(math.isfinite, limits(c)))]
        if words:
            raise InputError(f"column {words[0]!r}: data='linear' needs numbers, and its levels are words; use 'mixed'")
        plan = cls(schema, data, epsilon, delta, decimal)
        if plan.columns > MOST_COLUMNS:
            raise InputError(
                f"a release holds at most {MOST_COLUMNS} columns, and this one would have {plan.columns} (a category "
                "has one for each level but the first, a curve one for each degree); leave columns out"
            )
        return plan

    @property
    def numeric(self) -> tuple[Column, ...]:
        """Columns that are taken as numbers."""
        return tuple(column for column in self.schema.columns if is_number(column, self.data))

    @property
    def columns(self) -> int:
        """Columns of the embedded table."""
        return sum(PublicEmbedding(self.schema, self.data, DEGREE, {}).widths)

    @property
    def limit(self) -> float:
        """Norm to which rows are clipped."""
        return (CLIP_LINEAR if undoes_clipping(self.schema, self.data) else CLIP) * math.sqrt(self.columns)

    @property
    def price(self) -> Price:
        """What the release costs."""
        rho = zcdp_rho(self.epsilon, self.delta)
        choices = 2 * len(self.numeric)
        if not choices:
            return Price(self.epsilon, self.delta, gaussian=rho)
        each = math.sqrt(8 * UNITS_SHARE * rho / choices)
        return Price(self.epsilon, self.delta, gaussian=(1 - UNITS_SHARE) * rho, selections=(each, choices))

    @property
    def sensitivity(self) -> float:
        """Frobenius norm of a row's outer product, at most, in whole steps and with the weights."""
        return DIAGONAL * (CONSTANT**2 + self.limit**2) * GRID**2

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on a diagonal entry, in standard units."""
        return noise_scale(self.sensitivity, self.price.gaussian) / DIAGONAL / GRID**2


@dataclass(frozen=True)
class Witness:
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
) -> tuple[Release, Witness]:
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
    return release, Witness(exact.rows, exact.clipped)


def undoes_clipping(schema: Schema, data: Data) -> bool:
    """Whether all columns are numbers that enter as they are: only then is the bias of clipping known."""
    return data != "nonlinear" and all(is_number(column, data) for column in schema.columns)


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
