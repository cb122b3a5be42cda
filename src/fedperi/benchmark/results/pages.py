"""The pages of the published results, all of them from cells: conclusions, all settings, the paper's tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..comparisons import COMPARISONS, Comparison
from ..experiments import experiment
from ..grid import Cell
from ..page import Page, Request
from ..settings import SETTINGS
from ..survey import write as write_survey
from ..survey.cells import CLINIC_SITES, SITES
from .overview import overview, verdict
from .plan import ALSO, STEPS, also, progress

TABLES = tuple(dict.fromkeys(step.of for step in STEPS if step.of in COMPARISONS))
"""The paper's experiments that are in the plan."""


def write(found: Sequence[Cell], out: Path, request: Request) -> Page:
    """Write all pages with tables, figures and the text of their notes; return the verdict."""
    found = timed(found)
    surveyed = [row for row in found if _surveyed(row)]
    _page(out, "overview.md", overview(surveyed, found, _words(out, "notes.md")))
    survey = write_survey(surveyed, out, request)
    _page(out, "settings.md", f"{_words(out, 'notes-settings.md')}{survey.markdown()}{_made(surveyed)}")
    papers = [
        *(_paper(name, found, out, request) for name in TABLES),
        *(_also(name, found, out, request) for name in ALSO),
    ]
    text = "\n".join(page.markdown() for page in papers if page is not None)
    _page(out, "paper-tables.md", f"{_words(out, 'notes-paper.md')}{text}{_made(found)}")
    return Page("Where M-PERI is first", f"{verdict(surveyed)}\n## The plan\n\n{progress(found)}", ())


def timed(found: Sequence[Cell]) -> list[Cell]:
    """Keep the times of each method and size from the newest version only, since times changed between versions.

    Examples
    --------
    >>> where = {"task": "fit", "method": "peri", "p": 5}
    >>> rows = [{**where, "version": version, "cpu_s": 1.0} for version in ("0.9", "0.10")]
    >>> [row["cpu_s"] for row in timed(rows)]
    [None, 1.0]
    """
    newest: dict[tuple[object, ...], tuple[int, ...]] = {}
    for row in found:
        group = (row.get("method"), row.get("p"))
        newest[group] = max(newest.get(group, ()), _order(row["version"]))
    return [
        {**row, "cpu_s": None}
        if "cpu_s" in row and _order(row["version"]) < newest[row.get("method"), row.get("p")]
        else row
        for row in found
    ]


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _surveyed(row: Cell) -> bool:
    if row["task"] != "fit":
        return False
    sites = CLINIC_SITES if SETTINGS[row["setting"]].clinic else SITES
    return int(row["clients"]) == sites


def _paper(name: str, found: Sequence[Cell], out: Path, request: Request) -> Page | None:
    """Write the page of an experiment of the paper, if the plan has reached it."""
    one = COMPARISONS[name]
    mine = [row for row in found if _belongs(row, one)]
    fits = [row for row in mine if row["task"] == "fit"]
    several = len({row[one.axis] for row in fits}) > 1  # one value is no comparison over it
    own = {method for step in STEPS if step.of == name for method in step.methods}
    return one.write(mine, out, request) if several and own & {row["method"] for row in fits} else None


def _belongs(row: Cell, one: Comparison) -> bool:
    """Whether an experiment of the paper shows a cell; steps of others may have made it."""
    if row["task"] not in ("fit", "filter") or row.get("method", one.methods[0]) not in one.methods:
        return False
    steps = [step for step in STEPS if step.of == one.name]
    return any(
        row["setting"] in step.settings
        and row["p"] in step.p
        and row["clients"] in step.clients
        and row["samples"] in step.samples
        for step in steps
    )


def _also(name: str, found: Sequence[Cell], out: Path, request: Request) -> Page | None:
    """Write the page of an experiment about the paper's methods, if it was run."""
    task = also(name)[0]["task"]
    mine = [row for row in found if row["task"] == task]
    return experiment(name).write(mine, out, request) if mine else None


def _words(out: Path, name: str) -> str:
    file = out / name
    return file.read_text(encoding="utf-8") + "\n" if file.exists() else ""


def _made(rows: Sequence[Cell]) -> str:
    versions = ", ".join(sorted({str(row["version"]) for row in rows}))
    return (
        f"\nWritten by `fedperi benchmark plan --saved` from the fits in `cells.jsonl`, which fedperi {versions} made "
        "with one thread per fit. ± is half of the 95 % interval of the mean, unless said otherwise. Bold: the best "
        "federated method.\n"
    )


def _page(out: Path, name: str, text: str) -> None:
    (out / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
