"""Make a site from what a user gives: a table, a file, a statement, or a site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..tables.summary.summary import Summary
from .released import ReleasedSite
from .respondent import Respondent
from .site import Site
from .summarised import SummarySite

if TYPE_CHECKING:
    from ..graph.pdag import PDAG
    from ..privacy import Privacy
    from ..privacy.statement import Statement
    from ..tables.reading import Reading
    from ..tables.table import Table


def as_statement(source: Any) -> Statement | None:
    """Return a statement, which may be read from its file; None if this is something else.

    Examples
    --------
    >>> as_statement("north.csv") is None
    True
    """
    from ..privacy import Release
    from ..privacy.statement import is_statement, load_statement

    if isinstance(source, Release | Summary):
        # Releases of several sites are compared with each other, so a private summary is replaced by its release.
        return source if isinstance(source, Release) or source.release is None else source.release
    if isinstance(source, str | PathLike) and is_statement(source):
        return load_statement(source)
    return None


def make_site(source: Any, name: str | None = None) -> Respondent:
    """Make a site from a DataFrame, a path, a statement or a table. A site is returned as it is, with the new name.

    Examples
    --------
    >>> import pandas as pd
    >>> make_site(pd.DataFrame({"a": [1.5, 2.5]}), "north").name
    'north'
    """
    statement = None if isinstance(source, Respondent) else as_statement(source)
    if isinstance(source, Respondent):
        site = source
    elif statement is None:
        site = Site(source, name=name)
    else:
        site = SummarySite(statement) if isinstance(statement, Summary) else ReleasedSite(statement)
    if name is not None:
        site.name = name
    return site


def prepare_private_site(
    table: Table,
    privacy: Privacy,
    reading: Reading,
    targets: Sequence[str] | None = None,
    local: Callable[..., PDAG] | None = None,
) -> Callable[[], Respondent]:
    """Check that a table can get noise, and return a function that makes the site. Its call may charge the ledger."""
    reading = reading.private()
    if privacy.mechanism == "regret":
        from .noisy import NoisySite

        site = NoisySite(table, privacy, targets=targets, local=local, **reading.arguments)
        return lambda: site
    from ..privacy.release.site_release import prepare_release

    prepared = prepare_release(table, privacy, targets=targets, **reading.arguments)
    return lambda: ReleasedSite(prepared.draw()[0], local)
