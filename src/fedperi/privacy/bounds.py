"""Public knowledge about columns: limits and levels that are known without looking at the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..strict import Unreadable, read_json, read_toml, write_json
from ..tables.schema import Column, Schema

NARROWEST = 1e-300
"""Smallest width of bounds, so that one can divide by a small part of it."""

Bounds = Mapping[str, Any] | Schema | str | PathLike[str]


def as_bounds(bounds: Any) -> Schema | None:
    """Read bounds: a mapping, a schema, or the path of a file with either.

    Two numbers are the limits of a column of numbers; anything else is the list of levels of a category.

    Examples
    --------
    >>> as_bounds({"age": (0, 120), "sex": ["f", "m"]}).columns
    (Column(name='age', kind='continuous', levels=None, bounds=(0.0, 120.0)),
     Column(name='sex', kind='categorical', levels=('f', 'm'), bounds=None))
    >>> as_bounds({"age": (120, 0)})
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: column 'age': bounds must be finite and increasing, not 120, 0
    """
    if bounds is None or isinstance(bounds, Schema):
        return bounds
    if isinstance(bounds, Mapping):
        return Schema(tuple(_column(name, entry) for name, entry in bounds.items()))
    if isinstance(bounds, str | PathLike):
        return _from_file(Path(bounds))
    raise InputError(f"bounds must map columns to (lowest, highest), or name a file that does; not {bounds!r}")


def public_schema(columns: Iterable[str], bounds: Schema | None, schema: Schema | None, site: str) -> Schema:
    """Return the public knowledge about every column, bounds first, in the order of declaration.

    Raises
    ------
    InputError
        If a column has neither bounds nor levels, or a declared column is missing.

    Examples
    --------
    >>> public_schema(["age", "dose"], as_bounds({"age": (0, 120)}), None, "north")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north', column 'dose': no public bounds. The smallest and the largest value ...
    """
    declared = {column.name: column for source in (schema, bounds) if source is not None for column in source.columns}
    names = list(columns)
    absent = [name for name in declared if name not in names]
    if absent:
        raise InputError(
            f"site {site!r} has no column {absent[0]!r}, which the bounds list; its columns are "
            f"{', '.join(map(repr, names))}"
        )
    for name in names:
        column = declared.get(name)
        if column is None or (column.bounds is None and column.levels is None):
            raise InputError(
                f"site {site!r}, column {name!r}: no public bounds. The smallest and the largest value in the table "
                "belong to two people, and using them would reveal these values; declare limits known "
                f"without looking at the table, such as bounds={{{name!r}: (0, 120)}} (--bounds bounds.toml with the "
                f"line {write_json(name, ascii_only=False)} = [0, 120]), or the levels of a category"
            )
        if column.bounds is not None and not NARROWEST < column.bounds[1] - column.bounds[0] < math.inf:
            low, high = column.bounds
            raise InputError(
                f"site {site!r}, column {name!r}: bounds from {low:g} to {high:g} are too extreme to measure rows in; "
                "use another unit of measurement"
            )
        if column.levels is not None and len(column.levels) < 2:
            raise InputError(f"site {site!r}, column {name!r}: only one level; list all possible levels, or drop it")
    order = bounds.names if bounds is not None else schema.names if schema is not None else ()
    return Schema(tuple(declared[name] for name in dict.fromkeys([*order, *declared])))


def _from_file(path: Path) -> Schema:
    try:
        text = path.read_text(encoding="utf-8-sig")
        content: Any = read_json(text) if path.suffix.lower() == ".json" else read_toml(text)
    except OSError as error:
        raise InputError(f"cannot read the bounds {str(path)!r}: {error.strerror or error}") from None
    except (Unreadable, UnicodeDecodeError) as error:
        raise InputError(f"the bounds {str(path)!r} are neither valid TOML nor JSON: {error}") from None
    if isinstance(content, dict) and isinstance(content.get("columns"), dict):
        return Schema.from_file(path)
    if not isinstance(content, dict) or not content:
        raise InputError(f"the bounds {str(path)!r} name no column; write lines such as: age = [0, 120]")
    try:
        return Schema(tuple(_column(name, entry) for name, entry in content.items()))
    except InputError as error:
        raise InputError(f"the bounds {str(path)!r}: {error}") from None


def _column(name: Any, entry: Any) -> Column:
    if isinstance(entry, Column):
        return entry
    if isinstance(entry, str) or not isinstance(entry, Iterable):
        raise InputError(f"column {name!r}: bounds must be two numbers, or a list of levels; not {entry!r}")
    values = tuple(entry)
    if len(values) == 2 and all(isinstance(v, Real) and not isinstance(v, bool) for v in values):
        return Column(name, "continuous", bounds=values)
    if len(values) < 2:
        raise InputError(f"column {name!r}: bounds must be two numbers, or a list of levels; not {list(values)!r}")
    return Column(name, "categorical", levels=values)
