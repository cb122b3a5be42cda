"""A table of a database as a site's table: the engine computes everything, and rows are refused."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ...errors import InputError
from ..checks.duplicates import RowHashes
from ..checks.looks import NumberLook
from ..checks.profile import Missing, TableProfile
from ..embedding import Embedding
from ..missing.patterns import Patterns
from ..moments import Moments
from ..preparing.preparation import Preparation
from ..schema import Schema
from ..table import Table
from .address import Address, parse_url, read_query
from .connection import Connection, Prepare, connected
from .looks import looks_of
from .moments import moments_of
from .patterns import patterns_of
from .prepared import prepared_rows
from .profile import profile_of
from .repeats import repeats_of


@dataclass(frozen=True)
class Engine:
    """A database that computes what a site says about its table.

    Parameters
    ----------
    address : Address
        The address of the table.
    preparations : tuple of Preparation
        The changes to its cells before anything is computed.
    """

    address: Address
    preparations: tuple[Preparation, ...] = ()

    def looks(self, table: Table, profile: TableProfile) -> dict[str, NumberLook]:
        """Take a closer look at the columns of numbers, as `fedperi.tables.checks.looks.Looks` does."""
        with self._asked(table) as connection:
            return looks_of(connection, table.columns, profile)

    def repeats(self, table: Table, profile: TableProfile) -> RowHashes:
        """Count the rows that repeat or lack a value, as `fedperi.tables.checks.duplicates.RowHashes` does."""
        return repeats_of(self.address, self._prepare(table), table.columns, profile)

    def profile(self, table: Table, missing: Missing, schema: Schema | None) -> TableProfile:
        """Describe the columns of a table, as `fedperi.tables.checks.profile.scan` does."""
        with self._asked(table) as connection:
            return profile_of(connection, table.name, table.columns, missing, schema)

    def moments(self, table: Table, embedding: Embedding, profile: TableProfile, missing: Missing) -> Moments:
        """Return the moments of a table's embedded rows."""
        with self._asked(table) as connection:
            return moments_of(connection, table.name, table.columns, embedding, profile, missing)

    def patterns(self, table: Table, embedding: Embedding, profile: TableProfile) -> Patterns:
        """Return the sums of a table's embedded rows per pattern of gaps."""
        with self._asked(table) as connection:
            return patterns_of(connection, table.name, table.columns, embedding, profile)

    def _asked(self, table: Table) -> AbstractContextManager[Connection]:
        return connected(self.address, self._prepare(table))

    def _prepare(self, table: Table) -> Prepare:
        return lambda rows: prepared_rows(rows, self.preparations, table.name)


def open_url(text: str) -> Table:
    """Open the table that an address names, such as ``duckdb:///clinic.db?table=visits``.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> file = f"{tempfile.mkdtemp()}/clinic.db"
    >>> with duckdb.connect(file) as database:
    ...     _ = database.execute("CREATE TABLE visits AS SELECT 41.5 AS age, 'f' AS sex")
    >>> open_url(f"duckdb://{file}?table=visits").columns
    ('age', 'sex')
    """
    address = parse_url(text)
    return _open(address, str(address.table))


def open_query(path: Path) -> Table:
    """Open the result of a query in a file as a table; see `fedperi.tables.databases.address.read_query`."""
    return _open(read_query(path), path.stem)


def _open(address: Address, name: str) -> Table:
    with connected(address) as connection:
        names = tuple(map(str, connection.rows.columns))
    return Table(
        name,
        names,
        address.shown,
        _read=lambda size, text: _no_rows(address),
        _cells=lambda size: _no_noise(address),
        engine=Engine(address),
    )


def _no_rows(address: Address) -> NoReturn:
    raise InputError(
        f"{address.shown!r} is a table of a database, and no row of it is fetched; this needs rows: use M-PERI, or "
        "export the table as Parquet or CSV"
    )


def _no_noise(address: Address) -> NoReturn:
    raise InputError(
        f"{address.shown!r} is a table of a database, and with noise a table is read cell by cell; export it as "
        "Parquet or CSV, or leave the noise out (release --exact)"
    )
