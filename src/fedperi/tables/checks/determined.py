"""Find columns that other columns determine, at one site and at all sites together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ..embedding import Embedding, common_embedding, fit_embedding
from ..encode import read_rows
from ..moments import Moments, merge, stream_moments
from ..schema import Schema
from ..statistics import Statistics, embedded_statistics
from ..summary.site_statistics import own_columns
from ..survey import FirstReading, Tell
from ..table import CHUNK, Table
from .collinear import Dependence, dependences
from .findings import Finding, Level

REFUSED = "; --method iperi refuses it"


class Determined(NamedTuple):
    """What was found at one site, and the numbers that it was found from, for later use.

    These are statistics of the sound columns and, if all columns were embedded as at the other sites, their moments.
    """

    findings: Sequence[Finding] = ()
    statistics: Statistics | None = None
    moments: Moments | None = None


def determined_here(
    table: Table,
    reading: FirstReading,
    schema: Schema,
    faulty: set[str],
    *,
    strict: bool,
    common: Embedding | None = None,
    tell: Tell | None = None,
) -> Determined:
    """Find near-collinear columns of one site, among those without a fault.

    If `strict`, exact dependence is an error. If not, it is a warning here: `determined_everywhere` looks at all sites.
    If rows must be read again and `common` is given, they are embedded by it, so that the run need not read them again.
    """
    sound = Schema(tuple(column for column in schema.columns if column.name not in faulty))
    discrete = all(column.kind == "categorical" for column in sound.columns)
    if len(sound.columns) < 2 or _gaps(reading, sound):
        return Determined()  # the run estimates the moments of incomplete rows, and checks all sites together
    try:
        embedding, whole = fit_embedding(sound, reading.profile, "mixed", 1), None
        moments = _known(reading, sound)
        if moments is None and common is not None and not _gaps(reading, schema):
            whole = _moments(table, reading, schema, common, tell)
            own = own_columns(common, reading.profile, set(sound.names))
            moments = Moments(whole.n, whole.mean[own], whole.scatter[np.ix_(own, own)])
        if moments is None:
            moments = _moments(table, reading, sound, embedding, tell)
        statistics = embedded_statistics(moments, embedding, reading.profile)
        dependent = dependences(statistics)
    except InputError:  # values that do not fit the schema: reported already
        return Determined()
    found = []
    for item in dependent:
        # Scores and tests need the logarithm of a residual variance, which must not be zero. Counts do not need it.
        refused = item.exact and not discrete
        level: Level = "error" if refused and strict else "warning"
        found.append(_finding(level, table.name, item, remedy=REFUSED if refused and not strict else ""))
    return Determined(found, statistics, whole)


def determined_everywhere(
    tables: Sequence[tuple[Table, FirstReading]], schema: Schema, faulty: set[str]
) -> list[Finding]:
    """Find columns that others determine in the rows of all sites together: no method can direct edges among them.

    A column that is nearly determined is an error too, because a column that was computed from others takes their place
    in the graph; but this error may be accepted.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import Column, open_table
    >>> from fedperi.tables.survey import read_once
    >>> frames = [pd.DataFrame({"a": [1.5, 2.0, 4.5, 6.0], "b": [3.0, 4.0, 9.0, 12.0]}) * size for size in (1, 3)]
    >>> tables = [open_table(frame, name) for frame, name in zip(frames, ("north", "south"))]
    >>> schema = Schema((Column("a", "continuous"), Column("b", "continuous")))
    >>> print(determined_everywhere([read_once(table) for table in tables], schema, set())[0])
    columns 'a', 'b': one determines the other exactly at all sites together; leave one of them out: --exclude b
    """
    sound = Schema(tuple(column for column in schema.columns if column.name not in faulty))
    if len(sound.columns) < 2 or any(_gaps(reading, sound) for _, reading in tables):
        return []
    try:
        embedding = common_embedding(sound, [reading.profile for _, reading in tables], "mixed", 1)
        parts = (_known(reading, sound) or _moments(table, reading, sound, embedding) for table, reading in tables)
        whole = reduce(merge, parts)
        dependent = dependences(embedded_statistics(whole, embedding, tables[0][1].profile))
    except InputError:
        return []
    site, where = (None, " at all sites together") if len(tables) > 1 else (tables[0][0].name, "")
    return [_finding("error", site, item, where) for item in dependent]


def _gaps(reading: FirstReading, schema: Schema) -> bool:
    """Whether incomplete rows will be used."""
    return reading.missing in ("auto", "em") and any(reading.profile.columns[name].missing for name in schema.names)


def _known(reading: FirstReading, schema: Schema) -> Moments | None:
    """Return the moments that the first reading found, if all columns are numbers."""
    numbers = all(column.kind == "continuous" for column in schema.columns)
    return reading.moments.result(schema.names) if numbers and reading.moments is not None else None


def _moments(
    table: Table, reading: FirstReading, schema: Schema, embedding: Embedding, tell: Tell | None = None
) -> Moments:
    """Return the moments of the embedded rows."""
    if tell is not None:
        what = "asking" if table.engine is not None else "reading"
        tell(f"{what} {table.origin} for moments, now that the types and ranges of all sites are known")
    if table.engine is not None:
        return table.engine.moments(table, embedding, reading.profile, reading.missing)
    frames = read_rows(table, schema, CHUNK, reading.missing)
    return stream_moments(embedding.embed(frame, table.name) for frame in frames)


def _finding(level: Level, site: str | None, item: Dependence, where: str = "", remedy: str = "") -> Finding:
    if len(item.names) == 2:
        message = "one determines the other exactly" if item.exact else "one nearly determines the other"
    else:
        message = f"one of them is {'exactly' if item.exact else 'nearly'} determined by the others"
    strength = "" if item.exact else f" (correlation {item.correlation:.5f})"
    # A column that was computed from others usually comes after them.
    remedy = f"leave one of them out: --exclude {item.names[-1]}{remedy}"
    problem = "equal" if item.exact else "determined"
    return Finding(level, site, item.names, f"{message}{strength}{where}", remedy, problem)
