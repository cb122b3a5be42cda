"""Moments of the embedded columns of a database's table, by aggregate queries.

Numbers are centred by their means, which are known from the profile, before they are squared; the small rest of the
mean is taken off afterwards. So a column around 1e8 loses no digits, as in `fedperi.tables.moments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ..checks.profile import ColumnProfile, Missing, TableProfile
from ..embedding import Basis, Block, Curve, Embedding, OneHot
from ..levels import level_text, number_of, style_of
from ..moments import Moments
from .columns import Stored, cleaned, indicator, stored_columns
from .connection import Connection


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
    stored = {column.name: column for column in stored_columns(source, names)}
    rows = cleaned(source, list(stored.values()), drop=missing == "drop")
    shifts: list[float] = []
    columns: dict[str, Any] = {}
    for block in embedding.blocks:
        held = profile.columns[block.column.name]
        for shift, expression in embedded(rows, block, stored[block.column.name], held):
            columns[f"e{len(shifts)}"] = expression - shift if shift else expression
            shifts.append(shift)
    asked = connection.sums(rows.select(**columns))
    q = len(shifts)
    n = int(asked["n"])
    if n != profile.rows or any(value is None for value in asked.values()):
        raise InputError(f"site {site!r}: the table changed while it was read; ask again, or query a snapshot of it")
    rest = np.array([asked[f"s{i}"] for i in range(q)], dtype=np.float64) / n
    scatter = np.zeros((q, q))
    for i in range(q):
        for j in range(i, q):
            scatter[i, j] = scatter[j, i] = float(asked[f"p{i}_{j}"]) - n * rest[i] * rest[j]
    np.fill_diagonal(scatter, np.maximum(np.diag(scatter), 0.0))
    return Moments(n, np.array(shifts) + rest, scatter)


def embedded(rows: Any, block: Block, stored: Stored, held: ColumnProfile) -> Iterator[tuple[float, Any]]:
    """Yield the columns of a block, each with a number that is subtracted first: its mean, if it may be far from 0."""
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
        codes = {level: number_of(level) for level in block.column.levels or ()}
        terms = [
            indicator(_is_level(value, stored, held, tuple(codes), level)) * float(code or 0.0)
            for level, code in codes.items()
        ]
        yield 0.0, sum(terms[1:], start=terms[0])


def _is_level(value: Any, stored: Stored, held: ColumnProfile, levels: Sequence[str], level: str) -> Any:
    """Return whether a value is a level, in any of the spellings that occur in the table."""
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
