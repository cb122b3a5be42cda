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
    """Return the columns with kinds as found in the table, and levels and bounds as declared in the schema.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> declared_columns(open_table(pd.DataFrame({"sex": ["f", "m"] * 9}), "north"), None, "error")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north', column 'sex' is a category without declared levels. ...
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
    for column in columns:
        if column.kind == "categorical" and column.levels is None:
            raise InputError(
                f"site {table.name!r}, column {column.name!r} is a category without declared levels. Levels found in a "
                "table are values of it, and a site neither sends them nor takes them from others. Write a schema that "
                "lists all levels that may occur at any site (`fedperi check FILE --write-schema schema.toml` begins "
                "one), and give every site the same file (--schema schema.toml); or declare the column continuous"
            )
    return columns


def type_of_data(data: str, columns: Sequence[Column]) -> str:
    """Replace "auto" by the type of data that the kinds of the columns give, as `fedperi.tables.summarize` does.

    Examples
    --------
    >>> from fedperi.tables.schema import Column
    >>> type_of_data("auto", [Column("age", "continuous")])
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
    return {"mechanism": getattr(of, "mechanism", "statistics"), "epsilon": of.epsilon, "delta": of.delta}
