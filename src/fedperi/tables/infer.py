"""Find one schema for all sites: infer types from the data, and report differences between sites.

The rules, in this order:
- text, truth values and pandas categoricals are categorical;
- whole numbers are categorical (codes) if at most `MAX_CODES` different ones occur across all sites, each in
  `ROWS_PER_CODE` rows on average, and at least one site stores them as integers; integers with missing values count;
- all other numbers are continuous;
- columns that a given schema declares are taken as declared.

The levels of a category are those found at any site. If one site has them all and another lacks some, these levels are
rare, which is a warning. If no site has them all (``f, m`` at one, ``0, 1`` at another), sites probably code the column
differently. This is an error until a schema declares the levels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike

from ..errors import InputError
from .checks.findings import Finding, how_to_leave_out, percent, quoted, raise_errors
from .checks.profile import ColumnProfile, TableProfile, scan
from .levels import lacking_by_chance, level_text, number_of, sorted_levels, style_of
from .preparing.prepared import prepared
from .preparing.texts import may_be_shown, partly_numbers, rename_of, spellings, text_kind
from .schema import Column, Schema
from .table import Source, open_tables

MAX_CODES = 10  # more different whole numbers are taken for measurements, not for codes
ROWS_PER_CODE = 10  # with fewer rows per code, on average, whole numbers are taken for measurements

SchemaLike = Schema | str | PathLike[str]


def infer_schema(tables: Mapping[str, Source] | Iterable[Source], overrides: SchemaLike | None = None) -> Schema:
    """Find the schema that the tables of all sites share, reading every table once.

    Parameters
    ----------
    tables : mapping of names to sources, or iterable of sources
        One table per site; see `fedperi.tables.open_table`.
    overrides : Schema or path of a schema file, optional
        Columns whose type, levels or bounds are declared instead of inferred. It may name only some of the columns.

    Raises
    ------
    InputError
        If columns, types or levels differ between sites. The message lists all differences.

    Examples
    --------
    >>> import pandas as pd
    >>> north = pd.DataFrame({"age": [41.5, 37.0, 60.25], "sex": ["f", "m", "m"]})
    >>> south = pd.DataFrame({"sex": ["m", "f"], "age": [50.5, 71.0]})
    >>> for column in infer_schema([north, south]).columns:
    ...     print(column)
    Column(name='age', kind='continuous', levels=None, bounds=None)
    Column(name='sex', kind='categorical', levels=('f', 'm'), bounds=None)
    """
    given = as_schema(overrides)
    opened = [prepared(table, given) for table in open_tables(tables)]
    schema, findings = unify([scan(table, schema=given, spread=False) for table in opened], given)
    raise_errors(findings)
    return schema


def as_schema(schema: SchemaLike | None) -> Schema | None:
    """Read a schema if it is given as a path.

    Examples
    --------
    >>> as_schema(None) is None
    True
    """
    if schema is None or isinstance(schema, Schema):
        return schema
    if isinstance(schema, (str, PathLike)):
        return Schema.from_file(schema)
    raise InputError(f"schema must be a Schema or the path of a schema file, not {type(schema).__name__}")


def unify(profiles: Sequence[TableProfile], overrides: Schema | None = None) -> tuple[Schema, list[Finding]]:
    """Find the schema of profiled tables, and all problems with it.

    The schema holds the columns that all sites have and whose type is clear; the findings describe the others.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> tables = {"north": pd.DataFrame({"a": ["0", "1"]}), "south": pd.DataFrame({"a": [0.5, 1.5]})}
    >>> schema, findings = unify([scan(open_table(frame, name)) for name, frame in tables.items()])
    >>> schema.columns, len(findings)
    ((), 1)
    >>> print(findings[0])
    column 'a': text at 'north' but numbers at 'south'; use the same type at all sites, or ...
    """
    names = list(dict.fromkeys(name for profile in profiles for name in profile.columns))
    findings = _missing_columns(profiles, names, overrides)
    columns, rows = [], sum(profile.rows for profile in profiles)
    given = {column.name: column for column in (overrides.columns if overrides is not None else ())}
    for name in names:
        sites = {profile.site: profile.columns[name] for profile in profiles if name in profile.columns}
        column, found = _declared(given[name], sites) if name in given else _infer_column(name, sites, rows)
        findings += found
        if column is not None and len(sites) == len(profiles):
            columns.append(column)
    return Schema(tuple(columns)), findings


def _missing_columns(profiles: Sequence[TableProfile], names: list[str], overrides: Schema | None) -> list[Finding]:
    found = []
    for name in names:
        absent = [profile.site for profile in profiles if name not in profile.columns]
        if absent:
            present = [profile.site for profile in profiles if name in profile.columns]
            message = f"present at {quoted(present)} but not at {quoted(absent)}"
            found.append(Finding("error", None, (name,), message, "give all sites the same columns"))
    known = set(names)
    for name in overrides.mentioned if overrides is not None else ():
        if name not in known:
            remedy = f"the columns are {quoted(names)}"
            found.append(Finding("error", None, (name,), "named in the schema but in no table", remedy))
    return found


_WORDS = {"integer": "numbers", "number": "numbers", "boolean": "truth values", "text": "text", "category": "text"}


def _infer_column(name: str, sites: Mapping[str, ColumnProfile], rows: int) -> tuple[Column | None, list[Finding]]:
    found = _unsupported(name, sites)
    filled = {site: profile for site, profile in sites.items() if profile.storage != "empty"}
    if found or not filled:  # a column without any values is reported as missing, not here
        return None, found
    words = {site: _WORDS[profile.storage] for site, profile in filled.items()}
    if len(set(words.values())) > 1:
        kinds = list(dict.fromkeys(words.values()))
        spelled = {kind: f"{kind}{_examples(filled.values()) if kind == 'text' else ''}" for kind in kinds}
        where = {kind: quoted(site for site in words if words[site] == kind) for kind in kinds}
        texts = [site for site in words if words[site] == "text"]
        if len(kinds) == 2 and "numbers" in kinds and texts and all(partly_numbers(sites[one].levels) for one in texts):
            odd = [one for site in texts for one in _odd_text(site, sites[site])]
            return None, [replace(one, message=f"{one.message}; numbers only at {where['numbers']}") for one in odd]
        message = " but ".join(f"{spelled[kind]} at {where[kind]}" for kind in kinds)
        remedy = "use the same type at all sites, or declare the column in the schema"
        return None, [Finding("error", None, (name,), message, remedy)]
    if "numbers" in words.values() and not _coded(filled, rows):
        return Column(name, "continuous"), []
    found = [finding for site, profile in filled.items() for finding in _odd_text(site, profile)]
    return (None, found) if found else _join_levels(name, filled)


def _examples(profiles: Iterable[ColumnProfile]) -> str:
    """Show some of the text in a column, if it is the name of a category and not the text of a single row."""
    words = [profile for profile in profiles if profile.storage in ("text", "category")]
    texts = {text for profile in words if not profile.many for text in may_be_shown(profile.levels)}
    shown = sorted(texts, key=lambda text: (number_of(text) is not None, text))[:3]
    return f" such as {quoted(shown)}" if shown else ""


def _coded(sites: Mapping[str, ColumnProfile], rows: int) -> bool:
    """Whether a column of numbers holds codes rather than measurements."""
    profiles = sites.values()
    codes = {level for profile in profiles for level in profile.levels}
    return (
        all(profile.whole and not profile.many for profile in profiles)
        and any(profile.storage == "integer" for profile in profiles)
        and len(codes) <= MAX_CODES
        and rows >= ROWS_PER_CODE * len(codes)
    )


def _unsupported(name: str, sites: Mapping[str, ColumnProfile]) -> list[Finding]:
    remedy = "turn them into numbers or categories, or drop the column"
    return [
        Finding("error", site, (name,), f"values of type {profile.dtype} are neither numbers nor categories", remedy)
        for site, profile in sites.items()
        if profile.storage == "other"
    ]


def _odd_text(site: str, profile: ColumnProfile) -> list[Finding]:
    """Find text that is not a category: dates, free text, identifiers, and numbers with some text among them."""
    if profile.storage not in ("text", "category"):
        return []
    words = [level for level in profile.levels if number_of(level) is None]
    numbers = len(profile.levels) - len(words)
    what, leave_out = text_kind(profile.levels, profile.many), how_to_leave_out(profile.name)
    if profile.storage == "text" and partly_numbers(profile.levels):
        message = "numbers, but also text"
        if not profile.many:
            share = percent(sum(profile.levels[word] for word in words), sum(profile.levels.values()))
            message += f" in {share} of the rows"
        message += _examples([replace(profile, levels={word: profile.levels[word] for word in words})])
        remedy = "if it means missing, declare it as missing_values in the schema; or make it a number"
    elif profile.storage == "text" and numbers > MAX_CODES and not words:
        message, remedy = "numbers stored as text", "store them as numbers, or declare the column in a schema"
    elif what == "dates":
        message, remedy = "dates or times", f"convert them to days since a fixed date, or {leave_out}"
    elif what == "free text":
        message, remedy = "free text", leave_out
    elif what == "own text":
        message = "text with many different values: names, identifiers or free text"
        remedy = f"{leave_out}; or group its values into fewer categories"
    else:
        return []
    return [Finding("error", site, (profile.name,), message, remedy, "text")]


def _join_levels(name: str, sites: Mapping[str, ColumnProfile]) -> tuple[Column | None, list[Finding]]:
    union = {level for profile in sites.values() for level in profile.levels}
    groups = spellings(sorted_levels(union))
    if groups:
        return None, [_one_spelling(name, groups, sites)]
    found = []
    complete = any(len(profile.levels) == len(union) for profile in sites.values())
    if complete or lacking_by_chance([profile.levels for profile in sites.values()]):
        found = _absent_levels(name, sites, union)
    else:
        shown = "; ".join(f"{quoted(sorted_levels(profile.levels))} at {site!r}" for site, profile in sites.items())
        remedy = "use the same codes at all sites, or declare its levels (or that it is continuous) in the schema"
        found.append(Finding("error", None, (name,), f"levels differ: {shown}", remedy))
    try:
        return Column(name, "categorical", sorted_levels(union)), found
    except InputError as error:  # "1" and "01" in one column
        return None, [*found, Finding("error", None, (name,), str(error))]


def _one_spelling(name: str, groups: Sequence[tuple[str, ...]], sites: Mapping[str, ColumnProfile]) -> Finding:
    rows: Counter[str] = Counter()
    for profile in sites.values():
        rows.update(profile.levels)
    shown = "; ".join(quoted(group) for group in groups)
    rename = rename_of(groups, rows)
    remedy = f"declare {rename} for {name} in the schema; if they differ in meaning, declare its levels"
    return Finding("error", None, (name,), f"different spellings of the same level: {shown}", remedy, "spelling")


def _absent_levels(name: str, sites: Mapping[str, ColumnProfile], union: set[str]) -> list[Finding]:
    """Report levels that only one site has, and levels that some sites lack, with one finding each."""
    sites = {site: profile for site, profile in sites.items() if sum(profile.levels.values()) > 1}
    where = {level: [site for site, profile in sites.items() if level in profile.levels] for level in union}
    alone = [level for level in sorted_levels(union) if len(where[level]) == 1 and len(sites) > 2]
    lacking = [level for level in sorted_levels(union) if len(where[level]) < len(sites) and level not in alone]
    found = []
    if alone:
        message = f"levels that occur at one site only: {_levels_by_site({one: where[one] for one in alone})}"
        remedy = "fine if they are rare; if the site spells the same thing differently, use rename in the schema"
        found.append(Finding("warning", None, (name,), message, remedy, "levels"))
    if lacking:
        absent = {one: [site for site in sites if site not in where[one]] for one in lacking}
        remedy = "fine if they are rare; otherwise check that all sites use the same codes"
        message = f"levels that do not occur: {_levels_by_site(absent)}"
        found.append(Finding("warning", None, (name,), message, remedy, "levels"))
    return found


def _levels_by_site(places: Mapping[str, list[str]]) -> str:
    """Write levels with their sites; levels of the same sites are written together."""
    levels: dict[tuple[str, ...], list[str]] = {}
    for level, sites in places.items():
        levels.setdefault(tuple(sites), []).append(level)
    return "; ".join(f"{quoted(some, 5)} at {quoted(sites)}" for sites, some in levels.items())


def _declared(column: Column, sites: Mapping[str, ColumnProfile]) -> tuple[Column | None, list[Finding]]:
    found = _unsupported(column.name, sites)
    if found:
        return None, found
    if column.kind == "continuous":
        for site, profile in sites.items():
            if profile.levels and profile.storage in ("text", "category"):
                message, remedy = f"holds text{_examples([profile])}", "store numbers, or declare it categorical"
                found.append(Finding("error", site, (column.name,), f"declared continuous, but {message}", remedy))
        return (None if found else column), found
    if column.levels is None:
        for site, profile in sites.items():
            if profile.many:
                message = f"declared categorical, but has more than {len(profile.levels)} different values"
                found.append(Finding("error", site, (column.name,), message, "declare its levels, or group them"))
        filled = {site: profile for site, profile in sites.items() if profile.levels}
        return (None, found) if found or not filled else _join_levels(column.name, filled)
    style = style_of(column.levels)
    for site, profile in sites.items():
        unknown = {level_text(level, style) for level in profile.levels} - set(column.levels)
        if unknown:
            shown = sorted_levels(unknown.intersection(may_be_shown(profile.levels)))
            some = f"values {quoted(shown)}" if shown else "some values"
            message = f"{some} are not among the declared levels"
            remedy = f"the levels are {quoted(column.levels)}; correct the values or the schema"
            found.append(Finding("error", site, (column.name,), message, remedy))
    return column, found
