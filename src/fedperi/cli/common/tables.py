"""The table of a site, and the type of its columns."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError
from ...option_values import DATA, check_one_of


def table_and_type(
    table: str | None, data: str | None, data_type: str | None, note: Callable[[str], None]
) -> dict[str, str]:
    """Return the table and the type of its columns, also from their old options --data and --data-type.

    Examples
    --------
    >>> table_and_type(None, "north.csv", "linear", print)
    --data is the type of the columns now; write: fedperi site north.csv
    {'table': 'north.csv', 'data': 'linear'}
    >>> table_and_type("north.csv", "mixed", None, print)
    {'table': 'north.csv', 'data': 'mixed'}
    """
    if table is None and data is not None and data not in DATA:
        note(f"--data is the type of the columns now; write: fedperi site {data}")
        table, data = data, None
    if table is None:
        raise InputError("give the site's table: fedperi site north.csv")
    kind = data or data_type or "auto"
    check_one_of("data", kind, DATA)
    return {"table": table, "data": kind}
