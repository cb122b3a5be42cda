"""The strengths of the arrows of a result, in the words of the report and of `fedperi explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..methods.effects.words import interval, number, sentences

if TYPE_CHECKING:
    from ..methods.effects.estimates import Effects
    from ..methods.effects.records import Effect, Estimate


@dataclass(frozen=True)
class Strength:
    """The effect of one variable on another.

    Attributes
    ----------
    direct, total : str
        The pooled effect with a 95 % interval; empty if there is none, or one per level.
    unit : str
        The unit of the numbers: which change of the effect for which change of the cause.
    value : float
        The pooled direct effect, to sort by; NaN if it is not one number.
    places : tuple of (str, str, str)
        Site or level, direct and total effect there.
    words : tuple of str
        The adjustment set, how much sites differ, and what the effect depends on.
    """

    direct: str
    total: str
    unit: str
    value: float
    places: tuple[tuple[str, str, str], ...]
    words: tuple[str, ...]

    def only_direct(self) -> Strength:
        """Return the same without total effects (for open edges these are over DAGs with both directions)."""
        return replace(self, total="", places=tuple((place, direct, "") for place, direct, _ in self.places), words=())


def strength(effects: Effects, cause: str, effect: str) -> Strength:
    """Describe how strong a cause is.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.methods.effects.table import effects_of
    >>> truth = fp.PDAG.from_edges([("dose", "pain")])
    >>> sim = fp.simulate(truth, clients=3, samples=1000, weights=(0.5, 1.0), intervention="shift", seed=3)
    >>> found = strength(effects_of(fp.MPERI().fit(sim.sites)), "dose", "pain")
    >>> found.unit, found.words[0]
    ('pain per unit of dose', 'Total effect: along all directed paths. There is nothing to adjust for.')
    """
    rows = effects.of(cause, effect)
    common = [one for one in rows if one.pooled]
    words = tuple(sentences(rows, effects.moments))
    single = len(common) == 1
    return Strength(
        _said(common[0].direct) if single else "",
        _said(common[0].total) if single and common[0].path else "",
        common[0].unit,
        common[0].direct.value if single and common[0].direct is not None else float("nan"),
        tuple((_place(one, rows), _said(one.direct), _said(one.total)) for one in (rows if single else common)),
        words,
    )


def _place(one: Effect, rows: Sequence[Effect]) -> str:
    levels = ((one.cause, one.cause_level), (one.effect, one.effect_level))
    named = ", ".join(f"{name} = {level}" for name, level in levels if level)
    where = "Pooled" if one.pooled else one.site + (" (left out of the pooled effect)" if one.note else "")
    return f"{where}: {named}" if len({(row.cause_level, row.effect_level) for row in rows}) > 1 else where


def _said(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value != estimate.value:
        return ""
    return f"{number(estimate.value)} ({interval(estimate)})"
