"""From what a user hands in to a federation: tables, files, sites, or a transport that is already connected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from ..errors import InputError
from ..federation import InProcess, Respondent, Site, Transport
from ..federation.site import Reading
from ..graph.pdag import PDAG


def as_transport(
    sites: Any,
    *,
    schema: Any = None,
    data: str = "auto",
    missing: str = "error",
    local: Callable[..., PDAG] | None = None,
) -> Transport:
    """Make a transport of tables (DataFrames, paths), sites, a mapping of names to them, or a transport itself."""
    if hasattr(sites, "open") and hasattr(sites, "ask"):
        return cast(Transport, sites)
    respondents = _respondents(sites)
    tables = {site.name: site for site in respondents if isinstance(site, Site)}
    if len(tables) < sum(isinstance(site, Site) for site in respondents):
        names = [site.name for site in respondents]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two sites are called {twice!r}: give each a name of its own")
    if tables:
        from ..data import infer_schema

        shared = infer_schema({name: site.table for name, site in tables.items()}, schema)
        for site in tables.values():
            site.reading = Reading(shared, data, missing, local)  # type: ignore[arg-type]
    return InProcess(respondents)


def _respondents(sites: Any) -> list[Respondent]:
    """Turn every entry into a site, with the name that it is given, or that its file or place suggests."""
    from ..data.table import named_sources

    if isinstance(sites, Respondent):
        raise InputError("give a list of sites, even if there is only one")
    if isinstance(sites, Mapping):
        return [_named(name, source) for name, source in sites.items()]
    if not isinstance(sites, Iterable):
        raise InputError(f"sites must be a list of tables, files or sites, not {type(sites).__name__}")
    if hasattr(sites, "columns") or isinstance(sites, str):
        named_sources(cast(Any, sites))  # a single table or path: raises, and says what to give instead
    entries = list(sites)
    sources: list[Any] = [entry for entry in entries if not isinstance(entry, Respondent)]
    named = iter(named_sources(sources))
    return [entry if isinstance(entry, Respondent) else _named(*next(named)) for entry in entries]


def _named(name: str, source: Any) -> Respondent:
    if isinstance(source, Respondent):
        source.name = name
        return source
    return Site(source, name=name)
