"""Columns of numbers that are something else: identifiers, dates, codes of categories, sorted lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..infer import MAX_CODES
from ..preparing.obvious import names_an_identifier
from ..schema import Schema
from ..statistics import Statistics
from .findings import Finding, quoted
from .looks import NumberLook
from .sentinels import Looked

COLLISIONS = 10.0
"""Equal pairs that a measurement in whole numbers would be expected to have, so that none at all is telling."""

ORDERED = 30
"""Rows from which on it is no chance that a column is in order; with fewer than ten different values it may be."""

RELATED, CLEARLY = 3.0, 5.0
"""Standard errors up to which a column is unrelated to another one, and from which on two sites differ in that."""

LEAVE_OUT = 'leave it out: --exclude {0}, or kind = "ignore" in the schema'


def identifier_findings(name: str, looks: Looked) -> list[Finding]:
    """Say that a column identifies cases, by its name or because whole numbers never repeat.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.checks.looks import Looks
    >>> looks = Looks()
    >>> looks.add(pd.DataFrame({"case": range(300)}))
    >>> print(identifier_findings("case", {"lyon": looks.result()["case"]})[0])
    column 'case': whole numbers that never repeat: probably an identifier; leave it out: --exclude case, ...
    """
    if names_an_identifier(name):
        message = "its name suggests that it identifies people, cases or places"
    elif looks and all(look.whole and look.distinct for look in looks.values()) and _telling(looks):
        message = "whole numbers that never repeat: probably an identifier"
    else:
        return []
    return [Finding("warning", None, (name,), message, LEAVE_OUT.format(name), "identifier")]


def date_findings(name: str, looks: Looked) -> list[Finding]:
    """Say that whole numbers are dates, such as 20240131.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.checks.looks import Looks
    >>> looks = Looks()
    >>> looks.add(pd.DataFrame({"visit": [20240100 + day % 28 + 1 for day in range(60)]}))
    >>> print(date_findings("visit", {"lyon": looks.result()["visit"]})[0])
    column 'visit': dates written as whole numbers, so that differences are not days; ...
    """
    if not looks or not all(look.whole and _dates(look) for look in looks.values()):
        return []
    message = "dates written as whole numbers, so that differences are not days"
    remedy = f"convert them to days since a fixed date, or {LEAVE_OUT.format(name)}"
    return [Finding("warning", None, (name,), message, remedy, "date")]


def number_notes(schema: Schema, given: Schema | None, looks: Mapping[str, Looked]) -> list[Finding]:
    """Name columns taken as amounts that hold few different whole numbers: perhaps codes of categories.

    Numbers with two values are left out: it does not matter for them.
    """
    names = tuple(
        column.name
        for column in schema.columns
        if column.kind == "continuous"
        and (given is None or column.name not in given)
        and looks.get(column.name)
        and all(look.whole for look in looks[column.name].values())
        and 2 < len(np.unique(np.concatenate([look.sample for look in looks[column.name].values()]))) <= MAX_CODES
    )
    message = "few different whole numbers, stored as decimals and taken as amounts"
    remedy = 'if they are codes, declare kind = "categorical" in the schema'
    return [Finding("note", None, names, message, remedy, "codes")] if names else []


def order_findings(looks: Mapping[str, Looked], schema: Schema) -> list[Finding]:
    """Name sites whose rows are in the order of several columns, each of which was perhaps sorted by itself.

    Rows that are sorted by one column are usual. Two columns in order fit one order of the rows only if one follows
    from the other: then a spreadsheet has more likely sorted each alone, and the rows are no longer those of people.
    """
    same: dict[tuple[str, ...], list[str]] = {}
    for site, names in _in_order_at(looks, schema).items():
        if len(names) > 1:
            same.setdefault(tuple(names), []).append(site)
    remedy = "compare with the source"
    return [
        Finding(
            "error",
            sites[0] if len(sites) == 1 else None,
            names,
            f"all of them are sorted{'' if len(sites) == 1 else f' at {quoted(sites)}'}: perhaps each was sorted by "
            "itself, so that rows no longer belong together",
            remedy,
            "sorted",
        )
        for names, sites in same.items()
    ]


def sorted_notes(looks: Mapping[str, Looked], schema: Schema) -> list[Finding]:
    """Say which single column rows are sorted by: harmless, unless the column alone was sorted."""
    by_column: dict[str, list[str]] = {}
    for site, names in _in_order_at(looks, schema).items():
        if len(names) == 1:
            by_column.setdefault(names[0], []).append(site)
    remedy = "fine if whole rows were sorted; if only this column was, its relation to the others is lost"
    return [
        Finding("note", None, (name,), f"sorted at {quoted(where)}", remedy, "sorted")
        for name, where in by_column.items()
    ]


def sorted_alone(statistics: Mapping[str, Statistics], looks: Mapping[str, Mapping[str, NumberLook]]) -> list[Finding]:
    """Name single columns that are in order at a site, and unrelated to all others there but not elsewhere.

    Whole rows that are sorted keep their relations. A column that was sorted by itself has none left.

    Parameters
    ----------
    statistics : mapping of str to Statistics
        By site, where rows are complete.
    looks : mapping of str to mapping of str to NumberLook
        By site and column.
    """
    found = []
    for site, here in statistics.items():
        names = [name for name in here.names if name in looks[site] and _in_order(looks[site][name])]
        others = [other for name, other in statistics.items() if name != site]
        if len(names) != 1 or not others:
            continue
        lost = _lost(names[0], here, others)
        if lost:
            message = f"sorted, and unrelated to all other columns, although elsewhere it is related to {quoted(lost)}"
            remedy = "probably it was sorted by itself, and rows no longer belong together; compare with the source"
            found.append(Finding("error", site, (names[0],), message, remedy, "sorted"))
    return found


def _lost(name: str, here: Statistics, others: Sequence[Statistics]) -> list[str]:
    """Return the columns of numbers that one depends on at the other sites; none if it depends on some here."""
    lost = []
    for other in here.names:
        if other == name or here.kinds[here.names.index(other)] != "continuous":
            continue
        if abs(_fisher(here, name, other)) * np.sqrt(here.n) > RELATED:
            return []
        known = [some for some in others if other in some.names and name in some.names]
        rows = sum(some.n for some in known)
        usual = sum(some.n * _fisher(some, name, other) for some in known) / max(rows, 1)
        if rows and abs(usual - _fisher(here, name, other)) > CLEARLY * np.sqrt(1 / here.n + 1 / rows):
            lost.append(other)
    return lost


def _fisher(statistics: Statistics, a: str, b: str) -> float:
    """Return Fisher's z of the correlation of two numbers."""
    i, j = (statistics.blocks[statistics.names.index(name)][0] for name in (a, b))
    return float(np.arctanh(np.clip(statistics.correlation[i, j], -0.999999, 0.999999)))


def _in_order_at(looks: Mapping[str, Looked], schema: Schema) -> dict[str, list[str]]:
    """Return the columns that are in order, by site."""
    sites: dict[str, list[str]] = {}
    for name in schema.names:
        for site, look in looks.get(name, {}).items():
            if _in_order(look):
                sites.setdefault(site, []).append(name)
    return sites


def _in_order(look: NumberLook) -> bool:
    return look.n >= ORDERED and (look.rising or look.falling) and len(np.unique(look.sample)) > MAX_CODES


def _telling(looks: Looked) -> bool:
    """Whether measurements that spread so would repeat: of n values, 0.14 n^2 / spread pairs are equal by chance."""
    with np.errstate(over="ignore"):  # the spread of numbers too large to be squared is infinite: none would repeat
        spreads = [(len(look.sample), float(look.sample.std())) for look in looks.values()]
    return sum(0.14 * n * n / max(spread, 0.14) for n, spread in spreads) > COLLISIONS


def _dates(look: NumberLook) -> bool:
    return look.dates and look.n >= 10 and len(np.unique(look.sample)) > 2
