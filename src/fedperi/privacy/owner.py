"""Findings about a table for its owner only, before a release; none of them stops a release.

In a private run, refusing a table after connecting would reveal something about its rows. So problems with rows are
reported here, on the owner's own screen, while there is time to correct them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..tables.checks.findings import Finding, percent
from ..tables.checks.profile import Missing
from ..tables.embedding import Data
from ..tables.infer import SchemaLike
from ..tables.readers.private import default_of, is_number, limits, read_cells
from ..tables.schema import Column
from ..tables.table import Source, Table, open_table
from .options import Privacy
from .release.release import Plan

Floats = NDArray[np.float64]


@dataclass
class _Tally:
    """Counts of a table's cells: rows, and per column cells not read, outside the bounds, lowest and highest."""

    columns: int
    rows: int = 0
    incomplete: int = 0

    def __post_init__(self) -> None:
        self.unread, self.outside = np.zeros(self.columns, dtype=np.int64), np.zeros(self.columns, dtype=np.int64)
        self.low, self.high = np.full(self.columns, np.inf), np.full(self.columns, -np.inf)

    def add(self, values: Floats, bounds: Floats) -> None:
        gaps = np.isnan(values)
        self.rows, self.incomplete = self.rows + len(values), self.incomplete + int(gaps.any(axis=1).sum())
        self.unread += gaps.sum(axis=0)
        self.outside += ((values < bounds[:, 0]) | (values > bounds[:, 1])).sum(axis=0)
        self.low = np.fmin(self.low, np.fmin.reduce(values, axis=0, initial=np.inf))
        self.high = np.fmax(self.high, np.fmax.reduce(values, axis=0, initial=-np.inf))


def owner_findings(
    source: Source,
    privacy: Privacy,
    *,
    schema: SchemaLike | None = None,
    data: Data = "auto",
    missing: Missing = "error",
    name: str | None = None,
) -> list[Finding]:
    """List how a private run would treat unusual cells, damaged lines and few rows. The list stays at the site.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedperi as fp
    >>> table = pd.DataFrame({"crp": ["1.5", "<0.5", "2.5"] * 20, "sex": ["f", "m", "M"] * 20})
    >>> for finding in owner_findings(table, fp.Privacy(1.0, bounds={"crp": (0, 400), "sex": ["f", "m"]})):
    ...     print(finding)
    site 'table', column 'crp': 33.3 % of the cells are not numbers (20 of 60) and count as 200, the middle of the ...
    site 'table', column 'sex': 33.3 % of the cells are not declared levels (20 of 60) and count as 'f', the first ...
    """
    from .release.site_release import plan_release

    table = open_table(source, name)
    plan = plan_release(table, privacy, schema=schema, data=data)
    free = (-math.inf, math.inf)
    bounds = np.array([limits(c) if is_number(c, plan.data) else free for c in plan.schema.columns])
    tally = _Tally(len(bounds))
    for values in read_cells(table, plan.schema, plan.data, plan.decimal):
        tally.add(values, bounds)
    return [
        *_damaged_lines(table, tally.rows),
        *_unusual_cells(table, plan, tally, missing),
        *_weak_results(table, plan, tally, missing),
        *_large_delta(table, privacy, tally.rows),
    ]


def _damaged_lines(table: Table, rows: int) -> Iterable[Finding]:
    damaged = sum(part.damaged for part in table.cells())
    if damaged:
        message = f"{percent(damaged, damaged + rows)} of the lines do not have one field per column and are left out"
        remedy = "a line is a record under privacy: write each in one line, close quotes, quote cells with separators"
        yield Finding("warning", table.name, (), f"{message} ({damaged} of {damaged + rows})", remedy)


def _unusual_cells(table: Table, plan: Plan, tally: _Tally, missing: Missing) -> Iterable[Finding]:
    """Report cells that cannot be read or are outside their bounds, and how they are treated."""
    for at, column in enumerate(plan.schema.columns):
        number, unread, outside = is_number(column, plan.data), int(tally.unread[at]), int(tally.outside[at])
        if unread:
            what = "are not numbers" if number else "are not declared levels"
            done = "their rows are left out" if missing == "drop" else f"count as {_default(column, plan.data)}"
            message = f"{percent(unread, tally.rows)} of the cells {what} ({unread} of {tally.rows}) and {done}"
            remedy = (
                "correct or fill them; --missing drop leaves their rows out" if missing == "error" else "correct them"
            )
            yield Finding("warning", table.name, (column.name,), message, remedy)
        if outside:
            message = f"{percent(outside, tally.rows)} of the values lie outside the bounds ({outside} of {tally.rows})"
            remedy = "they are moved to the nearest bound; if that is wrong, agree on wider bounds with all sites"
            yield Finding("note", table.name, (column.name,), message, remedy)


def _weak_results(table: Table, plan: Plan, tally: _Tally, missing: Missing) -> Iterable[Finding]:
    """Report what makes results weak: few rows, columns that do not vary."""
    rows, p = tally.rows - (tally.incomplete if missing == "drop" else 0), len(plan.schema.columns)
    if rows < 10 * p:
        message = f"{rows} rows are few for {p} variables, and noise is added to them"
        yield Finding("warning", table.name, (), message, "leave variables out, or collect more rows")
    for at, column in enumerate(plan.schema.columns):
        if tally.rows > 1 and tally.low[at] == tally.high[at]:
            message = "all values that can be read are the same"
            yield Finding(
                "warning", table.name, (column.name,), message, "nothing can be learned from it; leave it out"
            )


def _large_delta(table: Table, privacy: Privacy, rows: int) -> Iterable[Finding]:
    """Report a delta that is too large for the table: it was chosen without it."""
    if privacy.most_rows is not None and rows > privacy.most_rows:
        message = f"{rows} rows are more than the {privacy.most_rows} that were declared as the most"
        yield Finding("warning", table.name, (), message, "delta was compared with this number: correct most_rows")
    elif privacy.delta * rows >= 1:
        message = f"delta = {privacy.delta:g} is not below one over the number of rows, {rows}"
        yield Finding("warning", table.name, (), message, f"choose a smaller delta, such as {0.1 / rows:.0e}")


def _default(column: Column, data: Data) -> str:
    if is_number(column, data):
        return f"{default_of(column, data):g}, the middle of the bounds"
    return f"{(column.levels or ('',))[0]!r}, the first level"
