"""Where M-PERI is first of all federated methods, and where not: always on the same simulations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..contenders import CONTENDERS
from ..grid import Cell
from ..paired import Pair, better, by_simulation, pair, ratio
from ..settings import SETTINGS


class Lost(NamedTuple):
    """A place where another federated method has the better mean."""

    setting: str
    p: int
    rival: str
    pair: Pair


def places(fits: Sequence[Cell]) -> list[tuple[str, int]]:
    """The settings and numbers of variables that there are, in order."""
    found = {(row["setting"], row["p"]) for row in fits if "error" not in row}
    return sorted(found, key=lambda one: (list(SETTINGS).index(one[0]), one[1]))


def lost(fits: Sequence[Cell], first: str) -> tuple[int, list[Lost]]:
    """Count the places where `first` can be compared, and list the methods that have a lower mean SHD there."""
    compared, out = 0, []
    for name, p in places(fits):
        mine = [row for row in fits if (row["setting"], row["p"]) == (name, p)]
        if not any(row["method"] == first and "error" not in row for row in mine):
            continue
        compared += 1
        out += [Lost(name, p, rival, one) for rival, one in better(mine, first)]
    return compared, out


def lost_ratio(fits: Sequence[Cell], first: str) -> tuple[int, list[tuple[str, int, str]]]:
    """The same for right to wrong directions, all simulations that both solved together; a zero counts as a half."""
    compared, out = 0, []
    for name, p in places(fits):
        mine = [row for row in fits if (row["setting"], row["p"]) == (name, p)]
        found = by_simulation(mine)
        if first not in found:
            continue
        compared += 1
        worst: list[tuple[float, str]] = []
        for rival in found:
            if CONTENDERS[rival].kind != "federated" or rival in ("mperi", "mperi-75"):
                continue
            common = found[first].keys() & found[rival].keys()
            ours, theirs = ([found[one][key] for key in common] for one in (first, rival))
            (a, b), (c, d) = ratio(ours, first), ratio(theirs, rival)
            if c > 0 and c / max(d, 0.5) > a / max(b, 0.5):
                words = f"{CONTENDERS[rival].label} {c}:{d} against {a}:{b} in {len(common)} runs"
                worst.append((c / max(d, 0.5), words))
        if worst:
            out.append((name, p, max(worst)[1]))
    return compared, out


def overall(fits: Sequence[Cell], first: str) -> str:
    """Write a table: each federated method against `first`, over all simulations that both solved."""
    found = by_simulation(fits)
    lines = [
        f"| method | runs in common | its mean SHD | {CONTENDERS[first].label}: mean SHD | its right : wrong "
        f"| {CONTENDERS[first].label}: right : wrong |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in CONTENDERS.items():
        both = pair(found, first, name, "shd")
        if one.kind in ("federated", "pooled") and name != first and both is not None:
            common = found[first].keys() & found[name].keys()
            theirs = ratio([found[name][key] for key in common], name)
            ours = ratio([found[first][key] for key in common], first)
            means = f"{both.runs} | {both.other:.2f} | {both.first:.2f}"
            lines.append(f"| {one.label} | {means} | {_ratio(theirs)} | {_ratio(ours)} |")
    return "\n".join(lines) + "\n"


def words(fits: Sequence[Cell], first: str) -> str:
    """Say in how many places `first` has the lowest mean SHD and the best ratio, and list the others."""
    label = CONTENDERS[first].label
    compared, places_lost = lost(fits, first)
    best = f"{compared - len({(one.setting, one.p) for one in places_lost})} of {compared}"
    text = f"**{label}** has the lowest mean SHD of the federated methods in {best} places"
    if places_lost:
        text += (
            ". It has not:\n\n| setting | p | ahead is | its mean SHD | ours | ± (standard error) | runs in common |\n"
        )
        text += "|---|---|---|---|---|---|---|\n"
        for one in places_lost:
            text += (
                f"| {one.setting} | {one.p} | {CONTENDERS[one.rival].label} | {one.pair.other:.2f} "
                f"| {one.pair.first:.2f} | {_error(one.pair)} | {one.pair.runs} |\n"
            )
        text += "\nIt"
    else:
        text += ", and"
    compared, worse = lost_ratio(fits, first)
    text += f" has the best ratio of right to wrong directions in {compared - len(worse)} of {compared}"
    if worse:
        text += ". Others have a better one: " + "; ".join(f"{name}, p = {p} ({said})" for name, p, said in worse)
    return text + ".\n\n"


def _error(pair: Pair) -> str:
    return "-" if math.isnan(pair.error) else f"{pair.error:.2f}"


def _ratio(counts: tuple[int, int]) -> str:
    right, wrong = counts
    return f"{right:,} : {wrong:,}" + (f" ({right / wrong:.3g})" if wrong else "")
