"""Describe what the directions of a result depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..methods.parts import Robustness
from ..phrases import with_noun

if TYPE_CHECKING:
    from ..methods.result import Result


def grade_words(robust: Robustness | None, sites: int) -> str:
    """Say what a direction depends on.

    Parameters
    ----------
    robust : Robustness or None
        From a result; None if it has none for the edge.
    sites : int
        Number of sites. With one or two, none can be left out.

    Examples
    --------
    >>> grade_words(Robustness("age", "dose", "one site", "Lyon", ()), 5)
    'rests on Lyon alone'
    >>> grade_words(Robustness("age", "dose", "", "", ()), 5)
    'open'
    """
    if robust is None or not robust.grade:
        return "open"
    if robust.grade == "confirmed":
        return "confirmed"
    if robust.grade == "straight lines":
        return "rests on straight lines"
    if robust.grade == "known":
        return "known beforehand"
    if robust.site:
        return f"rests on {robust.site} alone"
    return "rests on the difference between two sites" if sites == 2 else "rests on one table"


def count_grades(result: Result) -> tuple[int, int, int]:
    """Count the edges with a direction that is confirmed or known, with a less certain one, and with none."""
    directed = len(result.graph.directed)
    sure = sum(one.grade in ("confirmed", "known") for one in result.robustness)
    return sure, directed - sure, len(result.graph) - directed


def what_they_rest_on(result: Result) -> str:
    """Name what unconfirmed directions depend on, as a plural: one site, few sites, straight lines.

    Examples
    --------
    >>> import fedperi as fp
    >>> what_they_rest_on(fp.MPERI().fit(fp.simulate(["a", "b"], clients=3, samples=500, seed=1).sites))
    'one site'
    """
    sites = [one.site for one in result.robustness if one.grade == "one site"]
    several = any(one not in result.sites and sum(site in one for site in result.sites) > 1 for one in sites)
    bent = any(one.grade == "straight lines" for one in result.robustness)
    parts = ["few sites" if several else "one site"] if sites or not bent else []
    return " or ".join([*parts, *(["straight lines"] if bent else [])])


def counted(result: Result) -> str:
    """Count the edges in a sentence.

    Examples
    --------
    >>> import fedperi as fp
    >>> counted(fp.MPERI().fit(fp.simulate(["a", "b"], clients=3, samples=500, seed=1).sites))
    '1 edge: ...'
    """
    edges = len(result.graph)
    if not edges:
        return "No edge was found."
    confirmed, resting, lines = count_grades(result)
    known = sum(one.grade == "known" for one in result.robustness)
    parts = [f"{confirmed - known} confirmed (the direction holds whichever site is left out)"]
    if known:
        parts.append(f"{known} known beforehand")
    bent = sum(one.grade == "straight lines" for one in result.robustness)
    few = what_they_rest_on(result).removesuffix("straight lines").removesuffix(" or ")
    for count, what in ((resting - bent, few), (bent, "straight lines")):
        if count:
            parts.append(f"{count} that rest{'s' * (count == 1)} on {what}")
    if lines:
        parts.append(f"{lines} with an open direction")
    return f"{with_noun(edges, 'edge')}: {', '.join(parts)}."
