"""Repeated, shared and incomplete rows of a database's table, by aggregate queries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from hashlib import sha256
from itertools import islice
from operator import or_
from typing import Any

from ..checks.duplicates import REMEMBERED, RowHashes
from ..checks.profile import TableProfile
from .address import Address
from .columns import cleaned, indicator, stored_columns
from .connection import Connection, Prepare, connected

KEY = 3
"""The number of columns that are compared first: it takes a fifth of the time of all columns, and is usually enough."""


class EngineRows(RowHashes):
    """The repeated rows of a table that stays in a database, in place of hashes of its rows.

    Rows that two tables share can be counted if both tables are in one database, and not otherwise.

    Parameters
    ----------
    address : Address
        The address of the table.
    prepare : callable
        The changes to its cells.
    profile : TableProfile
        The content of its columns.
    incomplete, copies : int
        The numbers of rows that lack a value, and of rows that repeat an earlier one.
    """

    def __init__(self, address: Address, prepare: Prepare, profile: TableProfile, incomplete: int, copies: int) -> None:
        super().__init__()
        self.seen, self.incomplete = profile.total, incomplete
        self._address, self._prepare, self._copies = address, prepare, copies
        self._names, self._key = tuple(sorted(profile.columns)), _key(profile)
        known = [
            (name, one.missing, *(f"{x:.9g}" for x in (one.low, one.high, one.origin + one.offset, one.scale)))
            for name, one in sorted(profile.columns.items())
        ]
        self._content = profile.total, int.from_bytes(sha256(repr(known).encode()).digest()[:8])

    @property
    def copies(self) -> int:
        """The number of rows that repeat an earlier one."""
        return self._copies

    @property
    def content(self) -> tuple[int, int]:
        """Numbers that are equal for two tables with equal profiles."""
        return self._content

    def shared_with(self, other: RowHashes, every: int = 1) -> int:
        """Count the different rows that another table of the same database also has; 0 if they cannot be counted."""
        if not isinstance(other, EngineRows) or (other._address.url, other._names) != (self._address.url, self._names):
            return 0
        if max(self.seen, other.seen) > REMEMBERED:
            return 0
        with connected(self._address, self._prepare) as connection:
            beside = connection.beside(other._address, other._prepare)

            def shared(names: Sequence[str]) -> int:
                both = _cleaned(connection, names).intersect(_cleaned(beside, names))
                return int(connection.numbers(both, {"n": both.count()})["n"])

            return shared(self._names) if not self._key or shared(self._key) else 0


def repeats_of(address: Address, prepare: Prepare, names: Sequence[str], profile: TableProfile) -> EngineRows:
    """Count the rows that lack a value and, if the table is not too large, those that repeat an earlier one."""
    incomplete = copies = 0
    key = _key(profile)
    with connected(address, prepare) as connection:

        def repeated(some: Sequence[str]) -> int:
            different = _cleaned(connection, some).distinct()
            return profile.total - int(connection.numbers(different, {"n": different.count()})["n"])

        if any(one.missing for one in profile.columns.values()):
            rows = _cleaned(connection, names)
            lacking = reduce(or_, (rows[column].isnull() for column in rows.columns))
            incomplete = int(connection.numbers(rows, {"incomplete": indicator(lacking).sum()})["incomplete"] or 0)
        if profile.total <= REMEMBERED and (not key or repeated(key)):
            copies = repeated(names)
    return EngineRows(address, prepare, profile, incomplete, copies)


def _key(profile: TableProfile) -> list[str]:
    """Return a few columns of measurements without missing values: most different rows differ in one of them."""
    measured = (name for name, one in sorted(profile.columns.items()) if one.storage == "number" and not one.missing)
    return list(islice(measured, KEY))


def _cleaned(connection: Connection, names: Sequence[str]) -> Any:
    """Return an expression of the rows, with the columns in the order of their names."""
    source = connection.rows
    return cleaned(source, stored_columns(source, sorted(names)), drop=False)
