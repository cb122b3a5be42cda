"""Comparisons of two methods on the same simulations: means are over the seeds that both have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .contenders import CONTENDERS
from .grid import Cell

OURS = ("mperi", "mperi-75")
SAME = 1e-9
Simulated = tuple[object, ...]


class Pair(NamedTuple):
    """Means of two methods over the simulations that both solved.

    Attributes
    ----------
    runs : int
        Number of these simulations.
    first, other : float
        The means.
    error : float
        The standard error of the mean difference; not a number if there is one simulation.
    """

    runs: int
    first: float
    other: float
    error: float


def simulation_of(row: Cell) -> Simulated:
    """Return what identifies the simulation of a cell."""
    return tuple(row[name] for name in ("setting", "p", "clients", "samples", "seed"))


def by_simulation(fits: Iterable[Cell]) -> dict[str, dict[Simulated, Cell]]:
    """Sort fits that did not fail by method and simulation."""
    out: dict[str, dict[Simulated, Cell]] = {}
    for row in fits:
        if "error" not in row:
            out.setdefault(row["method"], {})[simulation_of(row)] = row
    return out


def pair(found: Mapping[str, Mapping[Simulated, Cell]], first: str, other: str, metric: str) -> Pair | None:
    """Compare two methods; None if they have no simulation in common.

    Examples
    --------
    >>> where = {"setting": "cut", "p": 3, "clients": 4, "samples": 9}
    >>> scores = [("mperi", 0, 1), ("peri", 0, 3), ("peri", 1, 9)]
    >>> fits = [{**where, "method": m, "seed": s, "shd": x} for m, s, x in scores]
    >>> pair(by_simulation(fits), "mperi", "peri", "shd")
    Pair(runs=1, first=1.0, other=3.0, error=nan)
    """
    mine, theirs = found.get(first, {}), found.get(other, {})
    common = [key for key in mine if key in theirs]
    if not common:
        return None
    a, b = ([float(some[key][metric]) for key in common] for some in (mine, theirs))
    gaps = [x - y for x, y in zip(a, b, strict=True)]
    count, mean = len(gaps), math.fsum(gaps) / len(gaps)
    spread = math.fsum((gap - mean) ** 2 for gap in gaps)
    error = math.sqrt(spread / (count - 1) / count) if count > 1 else math.nan
    return Pair(count, math.fsum(a) / count, math.fsum(b) / count, error)


def best_ahead(fits: Iterable[Cell], first: str, metric: str, sign: int) -> tuple[str, Pair] | None:
    """Find the federated method that is furthest ahead of `first` on the same simulations; None if no one is ahead.

    With `sign` 1 the lower mean is better, with -1 the higher. The two confidences of M-PERI are not compared with each
    other.
    """
    found = by_simulation(fits)
    pairs = [(name, pair(found, first, name, metric)) for name in found if _rival(name, first)]
    ahead = [(name, one) for name, one in pairs if one is not None and sign * (one.first - one.other) > SAME]
    return min(ahead, key=lambda entry: sign * (entry[1].other - entry[1].first), default=None)


def _rival(name: str, first: str) -> bool:
    return CONTENDERS[name].kind == "federated" and name != first and not (name in OURS and first in OURS)
