"""One method on the tables of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..contenders import Problem, TooSlowError, contender, solve
from ..grid import Cell
from .datasets import datasets

METHODS = (
    *("mperi", "mperi-75", "iperi", "iperi-paper", "peri", "notears-admm", "feddag", "fedcdh"),
    *("ut-igsp", "gnies", "cd-nod", "pc", "ges", "fci"),
)
MOST_SENTENCES = 12


def cells(folder: Path, methods: Sequence[str] | None, limit: float) -> list[Cell]:
    """List one cell for every data set and method."""
    return [
        {
            "task": "real",
            "data": str(next(iter(one.files.values())).parent.resolve()),
            "name": one.name,
            "sites": len(one.files),
            "method": contender(method) and method,
            "limit": limit,
        }
        for one in datasets(folder)
        for method in methods or METHODS
    ]


def work(cell: Cell) -> dict[str, Any]:
    """Run a method; the graph is kept as text."""
    data = datasets(Path(cell["data"]))[0]
    sites = data.sites()
    limit = float(cell["limit"])
    try:
        found, seconds = solve(cell["method"], Problem(sites), limit)
    except TooSlowError:
        return {"error": f"stopped after {limit:g} CPU s", "limit": limit}
    out: dict[str, Any] = {"graph": found.graph.to_json(), "rounds": found.rounds, "cpu_s": seconds}
    if found.named is not None:
        names = list(sites)
        out["named"] = sorted([names[site], variable] for site, variable in found.named)
    if found.changing is not None:
        out["changing"] = sorted(found.changing)
    if found.result is not None and found.result.differences is not None and cell["method"] == "mperi":
        strongest = sorted(found.result.differences, key=lambda one: -one.evidence)
        out["differences"] = [one.words for one in strongest[:MOST_SENTENCES]]
        out["warnings"] = list(found.result.warnings)
    return out
