"""Whether M-PERI is the best federated method, by place: a place is a setting with a number of variables.

Methods are always compared on the same simulations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..contenders import CONTENDERS
from ..grid import Cell
from ..paired import OURS, SAME, Pair, Simulated, by_simulation, pair
from ..settings import SETTINGS

CLEAR = 2.0
"""A mean difference is clear if it exceeds this number of standard errors, with at least `ENOUGH` runs in common."""
ENOUGH = 5

Solved = Mapping[str, Mapping[Simulated, Cell]]


def odds(counts: tuple[float, float]) -> float:
    """Right directions per wrong one; zero wrong ones count as one half.

    Examples
    --------
    >>> odds((6, 2)), odds((6, 0))
    (3.0, 12.0)
    """
    right, wrong = counts
    return right / max(wrong, 0.5)


class Rival(NamedTuple):
    """Another federated method at a place, against one confidence of M-PERI, on the simulations that both solved.

    Attributes
    ----------
    name : str
        The method.
    pair : Pair
        Mean SHD: `first` is M-PERI's.
    ours, theirs : tuple of int
        Right and wrong directions.
    odds_error : float
        The standard error of the logarithm of the quotient of both odds (jackknife over simulations).
    """

    name: str
    pair: Pair
    ours: tuple[int, int]
    theirs: tuple[int, int]
    odds_error: float = math.nan

    @property
    def lead(self) -> float:
        """By how much M-PERI's mean SHD is lower; negative if it is behind."""
        return self.pair.other - self.pair.first

    @property
    def behind(self) -> bool:
        """Whether this method has the lower mean SHD."""
        return self.lead < -SAME

    @property
    def clear(self) -> bool:
        """Whether the difference is more than chance would easily give."""
        return self.pair.runs >= ENOUGH and abs(self.lead) > CLEAR * self.pair.error

    @property
    def better_ratio(self) -> bool:
        """Whether this method has more right directions per wrong one; zero wrong ones count as one half."""
        return self.theirs[0] > 0 and odds(self.theirs) > odds(self.ours)

    @property
    def clear_ratio(self) -> bool:
        """Whether its better ratio is more than chance would easily give."""
        lead = _log_quotient(self.ours, self.theirs)
        return self.pair.runs >= ENOUGH and self.better_ratio and lead > CLEAR * self.odds_error


class Place(NamedTuple):
    """A setting with a number of variables, one confidence of M-PERI, and the other federated methods there."""

    setting: str
    p: int
    first: str
    runs: int
    rivals: tuple[Rival, ...]

    @property
    def nearest(self) -> Rival | None:
        """The method that is furthest ahead of M-PERI, or closest behind it."""
        return min(self.rivals, key=lambda one: one.lead, default=None)

    @property
    def best_shd(self) -> bool:
        """Whether M-PERI has the lowest mean SHD of the federated methods, possibly shared."""
        return not any(one.behind for one in self.rivals)

    @property
    def best_ratio(self) -> bool:
        """Whether no federated method has a better ratio of right to wrong directions."""
        return not any(one.better_ratio for one in self.rivals)


def places(fits: Sequence[Cell], first: str) -> list[Place]:
    """List the places where `first` has been run, in the order of the settings.

    Examples
    --------
    >>> where = {"setting": "cut", "p": 5, "clients": 5, "samples": 9, "seed": 0, "right": 4}
    >>> fits = [{**where, "method": name, "shd": shd, "wrong": shd} for name, shd in (("mperi", 1), ("peri", 3))]
    >>> found = places(fits, "mperi")
    >>> found[0].setting, found[0].nearest.lead, found[0].best_shd, found[0].best_ratio
    ('cut', 2.0, True, True)
    """
    groups: dict[tuple[str, int], list[Cell]] = {}
    for row in fits:
        groups.setdefault((row["setting"], row["p"]), []).append(row)
    out = []
    for name, p in sorted(groups, key=lambda one: (list(SETTINGS).index(one[0]), one[1])):
        found = by_simulation(groups[name, p])
        if first in found:
            rivals = [_rival(found, first, other) for other in CONTENDERS if other in found and _is_rival(other)]
            out.append(Place(name, p, first, len(found[first]), tuple(one for one in rivals if one is not None)))
    return out


def _is_rival(name: str) -> bool:
    return CONTENDERS[name].kind == "federated" and name not in OURS


def _rival(found: Solved, first: str, other: str) -> Rival | None:
    both = pair(found, first, other, "shd")
    if both is None:
        return None
    common = [key for key in found[first] if key in found[other]]
    each = [(directions([found[first][key]]), directions([found[other][key]])) for key in common]
    ours, theirs = (directions([found[name][key] for key in common]) for name in (first, other))
    return Rival(other, both, ours, theirs, _jackknife(each, ours, theirs))


Counts = tuple[int, int]


def directions(fits: Collection[Cell]) -> Counts:
    """Count the right and the wrong directions of several fits together."""
    return sum(row["right"] for row in fits), sum(row["wrong"] for row in fits)


def _log_quotient(ours: Counts, theirs: Counts) -> float:
    """Compute the logarithm of their odds divided by ours; no right direction counts as one half."""
    a, b = (math.log(odds((max(right, 0.5), wrong))) for right, wrong in (ours, theirs))
    return b - a


def _jackknife(each: Sequence[tuple[Counts, Counts]], ours: Counts, theirs: Counts) -> float:
    """Compute the standard error of the logarithm of the quotient, leaving out each simulation once."""
    if len(each) < 2:
        return math.nan
    left = [_log_quotient(_less(ours, a), _less(theirs, b)) for a, b in each]
    mean = math.fsum(left) / len(left)
    return math.sqrt((len(left) - 1) / len(left) * math.fsum((one - mean) ** 2 for one in left))


def _less(every: Counts, one: Counts) -> Counts:
    return every[0] - one[0], every[1] - one[1]
