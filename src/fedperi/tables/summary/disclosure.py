"""Check whether an exact summary may leave a site, by the rules of statistical offices and of DataSHIELD.

An exact summary shows how many rows have each level of a category, and each pair of levels of two categories. A count
of 1 to `FEWEST` - 1 describes single people. A count of zero describes nobody. Sums over few rows with many columns can
be solved for the rows themselves; so there must be `ROWS_PER_COLUMN` rows for every column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..checks.findings import Finding

if TYPE_CHECKING:
    from .summary import Summary

Floats = NDArray[np.float64]

FEWEST = 5
"""Rows that a level, or a pair of levels, must have if it has any. The usual limit of DataSHIELD is 3; statistical
offices ask for 3 to 10."""

ROWS_PER_COLUMN = 10
"""Rows that the table must have for every column of the embedded table."""

Level = tuple[str, str]
"""A variable and one of its levels."""


def disclosure_findings(summary: Summary, two_values: Mapping[str, tuple[float, float]] | None = None) -> list[Finding]:
    """List why an exact summary may not leave the site, as errors with remedies. They show no count and no cell.

    The summary needs its schema, which names the levels. `two_values` are the columns of numbers that have only two
    values at the site, with these values: they are indicators too.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedperi as fp
    >>> table = pd.DataFrame({"age": range(40), "arm": ["u"] * 20 + ["v"] * 18 + ["w"] * 2})
    >>> for finding in disclosure_findings(fp.Summary.of(table, name="north")):
    ...     print(finding)
    site 'north', column 'arm': level 'w' has 1 to 4 rows; merge it with level 'v', or leave the column out
    """
    columns = len(summary.mean)
    found = []
    if summary.n < ROWS_PER_COLUMN * columns:
        message = f"an exact summary of {columns} columns needs {ROWS_PER_COLUMN * columns} rows, and there are fewer"
        remedy = "leave columns out, merge levels, or release with noise"
        found.append(Finding("error", summary.site, (), message, remedy))
    if summary.gaps is not None:
        message = "estimated from incomplete rows, so that rows of levels cannot be counted"
        found.append(Finding("error", summary.site, (), message, "leave incomplete rows out (--missing drop)"))
    found += _uncounted(summary, two_values or {})
    levels, counts = level_counts(summary, two_values or {})
    few = (counts >= 1) & (counts < FEWEST)
    rare = [at for at in range(len(levels)) if few[at, at]]
    for at in rare:
        (variable, level), merging = levels[at], _merging(levels, counts, at)
        remedy = f"{merging}, or leave the column out" if merging else "leave the column out, or release with noise"
        found.append(Finding("error", summary.site, (variable,), f"level {level!r} has 1 to {FEWEST - 1} rows", remedy))
    for i in range(len(levels)):
        for j in range(i):
            if few[i, j] and levels[i][0] != levels[j][0] and i not in rare and j not in rare:
                found.append(_rare_pair(summary.site, levels, counts, i, j))
    return found


def level_counts(
    summary: Summary, two_values: Mapping[str, tuple[float, float]]
) -> tuple[list[Level], NDArray[np.int64]]:
    """Count the rows of every level and of every pair of levels, as anyone can do from an exact summary.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedperi as fp
    >>> levels, counts = level_counts(fp.Summary.of(pd.DataFrame({"a": ["u", "v", "v"], "b": ["x", "x", "y"]})), {})
    >>> levels
    [('a', 'u'), ('a', 'v'), ('b', 'x'), ('b', 'y')]
    >>> counts.tolist()
    [[1, 0, 1, 0], [0, 2, 1, 1], [1, 1, 2, 0], [0, 1, 0, 1]]
    """
    if summary.schema is None:
        raise InputError(f"site {summary.site!r}: the summary names no levels; make it with `Summary.of`")
    size = len(summary.mean)
    levels: list[Level] = []
    unit = np.eye(size + 1)
    rows: list[Floats] = []  # each level's indicator as a linear function of (1, embedded columns)
    for column, block, embedded in zip(summary.schema.columns, summary.blocks, summary.units, strict=True):
        if column.levels is not None and embedded.startswith("OneHot"):
            parts = unit[[1 + at for at in block]]
            rows += [unit[0] - parts.sum(axis=0), *parts]
            levels += [(column.name, level) for level in column.levels]
        elif column.name in two_values:
            low, high = two_values[column.name]
            upper = (unit[1 + block[0]] - low * unit[0]) / (high - low)
            rows += [unit[0] - upper, upper]
            levels += [(column.name, f"{low:g}"), (column.name, f"{high:g}")]
    indicators = np.array(rows).reshape(len(rows), size + 1)
    sums = np.empty((size + 1, size + 1))
    sums[0, 0] = summary.n
    sums[0, 1:] = sums[1:, 0] = summary.n * summary.mean
    sums[1:, 1:] = summary.n * (summary.covariance + np.outer(summary.mean, summary.mean))
    return levels, np.rint(indicators @ sums @ indicators.T).astype(np.int64)


def _uncounted(summary: Summary, two_values: Mapping[str, tuple[float, float]]) -> list[Finding]:
    """Refuse categories that are taken as numbers: their sums reveal counts of levels that are not known here."""
    names = tuple(
        name
        for name, unit, kind in zip(summary.names, summary.units, summary.kinds, strict=True)
        if kind == "categorical" and not unit.startswith("OneHot") and name not in two_values
    )
    if not names:
        return []
    message = "a category that is taken as a number, so that the rows of its levels cannot be checked"
    remedy = "declare it as a category in the schema, and leave --data linear out; or release with noise"
    return [Finding("error", summary.site, names, message, remedy)]


def _rare_pair(site: str, levels: list[Level], counts: NDArray[np.int64], i: int, j: int) -> Finding:
    by_rows = sorted((i, j), key=lambda at: int(counts[at, at]))
    merging = [f"{words} of {levels[at][0]!r}" for at in by_rows if (words := _merging(levels, counts, at))]
    remedy = f"{merging[0]}, or leave" if merging else "leave"
    (a, level_a), (b, level_b) = levels[j], levels[i]
    message = f"levels {level_a!r} and {level_b!r} occur together in 1 to {FEWEST - 1} rows"
    return Finding("error", site, (a, b), message, f"{remedy} one of the columns out, or release with noise")


def _merging(levels: list[Level], counts: NDArray[np.int64], at: int) -> str:
    """Say with which level to merge a level: the rarest other one that occurs; with only two levels, say nothing."""
    variable = levels[at][0]
    others = [other for other, (name, _) in enumerate(levels) if name == variable and other != at]
    if len(others) < 2:
        return ""
    other = min(others, key=lambda o: (counts[o, o] == 0, counts[o, o]))
    merged = "it" if counts[at, at] < FEWEST else f"level {levels[at][1]!r}"
    return f"merge {merged} with level {levels[other][1]!r}"
