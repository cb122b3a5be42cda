"""Find what may spoil a run: doubts about single sites, about columns, and between sites. One finding per problem."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..levels import style_of
from ..schema import Schema
from ..survey import FirstReading
from .between import middles_of, shared_rows, swap_findings, unit_errors
from .determined import REFUSED
from .duplicates import RowHashes
from .findings import Finding, Level, percent, quoted
from .looks import NumberLook
from .profile import Missing, TableProfile
from .sentinels import Looked, impossible_findings, sentinel_findings, zero_findings
from .suspects import date_findings, identifier_findings, number_notes, order_findings

FEW_ROWS = 5  # rows below which a level is called rare
ROWS_PER_VARIABLE = 10  # rows per variable below which a site is called small
RARE = "merge rare levels with rename in the schema"
COPIES = 0.01  # share of repeated rows from which on a warning is given


def odd_columns(
    readings: Sequence[FirstReading], schema: Schema, given: Schema | None, accepted: Collection[str] = ()
) -> list[Finding]:
    """List what is odd in the columns of all sites together: codes, typing errors, identifiers, units, order.

    Columns that a schema declares are not reported as identifiers or dates. Values that would give wrong arrows are
    errors, except in columns that somebody looked at and accepted.
    """
    looks = _by_column(readings)
    found = []
    for column in schema.columns:
        seen = looks.get(column.name, {})
        odd = _not_measured(column.name, seen, given)
        if not odd and seen:
            odd = sentinel_findings(column.name, seen, column.levels)
            odd += impossible_findings(column.name, seen) if column.levels is None else []
        found += odd
    strange = {name for finding in found if finding.problem in ("identifier", "date") for name in finding.columns}
    measured = Schema(tuple(column for column in schema.columns if column.name not in strange))
    middles = middles_of(looks, measured)
    found += swap_findings(middles)
    swapped = {(finding.site, name) for finding in found if finding.problem == "swapped" for name in finding.columns}
    found += [one for one in unit_errors(middles) if (one.site, one.columns[0]) not in swapped]
    ordered = order_findings(looks, measured)
    found += [one for one in ordered if one.level == "error"]
    found += shared_rows([(reading.profile.site, reading.hashes) for reading in readings], measured)
    found = unless_accepted(found, accepted) + codes_taken(schema, given) + number_notes(measured, given, looks)
    return found + [one for one in ordered if one.level == "note"]


def zeros_apart(
    readings: Sequence[FirstReading], schema: Schema, given: Schema | None, accepted: Collection[str]
) -> list[Finding]:
    """List the columns of amounts in which zeros lie apart from all other values, unless somebody accepted them."""
    looks = _by_column(readings)
    found = []
    for column in schema.columns:
        name, seen = column.name, looks.get(column.name, {})
        if seen and column.levels is None and name not in accepted and not _not_measured(name, seen, given):
            found += zero_findings(name, seen)
    return found


def _not_measured(name: str, seen: Looked, given: Schema | None) -> list[Finding]:
    """Say that a column holds identifiers or dates, unless a schema declares it."""
    if given is not None and name in given:
        return []
    return identifier_findings(name, seen) or date_findings(name, seen)


def unless_accepted(
    found: Sequence[Finding], accepted: Collection[str], problems: Collection[str] | None = None
) -> list[Finding]:
    """Turn errors about columns that were all accepted into warnings; for the others, say how to accept them.

    If `problems` is given, only errors of these kinds can be accepted.

    Examples
    --------
    >>> print(unless_accepted([Finding("error", "lyon", ("age",), "too high", "look it up")], ())[0])
    site 'lyon', column 'age': too high; look it up; if the values are right, use --accept age
    """

    def accept(finding: Finding) -> Finding:
        if finding.level != "error" or (problems is not None and finding.problem not in problems):
            return finding
        if all(name in accepted for name in finding.columns):
            return replace(finding, level="warning")
        names = ",".join(finding.columns)
        return replace(finding, remedy=f"{finding.remedy}; if the values are right, use --accept {names}")

    return [accept(finding) for finding in found]


def explained(finding: Finding, odd: Sequence[Finding]) -> bool:
    """Whether a code or an identifier explains why a column is constant, or has rare levels or levels of one site."""
    if finding.problem not in ("constant", "rare", "levels") or finding.level == "error":
        return False
    return any(one.problem in ("sentinel", "identifier") and finding.columns[0] in one.columns for one in odd)


def one_per_problem(found: Sequence[Finding]) -> list[Finding]:
    """Join findings that are the same problem of the same columns at several sites.

    Examples
    --------
    >>> some = [Finding("warning", site, ("a", "b"), "nearly the same", "drop one", "determined") for site in "xy"]
    >>> print(one_per_problem(some)[0])
    columns 'a', 'b': nearly the same at 'x', 'y'; drop one
    """
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for at, one in enumerate(found):
        merged = one.problem in ("determined", "equal", "rare", "text") and one.site is not None
        key = (one.level, one.problem, one.remedy, *one.columns) if merged else (str(at),)
        groups.setdefault(key, []).append(one)
    return [group[0] if len(group) == 1 else _joined(group) for group in groups.values()]


def _joined(group: Sequence[Finding]) -> Finding:
    sites = quoted(one.site or "" for one in group)
    if group[0].problem != "rare":
        return replace(group[0], site=None, message=f"{group[0].message} at {sites}")
    what, _, _ = group[0].message.partition(": ")
    shown = "; ".join(f"{one.site!r} {one.message.partition(': ')[2]}" for one in group)
    return replace(group[0], site=None, message=f"{what}: {shown}")


def _by_column(readings: Sequence[FirstReading]) -> Mapping[str, Looked]:
    looks: dict[str, dict[str, NumberLook]] = {}
    for reading in readings:
        for name, look in reading.looks.items():
            looks.setdefault(name, {})[reading.profile.site] = look
    return looks


def codes_taken(schema: Schema, given: Schema | None) -> list[Finding]:
    """List the columns whose whole numbers are taken as categories."""
    inferred = (column for column in schema.columns if given is None or column.name not in given)
    coded = tuple(c.name for c in inferred if len(c.levels or ()) > 2 and style_of(c.levels or ()) == "number")
    message = "few different whole numbers, taken as categories"
    remedy = 'if they are amounts, declare kind = "continuous" in the schema'
    return [Finding("note", None, coded, message, remedy)] if coded else []


def doubts(profile: TableProfile, schema: Schema, missing: Missing, strict: bool) -> list[Finding]:
    """List doubts about one site: few rows, rare levels, values outside bounds, rows dropped."""
    found, site, n, p = [], profile.site, profile.rows, len(profile.columns)
    if missing == "drop" and profile.dropped and n:
        share = percent(profile.dropped, profile.total)
        message = f"{share} of the rows lack a value and are dropped ({profile.dropped} of {profile.total})"
        lacking = tuple(column.name for column in profile.columns.values() if column.missing)
        found.append(Finding("warning", site, lacking, message, "fine if values are missing at random"))
    if 1 < n <= p:
        message = f"{n} rows are not more than the {p} variables: most edges would be found by chance"
        level: Level = "error" if n < p and strict else "warning"  # most methods refuse such a site
        refused = REFUSED if n < p and not strict else ""
        found.append(Finding(level, site, (), message, f"drop variables, or collect more rows{refused}", "few"))
    elif 1 < n < ROWS_PER_VARIABLE * p:
        remedy = f"{ROWS_PER_VARIABLE} rows per variable are a usual minimum"
        found.append(Finding("warning", site, (), f"{n} rows are few for {p} variables", remedy))
    for column in schema.columns:
        held = profile.columns[column.name]
        if column.levels is not None and n >= FEW_ROWS:
            counts = zip(column.levels, held.counts(column.levels), strict=True)
            rare = [(level, rows) for level, rows in counts if 0 < rows < FEW_ROWS]
            if rare:
                shown = ", ".join(f"{level!r} ({rows})" for level, rows in rare[:5])
                more = f" and {len(rare) - 5} more" if len(rare) > 5 else ""
                message = f"levels with fewer than {FEW_ROWS} rows: {shown}{more}"
                found.append(Finding("warning", site, (column.name,), message, RARE, "rare"))
        if column.bounds is not None and n and (held.low < column.bounds[0] or held.high > column.bounds[1]):
            message = f"values from {held.low:g} to {held.high:g} exceed the declared bounds {column.bounds}"
            remedy = "they will be clipped where bounds are used"
            found.append(Finding("warning", site, (column.name,), message, remedy))
    return found


def copies(profile: TableProfile, schema: Schema, hashes: RowHashes) -> list[Finding]:
    """Say how many rows repeat an earlier one."""
    # It is normal that rows of categories repeat; measurements should not.
    if all(column.kind == "categorical" for column in schema.columns) or hashes.copies < COPIES * hashes.seen:
        return []
    message = f"{percent(hashes.copies, hashes.seen)} of the rows repeat an earlier row"
    return [Finding("warning", profile.site, (), message, "drop the copies, unless rows may be equal by chance")]
