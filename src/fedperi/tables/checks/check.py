"""The pre-flight check: everything that is wrong or doubtful about the tables of all sites, before a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import InputError
from ..embedding import CURVES, Embedding, common_embedding
from ..infer import SchemaLike, as_schema, unify
from ..missing.leaving import LeftOut, gaps_here, leave_out
from ..missing.spelled import other_spellings
from ..moments import Moments
from ..preparing.opening import Opening
from ..readers.kept_rows import Memory
from ..schema import Schema
from ..statistics import Statistics
from ..survey import FirstReading, Part, Tell, read_once
from ..table import Source, Table, named_sources
from .determined import REFUSED, determined_everywhere, determined_here
from .doubts import copies, doubts, explained, odd_columns, one_per_problem, said_better, unless_accepted
from .faults import constant_everywhere, constants_here, faults
from .findings import Finding, quoted
from .profile import Missing
from .suspects import sorted_alone

if TYPE_CHECKING:
    from rich.console import RenderableType

EVERYTHING: tuple[Part, ...] = ("spread", "moments", "hashes", "looks")  # so that a run finds all it needs

Surveyed = tuple[Table, FirstReading]


@dataclass(frozen=True)
class SiteSummary:
    """One line of the report: a site, its file, its rows, how many of them lack a value, and whether a run uses it."""

    name: str
    origin: str
    rows: int
    incomplete: int
    columns: int
    left_out: bool = False


@dataclass(frozen=True)
class CheckReport:
    """What `check` found.

    Parameters
    ----------
    sites : tuple of SiteSummary
        The sites that could be read.
    schema : Schema
        The columns that all sites share and whose type is clear.
    findings : tuple of Finding
        Errors, warnings and notes, in this order.
    tables : tuple of Table
        The tables that could be read, with what was found: a method that gets these does not read their files again.

    Examples
    --------
    >>> import pandas as pd
    >>> report = check({"north": pd.DataFrame({"a": [1.5, 1.5], "b": [2.5, 3.5]})})
    >>> report.ok
    False
    >>> print(report.findings[0])
    site 'north', column 'a': all values are the same (1.5); leave the column or the site out; among several ...
    """

    sites: tuple[SiteSummary, ...]
    schema: Schema
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...] = field(default=(), repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether there is no error: a run would start."""
        return not any(finding.level == "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        from .check_view import as_dict

        return as_dict(self)

    def to_rich(self) -> RenderableType:
        """Return the report as something a rich console prints."""
        from .check_view import as_rich

        return as_rich(self)


def check(
    sources: Mapping[str, Source] | Iterable[Source],
    schema: SchemaLike | None = None,
    missing: Missing = "error",
    *,
    strict: bool = False,
    tell: Tell | None = None,
    how: Opening | None = None,
) -> CheckReport:
    """Look at the tables of all sites, and collect all findings rather than stop at the first.

    Parameters
    ----------
    sources : mapping of names to sources, or iterable of sources
        One table per site; see `fedperi.tables.open_tables`.
    schema : Schema or path of a schema file, optional
        Types and levels that are not to be inferred; it may name only some of the columns.
    missing : {"auto", "em", "error", "drop"}
        What the run will do with rows in which a value is missing.
    strict : bool
        Whether every site must do by itself, as all methods but M-PERI require: no column that is constant at a site or
        determined by others there, and at least as many rows as variables. If not, these are warnings, and errors only
        if they hold for all sites together. One table alone is always taken strictly.
    tell : callable, optional
        Gets a table that is being read, and the number of its rows so far.
    how : Opening, optional
        Which columns count, which are accepted as they are, and how text files are encoded.

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
    given = as_schema(schema)
    named = named_sources(sources)
    if not named:
        raise InputError("there are no tables to check; give at least one")
    named, found = _own_names(named)
    how = how or Opening()
    opened, unreadable = _opened(named, how)
    tables, damaged = _read(opened, given, missing, tell)
    unreadable += damaged
    profiles = [reading.profile for _, reading in tables]
    left = leave_out(profiles) if missing == "auto" else LeftOut(findings=tuple(other_spellings(profiles)))
    found += left.findings
    known = [_kept(table, reading, left) for table, reading in tables if table.name not in left.sites]
    agreed, differing = unify([reading.profile for _, reading in known], left.schema(given))
    said = {name for one in left.findings if one.level == "error" for name in one.columns}
    found += unreadable + [one for one in differing if not said.issuperset(one.columns)] + _same_content(tables)
    odd = odd_columns([(table.name, reading) for table, reading in known], agreed, given, how.accept)
    at_sites = _sites(known, agreed, strict or len(known) < 2)  # one table is all sites together
    found += at_sites.findings
    alone = sorted_alone(at_sites.statistics, {table.name: reading.looks for table, reading in known})
    odd = [*unless_accepted(alone, how.accept), *(one for one in odd if not said_better(one, alone))]
    found = [*(one for one in one_per_problem(found) if not explained(one, odd)), *odd]
    ranked = sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.level))
    summaries = tuple(
        SiteSummary(
            table.name,
            table.origin,
            reading.profile.total,
            reading.hashes.incomplete,
            len(table.columns),
            table.name in left.sites,
        )
        for table, reading in tables
    )
    return CheckReport(summaries, agreed, tuple(ranked), tuple(map(at_sites.enriched, tables)))


def _kept(table: Table, reading: FirstReading, left: LeftOut) -> Surveyed:
    """Return what was found in the columns of a table that stay."""
    return table, replace(reading, profile=left.profiles([reading.profile])[0])


def _opened(named: list[tuple[str, Source]], how: Opening) -> tuple[list[Table], list[Finding]]:
    """Open all tables with the columns that count; what cannot be opened is a finding."""
    tables, found = [], []
    for name, source in named:
        try:
            tables.append(how.open(source, name))
        except InputError as error:
            found.append(_failed(name, error))
    how.check_names(table.columns for table in tables)
    return [how.choose(table) for table in tables], found


def _read(
    tables: list[Table], schema: Schema | None, missing: Missing, tell: Tell | None
) -> tuple[list[Surveyed], list[Finding]]:
    """Read all tables once; what cannot be read is a finding."""
    read, found, memory = [], [], Memory()
    for table in tables:
        try:
            read.append(read_once(table, schema, missing, EVERYTHING, memory=memory, tell=tell))
        except InputError as error:
            found.append(_failed(table.name, error))
    return read, found


def _failed(name: str, error: InputError) -> Finding:
    message, _, remedy = str(error).removeprefix(f"site {name!r}: ").partition("; ")
    return Finding("error", name, (), message, remedy)


class _Sites(NamedTuple):
    """What was found at single sites; statistics and moments by site, where they were needed for it."""

    findings: list[Finding]
    statistics: dict[str, Statistics]
    embedded: dict[str, tuple[Embedding, Moments]]

    def enriched(self, one: Surveyed) -> Table:
        """Return a table with all that is known of it."""
        table, reading = one
        return replace(table, first_reading=replace(reading, embedded=self.embedded.get(table.name)))


def _sites(tables: list[Surveyed], schema: Schema, strict: bool) -> _Sites:
    """List what is wrong or doubtful at single sites and, unless it is `strict`, at all of them together."""
    found: list[Finding] = []
    statistics: dict[str, Statistics] = {}
    embedded: dict[str, tuple[Embedding, Moments]] = {}
    common = None if strict else _embedding_of_a_run(tables, schema)
    faulty, exact = set[str](), False
    for table, reading in tables:
        profile, missing = reading.profile, reading.missing
        found += [Finding("note", table.name, (), note) for note in table.notes]
        errors = faults(profile, schema, missing, constants=strict)
        odd = [] if strict else constants_here(profile, schema)
        found += gaps_here(profile) if missing in ("auto", "em") else []
        found += errors + odd + doubts(profile, schema, missing, strict)
        found += copies(profile, schema, reading.hashes)
        own = {name for error in (*errors, *odd) for name in error.columns}
        here = determined_here(table, reading, schema, own, strict=strict, common=common)
        found, exact = [*found, *here.findings], exact or here.exact
        if here.statistics is not None:
            statistics[table.name] = here.statistics
        if here.moments is not None and common is not None:
            embedded[table.name] = (common, here.moments)
        faulty |= {name for error in errors for name in error.columns}
    found = found if strict else _of_all(found, tables, schema, faulty, exact)
    return _Sites(found, statistics, embedded)


def _embedding_of_a_run(tables: list[Surveyed], schema: Schema) -> Embedding | None:
    """Return how M-PERI will embed rows; None where something is wrong, so that there will be no run."""
    profiles = [reading.profile for _, reading in tables]
    wrong = any(faults(reading.profile, schema, reading.missing, constants=False) for _, reading in tables)
    if wrong or not schema.columns or constant_everywhere(profiles, schema):
        return None
    return common_embedding(schema, profiles, "nonlinear", CURVES)


def _of_all(
    found: list[Finding], tables: list[Surveyed], schema: Schema, faulty: set[str], exact: bool
) -> list[Finding]:
    """Add what is wrong with all sites together, in place of what was said of each about the same."""
    known = [(table, reading) for table, reading in tables if reading.profile.rows]
    if not known or not schema.columns:
        return found
    flat = constant_everywhere([reading.profile for _, reading in known], schema)
    constant = {name for finding in flat for name in finding.columns}
    tied = determined_everywhere(known, schema, faulty | constant) if exact else []
    sets = {finding.columns for finding in tied}
    kept = [one for one in found if one.level == "error" or not (one.columns in sets or _constant(one, constant))]
    rows, p = sum(reading.profile.rows for _, reading in known), len(schema.columns)
    few = []
    if rows <= p:
        message = f"{rows} rows at all sites together are not more than the {p} variables"
        few = [Finding("error", None, (), message, "drop variables, or collect more rows")]
        kept = [one for one in kept if "rows are not more than" not in one.message]
    return [*kept, *flat, *tied, *few]


def _constant(finding: Finding, names: set[str]) -> bool:
    """Whether a warning says of one site what an error says of all."""
    return len(finding.columns) == 1 and finding.columns[0] in names and finding.remedy.endswith(REFUSED)


def _own_names(named: list[tuple[str, Source]]) -> tuple[list[tuple[str, Source]], list[Finding]]:
    """Give sites that share a name a number each, so that the other findings can tell them apart."""
    names = Counter(name for name, _ in named)
    remedy = "rename the files, or give each site its own name"
    found = [
        Finding("error", name, (), f"{count} sites have this name", remedy)
        for name, count in names.items()
        if count > 1
    ]
    seen: Counter[str] = Counter()
    own = []
    for name, source in named:
        seen[name] += 1
        own.append((f"{name} ({seen[name]})" if seen[name] > 1 else name, source))
    return own, found


def _same_content(tables: list[Surveyed]) -> list[Finding]:
    by_content: dict[tuple[object, ...], list[str]] = {}
    for table, reading in tables:
        by_content.setdefault((*sorted(table.columns), *reading.hashes.content), []).append(table.name)
    remedy = "give every site's table once, or its rows count twice"
    return [
        Finding("warning", None, (), f"sites {quoted(names)} hold the same rows", remedy)
        for names in by_content.values()
        if len(names) > 1
    ]
