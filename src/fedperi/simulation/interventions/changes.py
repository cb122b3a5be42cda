"""Effects of interventions that remove no edge on a target, and differences between sites without interventions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..mechanisms import Matrix, Mechanism
from ..parameters import signed_weights

if TYPE_CHECKING:
    from .plan import Change

# A changed noise scale is the old one multiplied or divided by this, unless the caller gives another factor.
SCALE_CHANGE = 2.0
# The same for a parametric intervention, with a factor in this range. Redrawn weights alone could be close to the old
# ones; this makes the change real: the variance changes by a factor of at least 2.25.
NOISE_CHANGE = (1.5, 3.0)


def change(
    mechanism: Mechanism,
    target: int,
    what: Change,
    rng: np.random.Generator,
    *,
    weights: tuple[float, float],
    shift: float = 1.0,
    scale: float | None = None,
) -> Mechanism:
    """Change one mechanism by an intervention that removes no edges (`restrict` removes edges).

    Parameters
    ----------
    mechanism : Mechanism
        The model before the intervention.
    target : int
        Position of the target.
    what : str
        "parametric" (new weights and another noise scale), "strengths", "shift" or "scale"; "cut" and "some cut"
        change nothing here.
    rng : numpy Generator
        Source of randomness.
    weights : (low, high)
        Range of the absolute weights.
    shift : float
        How far a mean moves, in standard deviations of the noise.
    scale : float, optional
        Factor of the noise's standard deviation; if not given, 2 or 1/2 at random.

    Examples
    --------
    >>> model = Mechanism(np.array([[0, 2.0], [0, 0]]), np.zeros((2, 2), int), np.ones(2), np.ones(2))
    >>> change(model, 1, "scale", np.random.default_rng(0), weights=(0.5, 1.0), scale=3).noise_scales.tolist()
    [1.0, 3.0]
    >>> changed = change(model, 1, "parametric", np.random.default_rng(0), weights=(0.5, 1.0))
    >>> bool(changed.weights[0, 1] != 2.0), (changed.noise_scales != 1).tolist()
    (True, [False, True])
    """
    columns, means, scales = (np.array(part) for part in (mechanism.weights, mechanism.means, mechanism.noise_scales))
    if what == "parametric":
        drawn = signed_weights(rng, (len(columns),), weights)
        columns[:, target] = np.where(columns[:, target] != 0, drawn, 0.0)
        factor = rng.uniform(*NOISE_CHANGE)
        scales[target] *= factor if rng.random() < 0.5 else 1 / factor
    elif what == "strengths":
        columns[:, target] = _other_weights(columns[:, target], rng, weights)
    elif what == "shift":
        means[target] += shift * scales[target] * (-1.0 if rng.random() < 0.5 else 1.0)
    elif what == "scale":
        chance = SCALE_CHANGE if rng.random() < 0.5 else 1 / SCALE_CHANGE
        scales[target] *= chance if scale is None else scale
    return replace(mechanism, weights=columns, means=means, noise_scales=scales)


def drifted(mechanism: Mechanism, rng: np.random.Generator, drift: float) -> Mechanism:
    """Make every mechanism a little different: weights, noise scales and means.

    Weights and noise scales are multiplied by exp(drift N), means move by drift N standard deviations of the noise;
    every N is a separate standard normal draw.

    Examples
    --------
    >>> model = Mechanism(np.array([[0, 2.0], [0, 0]]), np.zeros((2, 2), int), np.ones(2), np.ones(2))
    >>> drifted(model, np.random.default_rng(0), 0.1).noise_scales.round(2).tolist()
    [0.95, 1.04]
    """
    p = len(mechanism.weights)
    factors = np.exp(drift * rng.standard_normal((p, p)))
    scales = mechanism.noise_scales * np.exp(drift * rng.standard_normal(p))
    means = mechanism.means + drift * rng.standard_normal(p) * mechanism.noise_scales
    return replace(mechanism, weights=mechanism.weights * factors, noise_scales=scales, means=means)


def log_uniform(rng: np.random.Generator, p: int, bounds: tuple[float, float]) -> Matrix:
    """Draw numbers whose logarithms are uniform between two bounds.

    Examples
    --------
    >>> log_uniform(np.random.default_rng(0), 2, (3.0, 3.0)).tolist()
    [3.0, 3.0]
    """
    low, high = bounds
    # exp(log(x)) may differ from x in the last digit; the bounds themselves are exact this way.
    drawn: Matrix = np.clip(np.exp(rng.uniform(np.log(low), np.log(high), p)), low, high)
    return drawn


def _other_weights(old: Matrix, rng: np.random.Generator, weights: tuple[float, float]) -> Matrix:
    """Draw weights that differ from the old ones by half of the largest weight or more; zeros stay."""
    new = np.zeros_like(old)
    for i in np.flatnonzero(old):
        # At least one draw in four is far enough: the other sign, and an absolute value in the upper half.
        while abs(new[i] - old[i]) < weights[1] / 2 or new[i] == 0:
            new[i] = signed_weights(rng, (1,), weights)[0]
    return new
