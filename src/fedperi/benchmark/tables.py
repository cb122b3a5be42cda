"""Tables for people: one row per method, one column per value of the axis, with the paper's numbers beneath."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ..phrases import span
from .contenders import CONTENDERS
from .grid import Cell
from .page import markdown_table
from .paired import OURS, best_ahead
from .published import Number

TITLES = {"shd": "SHD to the true DAG (lower is better)", "f1": "F1 against the true DAG (higher is better)"}

Printed = Mapping[str, Mapping[int, Mapping[str, Number]]]


def comparison_table(rows: Sequence[Cell], metric: str, axis: str, label: str, printed: Printed | None = None) -> str:
    """Write a Markdown table of one metric: mean ± half of the 95 % interval; the paper's numbers as printed.

    With one seed there is no interval.

    Examples
    --------
    >>> rows = [{"method": "peri", "p": 3, "cells": 2, "failed": 0, "shd": 3.0, "shd_ci": 0.2}]
    >>> print(comparison_table(rows, "shd", "p", "p", {"peri": {3: {"shd": (3.16, 0.55)}}}))
    | SHD to the true DAG (lower is better) | seeds | p = 3 |
    |---|---|---|
    | PERI | 2 | **3.00** ± 0.20 |
    | *PERI, printed in the paper* | *10, picked* | *3.16 ± 0.55* |
    <BLANKLINE>
    """
    values = sorted({row[axis] for row in rows}, key=_order)
    lines = []
    best = {value: best_federated([row for row in rows if row[axis] == value], metric) for value in values}
    for method in [name for name in CONTENDERS if any(row["method"] == name for row in rows)]:
        mine = {row[axis]: row for row in rows if row["method"] == method}
        rival = CONTENDERS[method].kind == "federated"
        entries = [_entry(mine.get(value), metric, best[value] if rival else math.nan) for value in values]
        lines.append([CONTENDERS[method].label, _seeds(mine.values()), *entries])
        told = (printed or {}).get(method)
        if told:
            numbers = [told.get(value, {}).get(metric) for value in values]
            paper = ["-" if n is None else f"*{n[0]:.2f} ± {n[1]:.2f}*" for n in numbers]
            plain = CONTENDERS[method].label.removesuffix(" (paper)").removesuffix(", as published")
            lines.append([f"*{plain}, printed in the paper*", "*10, picked*", *paper])
    return markdown_table([TITLES[metric], "seeds", *(f"{label} = {value}" for value in values)], lines)


def standing(fits: Sequence[Cell], axis: str, label: str) -> str:
    """Say where our method is the best federated one, on the simulations that both solved, and where it is not.

    Examples
    --------
    >>> where = {"setting": "cut", "p": 3, "clients": 4, "samples": 9, "seed": 0}
    >>> fits = [{**where, "method": m, "shd": s, "f1": 0.5} for m, s in (("mperi", 1.0), ("fedcdh", 0.9))]
    >>> print(standing(fits, "p", "p"))
    Mean SHD: M-PERI is not the lowest of the federated methods at p = 3 (FedCDH 0.90 against 1.00).
    Mean F1: M-PERI is the highest of the federated methods everywhere.
    """
    fine = {row["method"] for row in fits if "error" not in row}
    out = []
    for first in [name for name in OURS if name in fine] or [name for name in ("iperi",) if name in fine]:
        for metric, title, sign, most in (("shd", "SHD", 1, "lowest"), ("f1", "F1", -1, "highest")):
            lost = []
            for value in sorted({row[axis] for row in fits}, key=_order):
                ahead = best_ahead([row for row in fits if row[axis] == value], first, metric, sign)
                if ahead is not None:
                    rival, pair = ahead
                    what = f"{CONTENDERS[rival].label} {pair.other:.2f} against {pair.first:.2f}"
                    lost.append(f"{label} = {value} ({what})")
            us = f"Mean {title}: {CONTENDERS[first].label} is"
            where = f"not the {most} of the federated methods at {'; '.join(lost)}"
            out.append(f"{us} {where if lost else f'the {most} of the federated methods everywhere'}.")
    return "\n".join(out)


def failures(fits: Sequence[Cell]) -> str:
    r"""List fits that are not installed, were stopped, or failed: one line per method and reason.

    Examples
    --------
    >>> failures([{"method": "gnies", "seed": 0, "error": "not installed"}])
    '- GnIES, 1 fit (seed 0): not installed\n\n'
    """
    found: dict[tuple[str, str], list[int]] = {}
    for row in fits:
        if "error" in row:
            found.setdefault((row["method"], row["error"]), []).append(row["seed"])
    lines = [
        f"- {CONTENDERS[method].label}, {len(seeds)} fit{'s' if len(seeds) > 1 else ''} "
        f"(seed{'s' if len(set(seeds)) > 1 else ''} {', '.join(map(str, sorted(set(seeds))[:5]))}"
        f"{', ...' if len(set(seeds)) > 5 else ''}): {why}"
        for (method, why), seeds in found.items()
    ]
    return "\n".join(lines) + "\n\n" if lines else ""


def without_numbers(row: Cell) -> str:
    """Write the entry of a table if no fit succeeded."""
    why = row.get("why", "")
    return next((words for words in ("not installed", "stopped") if why.startswith(words)), f"failed ({row['failed']})")


def _entry(row: Cell | None, metric: str, best: float) -> str:
    if row is None or not row["cells"]:
        return "-" if row is None else without_numbers(row)
    mean, reach = row[metric], row[f"{metric}_ci"]
    digits = 2 if metric == "shd" else 3
    text = f"{mean:.{digits}f}"
    strong = f"**{text}**" if math.isclose(mean, best, abs_tol=1e-9) else text
    failed = f" ({row['failed']} failed)" if row["failed"] else ""
    interval = f" ± {reach:.{digits}f}" if row["cells"] > 1 else ""
    return f"{strong}{interval}{failed}"


def best_federated(rows: Iterable[Cell], metric: str) -> float:
    """Return the best mean of the federated methods, which is shown in bold; not a number without any."""
    means: list[float] = [row[metric] for row in rows if row["cells"] and CONTENDERS[row["method"]].kind == "federated"]
    if not means:
        return math.nan
    return min(means) if metric == "shd" else max(means)


def _seeds(rows: Iterable[Cell]) -> str:
    return span([row["cells"] for row in rows])


def _order(value: object) -> tuple[bool, object]:
    return isinstance(value, str), value
