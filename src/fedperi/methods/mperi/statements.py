"""One summary per site from the user's input: all that M-PERI knows about the sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InputError
from ...privacy import Privacy
from ...privacy.release.summaries import released_summaries
from ...site.released import ReleasedSite
from ...site.respondent import Respondent
from ...site.site import OracleSite, Site
from ...site.summarised import SummarySite
from ...tables.checks.collinear import SINGULAR, dependences
from ...tables.checks.findings import quoted
from ...tables.reading import Reading
from ...tables.statistics import Statistics
from ...tables.summary.alike import check_alike, present_levels
from ...tables.summary.summaries import summaries
from ...tables.summary.summary import Summary
from ..federate import as_respondents, check_same_schema, is_connected, protected

ELSEWHERE = "use IPERI, which asks sites in rounds"


def statements(entries: Mapping[str, Respondent], reading: Reading) -> list[Summary]:
    """Collect one summary per site, all with the same variables and the same embedding.

    Parameters
    ----------
    entries : mapping of str to Respondent
        The sites, by name: tables, exact summaries, releases and oracles, mixed (see `named_entries`).
    reading : Reading
        How tables are read.

    Raises
    ------
    InputError
        If a site gives no summary, or the summaries do not fit together.

    Examples
    --------
    >>> import fedperi as fp
    >>> entries = named_entries(fp.simulate(3, clients=2, samples=100).sites)
    >>> [summary.n for summary in statements(entries, Reading())]
    [100, 100]
    """
    found = {**_released(entries), **_stated(entries)}
    tables = {name: entry for name, entry in entries.items() if isinstance(entry, Site)}
    for name in entries:
        if name not in found and name not in tables:
            raise InputError(f"site {name!r} gives no summary, and M-PERI works with nothing else; {ELSEWHERE}")
    found |= _read(tables, reading, list(found.values()))
    parts = [replace(found[name], site=name) for name in entries if name in found]  # some sites may be left out
    if not all(part.curved for part in parts):  # only tables read together, or with public bounds, have polynomials
        parts = [part.straight() for part in parts]
    check_alike(parts)
    parts = present_levels(parts)
    _check_determined([part.straight() for part in parts])
    return parts


def _stated(entries: Mapping[str, Respondent]) -> dict[str, Summary]:
    found = {name: entry.summary for name, entry in entries.items() if isinstance(entry, SummarySite)}
    return found | {name: entry.summary() for name, entry in entries.items() if isinstance(entry, OracleSite)}


def _released(entries: Mapping[str, Respondent]) -> dict[str, Summary]:
    sites = {name: entry for name, entry in entries.items() if isinstance(entry, ReleasedSite)}
    if not sites:
        return {}
    check_same_schema(list(sites.values()))
    return dict(zip(sites, released_summaries([site.release for site in sites.values()]), strict=True))


def _read(tables: Mapping[str, Site], reading: Reading, stated: Sequence[Summary]) -> dict[str, Summary]:
    """Summarise tables: together, or with the schema of other sites' summaries if there are any."""
    if not tables:
        return {}
    schema = reading.schema
    if stated:
        schema = schema or next((part.schema for part in stated if part.schema is not None), None)
        read = [
            Summary.of(site.table, schema, data=reading.data, missing=reading.missing, name=name)
            for name, site in tables.items()
        ]
    else:
        rows = {name: site.table for name, site in tables.items()}
        read = summaries(rows, schema, data=reading.data, missing=reading.missing)
    return {part.site: replace(part, targets=tables[part.site].targets) for part in read}


def named_entries(sites: Any, privacy: Privacy | None = None, reading: Reading | None = None) -> dict[str, Respondent]:
    """Turn every entry into a site, by name; with `privacy`, tables become releases.

    Raises
    ------
    InputError
        If there are none, or one of them cannot give a summary.
    """
    if is_connected(sites):
        raise InputError(f"M-PERI needs one summary per site, and these are connected to be asked; {ELSEWHERE}")
    if isinstance(sites, Summary):
        raise InputError("give a list of sites, even if there is only one")
    respondents = as_respondents(sites)
    if not respondents:
        raise InputError("a federation needs at least one site; the list is empty")
    if privacy is not None:
        respondents = protected(respondents, privacy, reading or Reading())
    return {site.name: site for site in respondents}


def privacy_of(entries: Mapping[str, Respondent], parts: Sequence[Summary]) -> dict[str, dict[str, Any]] | None:
    """Collect the privacy of every site, with its effective number of rows; None if no site has any."""
    released = {name: entry.privacy or {} for name, entry in entries.items() if isinstance(entry, ReleasedSite)}
    if not released:
        return None
    none = {"mechanism": "none", "private": False}
    return {
        part.site: {**released[part.site], "worth": round(part.rows)} if part.site in released else none
        for part in parts
    }


def _check_determined(parts: Sequence[Summary]) -> None:
    """Raise if, over all sites, some variables determine another: directions between them have no meaning."""
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
