"""Compute one summary per site from the tables of all sites, in units that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...option_values import DATA, check_one_of
from ..checks.column_scan import two_values
from ..checks.faults import constant_everywhere, faults
from ..checks.findings import Finding, raise_errors
from ..checks.profile import Missing, TableProfile
from ..embedding import CURVES, Block, Curve, Data, Embedding, OneHot, common_embedding
from ..encode import read_rows
from ..infer import SchemaLike, as_schema, unify
from ..missing.leaving import NOTHING, LeftOut, leave_out, too_much
from ..moments import Moments, MomentStream, stream_moments
from ..schema import Kind, Schema
from ..survey import FirstReading, for_each_table, read_all
from ..table import CHUNK, Source, Table, open_tables
from .alike import present_levels
from .incomplete import TableMoments, incomplete_moments
from .qualities import covariance_of
from .site_statistics import own_columns
from .summary import Summary
from .units import one_hot_unit

DEGREE = 3
"""Highest degree of the polynomials for ``data="nonlinear"``."""


def summaries(
    tables: Mapping[str, Source] | Iterable[Source],
    schema: SchemaLike | None = None,
    *,
    data: Data = "auto",
    missing: Missing = "error",
    jobs: int = 1,
) -> list[Summary]:
    """Summarise the tables of all sites, embedded alike. Each file is read once, if its rows fit into memory.

    Raises
    ------
    InputError
        If the tables do not follow one schema, or a column holds the same value at every site. All errors are listed.

    Examples
    --------
    >>> import pandas as pd
    >>> north = pd.DataFrame({"dose": [1.0, 2.0, 4.0], "age": [40.5, 50.0, 61.5]})
    >>> south = north.assign(dose=2.5)
    >>> [summary.constant for summary in summaries({"north": north, "south": south})]
    [(), ('dose',)]
    """
    return present_levels(_summaries(open_tables(tables), as_schema(schema), data, missing, jobs))


def summarise_alone(table: Table, schema: Schema | None, data: Data, missing: Missing) -> Summary:
    """Summarise one table without those of the other sites, so that levels and ranges come from the schema alone."""
    # One table does not show the range at all sites: without public bounds, curves of two summaries cannot be compared.
    declared = [schema[name] for name in table.columns if name in schema] if schema is not None else []
    bounded = all(column.kind == "categorical" or column.bounds for column in declared)
    if data == "auto" and not (bounded and len(declared) == len(table.columns)):
        data = "mixed"
    return _summaries([table], schema, data, missing, 1, alone=True)[0]


def _summaries(
    opened: Sequence[Table], given: Schema | None, data: Data, missing: Missing, jobs: int, alone: bool = False
) -> list[Summary]:
    check_one_of("data", data, DATA)
    curves = data in ("auto", "nonlinear")
    read = read_all(opened, given, missing, ["spread" if curves else "moments"], jobs=jobs)
    left = _left_out([reading.profile for _, reading in read], missing, alone)
    read = [one for one in read if one[0].name not in left.sites]
    profiles = left.profiles([reading.profile for _, reading in read])
    agreed, findings = unify(profiles, left.schema(given))
    found = [finding for profile in profiles for finding in faults(profile, agreed, missing, constants="warning")]
    raise_errors([*findings, *found])
    # A site alone cannot know whether a column is constant everywhere. A category with one level here needs a schema.
    raise_errors((_single_levels if alone else constant_everywhere)(profiles, agreed))
    if not agreed.columns:
        raise InputError("the tables have no columns that could be analysed")
    kind: Data = "nonlinear" if curves else "mixed" if data == "discrete" else data
    embedding = common_embedding(agreed, profiles, kind, CURVES if data == "auto" else DEGREE)
    numbers = not curves and all(column.kind == "continuous" for column in agreed.columns)
    kinds = _kinds(agreed, profiles)

    def summarise(one: tuple[Table, FirstReading]) -> Summary:
        table, reading = one
        profile = reading.profile
        if missing in ("auto", "em") and any(profile.columns[name].missing for name in agreed.names):
            return _summary(table.name, agreed, embedding, incomplete_moments(table, agreed, embedding, profile), kinds)
        moments = reading.moments.result(agreed.names) if numbers and reading.moments is not None else None
        if moments is None and not alone:
            moments = reading.embedded_as(embedding)
        if moments is None and table.engine is not None:
            moments = table.engine.moments(table, embedding, reading.profile, missing)
        if moments is None:
            rows = (embedding.embed(frame, table.name) for frame in read_rows(table, agreed, CHUNK, missing))
            moments = _with_own_columns(rows, own_columns(embedding, profile)) if alone else stream_moments(rows)
        return _summary(table.name, agreed, embedding, TableMoments(moments, None, profile.dropped), kinds)

    made = for_each_table(jobs, opened, summarise, read)
    made = [replace(summary, left_out=left.columns) for summary in made]
    return [replace(made[0], remarks=tuple(map(str, left.findings))), *made[1:]]


def _with_own_columns(chunks: Iterable[NDArray[np.float64]], own: Sequence[int]) -> Moments:
    """Return the moments of all columns, computing those of the site's own columns separately.

    How a sum is rounded depends on the columns beside it. Scores of this site alone (`statistics_of`) use only its own
    columns, and must be equal to those from its table to the last bit.
    """
    every, some = MomentStream(), MomentStream()
    for rows in chunks:
        some.add(np.ascontiguousarray(rows[:, own]))
        every.add(rows)
    found, exact = every.result(), some.result()
    found.mean[own] = exact.mean
    found.scatter[np.ix_(own, own)] = exact.scatter
    return found


def _left_out(profiles: Sequence[TableProfile], missing: Missing, alone: bool) -> LeftOut:
    """Find what to leave out. A site alone refuses, because it cannot decide for the others."""
    if missing != "auto":
        return NOTHING
    if alone:
        raise_errors(finding for profile in profiles for finding in too_much(profile))
        return NOTHING
    left = leave_out(profiles)
    raise_errors(left.findings)
    return left


def _summary(site: str, schema: Schema, embedding: Embedding, found: TableMoments, kinds: tuple[Kind, ...]) -> Summary:
    moments = found.moments
    return Summary(
        site,
        schema.names,
        embedding.positions,
        moments.n,
        moments.mean,
        covariance_of(moments.n, moments.mean, moments.scatter),
        kinds,
        tuple(map(_unit, embedding.blocks)),
        dropped=found.left_out,
        schema=schema,
        scatter=moments.scatter,
        gaps=found.gaps,
    )


def _unit(block: Block) -> str:
    """Describe how a variable was embedded, so that summaries embedded in other ways are noticed."""
    if isinstance(block, Curve):
        return f"Curve {block.basis.origin!r} {block.basis.reach!r}"
    if isinstance(block, OneHot):
        return one_hot_unit(block.column.levels or ())
    return type(block).__name__


def _kinds(schema: Schema, profiles: Sequence[TableProfile]) -> tuple[Kind, ...]:
    """Return the kinds of the variables; a number with only two values counts as categorical."""
    return tuple(
        "categorical" if two_values([profile.columns[column.name] for profile in profiles]) else column.kind
        for column in schema.columns
    )


def _single_levels(profiles: Sequence[TableProfile], schema: Schema) -> list[Finding]:
    names = tuple(column.name for column in schema.columns if column.levels is not None and len(column.levels) < 2)
    remedy = "declare all levels that sites may have in a schema"
    return [Finding("error", profiles[0].site, names, "only one level", remedy)] if names else []
