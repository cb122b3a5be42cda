"""The page of the survey, its tables as files, and the long page with a command for each row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..contenders import CONTENDERS
from ..figures import settings_figure
from ..grid import Cell, write_table
from ..page import Page, Request, markdown_table
from ..settings import SETTINGS
from ..tables import failures
from . import tables
from .cells import CLINIC_SIZE, METHODS, ROWS, SITES
from .conclusions import comparisons, conclusions
from .numbers import numbers

FILE, PLACES = "settings.csv", "places.csv"
BESIDE = 10
LEFT_OUT = ("oracle-cpdag",)
"""Columns of the file that the tables do not have."""


def write(found: Sequence[Cell], out: Path, request: Request) -> Page:
    """Write tables and figures from the cells that are done."""
    rows = numbers(found)
    write_table(rows, out / FILE)
    methods = [name for name in METHODS if name not in LEFT_OUT and any(row["method"] == name for row in rows)]
    telling = [name for name in methods if CONTENDERS[name].kind == "federated" or name in ("ut-igsp", "gnies")]
    pictures = []
    text = _about(rows) + _first(found, out)
    sizes = sorted({_shown_with(row) for row in rows})
    full = BESIDE if BESIDE in sizes else sizes[0]
    for p in sizes:
        mine = [row for row in rows if _shown_with(row) == p]
        clinic = f" (hospital-like tables: {CLINIC_SIZE})" if any(row["p"] != p for row in mine) else ""
        text += f"### {p} variables{clinic}\n\n"
        if any(row["cells"] for row in mine):
            pictures.append(settings_figure(mine, f"SHD, {p} variables", out / f"settings-p{p}.png").name)
            text += f"![SHD of all methods, {p} variables]({pictures[-1]})\n\n"
        text += f"**SHD**\n\n{tables.wide(mine, tables.shd, methods, 'shd')}\n"
        if p == full:
            text += f"**Directions right / wrong / open**\n\n{tables.wide(mine, tables.directions, telling)}\n"
    text += _rest(rows, found, methods) + failures(found) + _legend(rows)
    return Page("Settings", text, (), links=(FILE, PLACES, *pictures))


def _first(found: Sequence[Cell], out: Path) -> str:
    """Write the file of all comparisons, and say in how many places M-PERI is best."""
    told = comparisons(found)
    if not told:
        return ""
    write_table(told, out / PLACES)
    return (
        f"### Where M-PERI is first\n\n{conclusions(found)}\n"
        "A place is a setting with a number of variables; methods are compared on the runs that both have. Each "
        f"comparison is a line of [{PLACES}]({PLACES}).\n\n"
    )


def _shown_with(row: Cell) -> int:
    """The number of variables of the table that a row is in: hospital-like tables are shown with 10 variables."""
    return BESIDE if row["p"] == CLINIC_SIZE else int(row["p"])


def _rest(rows: Sequence[Cell], found: Sequence[Cell], methods: Sequence[str]) -> str:
    naming = [name for name in methods if any(row["method"] == name and "recall" in row for row in rows)]
    telling = [row for row in rows if row["method"] in naming and _shown_with(row) == BESIDE]
    fits = [row for row in found if row["method"] == "mperi" and "error" not in row]
    text = ""
    if telling:
        text += (
            "### Policies named\n\nShare of the policies that are named / share of what is named that is a policy. "
            "UT-IGSP and M-PERI name pairs of site and variable; GnIES and CD-NOD name variables only. A dash: more "
            f"than policies differs, or nothing is named.\n\n{tables.wide(telling, tables.policies, naming)}\n"
        )
    adjusted = [row for row in rows if _shown_with(row) == BESIDE]
    if adjusted:
        text += (
            "### Distance of adjustment\n\nShare of the ordered pairs of variables whose total effect would be wrong "
            "if one adjusted by the graph (gadjid, by ancestors; 0 is best).\n\n"
            f"{tables.wide(adjusted, tables.adjustment, methods)}\n"
        )
    if any("stated" in row for row in fits):
        text += (
            "### Calibration of M-PERI\n\nFor each pair of variables the likelier direction, if its probability is "
            f"at least one half: how often is it right?\n\n{tables.stated(fits)}\n{tables.stated_by_setting(fits)}\n"
        )
    return text + f"### Time\n\n{tables.seconds(rows)}\n"


def _about(rows: Sequence[Cell]) -> str:
    pooled = ", ".join(one.label.removesuffix(", pooled") for one in CONTENDERS.values() if one.kind == "pooled")
    return (
        f"{SITES} sites of {ROWS:,} rows, one of them without a policy, unless said otherwise. {pooled} see the rows "
        "of all sites in one place; other methods are federated. A number in brackets is the number of seeds, where a "
        "method has fewer than others in its row. Bold: the lowest mean of the federated methods, whatever the seeds. "
        "SHD counts a reversed edge as 2 and an undirected one as 1. Every row with its command is in "
        f"[{FILE}]({FILE}). "
        "What settings are: [at the end](#what-the-settings-are).\n\n"
    )


def _legend(rows: Sequence[Cell]) -> str:
    shown = [name for name in SETTINGS if any(row["setting"] == name for row in rows)]
    table = markdown_table(["setting", "what it is"], [(name, SETTINGS[name].words) for name in shown])
    return f"### What the settings are\n\n{table}\n"
