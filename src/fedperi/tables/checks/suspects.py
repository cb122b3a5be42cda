"""Find columns of numbers that are no measurements: identifiers, dates, codes of categories, sorted lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..infer import MAX_CODES
from ..preparing.obvious import names_an_identifier
from ..schema import Schema
from ..statistics import Statistics
from .findings import Finding, how_to_leave_out, quoted
from .looks import NumberLook
from .sentinels import Looked

COLLISIONS = 10.0
"""If more equal pairs than this are expected in a measurement in whole numbers, it is suspicious that there is none."""

ORDERED = 30
"""Rows from which on a column is not in order by chance; with at most `MAX_CODES` different values it may be."""

RELATED, CLEARLY = 3.0, 5.0
"""Standard errors up to which a column is called unrelated to another one, and from which on two sites differ in it."""


def identifier_findings(name: str, looks: Looked) -> list[Finding]:
    """Find a column that identifies cases, by its name or because its whole numbers never repeat.

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
    elif looks and all(look.whole and look.distinct for look in looks.values()) and _should_repeat(looks):
        message = "whole numbers that never repeat: probably an identifier"
    else:
        return []
    return [Finding("warning", None, (name,), message, how_to_leave_out(name), "identifier")]


def date_findings(name: str, looks: Looked) -> list[Finding]:
    """Find a column of dates that are written as whole numbers, such as 20240131.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.checks.looks import Looks
    >>> looks = Looks()
    >>> looks.add(pd.DataFrame({"visit": [20240100 + day % 28 + 1 for day in range(60)]}))
    >>> print(date_findings("visit", {"lyon": looks.result()["visit"]})[0])
    column 'visit': dates written as whole numbers, so that differences are not days; ...
    """
    if not looks or not all(look.whole and look.dates and look.n >= 10 for look in looks.values()):
        return []
    if any(len(np.unique(look.sample)) <= 2 for look in looks.values()):
        return []
    message = "dates written as whole numbers, so that differences are not days"
    remedy = f"convert them to days since a fixed date, or {how_to_leave_out(name)}"
    return [Finding("warning", None, (name,), message, remedy, "date")]


def number_notes(schema: Schema, given: Schema | None, looks: Mapping[str, Looked]) -> list[Finding]:
    """List columns taken as amounts that hold few different whole numbers, perhaps codes of categories.

    Columns with two values are not listed, because for them it makes no difference.
    """
    names = []
    for column in schema.columns:
        seen = looks.get(column.name, {}).values()
        if column.kind == "continuous" and (given is None or column.name not in given) and seen:
            different = np.unique(np.concatenate([look.sample for look in seen]))
            if all(look.whole for look in seen) and 2 < len(different) <= MAX_CODES:
                names.append(column.name)
    message = "few different whole numbers, stored as decimals and taken as amounts"
    remedy = 'if they are codes, declare kind = "categorical" in the schema'
    return [Finding("note", None, tuple(names), message, remedy, "codes")] if names else []


def order_findings(looks: Mapping[str, Looked], schema: Schema) -> list[Finding]:
    """List the columns by which the rows of a site are sorted: one column is a note, several are an error.

    Rows are often sorted by one column. They are sorted by two columns only if one follows from the other, or,
    more likely, if a spreadsheet sorted each column by itself: then a row no longer holds the values of one person.
    """
    sorted_at: dict[str, list[str]] = {}
    for name in schema.names:
        for site, look in looks.get(name, {}).items():
            if _in_order(look):
                sorted_at.setdefault(site, []).append(name)
    alike: dict[tuple[str, ...], list[str]] = {}
    for site, names in sorted_at.items():
        alike.setdefault(tuple(names), []).append(site)
    found = []
    for columns, sites in alike.items():
        if len(columns) == 1:
            remedy = "fine if whole rows were sorted; if only this column was, its relation to the others is lost"
            found.append(Finding("note", None, columns, f"sorted at {quoted(sites)}", remedy, "sorted"))
            continue
        place, where = (sites[0], "") if len(sites) == 1 else (None, f" at {quoted(sites)}")
        doubt = "perhaps each was sorted by itself, so that rows no longer belong together"
        message = f"all of them are sorted{where}: {doubt}"
        found.append(Finding("error", place, columns, message, "compare with the source", "sorted"))
    return found


def sorted_alone(statistics: Mapping[str, Statistics], looks: Mapping[str, Mapping[str, NumberLook]]) -> list[Finding]:
    """Find single columns that are in order at a site, and unrelated to all others there but not elsewhere.

    If whole rows are sorted, columns stay related. A column that was sorted by itself is unrelated to all others.
    `statistics` are by site, for sites with complete rows; `looks` are by site and column.
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
    """Return the columns of numbers to which a column is related at the other sites, but not here."""
    lost = []
    for other in here.names:
        if other == name or here.kinds[here.names.index(other)] != "continuous":
            continue
        if abs(_fisher(here, name, other)) * np.sqrt(here.n) > RELATED:
            return []  # related to one column here, it cannot have been sorted by itself
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


def _in_order(look: NumberLook) -> bool:
    return look.n >= ORDERED and (look.rising or look.falling) and len(np.unique(look.sample)) > MAX_CODES


def _should_repeat(looks: Looked) -> bool:
    """Whether measurements of this spread would repeat: of n values, 0.14 n^2 / spread pairs are equal by chance."""
    with np.errstate(over="ignore"):  # the spread of numbers too large to be squared is infinite: none would repeat
        spreads = [(len(look.sample), float(look.sample.std())) for look in looks.values()]
    return sum(0.14 * n * n / max(spread, 0.14) for n, spread in spreads) > COLLISIONS
