"""The pre-flight check: everything that is wrong or doubtful about the tables of all sites, before a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from ...errors import InputError
from ..embedding import CURVES, Embedding, common_embedding
from ..infer import SchemaLike, as_schema, unify
from ..missing.leaving import LeftOut, gaps_here, leave_out, other_spellings
from ..moments import Moments
from ..preparing.opening import Opening, failed
from ..preparing.prepared import zeros_missing
from ..readers.kept_rows import Memory
from ..schema import Schema
from ..statistics import Statistics
from ..survey import FirstReading, Part, Tell, read_once
from ..table import Source, Table
from .determined import determined_everywhere, determined_here
from .doubts import copies, doubts, explained, odd_columns, one_per_problem, unless_accepted, zeros_apart
from .duplicates import same_content
from .faults import constant_everywhere, faults
from .findings import Finding
from .profile import Missing
from .report import CheckReport, SiteSummary
from .suspects import sorted_alone

EVERYTHING: tuple[Part, ...] = ("spread", "moments", "hashes", "looks")  # all that a run needs later

Surveyed = tuple[Table, FirstReading]


def check(
    sources: Mapping[str, Source] | Iterable[Source],
    schema: SchemaLike | None = None,
    missing: Missing = "error",
    *,
    strict: bool = False,
    tell: Tell | None = None,
    how: Opening | None = None,
) -> CheckReport:
    """Check the tables of all sites, and collect all findings instead of stopping at the first.

    Parameters
    ----------
    sources : mapping of names to sources, or iterable of sources
        One table per site; see `fedperi.tables.open_tables`.
    schema : Schema or path of a schema file, optional
        Types and levels that are declared instead of inferred. It may name only some of the columns.
    missing : {"auto", "em", "error", "drop"}
        What the run will do with rows in which a value is missing.
    strict : bool
        Whether each site must be usable alone, as all methods except M-PERI require: no column that is constant at the
        site or determined by others there, and at least as many rows as variables. If not, these are warnings, and
        errors only if they hold for all sites together. A single table is always checked strictly.
    tell : callable, optional
        Called with a sentence for each step.
    how : Opening, optional
        Which columns are used, which are accepted as they are, and how text files are encoded.

    Examples
    --------
    >>> import pandas as pd
    >>> north = pd.DataFrame({"a": [float(i * i % 7) + 0.5 for i in range(40)], "b": [i + 0.5 for i in range(40)]})
    >>> south = north * 2 + 1
    >>> check([north, south]).ok
    True
    >>> for finding in check([north, south.rename(columns={"b": "c"})]).findings[:2]:
    ...     print(finding)
    column 'b': present at 'site 1' but not at 'site 2'; give all sites the same columns
    column 'c': present at 'site 2' but not at 'site 1'; give all sites the same columns
    """
    given, how = as_schema(schema), how or Opening()
    opened, found = how.open_each(sources, tell)
    if not opened and not found:
        raise InputError("there are no tables to check; give at least one")
    memory = Memory()
    tables, damaged = _read(opened, given, missing, memory, tell)
    tables, zeros = _zeros_as_missing(tables, given, missing, how.accept, memory, tell)
    agreed = _agree(tables, given, missing)
    known, accept = agreed.tables, how.accept
    found += damaged + zeros + agreed.findings
    found += same_content([(table.name, table.columns, reading.hashes) for table, reading in tables])
    together = strict or len(known) < 2  # one table is all sites together
    at_sites, statistics, embedded = _check_sites(known, agreed.schema, together, tell)
    odd = _odd(known, statistics, agreed.schema, given, accept)
    found += unless_accepted(at_sites, accept, {"determined"})
    found = [*(one for one in one_per_problem(found) if not explained(one, odd)), *odd]
    # A run need not compute again what is known about its tables.
    kept = (replace(table, first_reading=replace(r, embedded=embedded.get(table.name))) for table, r in tables)
    ranked = sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.level))
    return CheckReport(_site_summaries(tables, known), agreed.schema, tuple(ranked), tuple(kept))


def _odd(
    known: list[Surveyed],
    statistics: Mapping[str, Statistics],
    schema: Schema,
    given: Schema | None,
    accept: Collection[str],
) -> list[Finding]:
    """Find columns that are probably no measurements: identifiers, columns that are sorted alone, and so on."""
    odd = odd_columns([reading for _, reading in known], schema, given, accept)
    identifiers = {name for one in odd if one.problem == "identifier" for name in one.columns}  # often sorted
    alone = sorted_alone(statistics, {table.name: reading.looks for table, reading in known})
    alone = [one for one in alone if not identifiers.issuperset(one.columns)]
    errors = {one.columns for one in alone}  # these replace the notes that the same columns are sorted
    odd = [one for one in odd if not (one.problem == "sorted" and one.columns in errors)]
    return [*unless_accepted(alone, accept), *odd]


def _site_summaries(tables: list[Surveyed], known: list[Surveyed]) -> tuple[SiteSummary, ...]:
    used = {table.name for table, _ in known}
    return tuple(
        SiteSummary(t.name, t.origin, r.profile.total, r.hashes.incomplete, len(t.columns), t.name not in used)
        for t, r in tables
    )


def _read(
    tables: list[Table], schema: Schema | None, missing: Missing, memory: Memory, tell: Tell | None
) -> tuple[list[Surveyed], list[Finding]]:
    """Read all tables once; a table that cannot be read is a finding."""
    read, found = [], []
    for number, table in enumerate(tables, start=1):
        own = None if tell is None else _numbered(tell, number, len(tables))
        try:
            read.append(read_once(table, schema, missing, EVERYTHING, memory=memory, tell=own))
        except InputError as error:
            found.append(failed(table.name, error))
    return read, found


def _numbered(tell: Tell, number: int, count: int) -> Tell:
    return lambda words: tell(f"{words} ({number} of {count})")


def _zeros_as_missing(
    tables: list[Surveyed],
    given: Schema | None,
    missing: Missing,
    accepted: Collection[str],
    memory: Memory,
    tell: Tell | None,
) -> tuple[list[Surveyed], list[Finding]]:
    """Take zeros that lie apart from all other values as missing, with a finding; `odd_columns` refuses them otherwise.

    Cholesterol 0 was not measured. As a number it would look like a policy of the site, and give wrong arrows.
    """
    if missing == "error":
        return tables, []
    agreed = _agree(tables, given, missing)
    found = zeros_apart([reading for _, reading in agreed.tables], agreed.schema, given, accepted)
    names = {name for one in found for name in one.columns}
    again: list[Surveyed] = []
    for table, reading in tables:
        here = [name for name in names if name in reading.looks and reading.looks[name].codes.get(0)]
        if here:
            changed, damaged = _read([zeros_missing(table, here)], given, missing, memory, tell)
            again, found = again + changed, found + damaged
        else:
            again.append((table, reading))
    return again, found


class _Agreed(NamedTuple):
    """The schema of all sites, findings about it, and the tables and columns that are kept."""

    schema: Schema
    findings: list[Finding]
    tables: list[Surveyed]


def _agree(tables: list[Surveyed], given: Schema | None, missing: Missing) -> _Agreed:
    profiles = [reading.profile for _, reading in tables]
    left = leave_out(profiles) if missing == "auto" else LeftOut(findings=tuple(other_spellings(profiles)))
    known = [
        (table, replace(reading, profile=left.profiles([reading.profile])[0]))
        for table, reading in tables
        if table.name not in left.sites
    ]
    schema, differing = unify([reading.profile for _, reading in known], left.schema(given))
    refused = {name for one in left.findings if one.level == "error" for name in one.columns}
    return _Agreed(schema, [*left.findings, *(one for one in differing if not refused.issuperset(one.columns))], known)


def _check_sites(
    tables: list[Surveyed], schema: Schema, strict: bool, tell: Tell | None
) -> tuple[list[Finding], dict[str, Statistics], dict[str, tuple[Embedding, Moments]]]:
    """List what is wrong or doubtful at single sites, and at all of them together.

    Also return the statistics and the moments that were computed for it, by site.
    """
    found: list[Finding] = []
    statistics: dict[str, Statistics] = {}
    embedded: dict[str, tuple[Embedding, Moments]] = {}
    common = None if strict else _embedding_of_a_run(tables, schema)
    faulty, tied = set[str](), False
    for table, reading in tables:
        profile, missing = reading.profile, reading.missing
        found += [Finding("note", table.name, (), note) for note in table.notes]
        found += gaps_here(profile) if missing in ("auto", "em") else []
        unusable = faults(profile, schema, missing, constants="error" if strict else "warning")
        found += unusable + doubts(profile, schema, missing, strict) + copies(profile, schema, reading.hashes)
        names = {name for one in unusable for name in one.columns}
        here = determined_here(table, reading, schema, names, strict=strict, common=common, tell=tell)
        found, tied = [*found, *here.findings], tied or bool(here.findings)
        if here.statistics is not None:
            statistics[table.name] = here.statistics
        if here.moments is not None and common is not None:
            embedded[table.name] = (common, here.moments)
        faulty |= {name for one in unusable if one.level == "error" for name in one.columns}
    return _check_together(found, tables, schema, faulty, strict=strict, tied=tied), statistics, embedded


def _embedding_of_a_run(tables: list[Surveyed], schema: Schema) -> Embedding | None:
    """Return how M-PERI will embed rows; None if there are errors, which stop the run."""
    profiles = [reading.profile for _, reading in tables]
    found = [one for _, r in tables for one in faults(r.profile, schema, r.missing, constants="warning")]
    if any(one.level == "error" for one in found) or not schema.columns or constant_everywhere(profiles, schema):
        return None
    return common_embedding(schema, profiles, "nonlinear", CURVES)


def _check_together(
    found: list[Finding], tables: list[Surveyed], schema: Schema, faulty: set[str], *, strict: bool, tied: bool
) -> list[Finding]:
    """Add what is wrong with all sites together, in place of the same warnings about single sites.

    If `strict`, errors at single sites say it already, except that a column is nearly determined by others.
    """
    known = [(table, reading) for table, reading in tables if reading.profile.rows]
    if not known or not schema.columns:
        return found
    constant = [] if strict else constant_everywhere([reading.profile for _, reading in known], schema)
    names = {name for finding in constant for name in finding.columns}
    if strict and all(column.kind == "categorical" for column in schema.columns):
        tied = False  # counts of categories may depend on each other
    determined = determined_everywhere(known, schema, faulty | names) if tied else []
    determined = [one for one in determined if not strict or one.problem == "determined"]
    sets = {finding.columns for finding in determined}
    few, rows, p = [], sum(reading.profile.rows for _, reading in known), len(schema.columns)
    if rows <= p and not strict:
        message = f"{rows} rows at all sites together are not more than the {p} variables"
        few = [Finding("error", None, (), message, "drop variables, or collect more rows")]

    def repeated(one: Finding) -> bool:
        constant_too = one.problem == "constant" and names.issuperset(one.columns)
        return one.level != "error" and (one.columns in sets or constant_too or (bool(few) and one.problem == "few"))

    return [*(one for one in found if not repeated(one)), *constant, *determined, *few]
