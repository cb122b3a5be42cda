"""Sums per pattern of gaps of a database's table, by aggregate queries: what EM needs of incomplete rows.

A pattern that one row alone has makes that row's sums the row itself. They are computed for the site's own process,
which makes one estimate of all patterns, and go nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ..checks.profile import TableProfile
from ..embedding import Embedding
from ..missing.patterns import HELD, Patterns
from .columns import cleaned, stored_columns
from .connection import Connection
from .moments import embedded


def patterns_of(
    connection: Connection, site: str, names: Sequence[str], embedding: Embedding, profile: TableProfile
) -> Patterns:
    """Return the sums of the rows per pattern of gaps, as `fedperi.tables.missing.patterns.PatternStream` does."""
    source = connection.rows
    stored = {column.name: column for column in stored_columns(source, names)}
    rows = cleaned(source, list(stored.values()), drop=False)
    shifts: list[float] = []
    gaps, columns = dict[str, Any](), dict[str, Any]()
    for at, block in enumerate(embedding.blocks):
        how = stored[block.column.name]
        there = rows[how.place].notnull()
        gaps[f"g{at}"] = there.ifelse(1, 0)
        for shift, expression in embedded(rows, block, how, profile.columns[how.name]):
            value = expression - shift if shift else expression
            columns[f"e{len(shifts)}"] = there.ifelse(value, 0.0)
            shifts.append(shift)
    q = len(shifts)
    answer = connection.grouped_sums(rows.select(**gaps, **columns), list(gaps), q, max(1, HELD // q**2))
    if sum(int(row["n"]) for row in answer) != profile.total:
        raise InputError(f"site {site!r}: the table changed while it was read; ask again, or query a snapshot of it")
    widths = [len(at) for at in embedding.positions]
    present = np.repeat(np.array([[row[gap] for gap in gaps] for row in answer], dtype=bool), widths, axis=1)
    squares = np.zeros((len(answer), q, q))
    for i in range(q):
        for j in range(i, q):
            squares[:, i, j] = squares[:, j, i] = [row[f"p{i}_{j}"] for row in answer]
    sums = np.array([[row[f"s{i}"] for i in range(q)] for row in answer], dtype=np.float64)
    counts = np.array([row["n"] for row in answer], dtype=np.int64)
    unit = _spread(counts, present, sums, squares)
    return Patterns(present, counts, sums / unit, squares / np.outer(unit, unit), np.array(shifts), unit)


def _spread(counts: Any, present: Any, sums: Any, squares: Any) -> Any:
    """Return the spread of each column, for numerical comfort; 1 where it does not vary."""
    n = np.maximum(counts @ present, 1)
    mean = sums.sum(axis=0) / n
    variance = np.einsum("kii->i", squares) / n - mean**2
    return np.sqrt(np.where(variance > 1e-13 * np.maximum(mean**2, 1e-300), variance, 1.0))
