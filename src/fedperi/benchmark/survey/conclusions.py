"""Tables that show where M-PERI is the best federated method and where not, always on the same simulations."""

from __future__ import annotations

from collections.abc import Sequence

from ..contenders import CONTENDERS
from ..grid import Cell
from ..page import markdown_table
from ..paired import OURS, by_simulation, pair
from .places import directions, places


def run(fits: Sequence[Cell]) -> list[str]:
    """List the confidences of M-PERI that were run."""
    return [name for name in OURS if any(row["method"] == name and "error" not in row for row in fits)]


def conclusions(fits: Sequence[Cell]) -> str:
    """Say in how many places M-PERI is the best federated method."""
    text = ""
    for first in run(fits):
        found = places(fits, first)
        shd, ratio, of = sum(one.best_shd for one in found), sum(one.best_ratio for one in found), len(found)
        text += (
            f"- **{CONTENDERS[first].label}**: lowest mean SHD in {shd} of {of} places, best ratio of right to wrong "
            f"directions in {ratio} of {of}.\n"
        )
    return text


def comparisons(fits: Sequence[Cell]) -> list[Cell]:
    """List M-PERI against each other federated method at each place, in numbers.

    Examples
    --------
    >>> where = {"setting": "cut", "p": 5, "clients": 5, "samples": 9, "seed": 0, "right": 4}
    >>> fits = [{**where, "method": name, "shd": shd, "wrong": shd} for name, shd in (("mperi", 1), ("peri", 3))]
    >>> comparisons(fits)[0]["ahead_by"]
    2.0
    """
    return [
        {
            "setting": one.setting,
            "p": one.p,
            "method": one.first,
            "against": rival.name,
            "runs": rival.pair.runs,
            "shd": rival.pair.first,
            "its_shd": rival.pair.other,
            "ahead_by": rival.lead,
            "standard_error": rival.pair.error,
            "right": rival.ours[0],
            "wrong": rival.ours[1],
            "its_right": rival.theirs[0],
            "its_wrong": rival.theirs[1],
        }
        for first in run(fits)
        for one in places(fits, first)
        for rival in one.rivals
    ]


def overall(fits: Sequence[Cell]) -> str:
    """Write a table: each other method against M-PERI, over all simulations that both solved.

    Examples
    --------
    >>> where = {"setting": "cut", "p": 5, "clients": 5, "samples": 9, "seed": 0, "right": 4}
    >>> fits = [{**where, "method": name, "shd": shd, "wrong": shd} for name, shd in (("mperi", 1), ("pc", 3))]
    >>> print(overall(fits))
    | method | kind | runs in common | its SHD | M-PERI | its right : wrong | M-PERI |
    |---|---|---|---|---|---|---|
    | PC, pooled | all rows | 1 | 3.00 | 1.00 | 4 : 3 | 4 : 1 |
    <BLANKLINE>
    """
    ours = run(fits)
    found = by_simulation(fits)
    labels = [CONTENDERS[first].label for first in ours]
    head = ["method", "kind", "runs in common", "its SHD", *labels, "its right : wrong", *labels]
    rows = []
    for name, one in CONTENDERS.items():
        if one.kind not in ("federated", "pooled") or name in OURS or name not in found:
            continue
        common = set(found[name]).intersection(*(found[first] for first in ours))
        some = {who: {key: found[who][key] for key in common} for who in (name, *ours)}
        if common:
            pairs = [both for both in (pair(some, first, name, "shd") for first in ours) if both is not None]
            counts = [directions(some[who].values()) for who in (name, *ours)]
            means = [f"{pairs[0].other:.2f}", *(f"{both.first:.2f}" for both in pairs)]
            told = [f"{right:,} : {wrong:,}" for right, wrong in counts]
            sees = "all rows" if one.kind == "pooled" else "federated"
            rows.append([one.label, sees, f"{len(common):,}", *means, *told])
    return markdown_table(head, rows)
