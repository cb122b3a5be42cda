"""The one way from what a user hands in to a site: a table, a file, a release, or a site already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from .released import ReleasedSite
from .site import Respondent, Site

if TYPE_CHECKING:
    from ..graph.pdag import PDAG
    from ..privacy import Privacy, Release
    from ..tables.reading import Reading
    from ..tables.table import Table


def as_release(source: Any) -> Release | None:
    """Take a release, or read its file; None if this is something else.

    Examples
    --------
    >>> as_release("north.csv") is None
    True
    """
    from ..privacy import Release, is_release, load_release

    if isinstance(source, Release):
        return source
    if isinstance(source, str | PathLike) and is_release(source):
        return load_release(source)
    return None


def make_site(source: Any, name: str | None = None) -> Respondent:
    """Make a site of a DataFrame, a path, a release or a table; a site stays as it is, but for its name.

    Examples
    --------
    >>> import pandas as pd
    >>> make_site(pd.DataFrame({"a": [1.5, 2.5]}), "north").name
    'north'
    """
    if isinstance(source, Respondent):
        site = source
    else:
        release = as_release(source)
        site = Site(source, name=name) if release is None else ReleasedSite(release)
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
