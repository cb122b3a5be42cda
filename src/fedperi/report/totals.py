"""Total effects, and what to adjust for, as a table of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..methods.effects.words import interval, number, other_sets
from ..phrases import listed

if TYPE_CHECKING:
    from ..methods.effects.estimates import Effects
    from ..methods.effects.records import Effect

NONE = "nothing"


@dataclass(frozen=True)
class Total:
    """One total effect, pooled over sites.

    Attributes
    ----------
    of, on : str
        The two variables.
    cause, effect : str
        The same as shown: with a level, if it is that of a category.
    value : float
        For sorting.
    shown, unit : str
        The effect with its 95 % interval, and its unit.
    adjust : str
        What to adjust for: the variables, or "nothing".
    notes : tuple of str
        Caveats: open directions, sites that differ.
    open : bool
        Whether the effect depends on open directions.
    """

    of: str
    on: str
    cause: str
    effect: str
    value: float
    shown: str
    unit: str
    adjust: str
    notes: tuple[str, ...]
    open: bool


def total_effects(effects: Effects) -> tuple[Total, ...]:
    """List the effects of all pairs with a directed path in some DAG; first those with one in the most probable DAG.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.methods.effects.table import effects_of
    >>> truth = fp.PDAG.from_edges([("dose", "pain")])
    >>> sim = fp.simulate(truth, clients=3, samples=1000, weights=(0.5, 1.0), intervention="shift", seed=3)
    >>> [(one.cause, one.effect, one.adjust) for one in total_effects(effects_of(fp.MPERI().fit(sim.sites)))]
    [('dose', 'pain', 'nothing')]
    """
    rows = (one for pair in effects.pairs() for one in effects.of(*pair) if one.pooled)
    return tuple(_total(one) for one in sorted(rows, key=lambda one: one.probably_none))


def _total(one: Effect) -> Total:
    total = one.total
    notes = []
    if one.open:
        share = f"{1 - one.path:.0%} of the weight is on DAGs without any effect. " if one.path < 0.995 else ""
        lowest, highest = number(total.least), number(total.most)
        notes.append(f"Depends on open directions: {lowest} to {highest}. {share}{other_sets(one).strip()}".strip())
    if total.tau > 0:
        notes.append(f"Sites differ: standard deviation {number(total.tau)}.")
    known = total.value == total.value
    return Total(
        one.cause,
        one.effect,
        _level(one.cause, one.cause_level),
        _level(one.effect, one.effect_level),
        total.value if known else 0.0,
        f"{'probably none' if one.probably_none else number(total.value)} ({interval(total)})"
        if known
        else "not estimable",
        one.unit,
        listed(one.adjustment) or NONE,
        tuple(notes),
        one.open,
    )


def _level(name: str, level: str) -> str:
    return f"{name} = {level}" if level else name
