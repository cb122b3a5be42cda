"""Moments of the embedded columns of a database's table, by aggregate queries.

Numbers are centred by their means, which are known from the profile, before they are squared. The small rest of the
mean is subtracted afterwards. So a column around 1e8 loses no digits, as in `fedperi.tables.moments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..checks.profile import ColumnProfile, Missing, TableProfile
from ..embedding import Basis, Block, Curve, Embedding, OneHot
from ..levels import level_text, number_of, style_of
from ..moments import Moments
from .columns import Stored, cleaned, indicator, stored_columns
from .connection import Connection

Floats = NDArray[np.float64]


def moments_of(
    connection: Connection,
    site: str,
    names: Sequence[str],
    embedding: Embedding,
    profile: TableProfile,
    missing: Missing,
) -> Moments:
    """Return the moments of the rows as `fedperi.tables.moments.stream_moments` gives them for a file."""
    source = connection.rows
    stored = stored_columns(source, names)
    rows = cleaned(source, stored, drop=missing == "drop")
    shifts, blocks = embedded(rows, stored, embedding, profile)
    columns = [column for block in blocks for column in block]
    [found] = connection.sums(rows.select(**{f"e{i}": column for i, column in enumerate(columns)}), len(columns))
    n = int(found["n"])
    if n != profile.rows or any(value is None for value in found.values()):
        raise table_changed(site)
    sums, products = sums_and_products(found, len(columns))
    rest = sums / n
    offsets = np.triu(np.outer(n * rest, rest))  # one half, so that rounding leaves the scatter symmetric
    scatter = products - offsets - np.triu(offsets, 1).T
    np.fill_diagonal(scatter, np.maximum(np.diag(scatter), 0.0))
    return Moments(n, shifts + rest, scatter)


def table_changed(site: str) -> InputError:
    """Return an error for a table that changed between two questions."""
    return InputError(f"site {site!r}: the table changed while it was read; ask again, or query a snapshot of it")


def sums_and_products(found: Mapping[str, Any], q: int) -> tuple[Floats, Floats]:
    """Return the sums of q columns and the matrix of the sums of their products, as `Connection.sums` found them."""
    sums = np.array([found[f"s{i}"] for i in range(q)], dtype=np.float64)
    products = [[found[f"p{min(i, j)}_{max(i, j)}"] for j in range(q)] for i in range(q)]
    return sums, np.array(products, dtype=np.float64)


def embedded(
    rows: Any, stored: Sequence[Stored], embedding: Embedding, profile: TableProfile
) -> tuple[Floats, list[list[Any]]]:
    """Return what is subtracted from the embedded columns (the mean, if it may be far from 0), and these by block."""
    by_name = {column.name: column for column in stored}
    shifts, blocks = [], []
    for block in embedding.blocks:
        name = block.column.name
        columns = list(_embedded_block(rows, block, by_name[name], profile.columns[name]))
        shifts += [shift for shift, _ in columns]
        blocks.append([column - shift if shift else column for shift, column in columns])
    return np.array(shifts), blocks


def _embedded_block(rows: Any, block: Block, stored: Stored, held: ColumnProfile) -> Iterator[tuple[float, Any]]:
    """Yield the columns of a block, each with the number to subtract from it."""
    value = rows[stored.place]
    if isinstance(block, OneHot):
        levels = block.column.levels or ()
        for position in block.shown:
            yield 0.0, indicator(_is_level(value, stored, held, levels, levels[position]))
    elif isinstance(block, Curve):
        yield held.origin + held.offset, value
        yield from ((0.0, power) for power in _powers(value, block.basis)[1:])
    elif isinstance(block, Basis):
        yield from ((0.0, power) for power in _powers(value, block))
    elif stored.numeric:
        yield held.origin + held.offset, value
    else:  # numbers that are stored as text
        levels = block.column.levels or ()
        terms = [
            indicator(_is_level(value, stored, held, levels, level)) * float(number_of(level) or 0.0)
            for level in levels
        ]
        yield 0.0, sum(terms[1:], start=terms[0])


def _is_level(value: Any, stored: Stored, held: ColumnProfile, levels: Sequence[str], level: str) -> Any:
    """Return a condition: the value is this level, in one of the spellings that occur in the table."""
    style = style_of(levels)
    spelled = [text for text in held.levels if level_text(text, style) == level] or [level]
    if stored.storage == "boolean":
        return value == (1.0 if level == "True" else 0.0)
    if stored.numeric:
        return value.isin([number for text in spelled if (number := number_of(text)) is not None] or [float("inf")])
    return value.isin(spelled)


def _powers(value: Any, basis: Basis) -> list[Any]:
    """Return the Legendre polynomials of degree 1 and more of a clipped column, by their recurrence."""
    moved = (value - basis.origin - basis.offset) / basis.reach
    inside = (moved < -1.0).ifelse(-1.0, (moved > 1.0).ifelse(1.0, moved))
    powers = [inside]
    before: Any = 1.0
    for k in range(1, basis.width):
        new = ((2 * k + 1) / (k + 1)) * inside * powers[-1] - (k / (k + 1)) * before
        before = powers[-1]
        powers.append(new)
    return powers
