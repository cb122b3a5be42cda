"""From what a user hands in to one summary per site: all that M-PERI knows of the sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InputError
from ...names import check_name
from ...privacy import Privacy
from ...site.released import ReleasedSite
from ...site.site import OracleSite, Site
from ...tables.checks.collinear import SINGULAR, dependences
from ...tables.checks.findings import quoted
from ...tables.statistics import Statistics
from ...tables.summary import Summary, check_alike, summaries
from ..federate import as_respondents, check_same_schema, protected
from .released import released_summaries

ELSEWHERE = "use IPERI, which asks sites in rounds"


def statements(sites: Any, *, schema: Any = None, data: Any = "auto", missing: Any = "error") -> list[Summary]:
    """Collect one summary per site, all of the same variables and embedded alike.

    Parameters
    ----------
    sites : list or mapping
        DataFrames, paths of tables or releases, `Release`, `Site`, `OracleSite` or `Summary` objects; or a mapping
        of names to them.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    data, missing : str
        How columns are taken, and what to do with rows that lack a value.

    Raises
    ------
    InputError
        If there are no sites, or they do not fit together.

    Examples
    --------
    >>> import fedperi as fp
    >>> [summary.n for summary in statements(fp.simulate(3, clients=2, samples=100).sites)]
    [100, 100]
    """
    entries = named_entries(sites)
    tables = {}
    for name, entry in entries.items():
        if isinstance(entry, Site):
            tables[name] = entry
        elif not isinstance(entry, Summary | OracleSite | ReleasedSite):
            raise InputError(f"site {name!r} gives no summary, and M-PERI works with nothing else; {ELSEWHERE}")
    rows = {name: site.table for name, site in tables.items()}
    read = summaries(rows, schema, data=data, missing=missing) if rows else []
    found: dict[str, Summary] = {part.site: replace(part, targets=tables[part.site].targets) for part in read}
    released = {name: entry.release for name, entry in entries.items() if isinstance(entry, ReleasedSite)}
    if released:
        check_same_schema([entry for entry in entries.values() if isinstance(entry, ReleasedSite)])
        for name, part in zip(released, released_summaries(list(released.values())), strict=True):
            found[name] = replace(part, site=name)
    for name, entry in entries.items():
        if isinstance(entry, OracleSite):
            found[name] = replace(entry.summary(), site=name)
        elif isinstance(entry, Summary):
            found[name] = replace(entry, site=name)
    parts = [found[name] for name in entries]
    if not all(part.curved for part in parts):  # only tables that are read together have polynomials
        parts = [part.straight() for part in parts]
    check_alike(parts)
    _check_determined([part.straight() for part in parts])
    return parts


def named_entries(sites: Any, privacy: Privacy | None = None, **how: Any) -> dict[str, Any]:
    """Every entry with its name: summaries as they are, all else as a site; tables as releases if they are protected.

    Raises
    ------
    InputError
        If there are none, or they cannot say one summary each.
    """
    if hasattr(sites, "open") and hasattr(sites, "ask"):
        raise InputError(f"M-PERI needs one summary per site, and these are connected to be asked; {ELSEWHERE}")
    if privacy is not None:
        return {site.name: site for site in protected(as_respondents(sites), privacy, **how)}
    entries = _entries(sites)
    if not entries:
        raise InputError("a federation needs at least one site; the list is empty")
    return entries


def privacy_of(entries: dict[str, Any], parts: Sequence[Summary]) -> dict[str, dict[str, Any]] | None:
    """What every site tells about its privacy, and the rows that its noisy moments are worth; None if none has any."""
    told = {
        name: {**(entry.privacy or {}), "worth": round(part.rows)} if isinstance(entry, ReleasedSite) else None
        for (name, entry), part in zip(entries.items(), parts, strict=True)
    }
    if not any(told.values()):
        return None
    return {name: one or {"mechanism": "none", "private": False} for name, one in told.items()}


def _entries(sites: Any) -> dict[str, Any]:
    if isinstance(sites, Summary):
        raise InputError("give a list of sites, even if there is only one")
    listed: list[tuple[str | None, Any]]
    if hasattr(sites, "items") and not hasattr(sites, "columns"):
        listed = list(sites.items())
    elif isinstance(sites, list | tuple) and any(isinstance(site, Summary) for site in sites):
        listed = [(site.site if isinstance(site, Summary) else None, site) for site in sites]
    else:
        return {site.name: site for site in as_respondents(sites)}
    out: dict[str, Any] = {}
    for given, entry in listed:
        site: Any = entry
        if not isinstance(entry, Summary):
            site = as_respondents([entry] if given is None else {given: entry})[0]
        name = site.name if given is None else given
        check_name(name, "a site")
        for position, variable in enumerate(site.names, start=1):
            check_name(variable, f"site {name!r}, variable {position}")
        if name in out:
            raise InputError(f"two sites are called {name!r}: give each a name of its own")
        out[name] = site
    return out


def _check_determined(parts: Sequence[Summary]) -> None:
    """Raise if, over all sites together, some variables determine another one: directions among them mean nothing."""
    weights = np.array([float(part.n) for part in parts]) / sum(float(part.n) for part in parts)
    mean = weights @ np.stack([part.mean for part in parts])
    covariance = sum(
        weight * (part.covariance + np.outer(part.mean - mean, part.mean - mean))
        for weight, part in zip(weights, parts, strict=True)
    )
    scale = np.sqrt(np.diag(covariance))
    flat = [name for name, block in zip(parts[0].names, parts[0].blocks, strict=True) if not scale[list(block)].all()]
    if flat:
        raise InputError(f"column {flat[0]!r}: all values are the same at every site; drop the column")
    correlation = np.clip(covariance / np.outer(scale, scale), -1, 1)
    np.fill_diagonal(correlation, 1.0)
    first = parts[0]
    rows = max(2, int(min(sum(float(part.n) for part in parts), 1e9)))
    pooled = Statistics(first.names, first.blocks, rows, mean, scale, correlation, first.kinds, site="all sites")
    for found in dependences(pooled):
        if found.exact:
            raise InputError(
                f"columns {quoted(found.names)}: each is determined by the others (share of variance left: below "
                f"{SINGULAR:g}); drop one of them"
            )
