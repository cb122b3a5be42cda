"""Mechanisms of hospital tables: measurements, skewed laboratory values, yes or no, and counts.

A cause enters a mechanism in standard units, z = (value - typical) / scale. Skewed causes enter by their logarithm, and
yes/no as 1 or 0 minus the usual share. A curve is applied to z and multiplied by the effect's size. The sum is on the
scale of the mechanism: the units of a measurement, the logarithm of a skewed value or of a count's rate, the log odds
of yes. `typical` and `scale` are constants of the graph: policies and drift never change them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...graph.pdag import PDAG
from ..mechanisms import Matrix

Role = Literal["measured", "skewed", "yes/no", "count"]
Curve = Literal["line", "saturating", "above", "below", "step", "bend"]

# Curves are constant beyond this limit; otherwise a bend would grow without limit.
FARTHEST = 4.0


@dataclass(frozen=True)
class Term:
    """One cause of a variable, or with `times` the product of two.

    Parameters
    ----------
    cause : str
        The variable.
    size : float
        Effect of one standard unit near the typical value, on the scale of the affected variable's mechanism.
    curve : str
        "line"; "saturating": levels off on both sides; "above" and "below": nothing on one side of the typical value, a
        line on the other; "step": from one level to another; "bend": U-shaped, with a slope.
    times : str, optional
        A second cause. The effect is then that of the product of both, in addition to the effects of each.

    Examples
    --------
    >>> Term("age", 6.0).curve
    'line'
    """

    cause: str
    size: float
    curve: Curve = "line"
    times: str | None = None


@dataclass(frozen=True)
class Variable:
    """A variable of a clinic and its mechanism.

    Parameters
    ----------
    name : str
        The column.
    role : "measured", "skewed", "yes/no" or "count"
        What kind of variable it is.
    unit : str
        In words; empty for a number without one.
    typical : float
        The usual value: mean, median of a skewed one, share of yes, mean count.
    scale : float
        One standard unit; of the logarithm if skewed, without meaning for yes/no.
    spread : float
        Standard deviation of the noise (of the logarithm if skewed). For a count, the coefficient of variation of the
        rate between similar patients. Not used for yes/no.
    effects : tuple of Term
        Its causes.
    decimals : int
        Digits in the table.
    least, most : float
        The range that the instrument can show.
    policies : tuple of str
        Kinds of policies that make sense here, see `fedperi.simulation.clinic.policies`.
    shift : float
        Added on the scale of the mechanism; 0 in the graph, other values come from policies, drift and case mix.

    Examples
    --------
    >>> Variable("systolic", "measured", "mmHg", 140, 20, 15, (Term("age", 6.0),)).causes
    ('age',)
    """

    name: str
    role: Role
    unit: str
    typical: float
    scale: float = 1.0
    spread: float = 0.0
    effects: tuple[Term, ...] = ()
    decimals: int = 0
    least: float = -np.inf
    most: float = np.inf
    policies: tuple[str, ...] = ()
    shift: float = 0.0

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes in use, each once."""
        every = [name for effect in self.effects for name in (effect.cause, effect.times) if name is not None]
        return tuple(dict.fromkeys(every))

    def caused_by(self, *effects: Term) -> Variable:
        """Return the same variable with these effects."""
        return replace(self, effects=effects)


Model = tuple[Variable, ...]


def graph_of(model: Sequence[Variable], names: Sequence[str]) -> PDAG:
    """Read the DAG off the mechanisms.

    Examples
    --------
    >>> dose = Variable("dose", "measured", "mg", 10, 2, 1, (Term("age", 1.0),))
    >>> graph_of([Variable("age", "measured", "years", 60, 12, 12), dose], ["age", "dose"])
    PDAG('age -> dose', names=['age', 'dose'])
    """
    return PDAG.from_edges([(cause, variable.name) for variable in model for cause in variable.causes], names=names)


def draw_rows(model: Sequence[Variable], uniforms: Matrix) -> dict[str, Matrix]:
    """Turn uniform draws, one column per variable, into patients; the model lists causes first.

    Effects are computed from the values in the table, after rounding, so that the DAG is that of the columns.

    Examples
    --------
    >>> draw_rows([Variable("age", "measured", "years", 60, 12, 12)], np.array([[0.5], [0.9]]))["age"].tolist()
    [60.0, 75.0]
    """
    table: dict[str, Matrix] = {}
    units: dict[str, Matrix] = {}
    for variable, draws in zip(model, uniforms.T, strict=True):
        table[variable.name] = _values(variable, _predictor(variable, units, len(draws)), draws)
        units[variable.name] = _standard_units(variable, table[variable.name])
    return table


def _predictor(variable: Variable, units: Mapping[str, Matrix], n: int) -> Matrix:
    total = np.full(n, variable.shift)
    for effect in variable.effects:
        curve = _bent(units[effect.cause], effect.curve)
        total = total + effect.size * (curve if effect.times is None else curve * units[effect.times])
    return total


def _standard_units(variable: Variable, values: Matrix) -> Matrix:
    if variable.role == "yes/no":
        return values - variable.typical
    z = np.log(values / variable.typical) if variable.role == "skewed" else values - variable.typical
    cut: Matrix = np.clip(z / variable.scale, -FARTHEST, FARTHEST)
    return cut


def _bent(z: Matrix, curve: Curve) -> Matrix:
    if curve == "saturating":
        return np.tanh(z)
    if curve == "above":
        return np.maximum(z, 0.0)
    if curve == "below":
        return np.minimum(z, 0.0)
    if curve == "step":
        step: Matrix = 2 / (1 + np.exp(-4 * (z - 0.5)))
        return step
    if curve == "bend":
        return 0.6 * z + 0.4 * (z * z - 1)
    return z


def _values(variable: Variable, predictor: Matrix, draws: Matrix) -> Matrix:
    from scipy.special import expit, logit, ndtri

    if variable.role == "yes/no":
        return (draws < expit(logit(variable.typical) + predictor)).astype(float)
    if variable.role == "count":
        values = _counts(variable.typical * np.exp(predictor), variable.spread, draws)
    elif variable.role == "skewed":
        values = variable.typical * np.exp(predictor + variable.spread * ndtri(draws))
    else:
        values = variable.typical + predictor + variable.spread * ndtri(draws)
    shown: Matrix = np.clip(np.round(values, variable.decimals), variable.least, variable.most)
    return shown + 0.0  # no minus zero


def _counts(rates: Matrix, spread: float, draws: Matrix) -> Matrix:
    """Draw counts whose rates differ between similar patients: a negative binomial distribution."""
    from scipy.stats import nbinom

    size = 1 / spread**2
    counts: Matrix = np.asarray(nbinom.ppf(draws, size, size / (size + rates)), dtype=float)
    return counts
