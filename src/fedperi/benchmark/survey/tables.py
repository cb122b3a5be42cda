"""Tables of the survey: settings as rows, methods as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..contenders import CONTENDERS
from ..grid import Cell
from ..page import markdown_table
from ..settings import SETTINGS
from ..tables import best_federated, without_numbers
from .numbers import calibration

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
Entry = Callable[[Cell], str]


def wide(rows: Sequence[Cell], entry: Entry, methods: Sequence[str], best: str | None = None) -> str:
    """Write a table with a row for each setting; the lowest federated value of the number `best` is in bold.

    A number from fewer seeds than others in its row shows the number of seeds.

    Examples
    --------
    >>> where = {"setting": "cut", "p": 5, "failed": 0}
    >>> found = [("mperi", 5, 1.0), ("peri", 2, 3.0)]
    >>> rows = [{**where, "method": name, "cells": cells, "shd": shd} for name, cells, shd in found]
    >>> print(wide(rows, lambda row: f"{row['shd']:.1f}", ["mperi", "peri"], "shd"))
    | setting | seeds | M-PERI | PERI |
    |---|---|---|---|
    | cut | 5 | **1.0** | 3.0 (2) |
    <BLANKLINE>
    """
    shown = [name for name in methods if any(row["method"] == name for row in rows)]
    lines = []
    for name in [name for name in SETTINGS if any(row["setting"] == name for row in rows)]:
        mine = {row["method"]: row for row in rows if row["setting"] == name}
        most = max((row["cells"] for row in mine.values()), default=0)
        low = best_federated(mine.values(), best) if best else math.nan
        cells = [_cell(mine.get(method), entry, most, best, low) for method in shown]
        lines.append([name, str(most), *cells])
    return markdown_table(["setting", "seeds", *(CONTENDERS[name].label for name in shown)], lines)


def shd(row: Cell) -> str:
    """Write the mean SHD."""
    return f"{row['shd']:.2f}"


def directions(row: Cell) -> str:
    """Write the mean numbers of right / wrong / open directions per run."""
    return f"{row['right']:.1f} / {row['wrong']:.1f} / {row['open']:.1f}"


def adjustment(row: Cell) -> str:
    """Write the adjustment distance, and for how many graphs it is known."""
    if not row["adjusted"]:
        return "-"
    part = "" if row["adjusted"] == row["cells"] else f" ({row['adjusted']} of {row['cells']})"
    return f"{row['adjustment']:.3f}{part}"


def policies(row: Cell) -> str:
    """Write recall and precision of policies."""
    if "recall" not in row:
        return "-"
    recall, precision = (f"{row[name]:.0%}" if not math.isnan(row[name]) else "-" for name in ("recall", "precision"))
    return f"{recall} / {'-' if SETTINGS[row['setting']].all_differ else precision}"


def seconds(rows: Sequence[Cell]) -> str:
    """Write mean CPU seconds by number of variables, for the fits whose time counts."""
    sizes = sorted({row["p"] for row in rows})
    lines = []
    for name, one in CONTENDERS.items():
        mine = [row for row in rows if row["method"] == name and row["cells"] and not math.isnan(row["cpu_s"])]
        if mine and one.kind != "oracle":
            entries = []
            for p in sizes:
                some = [row for row in mine if row["p"] == p]
                fits = sum(row["cells"] for row in some)
                mean = sum(row["cpu_s"] * row["cells"] for row in some) / fits if fits else math.nan
                entries.append(f"{mean:.2g}" if fits else "-")
            lines.append([one.label, *entries])
    return markdown_table(["CPU seconds of one fit", *(f"p = {p}" for p in sizes)], lines)


def stated(fits: Sequence[Cell]) -> str:
    """Write the share of right directions by the probability that M-PERI states, for each kind of setting."""
    lines = [
        [f"{low:g} to {high:g}", str(count), f"{mean:.3f}", f"{right:.3f}"]
        for low, high, count, mean, right in calibration(fits, BINS)
        if count
    ]
    return markdown_table(["stated", "count", "mean stated", "share right"], lines)


def stated_by_setting(fits: Sequence[Cell]) -> str:
    """Write the same for each setting, for directions stated with .5 or more, and with .9 or more."""
    lines = []
    for name in SETTINGS:
        mine = [row for row in fits if row["setting"] == name]
        every, sure = calibration(mine, (0.5, 1.0))[0], calibration(mine, (0.9, 1.0))[0]
        if every[2]:
            numbers = [(str(count), f"{mean:.3f}", f"{right:.3f}") for _, _, count, mean, right in (every, sure)]
            lines.append([name, *numbers[0], *numbers[1]])
    each = ("mean stated", "share right")
    return markdown_table(["setting", "count", *each, "count, .9 or more", *each], lines)


def _cell(row: Cell | None, entry: Entry, most: int, best: str | None, low: float) -> str:
    if row is None or not row["cells"]:
        return "-" if row is None else without_numbers(row)
    text = entry(row)
    if text == "-":
        return text
    if best and CONTENDERS[row["method"]].kind == "federated" and math.isclose(row[best], low, abs_tol=1e-9):
        text = f"**{text}**"
    return text if row["cells"] == most else f"{text} ({row['cells']})"
