"""What a site's owner declares about a table or release before anybody connects: columns, type of data, promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InputError

if TYPE_CHECKING:
    from ...privacy import Privacy, Release
    from ...tables import Schema
    from ...tables.schema import Column
    from ...tables.table import Table


def declared_columns(table: Table, schema: Schema | None, missing: Any) -> tuple[Column, ...]:
    """Return columns with their kinds, which the table shows, and with levels and bounds as the schema declares them.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> declared_columns(open_table(pd.DataFrame({"sex": ["f", "m"] * 9}), "north"), None, "error")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north', column 'sex': a category, and its levels are declared nowhere. ...
    """
    from ...tables.checks.findings import raise_errors
    from ...tables.checks.profile import scan
    from ...tables.infer import unify
    from ...tables.schema import Column

    found, findings = unify([scan(table, missing, schema=schema)], schema)
    raise_errors(findings)
    columns = tuple(
        schema[c.name] if schema is not None and c.name in schema else Column(c.name, c.kind) for c in found.columns
    )
    open_ones = [column.name for column in columns if column.kind == "categorical" and column.levels is None]
    if open_ones:
        raise InputError(
            f"site {table.name!r}, column {open_ones[0]!r}: a category, and its levels are declared nowhere. Levels "
            "found in a table are values of it, and a site neither sends them nor takes them from others. Write a "
            "schema that lists all levels that may occur at any site (`fedperi check FILE --write-schema schema.toml` "
            "begins one), and give every site the same file (--schema schema.toml); or declare the column continuous"
        )
    return columns


def settled_data(data: str, columns: Sequence[Column]) -> str:
    """Decide how columns are taken, by their kinds alone: what `fedperi.tables.summarize` does under "auto".

    Examples
    --------
    >>> from fedperi.tables.schema import Column
    >>> settled_data("auto", [Column("age", "continuous")])
    'linear'
    """
    if data != "auto":
        return data
    kinds = {column.kind for column in columns}
    return "mixed" if len(kinds) > 1 else "discrete" if kinds == {"categorical"} else "linear"


def promise_of(of: Privacy | Release) -> dict[str, Any]:
    """Return what is promised, as plain values.

    Examples
    --------
    >>> import fedperi as fp
    >>> promise_of(fp.Privacy(1.0))
    {'mechanism': 'statistics', 'epsilon': 1.0, 'delta': 1e-06}
    """
    return {
        "mechanism": getattr(of, "mechanism", "statistics"),
        "epsilon": of.epsilon,
        "delta": of.delta,
    }
