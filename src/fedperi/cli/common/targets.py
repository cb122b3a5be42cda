"""Targets that a user declares: columns that a site is known to have set by intervention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import InputError
from .methods import BASELINES
from .options import split_names


def with_targets(sources: list[Any], given: Sequence[str], method: str) -> list[Any]:
    """Return the sources of a run with declared targets, ``"lyon=dose,sbp"`` for each site.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> tables = [open_table(pd.DataFrame({"dose": [1.5, 2.5]}), "lyon")]
    >>> with_targets(tables, ["lyon=dose"], "mperi")[0].targets
    ('dose',)
    >>> with_targets(tables, ["nice=dose"], "mperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: --targets names the site 'nice', which has no table here; the sites are 'lyon'
    """
    from ...site.site import Site
    from ...tables.checks.findings import quoted
    from ...tables.table import Table

    declared = _declared(given)
    if declared and method in BASELINES:
        raise InputError(f"--targets is an option of mperi, iperi and peri, not of {method}; leave it out")
    sites = {source.name for source in sources if isinstance(source, Table)}
    unknown = next((site for site in declared if site not in sites), None)
    if unknown is not None:
        names = quoted(sorted(sites)) or "none"
        raise InputError(f"--targets names the site {unknown!r}, which has no table here; the sites are {names}")
    return [
        Site(source, targets=declared[source.name]) if isinstance(source, Table) and source.name in declared else source
        for source in sources
    ]


def own_targets(text: str | None, columns: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that a site declares as its targets; None if it declares nothing.

    Examples
    --------
    >>> own_targets("dose", ["age", "dose"])
    ('dose',)
    """
    names = tuple(dict.fromkeys(split_names(text)))
    unknown = next((name for name in names if name not in columns), None)
    if unknown is not None:
        raise InputError(f"--targets: there is no column {unknown!r}; there are {', '.join(map(repr, columns))}")
    return None if text is None else names


def _declared(given: Sequence[str]) -> dict[str, list[str]]:
    declared: dict[str, list[str]] = {}
    for entry in given:
        site, equals, columns = entry.partition("=")
        if not equals or not site.strip():
            raise InputError(
                f"--targets {entry!r}: write the site and its columns, --targets lyon=dose,sbp (lyon= if it set none)"
            )
        if site.strip() in declared:
            raise InputError(f"--targets names the site {site.strip()!r} twice; give all its columns at once")
        declared[site.strip()] = split_names(columns)
    return declared
