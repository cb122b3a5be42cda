"""What in one site's values would make a statistic meaningless: too few rows, missing, infinite, constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..schema import Schema
from .findings import Finding, percent
from .profile import ColumnProfile, Missing, TableProfile

# Within these limits squares, and products of squares, stay far from overflow and underflow.
LARGEST, SMALLEST = 1e100, 1e-100
# A column that varies by less than this share of its size varies by rounding only.
ROUNDING = 1e-13
CONSTANT = "leave the column or the site out; among several sites M-PERI takes it as a policy"
"""What to do about a column that is constant at a site, where a method cannot do with it."""
MISSING = "fill them, drop the column, leave incomplete rows out (missing=drop), or use M-PERI with missing=auto"
"""What to do about missing values, where a method needs complete rows."""


def faults(profile: TableProfile, schema: Schema, missing: Missing, *, constants: bool = True) -> list[Finding]:
    """List the errors in one site's values.

    Without `constants`, a column that is constant at this site is no error: the site may have set it by a policy.

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
    """
    found = _missing(profile) if missing in ("error", "em") else []
    if missing == "em":  # it estimates what is missing from what is not
        found = [finding for finding in found if profile.columns[finding.columns[0]].missing == profile.total]
    found += [finding for column in profile.columns.values() for finding in _infinite(profile, column)]
    if profile.rows == 0:
        worst = max(profile.columns.values(), key=lambda column: column.missing)
        message = f"every row has a missing value, in this column {percent(worst.missing, profile.total)} of them"
        remedy = "drop the columns that are mostly missing"
        return [*found, Finding("error", profile.site, (worst.name,), message, remedy)]
    if profile.rows == 1:
        left = " is left after dropping those with missing values" if profile.dropped else ""
        remedy = "a site needs at least 2 (and many more to learn from)"
        return [*found, Finding("error", profile.site, (), f"only 1 row{left}", remedy)]
    flat = (
        _flat(profile.site, profile.columns[column.name], column.kind == "categorical", constants)
        for column in schema.columns
    )
    return found + [finding for finding in flat if finding is not None]


def constants_here(profile: TableProfile, schema: Schema) -> list[Finding]:
    """List the columns that are constant at one site, as warnings: a policy of the site, or a mistake.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import Column, open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> schema = Schema((Column("a", "continuous"),))
    >>> print(constants_here(scan(open_table(pd.DataFrame({"a": [3.0, 3.0]}), "north")), schema)[0])
    site 'north', column 'a': all values are the same (3); a policy of this site, or a mistake; --method iperi ...
    """
    if profile.rows < 2:
        return []
    remedy = "a policy of this site, or a mistake; --method iperi refuses it"
    found = (
        _flat(profile.site, profile.columns[column.name], column.kind == "categorical", constants=True)
        for column in schema.columns
    )
    return [
        replace(one, level="warning", remedy=remedy, problem="constant")
        for one in found
        if one is not None and one.remedy == CONSTANT
    ]


def constant_everywhere(profiles: Sequence[TableProfile], schema: Schema) -> list[Finding]:
    """List the columns that hold the same value at every site: they can neither cause nor be caused.

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


def _missing(profile: TableProfile) -> list[Finding]:
    found = []
    for column in profile.columns.values():
        if column.missing == profile.total:
            found.append(Finding("error", profile.site, (column.name,), "all values are missing", "drop the column"))
        elif column.missing:
            share = percent(column.missing, profile.total)
            message = f"{share} of the values are missing ({column.missing} of {profile.total})"
            found.append(Finding("error", profile.site, (column.name,), message, MISSING))
    return found


def _infinite(profile: TableProfile, column: ColumnProfile) -> list[Finding]:
    if not column.infinite:
        return []
    message = f"{column.infinite} infinite value{'s' if column.infinite > 1 else ''}"
    return [Finding("error", profile.site, (column.name,), message, "correct them, or mark them as missing")]


def _flat(site: str, column: ColumnProfile, categorical: bool, constants: bool) -> Finding | None:
    if categorical or column.storage in ("text", "category"):
        if len(column.levels) != 1 or column.many or not constants:
            return None
        message = f"all values are the same ({next(iter(column.levels))!r})"
        return Finding("error", site, (column.name,), message, CONSTANT)
    if column.storage == "empty":
        return None
    size, width = max(abs(column.low), abs(column.high)), column.high - column.low
    if width <= ROUNDING * size and size <= LARGEST:
        if not constants:
            return None
        how = "all values are the same" if width == 0 else "values differ by rounding only"
        return Finding("error", site, (column.name,), f"{how} ({column.low:g})", CONSTANT)
    if size > LARGEST or width < SMALLEST:
        message = f"values range from {column.low:g} to {column.high:g}, too extreme to be squared"
        return Finding("error", site, (column.name,), message, "use another unit of measurement")
    return None
