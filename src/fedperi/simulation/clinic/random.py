"""A random clinic: roles, causes, curves and sizes are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import numpy as np

from .mechanisms import Curve, Model, Role, Term, Variable
from .policy_kinds import COUNTED, LABORATORY, TREATED, TREATMENT

OTHERS = 8
_ROLES: Mapping[Role, float] = {"measured": 0.35, "skewed": 0.25, "yes/no": 0.30, "count": 0.10}
_WORDS: Mapping[Role, str] = {"measured": "value", "skewed": "lab", "yes/no": "therapy", "count": "count"}
_POLICIES: Mapping[Role, tuple[str, ...]] = {
    "measured": (*TREATED, "assay"),
    "skewed": LABORATORY,
    "yes/no": TREATMENT,
    "count": COUNTED,
}
# Effects of one standard unit: log odds, logarithm of a rate, and for the others in standard units.
_SIZES: Mapping[Role, tuple[float, float]] = {
    "measured": (0.25, 0.6),
    "skewed": (0.25, 0.6),
    "yes/no": (0.5, 1.3),
    "count": (0.15, 0.4),
}


def random_model(rng: np.random.Generator) -> Model:
    """Draw a clinic of ten variables: age, sex, and eight others with one to three causes each.

    Causes come first. Names are the role and a letter that does not depend on the order.

    Examples
    --------
    >>> [variable.name for variable in random_model(np.random.default_rng(1))][:4]
    ['age', 'sex', 'lab_h', 'value_e']
    """
    years, spread = float(rng.integers(45, 75)), float(rng.integers(9, 17))
    model = [
        Variable("age", "measured", "years", years, spread, spread, least=18, most=105),
        Variable("sex", "yes/no", "male", round(float(rng.uniform(0.4, 0.6)), 2)),
    ]
    letters = rng.permutation(list("abcdefgh"))
    product = int(rng.integers(2, OTHERS))
    for i, (letter, role) in enumerate(zip(letters, _roles(rng), strict=True)):
        model.append(_variable(model, str(letter), role, rng, with_product=i >= product))
        # One interaction: at the first variable with two causes, beginning at a random position.
        product = OTHERS if any(effect.times is not None for effect in model[-1].effects) else product
    return tuple(model)


def _roles(rng: np.random.Generator) -> list[Role]:
    """Draw the roles: two of every kind; of counts at least one; and one role at random."""
    always: list[Role] = ["measured", "measured", "skewed", "skewed", "yes/no", "yes/no", "count"]
    by_chance = list(_ROLES)[int(rng.choice(len(_ROLES), p=list(_ROLES.values())))]
    roles = [*always, by_chance]
    return [roles[int(i)] for i in rng.permutation(len(roles))]


def _variable(
    earlier: list[Variable], letter: str, role: Role, rng: np.random.Generator, *, with_product: bool
) -> Variable:
    typical, scale, decimals = _units(role, rng)
    count = min(int(rng.choice([1, 2, 3], p=[0.25, 0.5, 0.25])), len(earlier))
    causes = [earlier[int(i)] for i in sorted(rng.permutation(len(earlier))[:count])]
    effects = [_effect(cause, role, scale, rng) for cause in causes]
    if with_product and count > 1:
        first, second = effects[0], effects[1]
        effects.append(Term(first.cause, second.size / 2, times=second.cause))
    return Variable(
        name=f"{_WORDS[role]}_{letter}",
        role=role,
        unit={"measured": "units", "skewed": "units/l"}.get(role, ""),
        typical=typical,
        scale=scale,
        spread=float(rng.uniform(0.3, 0.7)) if role == "count" else scale * float(rng.uniform(0.7, 0.9)),
        effects=tuple(effects),
        decimals=decimals,
        least={"measured": -np.inf, "skewed": 10.0**-decimals}.get(role, 0.0),
        policies=_POLICIES[role],
    )


def _units(role: Role, rng: np.random.Generator) -> tuple[float, float, int]:
    """Draw the typical value, the standard unit and the digits of a variable."""
    if role == "yes/no":
        return round(float(rng.uniform(0.2, 0.6)), 2), 1.0, 0
    if role == "count":
        mean = round(float(rng.uniform(2, 8)), 1)
        return mean, round(0.8 * mean, 1), 0
    typical = float(f"{10 ** rng.uniform(0.3, 2.3):.2g}")
    decimals = 2 if typical < 10 else 1 if typical < 50 else 0
    if role == "skewed":
        return typical, round(float(rng.uniform(0.3, 0.8)), 2), decimals
    return typical, float(f"{typical * rng.uniform(0.1, 0.25):.2g}"), decimals


def _effect(cause: Variable, role: Role, scale: float, rng: np.random.Generator) -> Term:
    size = float(rng.uniform(*_SIZES[role])) * (-1.0 if rng.random() < 0.5 else 1.0)
    curve: Curve = get_args(Curve)[int(rng.integers(len(get_args(Curve))))] if rng.random() < 0.6 else "line"
    if cause.role == "yes/no":  # one standard unit of it is more than the difference between no and yes
        size, curve = 1.6 * size, "line"
    return Term(cause.name, size * (1.0 if role in ("yes/no", "count") else scale), curve)
