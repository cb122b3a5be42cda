"""Warnings that do not come from comparing mechanisms: about the columns, the regrets, and what a check found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..graph.knowledge import Knowledge
from ..graph.pdag import PDAG
from ..phrases import listed
from ..tables.preparing.obvious import comes_first

if TYPE_CHECKING:
    from ..tables.checks.findings import Finding
    from .effects.moments import Moments

MANY_YES_NO = 0.5
"""A run without tiers warns if yes/no columns and categories are at least this share."""

HIGH_REGRET = 10.0
"""A regret above this (in nats) is called high: with the default masking, regrets of correct tables are below 7, and
swapped columns give 10 to 22 (docs/guides/report-iperi.md#regrets)."""

MOST_FINDINGS = 8


def many_yes_no(moments: Moments, knowledge: Knowledge | None) -> list[str]:
    """Warn if most variables are yes/no or categories and their order in time is not given.

    The mechanism of such a column has only a mean and coefficients, and is less informative about directions than that
    of a number.
    """
    if knowledge is not None and knowledge.tiers:
        return []
    count, of = sum(moments.shares), len(moments.names)
    if count < 3 or count < MANY_YES_NO * of:
        return []
    return [
        f"{count} of {of} variables are yes/no or categories, and no tiers are given. Such columns say less about "
        "directions than numbers do. If you know which variables come first, give tiers in a file with --knowledge."
    ]


def against_time(graph: PDAG, knowledge: Knowledge | None) -> list[str]:
    """Warn of arrows into a variable that, by its name, comes before all others, unless knowledge mentions it.

    Examples
    --------
    >>> import fedperi as fp
    >>> graph = fp.PDAG.from_edges([("ldl", "sex"), ("age", "sex"), ("age", "ldl")])
    >>> against_time(graph, None)[0].split(".")[0]
    'The graph has the arrow ldl -> sex, but by its name sex comes before what is measured later'
    >>> against_time(graph, fp.Knowledge(tiers=[["sex"], ["age", "ldl"]]))
    []
    """
    known = knowledge or Knowledge()
    in_tiers = {name for tier in known.tiers for name in tier}
    wrong = sorted(
        (cause, effect)
        for cause, effect in graph.directed
        if comes_first(effect)
        and effect not in in_tiers
        and not comes_first(cause)
        and (cause, effect) not in known.required
    )
    if not wrong:
        return []
    arrows = ", ".join(f"{cause} -> {effect}" for cause, effect in wrong)
    effects = list(dict.fromkeys(effect for _, effect in wrong))
    named = f"{'their names' if len(effects) > 1 else 'its name'} {listed(effects)} come{'s' * (len(effects) == 1)}"
    return [
        f"The graph has the arrow{'s' * (len(wrong) > 1)} {arrows}, but by {named} before what is measured later. Such "
        "an arrow is probably wrong, and can turn others. Give tiers in a file with --knowledge (`fedperi init` writes "
        "one) and run again."
    ]


def high_regrets(regrets: Mapping[str, float], masking: str) -> list[str]:
    """Name sites that the common graph does not fit, for the default masking; with others regrets are always large.

    Examples
    --------
    >>> high_regrets({"Lyon": 14.2, "Metz": 3.0}, "adaptive")[0].split(".")[0]
    'The common graph explains Lyon much worse than its own best graph does (regret 14 nats)'
    """
    if masking != "adaptive":
        return []
    return [
        f"The common graph explains {site} much worse than its own best graph does (regret {regret:.0f} nats). Check "
        "for wrong background knowledge, a column with another meaning there, or a site that truly works differently."
        for site, regret in sorted(regrets.items(), key=lambda one: -one[1])
        if regret > HIGH_REGRET
    ]


def found_by_check(findings: Iterable[Finding]) -> list[str]:
    """Name the sites and columns about which `fedperi check` warns.

    The findings themselves may show levels and values, which only owners of tables may see.

    Examples
    --------
    >>> from fedperi.tables.checks.findings import Finding
    >>> found_by_check([Finding("warning", "Lyon", ("arm",), "levels with few rows: 'x' (1)")])
    ['`fedperi check` warns about the tables: Lyon (arm). Run it for details.']
    """
    places: dict[str, dict[str, None]] = {}
    for one in findings:
        if one.level == "warning":
            places.setdefault(one.site or "all sites", {}).update(dict.fromkeys(one.columns))
    if not places:
        return []
    named = [f"{site} ({', '.join(columns)})" if columns else site for site, columns in places.items()]
    more = len(named) - MOST_FINDINGS
    shown = named if more <= 0 else [*named[:MOST_FINDINGS], f"{more} more sites"]
    return [f"`fedperi check` warns about the tables: {'; '.join(shown)}. Run it for details."]
