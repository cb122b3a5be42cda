"""Sums per pattern of gaps of a database's table, by aggregate queries: what EM needs of incomplete rows.

If only one row has a pattern, the sums of this pattern are that row. They are computed for the site's own process,
which makes one estimate from all patterns, and they are sent nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks.profile import TableProfile
from ..embedding import Embedding
from ..missing.patterns import HELD, Patterns
from .columns import cleaned, stored_columns
from .connection import Connection
from .moments import embedded, sums_and_products, table_changed


def patterns_of(
    connection: Connection, site: str, names: Sequence[str], embedding: Embedding, profile: TableProfile
) -> Patterns:
    """Return the sums of the rows per pattern of gaps, as `fedperi.tables.missing.patterns.PatternStream` does."""
    source = connection.rows
    stored = stored_columns(source, names)
    rows = cleaned(source, stored, drop=False)
    places = {column.name: column.place for column in stored}
    shifts, blocks = embedded(rows, stored, embedding, profile)
    known = [rows[places[block.column.name]].notnull() for block in embedding.blocks]
    flags = {f"g{at}": there.ifelse(1, 0) for at, there in enumerate(known)}
    columns = [there.ifelse(column, 0.0) for there, block in zip(known, blocks, strict=True) for column in block]
    q = len(columns)
    asked = rows.select(**flags, **{f"e{i}": column for i, column in enumerate(columns)})
    answer = connection.sums(asked, q, list(flags), max(1, HELD // q**2))
    if sum(int(row["n"]) for row in answer) != profile.total:
        raise table_changed(site)
    widths = [len(at) for at in embedding.positions]
    present = np.repeat(np.array([[row[flag] for flag in flags] for row in answer], dtype=bool), widths, axis=1)
    sums, products = map(np.stack, zip(*(sums_and_products(row, q) for row in answer), strict=True))
    counts = np.array([row["n"] for row in answer], dtype=np.int64)
    unit = _spread(counts, present, sums, products)
    return Patterns(present, counts, sums / unit, products / np.outer(unit, unit), shifts, unit)


def _spread(counts: Any, present: Any, sums: Any, squares: Any) -> Any:
    """Return the standard deviation of each column, used as its unit to avoid rounding errors; 1 if it is constant."""
    n = np.maximum(counts @ present, 1)
    mean = sums.sum(axis=0) / n
    variance = np.einsum("kii->i", squares) / n - mean**2
    return np.sqrt(np.where(variance > 1e-13 * np.maximum(mean**2, 1e-300), variance, 1.0))
