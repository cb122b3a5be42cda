"""Values of one site with which no statistic can be computed: too few rows, missing, infinite or constant ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...phrases import with_noun
from ..schema import Schema
from .findings import Finding, percent
from .profile import ColumnProfile, Missing, TableProfile

# Within these limits squares, and products of squares, stay far from overflow and underflow.
LARGEST, SMALLEST = 1e100, 1e-100
# A column that varies by less than this share of its size varies by rounding only.
ROUNDING = 1e-13
CONSTANT = "leave the column or the site out; among several sites M-PERI takes it as a policy"
"""What to do about a column that is constant at a site, if the method cannot use it."""
MISSING = "fill them, drop the column, leave incomplete rows out (missing=drop), or use M-PERI with missing=auto"
"""What to do about missing values, where a method needs complete rows."""


def faults(
    profile: TableProfile, schema: Schema, missing: Missing, *, constants: Literal["error", "warning"] = "error"
) -> list[Finding]:
    """List the errors in one site's values.

    `constants` is the level of columns that are constant at this site. They are warnings if the site may have set them
    by a policy.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import Column, open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> schema = Schema((Column("a", "continuous"), Column("b", "continuous")))
    >>> profile = scan(open_table(pd.DataFrame({"a": [1.0, None], "b": [3.0, 3.0]}), "north"))
    >>> for finding in faults(profile, schema, "error"):
    ...     print(finding)
    site 'north', column 'a': 50.0 % of the values are missing (1 of 2); fill them, drop the column, leave ...
    site 'north', column 'b': all values are the same (3); leave the column or the site out; among several sites ...
    >>> print(faults(profile, schema, "em", constants="warning")[-1])
    site 'north', column 'b': all values are the same (3); a policy of this site, or a mistake; --method iperi ...
    """
    found = _missing(profile, missing)
    for name, column in profile.columns.items():
        if column.infinite:
            message, remedy = with_noun(column.infinite, "infinite value"), "correct them, or mark them as missing"
            found.append(Finding("error", profile.site, (name,), message, remedy))
    if profile.rows == 0:
        worst = max(profile.columns.values(), key=lambda column: column.missing)
        share = percent(worst.missing, profile.total)
        message = f"no row is complete, and in this column {share} of the values are missing"
        remedy = "drop the columns that are mostly missing"
        return [*found, Finding("error", profile.site, (worst.name,), message, remedy)]
    if profile.rows == 1:
        left = " is left after dropping those with missing values" if profile.dropped else ""
        remedy = "a site needs at least 2 (and many more to learn from)"
        return [*found, Finding("error", profile.site, (), f"only 1 row{left}", remedy)]
    for declared in schema.columns:
        found += _flat(profile.site, profile.columns[declared.name], declared.kind == "categorical", constants)
    return found


def constant_everywhere(profiles: Sequence[TableProfile], schema: Schema) -> list[Finding]:
    """List the columns that hold the same value at every site: they can be neither a cause nor an effect.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import Column, open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> schema = Schema((Column("a", "continuous"),))
    >>> profiles = [scan(open_table(pd.DataFrame({"a": [3.0, 3.0]}), name)) for name in ("north", "south")]
    >>> print(constant_everywhere(profiles, schema)[0])
    column 'a': all values are the same at every site; drop the column
    """
    found = []
    for column in schema.columns:
        parts = [profile.columns[column.name] for profile in profiles]
        if column.kind == "categorical":
            flat = len({level for part in parts for level in part.levels}) == 1 and not any(p.many for p in parts)
        else:
            low, high = min(part.low for part in parts), max(part.high for part in parts)
            flat = high - low <= ROUNDING * max(abs(low), abs(high))
        if flat:
            message = "all values are the same at every site"
            found.append(Finding("error", None, (column.name,), message, "drop the column"))
    return found


def _missing(profile: TableProfile, missing: Missing) -> list[Finding]:
    """List the columns with missing values; EM needs only some values in each of them."""
    found = []
    for column in profile.columns.values():
        if column.missing == profile.total and missing in ("error", "em"):
            found.append(Finding("error", profile.site, (column.name,), "all values are missing", "drop the column"))
        elif column.missing and missing == "error":
            share = percent(column.missing, profile.total)
            message = f"{share} of the values are missing ({column.missing} of {profile.total})"
            found.append(Finding("error", profile.site, (column.name,), message, MISSING))
    return found


def _flat(site: str, column: ColumnProfile, categorical: bool, constants: Literal["error", "warning"]) -> list[Finding]:
    """Say that a column is constant, or that its numbers cannot be squared."""
    size, width = max(abs(column.low), abs(column.high)), column.high - column.low
    if categorical or column.storage in ("text", "category"):
        if len(column.levels) != 1 or column.many:
            return []
        message = f"all values are the same ({next(iter(column.levels))!r})"
    elif column.storage == "empty":
        return []
    elif width <= ROUNDING * size and size <= LARGEST:
        message = f"{'all values are the same' if width == 0 else 'values differ by rounding only'} ({column.low:g})"
    elif size > LARGEST or width < SMALLEST:
        message = f"values range from {column.low:g} to {column.high:g}, too extreme to be squared"
        return [Finding("error", site, (column.name,), message, "use another unit of measurement")]
    else:
        return []
    if constants == "error":
        return [Finding("error", site, (column.name,), message, CONSTANT)]
    remedy = "a policy of this site, or a mistake; --method iperi refuses it"
    return [Finding("warning", site, (column.name,), message, remedy, "constant")]
