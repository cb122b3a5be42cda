"""Compare columns and rows between sites: another unit, two swapped columns, rows that two sites share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ..schema import Schema
from .duplicates import RowHashes
from .findings import Finding, percent
from .looks import spread_of
from .sentinels import Looked, codes_of
from .units import other_units

SWAPPED, ALIKE = 3.0, 1.0
"""Least distance of a swapped column from the same column at other sites, and largest distance from the column that it
was swapped with, in standard deviations."""

SHARED_ROWS, SHARED = 5, 0.01
"""Number of shared rows, and share of the smaller site's rows, from which on a warning is given."""

COMPARED = 100_000
"""Rows of a site that are compared with those of other sites; of larger tables, a sample of about this size."""

LEAST = 20
"""Least number of values of a column at a site with which it is compared."""


def middles_of(looks: Mapping[str, Looked], schema: Schema) -> dict[str, dict[str, tuple[float, float]]]:
    """Return median and spread of every continuous column at every site, without codes; by column, then by site."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for column in schema.columns:
        seen = looks.get(column.name, {})
        if column.kind != "continuous" or not seen:
            continue
        codes = codes_of(seen)
        values = {site: look.inner(codes) for site, look in seen.items()}
        found[column.name] = {site: spread_of(some) for site, some in values.items() if len(some) >= LEAST}
    return found


def unit_errors(middles: Mapping[str, Mapping[str, tuple[float, float]]]) -> list[Finding]:
    """Find columns that a site seems to measure in another unit, from medians and spreads.

    Examples
    --------
    >>> print(unit_errors({"weight": {"a": (80, 12), "b": (81, 11), "c": (176, 26)}})[0])
    site 'c', column 'weight': median and spread are both about 2.22 times those elsewhere, as with pounds and ...
    """
    found = []
    for name, sites in middles.items():
        medians, spreads = np.array(list(sites.values())).reshape(-1, 2).T
        for site, words, factor in other_units(list(sites), medians, spreads, "median"):
            how = f"declare scale = {{ '{site}' = {factor:.4g} }} for {name} in the schema, or " if factor else ""
            remedy = f"{how}convert the column at this site; ask it which unit it uses"
            found.append(Finding("error", site, (name,), words, remedy, "unit"))
    return found


def swap_findings(middles: Mapping[str, Mapping[str, tuple[float, float]]]) -> list[Finding]:
    """Find sites at which two columns seem to be swapped.

    Examples
    --------
    >>> usual = {"sbp": (130, 15), "dbp": (80, 10)}
    >>> middles = {name: {"a": one, "b": one} for name, one in usual.items()}
    >>> middles["sbp"]["c"], middles["dbp"]["c"] = usual["dbp"], usual["sbp"]
    >>> print(swap_findings(middles)[0])
    site 'c', columns 'sbp', 'dbp': each has the values that the other has elsewhere: probably they are ...
    """
    found = []
    for a, b in combinations(middles, 2):
        sites = [site for site in middles[a] if site in middles[b]]
        for site in sites if len(sites) > 2 else ():
            others = [other for other in sites if other != site]
            usual = {name: np.median([middles[name][other] for other in others], axis=0).tolist() for name in (a, b)}
            if any(not usual[name][1] > 0 for name in (a, b)):
                continue
            pairs = [(middles[one][site], usual[one], usual[other]) for one, other in ((a, b), (b, a))]
            moved = all(_distance(here, own) > SWAPPED and _distance(here, other) < ALIKE for here, own, other in pairs)
            if moved and all(_distance(middles[n][o], usual[n]) < ALIKE for n in (a, b) for o in others):
                message = "each has the values that the other has elsewhere: probably they are swapped"
                remedy = "compare with the source, and correct the column names at this site"
                found.append(Finding("error", site, (a, b), message, remedy, "swapped"))
    return found


def _distance(here: Sequence[float], usual: Sequence[float]) -> float:
    """Return how far the median of a column is from the usual median, in units of the usual spread."""
    return abs(here[0] - usual[0]) / usual[1] if here[1] > 0 else np.inf


def shared_rows(tables: Sequence[tuple[str, RowHashes]], schema: Schema) -> list[Finding]:
    """Find sites that share rows: patients who were moved, or files that were copied into each other."""
    if all(column.kind == "categorical" for column in schema.columns):
        return []  # it is normal that rows of categories repeat
    # Of large tables only some rows are compared. They are chosen by their hashes: the same rows at all sites.
    every = max([1, *(hashes.seen // COMPARED for _, hashes in tables)])
    pairs = []
    for (one, a), (other, b) in combinations(tables, 2):
        if a.content == b.content:
            continue  # `same_content` reports it
        both = a.shared_with(b, every)
        fewer = min(a.seen, b.seen)
        # Between sites as many rows may be equal by chance as within a site.
        if both >= max(SHARED_ROWS, SHARED * fewer) + 3 * max(a.copies, b.copies):
            pairs.append((one, other, both, fewer))
    if not pairs:
        return []
    where = "; ".join(f"{one!r} and {other!r}: {both} ({percent(both, n)})" for one, other, both, n in pairs)
    message = f"sites have identical rows: {where}"
    return [Finding("warning", None, (), message, "keep each row at one site only, or it counts twice", "shared")]
