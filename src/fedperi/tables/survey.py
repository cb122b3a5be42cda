"""Read each table once to find all that is needed: types, faults, moments, copies.

The check before a run, the schema that sites share, summaries and statistics all begin here. The findings are kept with
the table, and so are its rows if there is room (`fedperi.tables.readers.kept_rows`): a run does not read a table again
that was checked before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from .checks.duplicates import RowHashes
from .checks.faults import faults
from .checks.findings import raise_errors
from .checks.looks import Looks, NumberLook
from .checks.profile import Missing, TableProfile, scan
from .embedding import Data, Embedding, fit_embedding
from .in_threads import Item, Made, spread
from .infer import SchemaLike, as_schema, unify
from .moments import Moments
from .preparing.prepared import prepared
from .readers.kept_rows import Memory, keep_rows
from .readers.one_pass import PassingMoments, passing_moments
from .schema import Schema
from .statistics import Statistics, embedded_statistics
from .table import Table

if TYPE_CHECKING:
    import pandas as pd

    from .databases.opening import Engine

Part = Literal["spread", "moments", "hashes", "looks"]
Tell = Callable[[str], None]
"""Called with a sentence for each step, to show to a person who waits."""


@dataclass(frozen=True, eq=False)
class FirstReading:
    """The result of reading a table once.

    Parameters
    ----------
    schema : Schema, optional
        What was declared about the columns.
    missing : {"error", "drop"}
        What was done with rows in which a value is missing.
    parts : frozenset of str
        What was computed besides types and ranges: ``"spread"``, means and standard deviations of each column;
        ``"moments"`` of all columns; ``"hashes"`` of rows, to find copies; ``"looks"``, a closer look at numbers.
    profile : TableProfile
        What the columns hold.
    moments : PassingMoments, optional
        Moments, if they can be taken before the types are settled.
    hashes : RowHashes
        Hashes of the rows; empty if not asked for.
    looks : mapping of str to NumberLook
        A closer look at the columns that hold numbers; empty if not asked for.
    embedded : tuple of Embedding and Moments, optional
        If the check had to read the rows again: how it embedded them, and their moments, which a run needs next.
    """

    schema: Schema | None
    missing: Missing
    parts: frozenset[Part]
    profile: TableProfile
    moments: PassingMoments | None
    hashes: RowHashes
    looks: Mapping[str, NumberLook] = field(default_factory=dict)
    embedded: tuple[Embedding, Moments] | None = None

    def embedded_as(self, embedding: Embedding) -> Moments | None:
        """Return the moments of the rows in this embedding, if they are known."""
        return self.embedded[1] if self.embedded is not None and self.embedded[0] == embedding else None


def read_once(
    table: Table,
    schema: Schema | None = None,
    missing: Missing = "error",
    parts: Iterable[Part] = (),
    *,
    memory: Memory | None = None,
    tell: Tell | None = None,
) -> tuple[Table, FirstReading]:
    """Read a table, unless it was read in the same way before; return it with the result.

    The schema may declare only some of the columns. `parts` is what is needed besides types and ranges, see
    `FirstReading`. `memory` is room for the rows, shared with other tables. `tell` is called before the first rows, and
    after every chunk.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> table, found = read_once(open_table(pd.DataFrame({"a": [1.5, 2.5]}), "north"), parts=["hashes"])
    >>> found.profile.columns["a"].high, found.hashes.copies
    (2.5, 0)
    >>> read_once(table)[1] is found
    True
    """
    table = prepared(table, schema)
    wanted, known = frozenset(parts), table.first_reading
    if known is not None and (known.schema, known.missing) == (schema, missing) and wanted <= known.parts:
        if known.profile.site != table.name:  # the site was renamed
            known = replace(known, profile=replace(known.profile, site=table.name))
        return table, known
    tell = tell or (lambda words: None)
    if table.engine is None:
        table = keep_rows(table, memory or Memory())
        found = _read(table, schema, missing, wanted, tell)
    else:
        found = _ask(table, table.engine, schema, missing, wanted, tell)
    return replace(table, first_reading=found), found


def _read(table: Table, schema: Schema | None, missing: Missing, wanted: frozenset[Part], tell: Tell) -> FirstReading:
    """Compute all that is wanted while the rows are read once."""
    hashes, looks, rows = RowHashes(), Looks(), 0
    moments = None
    if "moments" in wanted:
        moments = passing_moments(table, schema, True, "auto", missing == "drop", lambda rows: rows)

    def tap(frame: pd.DataFrame) -> None:
        nonlocal rows
        rows += len(frame)
        if moments is not None:
            moments.add(frame)
        if "hashes" in wanted:
            hashes.add(frame)
        if "looks" in wanted:
            looks.add(frame)
        tell(f"reading {table.origin}: {rows:,} rows")

    tell(f"reading {table.origin}")
    profile = scan(table, missing, schema=schema, tap=tap, spread="spread" in wanted)
    return FirstReading(schema, missing, wanted, profile, moments, hashes, looks.result())


def _ask(
    table: Table, engine: Engine, schema: Schema | None, missing: Missing, wanted: frozenset[Part], tell: Tell
) -> FirstReading:
    """Ask a database for all that is wanted; no row is fetched."""
    tell(f"asking {table.origin} for counts and ranges")
    profile, hashes = engine.profile(table, missing, schema), RowHashes()
    looks: Mapping[str, NumberLook] = {}
    if "hashes" in wanted:
        tell(f"asking {table.origin} for repeated rows")
        hashes = engine.repeats(table, profile)
    if "looks" in wanted:
        tell(f"asking {table.origin} for quartiles and edges")
        looks = engine.looks(table, profile)
    return FirstReading(schema, missing, wanted, profile, None, hashes, looks)


def read_all(
    tables: Sequence[Table],
    schema: Schema | None = None,
    missing: Missing = "error",
    parts: Iterable[Part] = (),
    *,
    jobs: int = 1,
) -> list[tuple[Table, FirstReading]]:
    """Read several tables as `read_once` does, `jobs` files in parallel, in threads.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_tables
    >>> [table.name for table, _ in read_all(open_tables([pd.DataFrame({"a": [1.5, 2.5]})] * 2))]
    ['site 1', 'site 2']
    """
    wanted, memory = frozenset(parts), Memory()
    return for_each_table(jobs, tables, lambda table: read_once(table, schema, missing, wanted, memory=memory), tables)


def for_each_table(
    jobs: int, tables: Sequence[Table], work: Callable[[Item], Made], entries: Sequence[Item]
) -> list[Made]:
    """Apply `work` to the entry of each table, in threads if some tables are files.

    Other threads can run while a file is read, but not while a DataFrame is processed.

    Examples
    --------
    >>> for_each_table(2, [], abs, [-1, 2])
    [1, 2]
    """
    threads = jobs if any(table.is_file for table in tables) else 1
    with ThreadPoolExecutor(threads) as pool:
        return list(spread(pool, threads, work, entries))


@dataclass(frozen=True, eq=False)
class Survey:
    """The schema that tables share, the tables with their first reading, and statistics by name.

    The statistics are those that `summarize` would give. Tables whose rows are needed in another form have none: tables
    with categories, with columns in another order, and with errors, which `summarize` will report.
    """

    schema: Schema
    tables: tuple[Table, ...]
    statistics: dict[str, Statistics]


def survey(tables: Sequence[Table], overrides: SchemaLike | None = None, data: Data = "auto", jobs: int = 1) -> Survey:
    """Find the schema as `infer_schema` does, and compute statistics from the same reading.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_tables
    >>> north, south = pd.DataFrame({"age": [41.5, 37.0, 60.2]}), pd.DataFrame({"age": [50.5, None]})
    >>> found = survey(open_tables({"north": north, "south": south}))
    >>> found.schema.names, list(found.statistics), found.statistics["north"].n
    (('age',), ['north'], 3)
    """
    given = as_schema(overrides)
    wanted = data not in ("discrete", "nonlinear")
    read = read_all(tables, given, parts=("moments",) if wanted else (), jobs=jobs)
    schema, findings = unify([found.profile for _, found in read], given)
    raise_errors(findings)
    statistics: dict[str, Statistics] = {}
    if wanted and all(column.kind == "continuous" for column in schema.columns):
        for table, found in read:
            moments = None if found.moments is None else found.moments.result(schema.names)
            if moments is not None and not faults(found.profile, schema, "error"):
                embedding = fit_embedding(schema, found.profile, "linear", 1)
                statistics[table.name] = embedded_statistics(moments, embedding, found.profile)
    return Survey(schema, tuple(table for table, _ in read), statistics)
