"""Open the tables of a run: which of their columns are used, and how text files are encoded."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ..checks.findings import Finding, quoted
from ..schema import Schema
from ..table import Source, Table, named_sources, open_table
from .preparation import Preparation
from .prepared import selected

if TYPE_CHECKING:
    from ..survey import Tell


@dataclass(frozen=True)
class Opening:
    """How tables are opened.

    Parameters
    ----------
    columns : tuple of str
        The only columns that are used; all if empty.
    exclude : tuple of str
        Columns that are not used.
    encoding : str, optional
        How text files are encoded; detected (UTF-8, UTF-16) if not given.
    decimal : {".", ","}, optional
        The decimal mark in text files; detected if not given.
    accept : tuple of str
        Columns that somebody has looked at: the check warns about their values, but does not refuse them.

    Examples
    --------
    >>> import pandas as pd
    >>> how, table = Opening(exclude=("id",)), pd.DataFrame({"id": [7, 8], "a": [1.5, 2.5]})
    >>> how.choose(how.open(table)).columns
    ('a',)
    >>> Opening(encoding="latin-one")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: encoding 'latin-one' is not known; usual ones are utf-8, cp1252, latin-1, utf-16
    """

    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    encoding: str | None = None
    decimal: str | None = None
    accept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        both = [name for name in self.columns if name in self.exclude]
        if both:
            raise InputError(f"column {both[0]!r} is chosen and excluded; leave one of the two out")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal is the mark in numbers such as 1.5, a point or a comma; not {self.decimal!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, ValueError):
                usual = "utf-8, cp1252, latin-1, utf-16"
                raise InputError(f"encoding {self.encoding!r} is not known; usual ones are {usual}") from None

    def open(self, source: Source, name: str | None = None) -> Table:
        """Open one table with all its columns."""
        return open_table(source, name, encoding=self.encoding, decimal=self.decimal)

    def choose(self, table: Table) -> Table:
        """Return a table with the columns that are used."""
        wanted = self.columns or table.columns
        return selected(table, [one for one in wanted if one not in self.exclude])

    def open_all(self, sources: Iterable[Source]) -> list[Table]:
        """Open the tables of all sites with all their columns, and check that the named columns exist.

        Examples
        --------
        >>> import pandas as pd
        >>> [table.name for table in Opening().open_all([pd.DataFrame({"a": [1.5]}), pd.DataFrame({"a": [2.5]})])]
        ['site 1', 'site 2']
        """
        opened = [self.open(source, name) for name, source in named_sources(sources)]
        self.check_names(table.columns for table in opened)
        return opened

    def open_each(
        self, sources: Mapping[str, Source] | Iterable[Source], tell: Tell | None = None
    ) -> tuple[list[Table], list[Finding]]:
        """Open all tables with the columns that are used; report tables that cannot be opened, and names used twice.

        Examples
        --------
        >>> tables, found = Opening().open_each(["no/such/north.csv"])
        >>> print(found[0])
        site 'north': 'no/such/north.csv' does not exist; check the path
        """
        named, found = _own_names(named_sources(sources))
        tables = []
        for number, (name, source) in enumerate(named, start=1):
            if tell is not None:
                tell(f"opening {name} ({number} of {len(named)})")
            try:
                tables.append(self.open(source, name))
            except InputError as error:
                found.append(failed(name, error))
        self.check_names(table.columns for table in tables)
        return [self.choose(table) for table in tables], found

    def ignoring(self, schema: Schema | None, tables: Iterable[Table]) -> Schema | None:
        """Return a schema that ignores the columns that are not used, for tables that a ledger knows with all columns.

        Examples
        --------
        >>> import pandas as pd
        >>> how = Opening(exclude=("id",))
        >>> tables = how.open_all([pd.DataFrame({"id": [7, 8], "a": [1.5, 2.5]})])
        >>> how.ignoring(None, tables).preparations[0].name
        'id'
        """
        names = dict.fromkeys(name for table in tables for name in table.columns)
        done = {one.name for one in schema.preparations if one.ignore} if schema is not None else set()
        out = [name for name in names if name in self.exclude or (self.columns and name not in self.columns)]
        new = [Preparation(name, ignore=True) for name in out if name not in done]
        if not new:
            return schema
        known = schema or Schema(())
        columns = tuple(column for column in known.columns if column.name not in out)
        kept = tuple(one for one in known.preparations if one.name not in out or one.ignore)
        return Schema(columns, (*kept, *new))

    def check_names(self, tables: Iterable[Sequence[str]]) -> None:
        """Raise if a named column is in no table.

        Examples
        --------
        >>> Opening(columns=("sbp",)).check_names([("age", "sex")])
        Traceback (most recent call last):
        ...
        fedperi.errors.InputError: --columns names 'sbp', which no table has; the columns are 'age', 'sex'
        """
        known = list(dict.fromkeys(name for columns in tables for name in columns))
        for option, names in (("--columns", self.columns), ("--exclude", self.exclude), ("--accept", self.accept)):
            absent = [name for name in names if name not in known]
            if absent and known:
                raise InputError(f"{option} names {absent[0]!r}, which no table has; the columns are {quoted(known)}")


def failed(name: str, error: InputError) -> Finding:
    """Turn the error of a site into a finding.

    Examples
    --------
    >>> print(failed("north", InputError("site 'north': no rows; add some")))
    site 'north': no rows; add some
    """
    message, _, remedy = str(error).removeprefix(f"site {name!r}: ").partition("; ")
    return Finding("error", name, (), message, remedy)


def _own_names(named: list[tuple[str, Source]]) -> tuple[list[tuple[str, Source]], list[Finding]]:
    """Give sites that share a name a number each, so that the other findings can tell them apart."""
    remedy = "rename the files, or give each site its own name"
    several = {name: count for name, count in Counter(name for name, _ in named).items() if count > 1}
    found = [Finding("error", name, (), f"{count} sites have this name", remedy) for name, count in several.items()]
    seen: Counter[str] = Counter()
    own = []
    for name, source in named:
        seen[name] += 1
        own.append((f"{name} ({seen[name]})" if seen[name] > 1 else name, source))
    return own, found
