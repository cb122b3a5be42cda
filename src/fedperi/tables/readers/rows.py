"""A table as a matrix of numbers, for methods that need the rows and not only their moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..checks.faults import faults
from ..checks.findings import quoted, raise_errors
from ..checks.profile import Missing
from ..encode import numbers, read_rows
from ..infer import SchemaLike, as_schema, unify
from ..survey import read_all
from ..table import CHUNK, Source, open_tables


def numeric_rows(
    tables: dict[str, Source], schema: SchemaLike | None = None, missing: Missing = "error", method: str = "this method"
) -> tuple[dict[str, NDArray[np.float64]], tuple[str, ...]]:
    """Read the tables of all sites as matrices with the columns in one order.

    Raises
    ------
    InputError
        If a table cannot be used, columns differ between sites, or a column does not hold numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> rows, names = numeric_rows({"north": pd.DataFrame({"a": [0.5, 1.5], "b": [1.5, 1.0]})})
    >>> rows["north"].tolist(), names
    ([[0.5, 1.5], [1.5, 1.0]], ('a', 'b'))
    """
    given = as_schema(schema)
    read = read_all(open_tables(tables), given, missing)
    profiles = [reading.profile for _, reading in read]
    agreed, findings = unify(profiles, given)
    raise_errors([*findings, *(fault for profile in profiles for fault in faults(profile, agreed, missing))])
    categories = [column.name for column in agreed.columns if column.kind == "categorical"]
    if categories:
        columns = "columns" if len(categories) > 1 else "column"
        raise InputError(
            f"{columns} {quoted(categories)}: {method} needs continuous numbers, and these are categories; drop them, "
            "declare them continuous in a schema if they are numbers, or use IPERI, which takes categories"
        )
    rows = {}
    for table, _ in read:
        chunks = [
            np.column_stack([numbers(frame[column.name], column, table.name) for column in agreed.columns])
            for frame in read_rows(table, agreed, CHUNK, missing)
        ]
        rows[table.name] = np.concatenate(chunks)
    return rows, agreed.names
