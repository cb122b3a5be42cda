"""The `statistics` mechanism: noise once, on the moments of the whole table. All else is computed from the release.

1. *Units.* Centre and scale of every numeric column are its median and the median distance from it. The exponential
   mechanism chooses them among cells between the public bounds, with `UNITS_SHARE` of the budget. Bounds are often far
   wider than the data; without such units the noise would hide the data (docs/explanation/privacy.md).
2. *Moments.* Rows in these units are clipped to a norm, with a constant appended. Discrete Gaussian noise is added to
   the upper triangle of the sum of their outer products. A row's outer product ``zz'`` has Frobenius norm ``|z|^2``. An
   entry off the diagonal counts twice in it: with a weight of sqrt(2), here 41 / 29, its noise is smaller by this
   factor.

The price is counted in zero-concentrated differential privacy (zCDP), which adds up exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._version import __version__
from ...errors import InputError
from ...tables.bounded import CONSTANT, GRID, PublicEmbedding, Units
from ...tables.embedding import Data
from ...tables.frozen import frozen
from ...tables.readers.private import is_number, limits
from ...tables.schema import Column, Schema
from ...tables.statistics import Statistics
from ..accounting import Price
from ..noise import noise_scale
from ..zcdp import zcdp_rho
from .repair import covariance_of, effective_rows, undo_clipping
from .signature import Signature
from .units import Source

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNITS_SHARE = 0.1
"""Share of the budget, in rho, for the units of the columns."""

CLIP_LINEAR, CLIP = 0.75, 1.0
"""Norm to which rows are clipped, in units of the square root of the number of columns. If all columns are numbers that
are used as they are, the bias can be undone (`fedperi.privacy.release.repair.undo_clipping`), and a smaller norm is
better."""

DIAGONAL, BESIDE = 29, 41
"""Weights of the entries on and off the diagonal before the noise: 41^2 <= 2 * 29^2, so the sensitivity is 29 |z|^2."""

DEGREE = 3

MOST_COLUMNS = 1000
"""Largest number of embedded columns in a release: a file of at most some 15 MB, which all sides can read."""


@dataclass(frozen=True, eq=False)
class Release:
    """A site's release about its table: noisy moments and the constants used to make them, but no rows.

    Attributes
    ----------
    site : str
        The site's name.
    schema : Schema
        The public declarations about the columns.
    data : {"linear", "nonlinear", "mixed"}
        How columns were used.
    epsilon, delta, price
        The promise, and its price for composition.
    units : mapping
        Privately chosen centre and scale of every numeric column.
    limit : float
        The norm to which rows were clipped.
    noise : float
        Standard deviation of the noise on a diagonal entry of `moments`.
    moments : array, shape (q + 1, q + 1)
        The noisy sum over rows of the outer products of (constant, z).
    targets : tuple of str or None
        Variables that the site declared as targets of interventions.
    private : bool
        False if the noise came from a seed, in a test.
    identifier, created, version : str
    ledger : dict or None
        The site's ledger after this release.
    signature : Signature or None
        The signature of everything above, so that it fits no other release.
    units_from : {"deviations", "quartiles"}
        Kind of units: quartiles in releases of fedperi 0.1.
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
    units_from: Source = "deviations"

    def __post_init__(self) -> None:
        object.__setattr__(self, "moments", frozen(self.moments, np.float64))

    @property
    def embedding(self) -> PublicEmbedding:
        """How rows were embedded."""
        return PublicEmbedding(self.schema, self.data, self.degree, self.units)

    @property
    def noise_beside(self) -> float:
        """Standard deviation of the noise on an entry off the diagonal."""
        return self.noise * DIAGONAL / BESIDE

    @property
    def rows(self) -> float:
        """The noisy number of rows."""
        return covariance_of(self.moments, CONSTANT, self.noise)[1]

    def summary(self) -> dict[str, Any]:
        """Return the report of this site's privacy for a result, as plain values."""
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
        """Return statistics to learn from; their `n` is the effective number of rows of the noisy moments."""
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
    """How a release will be made, and its price; known before the table is read.

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
        """Plan the embedding of columns."""
        if data == "discrete":
            raise InputError(
                "data='discrete' counts combinations of levels, and there is no private release of these; use "
                "data='mixed', which takes categories as indicators"
            )
        if data == "auto":
            data = "linear" if all(column.kind == "continuous" for column in schema.columns) else "mixed"
        wordy = [c.name for c in schema.columns if is_number(c, data) and not all(map(math.isfinite, limits(c)))]
        if wordy:
            raise InputError(f"column {wordy[0]!r}: data='linear' needs numbers, and its levels are words; use 'mixed'")
        plan = cls(schema, data, epsilon, delta, decimal)
        if plan.columns > MOST_COLUMNS:
            raise InputError(
                f"a release holds at most {MOST_COLUMNS} columns, and this one would have {plan.columns} (a category "
                "has one for each level but the first, a curve one for each degree); leave columns out"
            )
        return plan

    @property
    def numeric(self) -> tuple[Column, ...]:
        """Numeric columns."""
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
        """Largest Frobenius norm of a row's outer product, in whole steps and with the weights."""
        return DIAGONAL * (CONSTANT**2 + self.limit**2) * GRID**2

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on a diagonal entry, in standard units."""
        return noise_scale(self.sensitivity, self.price.gaussian) / DIAGONAL / GRID**2


def undoes_clipping(schema: Schema, data: Data) -> bool:
    """Whether all columns are numbers that are used as they are: only then is the bias of clipping known."""
    return data != "nonlinear" and all(is_number(column, data) for column in schema.columns)
