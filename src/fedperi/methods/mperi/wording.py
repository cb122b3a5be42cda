"""Differences between sites in sentences that a clinician reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ...phrases import listed
from ..parts import Kind


class Change(NamedTuple):
    """How a mechanism differs from the most common one.

    Attributes
    ----------
    kind : str
        As in `fedperi.methods.parts.Difference`.
    parents : tuple of str
        The causes concerned.
    causes : tuple of str
        All causes of the variable.
    step : float or None
        Difference of its level, in its own units.
    ratio : float or None
        Its residual standard deviation divided by the usual one.
    slopes : pair of float, or None
        The strength of its only cause, here and elsewhere.
    share : bool
        Whether the variable is a yes/no or a category, so that a step is a difference in probability.
    """

    kind: Kind
    parents: tuple[str, ...]
    causes: tuple[str, ...]
    step: float | None
    ratio: float | None
    slopes: tuple[float, float] | None
    share: bool


def describe(site: str, variable: str, change: Change, undecided: Collection[str] = ()) -> str:
    """Describe how a variable differs at a site, and which of the named causes may instead be its effects.

    Examples
    --------
    >>> describe("Lyon", "medication", Change("cut", ("pressure",), ("pressure",), None, None, None, True))
    'At Lyon, medication does not depend on pressure.'
    >>> describe("Lyon", "crp", Change("shifted", (), ("bmi", "age"), 0.81, None, None, False))
    'At Lyon, crp is higher by 0.81 than elsewhere, for the same bmi and age.'
    >>> describe("Lyon", "dose", Change("strengths", ("weight",), ("weight",), None, None, (0.2, 0.8), False))
    'At Lyon, dose depends on weight less strongly than elsewhere (0.2 instead of 0.8 per unit).'
    >>> describe("Lyon", "crp", Change("spread", (), (), None, 2.0, None, False))
    'At Lyon, crp varies 2 times as much as elsewhere.'
    >>> describe("Lyon", "sex", Change("cut", ("chol",), ("chol",), None, None, None, True), {"chol"})
    'At Lyon, sex does not depend on chol; whether chol is a cause of it is open.'
    """
    named = change.parents if change.kind in ("cut", "strengths") else change.causes
    open_ones = [name for name in named if name in undecided]
    doubt = f"; whether {listed(open_ones)} {_are(open_ones)} of it is open" if open_ones else ""
    return f"At {site}, {_said(variable, change)}{doubt}."


def _said(variable: str, change: Change) -> str:
    given = f", for the same {listed(change.causes)}" if change.causes else ""
    if change.kind == "cut":
        return f"{variable} does not depend on {listed(change.parents)}{_and_spread(change)}"
    if change.kind == "strengths" and change.slopes is not None:
        return f"{variable} depends on {change.parents[0]} {_compared(*change.slopes)}"
    if change.kind == "strengths":
        return f"{variable} depends on {listed(change.parents)} differently than elsewhere"
    if change.kind == "shifted" and change.step is not None:
        way = (
            ("more" if change.step > 0 else "less") + " frequent"
            if change.share
            else ("higher" if change.step > 0 else "lower")
        )
        return f"{variable} is {way} by {abs(change.step):.2g} than elsewhere{given}{_and_spread(change)}"
    if change.kind == "shifted":
        return f"the level of {variable} differs from elsewhere{given}"
    return f"{variable} varies {_times(change.ratio)} as elsewhere{given}"


def _are(names: Sequence[str]) -> str:
    return "is a cause" if len(names) == 1 else "are causes"


def _and_spread(change: Change) -> str:
    return "" if change.ratio is None else f", and varies {_times(change.ratio)} as elsewhere"


def _times(ratio: float | None) -> str:
    return "not as much" if ratio is None else f"{ratio:.2g} times as much"


def _compared(here: float, elsewhere: float) -> str:
    numbers = f"({here:.2g} instead of {elsewhere:.2g} per unit)"
    if here * elsewhere < 0:
        return f"in the opposite direction to elsewhere {numbers}"
    return f"{'more' if abs(here) > abs(elsewhere) else 'less'} strongly than elsewhere {numbers}"
