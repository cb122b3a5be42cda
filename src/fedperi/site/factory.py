"""The one way from what a user hands in to a site: a table, a file, a release, or a site already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..privacy import Release
from ..tables.summary import Summary
from .released import ReleasedSite
from .site import Respondent, Site
from .summarised import SummarySite

if TYPE_CHECKING:
    from ..graph.pdag import PDAG
    from ..privacy import Privacy
    from ..tables.reading import Reading
    from ..tables.table import Table


NAMED = (Respondent, Release, Summary)
"""What brings the name of its site."""


def as_statement(source: Any) -> Summary | Release | None:
    """Take what a site said, a release or a summary, or read its file; None if this is something else.

    Examples
    --------
    >>> as_statement("north.csv") is None
    True
    """
    from ..privacy.statement import is_statement, load_statement

    if isinstance(source, str | PathLike) and is_statement(source):
        return load_statement(source)
    return source if isinstance(source, Summary | Release) else None


def make_site(source: Any, name: str | None = None) -> Respondent:
    """Make a site of a table (DataFrame, path) or of what a site said; a site stays as it is, but for its name.

    Examples
    --------
    >>> import pandas as pd
    >>> make_site(pd.DataFrame({"a": [1.5, 2.5]}), "north").name
    'north'
    """
    said = None if isinstance(source, Respondent) else as_statement(source)
    site: Respondent
    if isinstance(source, Respondent):
        site = source
    elif said is None:
        site = Site(source, name=name)
    else:
        site = SummarySite(said) if isinstance(said, Summary) else ReleasedSite(said)
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
    """Check that a table can be put behind noise; return a function that makes the site, which may pay."""
    if privacy.mechanism == "regret":
        from .noisy import NoisySite

        site = NoisySite(table, privacy, targets=targets, local=local, **reading.arguments)
        return lambda: site
    from ..privacy.release.site_release import prepare_release

    prepared = prepare_release(table, privacy, targets=targets, **reading.arguments)
    return lambda: ReleasedSite(prepared.draw()[0], local)
