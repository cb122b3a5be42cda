"""The content of the columns of a database's table: counts, ranges, spreads and levels, by aggregate queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..checks.profile import MAX_LEVELS, ColumnProfile, Missing, TableProfile
from ..levels import level_text
from ..schema import Schema
from .columns import Stored, cleaned, stored_columns
from .connection import Connection

_EXACT = 2.0**53  # all larger floats are whole numbers


def profile_of(
    connection: Connection, site: str, names: Sequence[str], missing: Missing, schema: Schema | None
) -> TableProfile:
    """Describe the columns as `fedperi.tables.checks.profile.scan` does.

    At most `MAX_LEVELS` different values of a column are fetched with their counts, or as many as a schema declares.
    """
    source = connection.rows
    columns = stored_columns(source, names)
    rows, facts = cleaned(source, columns, drop=missing == "drop"), dict[str, Any]()
    if missing == "drop":
        stored = cleaned(source, columns, drop=False)
        facts |= connection.numbers(stored, _counts(stored, columns))
        facts |= connection.numbers(rows, {"kept": rows.count()} | _ranges(rows, columns))
    else:  # one question instead of two
        facts |= connection.numbers(rows, _counts(rows, columns) | _ranges(rows, columns))
    facts |= _spreads(connection, rows, columns, facts)
    total = int(facts["total"])
    kept = int(facts.get("kept", total))
    profiles = {}
    for column in columns:
        own = {key.partition("_")[0]: value for key, value in facts.items() if key.endswith(f"_{column.place}")}
        own["missing"] = total - int(own["present"])
        levels, many = _levels(connection, rows, column, own, schema)
        profiles[column.name] = _profile(column, own, levels, many)
    return TableProfile(site, total, total - kept, MappingProxyType(profiles))


def _counts(rows: Any, columns: Sequence[Stored]) -> dict[str, Any]:
    """Ask for the number of rows, and of the values of each column."""
    return {"total": rows.count(), **{f"present_{column.place}": rows[column.place].count() for column in columns}}


def _ranges(rows: Any, columns: Sequence[Stored]) -> dict[str, Any]:
    """Ask for the ranges and means of numbers."""
    asked: dict[str, Any] = {}
    for column in (one for one in columns if one.numeric):
        value = rows[column.place]
        finite = value.isinf().ifelse(None, value)
        inside = (finite.abs() < _EXACT).ifelse(finite, 0.0)
        whole = (inside == inside.floor()).ifelse(1, 0)
        asked |= {
            f"infinite_{column.place}": value.isinf().ifelse(1, 0).sum(),
            f"count_{column.place}": finite.count(),
            f"low_{column.place}": finite.min(),
            f"high_{column.place}": finite.max(),
            f"whole_{column.place}": whole.min(),
            f"origin_{column.place}": finite.mean(),
        }
    return asked


def _spreads(connection: Connection, rows: Any, columns: Sequence[Stored], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Find the spreads around the means, in a query of its own so that no digits are lost."""
    asked: dict[str, Any] = {}
    for column in (one for one in columns if one.numeric):
        centred = rows[column.place] - (facts[f"origin_{column.place}"] or 0.0)
        centred = centred.isinf().ifelse(None, centred) if facts[f"infinite_{column.place}"] else centred
        asked |= {f"offset_{column.place}": centred.mean(), f"square_{column.place}": (centred * centred).mean()}
    return connection.numbers(rows, asked) if asked else {}


def _levels(
    connection: Connection, rows: Any, column: Stored, facts: Mapping[str, Any], schema: Schema | None
) -> tuple[dict[str, int], bool]:
    """Count the rows of each value where `ColumnProfile` needs it, and say whether there are too many values."""
    declared = schema[column.name] if schema is not None and column.name in schema else None
    counted = bool(facts.get("whole")) if declared is None else declared.kind == "categorical"
    number = column.numeric and column.storage != "boolean"
    if column.storage == "other" or (number and not counted):
        return {}, number and bool(facts.get("count"))
    limit = max([MAX_LEVELS, *(len(one.levels or ()) for one in (schema.columns if schema is not None else ()))])
    values = rows.filter(rows[column.place].notnull()).group_by(value=column.place)
    question = values.aggregate(rows=lambda group: group.count())
    question = question.order_by([question["rows"].desc(), question["value"]]).limit(limit + 1)
    found = connection.ask(question, limit + 1)
    many = len(found) > limit
    if many and number and declared is None:
        return {}, True
    levels: dict[str, int] = {}
    for one in found[:limit]:
        value = bool(one["value"]) if column.storage == "boolean" else one["value"]
        if not number or np.isfinite(value):
            levels[level_text(value)] = int(one["rows"])
    return levels, many


def _profile(column: Stored, facts: Mapping[str, Any], levels: Mapping[str, int], many: bool) -> ColumnProfile:
    count = int(facts.get("count") or 0)
    whole = count > 0 and bool(facts.get("whole"))
    storage = column.storage
    if storage in ("integer", "number") and count:
        storage = "integer" if whole and (storage == "integer" or facts["missing"] > 0) else "number"
    if storage != "other" and not count and not levels:
        storage = "empty"
    offset, square = float(facts.get("offset") or 0.0), float(facts.get("square") or 0.0)
    return ColumnProfile(
        name=column.name,
        storage=storage,
        dtype=column.dtype,
        missing=int(facts["missing"]),
        infinite=int(facts.get("infinite") or 0),
        whole=whole,
        low=float(facts["low"]) if count else 0.0,
        high=float(facts["high"]) if count else 0.0,
        origin=float(facts["origin"]) if count else 0.0,
        offset=offset,
        scale=float(np.sqrt(max(0.0, square - offset * offset))),
        levels=MappingProxyType(dict(levels)),
        many=many,
    )
