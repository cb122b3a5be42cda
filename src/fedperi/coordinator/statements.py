"""The coordinator's collection of statements: one per site, checked when it arrives, and kept in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..errors import InputError
from ..tables.schema import Column, Schema, differences

if TYPE_CHECKING:
    from ..privacy.statement import Statement


class Statements:
    """The statements of sites, in memory and, with a folder, on disk.

    Parameters
    ----------
    folder : path, optional
        Where statements are kept, one file per site, in the format of `fedperi release`. Files that are already there
        are read, so that no site is asked twice, and a later run needs no site.
    keys : mapping of str to str, optional
        Public keys of the sites, by name. A statement without its site's signature is refused.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.statement import write_statement
    >>> box = Statements()
    >>> table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    >>> box.add("north", write_statement(fp.Summary.of(table, name="north")))
    >>> box.sites
    ('north',)
    >>> box.add("south", write_statement(fp.Summary.of(table, name="north")))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the statement of site 'south' is of site 'north'; ask the site for its own
    """

    def __init__(self, folder: Path | None = None, keys: Mapping[str, str] | None = None) -> None:
        self._folder, self._keys = folder, keys
        self._kept: dict[str, Statement] = {}
        if folder is not None and folder.is_dir():
            self._read(folder)

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites whose statements are here, in the order of their names."""
        return tuple(sorted(self._kept))

    def all(self) -> list[Statement]:
        """Return the statements, in the order of the sites' names."""
        return [self._kept[site] for site in self.sites]

    def add(self, site: str, text: str, columns: Sequence[Column] | None = None) -> None:
        """Check a statement and keep it.

        Parameters
        ----------
        site : str
            Who sent it.
        text : str
            The statement.
        columns : sequence of Column, optional
            The columns on which the sites have agreed.

        Raises
        ------
        InputError
            If the statement is damaged, is of another site, is not signed with the site's key, has other columns, or
            differs from the one that was kept before.
        """
        from ..privacy.statement import read_statement, write_statement

        where = f"the statement of site {site!r}"
        statement = read_statement(text, where)
        self._check(statement, site, columns)
        known = self._kept.get(site)
        if known is not None and write_statement(known) != write_statement(statement):
            raise InputError(f"{where} differs from the one it gave before, which is kept; ask the site why")
        if known is None and self._folder is not None:
            from .. import disk

            self._folder.mkdir(parents=True, exist_ok=True)
            disk.write_whole(self._folder / f"{quote(site, safe=' ')}.fedperi", text.encode())
        self._kept[site] = statement

    def _check(self, statement: Statement, site: str, columns: Sequence[Column] | None) -> None:
        from ..privacy.release.signature import check_signer

        where = f"the statement of site {site!r}"
        if statement.site != site:
            raise InputError(f"{where} is of site {statement.site!r}; ask the site for its own")
        if self._keys is not None:
            try:
                check_signer(statement, self._keys)
            except InputError as error:
                raise InputError(f"{where} {error}") from None
        if columns is not None and statement.schema is not None:
            # If sites were allowed to differ in their bounds, the run has none.
            own = statement.schema
            agreed = tuple(
                replace(column, bounds=own[column.name].bounds)
                if column.bounds is None and column.name in own and own[column.name].kind == column.kind
                else column
                for column in columns
            )
            found = differences(Schema(agreed), own, ("the run", f"site {site!r}"))
            if found:
                raise InputError(f"{where} does not fit what was agreed on: {found[0]}")

    def _read(self, folder: Path) -> None:
        from ..privacy.statement import load_statement

        for file in sorted(folder.glob("*.fedperi")):
            statement = load_statement(file, self._keys)
            self._check(statement, statement.site, None)
            if statement.site in self._kept:
                raise InputError(f"two files in {str(folder)!r} are of site {statement.site!r}; remove one of them")
            self._kept[statement.site] = statement
