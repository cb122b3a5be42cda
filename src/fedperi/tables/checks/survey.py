"""The schema that tables share, and the statistics of those that hold plain numbers, from one reading of each.

A site needs the schema of all before it can say what its columns are. But a table of continuous columns in the order of
the schema is what it seemed to be, and its moments passed by while its columns were looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from ..embedding import Data, fit_embedding
from ..in_threads import spread
from ..infer import SchemaLike, as_schema, unify
from ..readers.one_pass import PassingMoments, passing_moments
from ..schema import Schema
from ..statistics import Statistics, embedded_statistics
from ..table import Source, Table, open_tables
from .faults import faults
from .findings import raise_errors
from .profile import TableProfile, scan


def survey(
    tables: Mapping[str, Source], overrides: SchemaLike | None = None, data: Data = "auto", jobs: int = 1
) -> tuple[Schema, dict[str, Statistics]]:
    """Find the schema as `infer_schema` does; return with it the statistics that `summarize` would give, by name.

    Tables that have to be read again, as the schema says, are left out: those with categories, with columns in another
    order, and those in which something is wrong, which `summarize` will say. As many files as `jobs` says are read at
    the same time: reading leaves other threads free, which looking at a DataFrame does not.

    Examples
    --------
    >>> import pandas as pd
    >>> north, south = pd.DataFrame({"age": [41.5, 37.0, 60.2]}), pd.DataFrame({"age": [50.5, None]})
    >>> schema, known = survey({"north": north, "south": south})
    >>> schema.names, list(known), known["north"].n
    (('age',), ['north'], 3)
    """
    given, opened = as_schema(overrides), open_tables(tables)
    passing = [passing_moments(table, given, True, data, False, lambda rows: rows) for table in opened]

    def look(one: tuple[Table, PassingMoments | None]) -> TableProfile:
        table, moments = one
        return scan(table, schema=given, tap=None if moments is None else moments.add, spread=False)

    at_once = jobs if any(table.is_file for table in opened) else 1
    with ThreadPoolExecutor(at_once) as threads:
        profiles = list(spread(threads, at_once, look, list(zip(opened, passing, strict=True))))
    schema, findings = unify(profiles, given)
    raise_errors(findings)
    known: dict[str, Statistics] = {}
    if any(column.kind != "continuous" for column in schema.columns):
        return schema, known
    for profile, moments in zip(profiles, passing, strict=True):
        found = None if moments is None or faults(profile, schema, "error") else moments.result(schema.names)
        if found is not None:
            known[profile.site] = embedded_statistics(found, fit_embedding(schema, profile, "linear", 1), profile)
    return schema, known
