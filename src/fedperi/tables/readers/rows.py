"""A table as a matrix of numbers, for methods that need more of the rows than their moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..checks.faults import faults
from ..checks.findings import quoted, raise_errors
from ..checks.profile import Missing, scan
from ..encode import numbers, read_rows
from ..infer import SchemaLike, as_schema, unify
from ..table import Source, open_tables


def numeric_rows(
    tables: dict[str, Source], schema: SchemaLike | None = None, missing: Missing = "error", method: str = "this method"
) -> tuple[dict[str, NDArray[np.float64]], tuple[str, ...]]:
    """Read the tables of all sites as matrices with the columns in one order.

    Raises
    ------
    InputError
        If a table cannot be used, columns differ between sites, or a column is no number.

    Examples
    --------
    >>> import pandas as pd
    >>> rows, names = numeric_rows({"north": pd.DataFrame({"a": [0.5, 1.5], "b": [1.5, 1.0]})})
    >>> rows["north"].tolist(), names
    ([[0.5, 1.5], [1.5, 1.0]], ('a', 'b'))
    """
    opened, given = open_tables(tables), as_schema(schema)
    profiles = [scan(table, missing, schema=given) for table in opened]
    agreed, findings = unify(profiles, given)
    raise_errors([*findings, *(fault for profile in profiles for fault in faults(profile, agreed, missing))])
    words = [column.name for column in agreed.columns if column.kind == "categorical"]
    if words:
        columns = "columns" if len(words) > 1 else "column"
        raise InputError(
            f"{columns} {quoted(words)}: {method} needs continuous numbers, and these are categories; drop them, "
            "declare them continuous in a schema if they are numbers, or use IPERI, which takes categories"
        )
    out = {}
    for table in opened:
        frames = read_rows(table, agreed, chunk=1 << 16, missing=missing)
        parts = [
            np.column_stack([numbers(frame[column.name], column, table.name) for column in agreed.columns])
            for frame in frames
        ]
        out[table.name] = np.concatenate(parts)
    return out, agreed.names
