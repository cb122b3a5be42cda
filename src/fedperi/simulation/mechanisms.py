"""Structural equation models, and data generated from them.

Every variable is a sum over its parents plus noise, x_j = sum_i w_ij f_ij(x_i / s_i) + mean_j + scale_j N_j, with N_j
of mean 0 and variance 1. In a linear model every f is the identity and every s is 1. In a non-linear model every edge
draws one of tanh, sin and the square. There s_i is the root mean square of x_i in a reference sample of the model
without interventions, a constant of the model, and the square stops growing at `SQUARE_LIMIT`: otherwise squares of
squares would explode along a chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from ..graph.order import topological_order

MechanismModel = Literal["linear", "nonlinear"]
Noise = Literal["gaussian", "uniform", "student"]
Matrix = NDArray[np.float64]

FUNCTIONS = ("identity", "tanh", "sin", "square")
# Inputs of the square are cut at three root mean squares: beyond the bulk of the data, and no value can then exceed
# nine times the sum of its weights, plus noise.
SQUARE_LIMIT = 3.0
# Larger values would overflow when squared, as every covariance does.
LARGEST_VALUE = 1e150
# Degrees of freedom of Student's noise: heavy tails, with a variance but no fourth moment.
DEGREES_OF_FREEDOM = 4


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The structural equations of one site. Arrays are read-only; ``[i, j]`` belongs to the edge i -> j.

    Parameters
    ----------
    weights : array, shape (p, p)
        Zero where there is no edge.
    functions : integer array, shape (p, p)
        Position in `FUNCTIONS` of the function of each edge.
    input_scales : array, shape (p,)
        A variable is divided by its input scale before a function is applied to it.
    noise_scales : array, shape (p,)
        Standard deviations of the noise.
    means : array, shape (p,), optional
        Constant that is added to each variable, besides its parents and noise; 0 if not given.

    Examples
    --------
    >>> Mechanism(np.array([[0, 2.0], [0, 0]]), np.zeros((2, 2), int), np.ones(2), np.ones(2)).order
    (0, 1)
    """

    weights: Matrix
    functions: NDArray[np.int64]
    input_scales: Matrix
    noise_scales: Matrix
    means: Matrix = field(default_factory=lambda: np.zeros(()))

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", np.broadcast_to(self.means, len(self.weights)))
        for name in ("weights", "functions", "input_scales", "noise_scales", "means"):
            frozen = np.array(getattr(self, name))
            frozen.flags.writeable = False
            object.__setattr__(self, name, frozen)

    @property
    def order(self) -> tuple[int, ...]:
        """A topological order of the variables' positions."""
        return parents_first(self.weights)


def calibrate(mechanism: Mechanism, reference: Matrix) -> Mechanism:
    """Set the input scales of a non-linear model to the root mean squares in a sample, generated from this noise.

    Examples
    --------
    >>> model = Mechanism(np.zeros((1, 1)), np.zeros((1, 1), int), np.ones(1), np.ones(1))
    >>> calibrate(model, np.array([[2.0], [-2.0]])).input_scales.tolist()
    [2.0]
    """
    values = np.zeros_like(reference)
    scales = np.ones(len(mechanism.weights))
    for j in mechanism.order:
        values[:, j] = _column(replace(mechanism, input_scales=scales), values, reference, j)
        scales[j] = np.sqrt(np.mean(values[:, j] ** 2))
    return replace(mechanism, input_scales=scales)


def draw_noise(rng: np.random.Generator, n: int, p: int, noise: Noise) -> Matrix:
    """Draw noise of mean 0 and variance 1, row by row: a smaller table is the beginning of a larger one.

    Examples
    --------
    >>> bool(abs(draw_noise(np.random.default_rng(0), 100, 2, "uniform")).max() <= 3**0.5)
    True
    """
    if noise == "gaussian":
        return rng.standard_normal((n, p))
    if noise == "student":
        share = (DEGREES_OF_FREEDOM - 2) / DEGREES_OF_FREEDOM  # factor that makes the variance 1
        drawn: Matrix = rng.standard_t(DEGREES_OF_FREEDOM, (n, p)) * math.sqrt(share)
        return drawn
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), (n, p))


def generate(mechanism: Mechanism, noise: Matrix) -> Matrix:
    """Turn noise of mean 0 and variance 1 into data, in topological order.

    Sums run over the parents in a fixed order and without BLAS, whose results differ between machines.

    Examples
    --------
    >>> model = Mechanism(np.array([[0, 0], [2.0, 0]]), np.zeros((2, 2), int), np.ones(2), np.ones(2))
    >>> generate(model, np.array([[1.0, 10.0]])).tolist()  # the second causes the first
    [[21.0, 10.0]]
    """
    values = np.zeros_like(noise)
    for j in mechanism.order:
        values[:, j] = _column(mechanism, values, noise, j)
    return values


def _column(mechanism: Mechanism, values: Matrix, noise: Matrix, j: int) -> Matrix:
    column: Matrix = noise[:, j] * mechanism.noise_scales[j] + mechanism.means[j]
    with np.errstate(over="ignore", invalid="ignore"):
        for i in np.flatnonzero(mechanism.weights[:, j]):
            function = FUNCTIONS[mechanism.functions[i, j]]
            column = column + mechanism.weights[i, j] * _apply(function, values[:, i] / mechanism.input_scales[i])
    if not (np.abs(column) <= LARGEST_VALUE).all():
        raise InputError(f"the data grow beyond {LARGEST_VALUE:g} along the arrows; use smaller weights")
    return column


def _apply(function: str, x: Matrix) -> Matrix:
    if function == "tanh":
        return np.tanh(x)
    if function == "sin":
        return np.sin(x)
    if function == "square":
        cut: Matrix = np.clip(x, -SQUARE_LIMIT, SQUARE_LIMIT)
        return cut * cut
    return x


def parents_first(weights: Matrix) -> tuple[int, ...]:
    """Order the positions of the variables so that parents come first; weights that form a cycle are an error."""
    order = topological_order(bits.columns(weights != 0))
    if order is None:
        raise InputError("the weights form a cycle; a structural equation model must have none")
    return tuple(order)
