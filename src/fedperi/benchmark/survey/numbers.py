"""One line of numbers per setting, number of variables and method, with the command that repeats it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ..contenders import CONTENDERS
from ..grid import Cell, summarize_cells
from ..settings import SETTINGS

WHERE = ("setting", "p", "clients", "samples", "method")
MEANS = ("shd", "f1", "right", "wrong", "open", "adjustment", "true_edges", "cpu_s")


def numbers(fits: Sequence[Cell]) -> list[Cell]:
    """Summarize fits; settings and methods in their usual order."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for row in fits:
        groups.setdefault(tuple(row[name] for name in WHERE), []).append(row)
    out = []
    for row in summarize_cells(fits, WHERE, MEANS):
        mine = groups[tuple(row[name] for name in WHERE)]
        fine = [one for one in mine if "error" not in one]
        row["adjusted"] = sum(one.get("adjustment") is not None for one in fine)
        row |= _policies(fine)
        row["command"] = command(row, sorted(one["seed"] for one in mine))
        out.append(row)
    settings, methods = list(SETTINGS), list(CONTENDERS)
    return sorted(out, key=lambda row: (settings.index(row["setting"]), row["p"], methods.index(row["method"])))


def command(row: Cell, seeds: Sequence[int]) -> str:
    """Write the command that repeats a row.

    Examples
    --------
    >>> command({"setting": "cut", "p": 10, "method": "peri"}, [9500, 9501])
    "fedperi benchmark settings --settings 'cut' --at 10 --methods peri --first 9500 --seeds 2"
    """
    return (
        f"fedperi benchmark settings --settings '{row['setting']}' --at {row['p']} --methods {row['method']} "
        f"--first {seeds[0]} --seeds {seeds[-1] - seeds[0] + 1}"
    )


def calibration(fits: Sequence[Cell], edges: Sequence[float]) -> list[tuple[float, float, int, float, float]]:
    """Sort stated probabilities into bins: low, high, count, mean stated, share that is right.

    Examples
    --------
    >>> calibration([{"stated": [[0.6, 1], [0.9, 1], [0.95, 0]]}], (0.5, 0.8, 1.0))
    [(0.5, 0.8, 1, 0.6, 1.0), (0.8, 1.0, 2, 0.925, 0.5)]
    """
    stated = [(chance, right) for row in fits for chance, right in row.get("stated", ())]
    out = []
    for low, high in pairwise(edges):
        inside = [entry for entry in stated if low <= entry[0] and (entry[0] < high or high == edges[-1])]
        count = len(inside)
        means = [math.fsum(entry[k] for entry in inside) / count if count else math.nan for k in (0, 1)]
        out.append((low, high, count, round(means[0], 4), round(means[1], 4)))
    return out


def named(fits: Sequence[Cell]) -> tuple[float, float]:
    """Recall and precision of reported policies, over all fits together.

    Examples
    --------
    >>> named([{"policies": 4, "named": 3, "named_wrongly": 1}])
    (0.75, 0.75)
    """
    policies, found, wrongly = (sum(row[name] for row in fits) for name in ("policies", "named", "named_wrongly"))
    return found / policies if policies else math.nan, found / (found + wrongly) if found + wrongly else math.nan


def _policies(fine: Sequence[Cell]) -> Cell:
    told = [row for row in fine if "named" in row]
    if not told:
        return {}
    recall, precision = named(told)
    wrongly = sum(row["named_wrongly"] for row in told) / len(told)
    return {"recall": recall, "precision": precision, "named_wrongly": wrongly}
