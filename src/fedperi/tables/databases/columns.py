"""The columns of a database's table as numbers and text, with NULL for every missing value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..checks.column_scan import Storage


@dataclass(frozen=True)
class Stored:
    """How a column is stored: its name, its place among the expressions (``"v0"``, ``"v1"``, ...), and its type."""

    name: str
    place: str
    storage: Storage
    dtype: str

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers; truth values count as 0 and 1."""
        return self.storage in ("integer", "number", "boolean")


def stored_columns(rows: Any, names: Sequence[str]) -> list[Stored]:
    """Return how the columns are stored."""
    return [
        Stored(name, f"v{at}", _storage(rows[name].type()), str(rows[name].type())) for at, name in enumerate(names)
    ]


def cleaned(rows: Any, columns: Sequence[Stored], drop: bool) -> Any:
    """Return an expression of the columns: floats, text without blanks around it, and NULL for missing values.

    NaN and blank text are missing values, as in files. If `drop`, rows with a missing value are left out.
    """
    clean = rows.select(**{column.place: _value(rows[column.name], column) for column in columns})
    return clean.filter([clean[column.place].notnull() for column in columns]) if drop else clean


def indicator(condition: Any) -> Any:
    """Return 1 where a condition holds and 0 elsewhere, as floats: in PostgreSQL, 1.0 would be a decimal number."""
    return condition.ifelse(1, 0).cast("float64")


def _value(column: Any, how: Stored) -> Any:
    kind = column.type()
    if kind.is_boolean():
        return column.notnull().ifelse(indicator(column), None)
    if kind.is_floating():
        number = column.cast("float64")
        return number.isnan().ifelse(None, number)
    if how.numeric:
        return column.cast("float64")
    if how.storage == "text":
        return column.cast("string").strip().nullif("")
    return column.notnull().ifelse(1, None)  # only whether there is a value counts


def _storage(kind: Any) -> Storage:
    if kind.is_boolean():
        return "boolean"
    if kind.is_integer() or (kind.is_decimal() and kind.scale == 0):
        return "integer"
    if kind.is_floating() or kind.is_decimal():
        return "number"
    return "text" if kind.is_string() else "other"
