"""The moments of one site whose rows are incomplete, and how many rows they count for."""

from __future__ import annotations

from collections.abc import Iterator
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
class Incomplete:
    """Moments, what is known of gaps if there are any, and how many rows were left out."""

    moments: Moments
    gaps: Gaps | None
    left_out: int


def incomplete_moments(table: Table, schema: Schema, embedding: Embedding, profile: TableProfile) -> Incomplete:
    """Estimate the moments of a table with missing values by EM; its rows pass once.

    They count for as many rows as the two variables have in common that have the fewest (`least_shared`).

    Raises
    ------
    InputError
        If two columns are never present together.
    """
    if table.engine is not None:
        patterns = table.engine.patterns(table, embedding, profile)
    else:
        rows_in = (embedding.embed_incomplete(frame, table.name) for frame in read_rows(table, schema, CHUNK, "auto"))
        patterns = _patterns(rows_in)
    rows = least_shared(patterns, schema, embedding, table.name)
    found = em(patterns)
    whole = found.moments
    shares = [(name, profile.columns[name].missing / profile.total) for name in schema.names]
    gaps = Gaps(profile.total, tuple((name, share) for name, share in shares if share), found.converged)
    return Incomplete(Moments(rows, whole.mean, whole.scatter * (rows / whole.n)), gaps, patterns.left_out)


def least_shared(patterns: Patterns, schema: Schema, embedding: Embedding, site: str) -> int:
    """Return the number of rows in which the two variables are both present that have the fewest of them.

    A covariance of variables that hardly depend on others is known as precisely as from this number of complete rows.
    Scores of different families must count the same rows, or arrows would point where fewer values are missing. So all
    count those of the worst pair: never more than there is evidence for.
    """
    present = patterns.present[:, [columns[0] for columns in embedding.positions]].astype(np.float64)
    shared = (present * patterns.counts[:, None]).T @ present
    worst = np.unravel_index(int(shared.argmin()), shared.shape)
    least = round(float(shared[worst]))
    if least < 2:
        a, b = (schema.names[int(at)] for at in worst)
        raise InputError(
            f"site {site!r}, columns {a!r}, {b!r}: {'one row has' if least else 'no row has'} both, so that nothing "
            "tells how they go together; leave one of them out"
        )
    return least


def _patterns(chunks: Iterator[Floats]) -> Patterns:
    stream: PatternStream | None = None
    for rows in chunks:
        if stream is None:
            stream = PatternStream(*_units(rows))
        stream.add(rows)
    if stream is None:
        raise InputError("the table has no rows")
    return stream.result()


def _units(rows: Floats) -> tuple[Floats, Floats]:
    """Return a value in the middle of each column, and its spread, by the first rows: for numerical comfort."""
    seen = ~np.isnan(rows)
    count = np.maximum(seen.sum(axis=0), 1)
    first = rows[seen.argmax(axis=0), range(rows.shape[1])]
    first = np.where(np.isnan(first), 0.0, first)
    apart = np.where(seen, rows - first, 0.0)
    offset = apart.sum(axis=0) / count
    spread = np.sqrt((np.where(seen, apart - offset, 0.0) ** 2).sum(axis=0) / count)
    flat = spread <= 1e-13 * np.abs(first + offset)
    return np.where(flat, first, first + offset), np.where(flat, 1.0, spread)
