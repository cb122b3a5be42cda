"""Differences between hospitals: policies, other patients, and small differences in everything.

Kinds of policies:

- ``ignores``: one cause no longer has an effect (the medication is given at any blood pressure).
- ``protocol``: no cause has an effect any more.
- ``target``: the value is brought to a target at any values of the causes, with half the spread.
- ``threshold``: given earlier or later, more or less; the effects of causes do not change.
- ``assay``: the laboratory's values are higher or lower than elsewhere. Other variables depend on the values shown.
- ``narrow``: a standard procedure halves the spread; the effects of causes do not change.
- ``intensity``: the response to the causes is much stronger or weaker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...phrases import listed
from .mechanisms import Model, Role, Variable

# Only the distribution of these differs by case mix.
CASE_MIX = ("age", "sex")
# How far "threshold" and "assay" move a mechanism, on its scale: log odds, logarithms, and standard units for
# measurements. Clear differences, but not larger than known ones between hospitals.
_MOVES: Mapping[Role, float] = {"yes/no": 1.2, "count": 0.4, "skewed": 0.3, "measured": 0.8}
_STRONGER, _WEAKER = 1.9, 0.4


@dataclass(frozen=True)
class Policy:
    """The policy of one site at one variable.

    Examples
    --------
    >>> Policy(3, "statin", "ignores", "statin no longer depends on ldl").variable
    'statin'
    """

    site: int
    variable: str
    kind: str
    words: str


def draw_policies(model: Model, sites: int, count: int, rng: np.random.Generator) -> list[tuple[Policy, Variable]]:
    """Draw which `count` of the sites have a policy, at which variable and of which kind.

    Returns the policies, each with the mechanism that it leads to. Variables differ while there are enough.

    Examples
    --------
    >>> from fedperi.simulation.clinic.stroke import STROKE
    >>> [record.site for record, _ in draw_policies(STROKE, 4, 2, np.random.default_rng(0))]
    [0, 2]
    """
    where = sorted(int(site) for site in rng.permutation(sites)[:count])
    sensible = [variable for variable in model if variable.policies]
    order = [sensible[int(i)] for i in rng.permutation(len(sensible))]
    drawn = []
    for i, site in enumerate(where[: count if order else 0]):
        variable = order[i % len(order)]
        kind = variable.policies[int(rng.integers(len(variable.policies)))]
        changed, words = _KINDS[kind](variable, rng)
        drawn.append((Policy(site, variable.name, kind, words), changed))
    return drawn


def with_case_mix(model: Model, rng: np.random.Generator) -> Model:
    """Give a site its own patients: another age, another spread of ages, another share of men.

    Examples
    --------
    >>> from fedperi.simulation.clinic.stroke import STROKE
    >>> own = with_case_mix(STROKE, np.random.default_rng(0))
    >>> [new.name for new, old in zip(own, STROKE) if new != old]
    ['age', 'sex']
    """
    own = []
    for variable in model:
        if variable.name in CASE_MIX:
            shift = 0.4 * (1.0 if variable.role == "yes/no" else variable.scale) * float(rng.standard_normal())
            factor = float(np.exp(0.15 * rng.standard_normal()))
            variable = replace(variable, shift=variable.shift + shift, spread=variable.spread * factor)
        own.append(variable)
    return tuple(own)


def with_drift(model: Model, rng: np.random.Generator, drift: float) -> Model:
    """Change every coefficient of a site a little: sizes and spreads by exp(drift N), levels by drift N noise units.

    Examples
    --------
    >>> from fedperi.simulation.clinic.stroke import STROKE
    >>> own = with_drift(STROKE, np.random.default_rng(0), 0.1)
    >>> any(new == old for new, old in zip(own, STROKE))
    False
    """

    def factor() -> float:
        return float(np.exp(drift * rng.standard_normal()))

    own = []
    for variable in model:
        unit = variable.spread if variable.role in ("measured", "skewed") else 1.0
        shift = variable.shift + drift * unit * float(rng.standard_normal())
        effects = tuple(replace(effect, size=effect.size * factor()) for effect in variable.effects)
        own.append(replace(variable, shift=shift, spread=variable.spread * factor(), effects=effects))
    return tuple(own)


def _ignores(variable: Variable, rng: np.random.Generator) -> tuple[Variable, str]:
    # A protocol rarely ignores the patient's age; only if there is no other cause.
    clinical = [name for name in variable.causes if name not in CASE_MIX] or list(variable.causes)
    lost = clinical[int(rng.integers(len(clinical)))]
    effects = tuple(effect for effect in variable.effects if lost not in (effect.cause, effect.times))
    return replace(variable, effects=effects), f"{variable.name} no longer depends on {lost}"


def _protocol(variable: Variable, rng: np.random.Generator) -> tuple[Variable, str]:
    move, _ = _move(variable, rng)
    words = f"{variable.name} by a fixed protocol, whatever {listed(variable.causes)}"
    return replace(variable, effects=(), shift=variable.shift + move / 2), words


def _target(variable: Variable, rng: np.random.Generator) -> tuple[Variable, str]:
    move, _ = _move(variable, rng)
    value = variable.typical * np.exp(move) if variable.role == "skewed" else variable.typical + move
    words = f"{variable.name} is brought to {value:.{variable.decimals}f} {variable.unit} whatever the causes"
    changed = replace(variable, effects=(), shift=variable.shift + move, spread=variable.spread / 2)
    return changed, words


def _threshold(variable: Variable, rng: np.random.Generator) -> tuple[Variable, str]:
    move, up = _move(variable, rng)
    more, less = ("more often", "less often") if variable.role == "yes/no" else ("more", "fewer")
    words = f"{variable.name}: {more if up else less}, for the same causes"
    return replace(variable, shift=variable.shift + move), words


def _assay(variable: Variable, rng: np.random.Generator) -> tuple[Variable, str]:
    move, up = _move(variable, rng)
    by = f"{100 * abs(np.expm1(move)):.0f} %" if variable.role == "skewed" else f"{abs(move):.2g} {variable.unit}"
    words = f"the assay of {variable.name} reads {by} {'higher' if up else 'lower'}"
    return replace(variable, shift=variable.shift + move), words


def _narrow(variable: Variable, rng: np.random.Generator) -> tuple[Variable, str]:
    words = f"{variable.name} by a standard procedure, with half the spread"
    return replace(variable, spread=variable.spread / 2), words


def _intensity(variable: Variable, rng: np.random.Generator) -> tuple[Variable, str]:
    up = bool(rng.random() < 0.5)
    words = f"{variable.name} responds {'much more strongly' if up else 'much less'} to {listed(variable.causes)}"
    factor = _STRONGER if up else _WEAKER
    effects = tuple(replace(effect, size=effect.size * factor) for effect in variable.effects)
    return replace(variable, effects=effects), words


_KINDS: Mapping[str, Callable[[Variable, np.random.Generator], tuple[Variable, str]]] = {
    "ignores": _ignores,
    "protocol": _protocol,
    "target": _target,
    "threshold": _threshold,
    "assay": _assay,
    "narrow": _narrow,
    "intensity": _intensity,
}


def _move(variable: Variable, rng: np.random.Generator) -> tuple[float, bool]:
    up = bool(rng.random() < 0.5)
    size = _MOVES[variable.role] * (variable.scale if variable.role == "measured" else 1.0)
    return (size if up else -size), up
