"""Estimate the moments of one site with incomplete rows, and how many complete rows they count for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..checks.profile import TableProfile
from ..embedding import Embedding
from ..encode import read_rows
from ..missing.em import em
from ..missing.patterns import Patterns, PatternStream
from ..moments import Moments
from ..schema import Schema
from ..table import CHUNK, Table
from .qualities import Gaps

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TableMoments:
    """The moments of one site, what is known about missing values if there are any, and how many rows were left out."""

    moments: Moments
    gaps: Gaps | None
    left_out: int


def incomplete_moments(table: Table, schema: Schema, embedding: Embedding, profile: TableProfile) -> TableMoments:
    """Estimate the moments of a table with missing values by EM, reading its rows once.

    They count for as many rows as the pair of variables with the fewest common values has (`least_shared`).

    Raises
    ------
    InputError
        If two columns are never present together.
    """
    if table.engine is not None:
        patterns = table.engine.patterns(table, embedding, profile)
    else:
        stream: PatternStream | None = None
        for frame in read_rows(table, schema, CHUNK, "auto"):
            values = embedding.embed_incomplete(frame, table.name)
            stream = stream or PatternStream(*_middle_and_spread(values))
            stream.add(values)
        if stream is None:
            raise InputError("the table has no rows")
        patterns = stream.result()
    rows = least_shared(patterns, schema, embedding, table.name)
    found = em(patterns)
    whole = found.moments
    lacking = {name: profile.columns[name].missing for name in schema.names if profile.columns[name].missing}
    shares = tuple((name, missing / profile.total) for name, missing in lacking.items())
    gaps = Gaps(profile.total, shares, found.converged)
    return TableMoments(Moments(rows, whole.mean, whole.scatter * (rows / whole.n)), gaps, patterns.left_out)


def least_shared(patterns: Patterns, schema: Schema, embedding: Embedding, site: str) -> int:
    """Return the smallest number of rows in which two variables both have a value, over all pairs of variables.

    A covariance of variables that hardly depend on others is known as precisely as from this number of complete rows.
    Scores of different families must count the same rows, or arrows would point where fewer values are missing. So all
    count the rows of the worst pair: never more than there is evidence for.
    """
    present = patterns.present[:, [columns[0] for columns in embedding.positions]].astype(np.float64)
    shared = (present * patterns.counts[:, None]).T @ present
    worst = np.unravel_index(int(shared.argmin()), shared.shape)
    least = round(float(shared[worst]))
    if least < 2:
        a, b = (schema.names[int(at)] for at in worst)
        raise InputError(
            f"site {site!r}, columns {a!r}, {b!r}: {'one row has' if least else 'no row has'} both, so that their "
            "covariance is unknown; leave one of them out"
        )
    return least


def _middle_and_spread(rows: Floats) -> tuple[Floats, Floats]:
    """Return a value in the middle of each column, and its spread, from the first rows, to limit rounding errors."""
    seen = ~np.isnan(rows)
    count = np.maximum(seen.sum(axis=0), 1)
    first = rows[seen.argmax(axis=0), range(rows.shape[1])]
    first = np.where(np.isnan(first), 0.0, first)
    apart = np.where(seen, rows - first, 0.0)
    offset = apart.sum(axis=0) / count
    spread = np.sqrt((np.where(seen, apart - offset, 0.0) ** 2).sum(axis=0) / count)
    flat = spread <= 1e-13 * np.abs(first + offset)
    return np.where(flat, first, first + offset), np.where(flat, 1.0, spread)
