"""FedDAG at one site: train masked networks, or a matrix of linear weights, by Adam between two exchanges."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...protocol.worker import Payload, State, StepKind, Worker
from .networks import Array, Networks, initial_weights, weight_count

Floats = NDArray[np.float64]

LEAST_ROWS = 2
MOST_STEPS = 100_000
"""Largest number of steps in one order, so that it takes minutes, not a year."""

TERMS = 13
"""Number of terms of the exponential series: at 1/2, the next term is below 1e-15 of the first."""

ORDER = "alpha rho steps sparsity rate temperature seed faithful send"
"""The fields of a `TrainingOrder`."""


class FedDAGWorker(Worker):
    """A site's half of `fedperi.FedDAG`.

    Step ``masked`` takes the common logits, trains for some steps, and sends the site's logits (p x p numbers). On
    request it also sends the acyclicity of its last mask (one number) and all weights of its networks; otherwise these
    stay at the site. Step ``linear`` takes the common weights, and sends the site's own (p x p). No rows, moments
    or losses are sent. The docstring of `fedperi.FedDAG` says what can be computed from these numbers.
    """

    kinds: ClassVar = {
        "masked": StepKind(
            f"logits networks {ORDER}",
            {
                "logits": "logits of all edges, after training",
                "networks": "weights of networks fitted to the site's rows",
                "acyclicity": "how far the last mask is from a DAG",
            },
        ),
        "linear": StepKind(f"weights {ORDER}", {"weights": "weights of a linear model fitted to the site's rows"}),
    }

    def perform(self, kind: str, payload: Payload, state: State) -> tuple[Payload, State]:
        """Train from the common parameters; return the site's own."""
        if kind not in ("masked", "linear"):
            raise InputError(f"FedDAG has no step {kind!r}")
        if len(self.rows) < LEAST_ROWS:
            raise InputError(f"site {self.site!r} has {len(self.rows)} row(s); FedDAG needs at least {LEAST_ROWS}")
        order = TrainingOrder.read(payload)
        rows = self.rows if order.faithful else self.rows - self.rows.mean(axis=0)
        with np.errstate(all="ignore"):  # divergence is detected below
            if kind == "masked":
                answer, kept = _masked(rows, self.site, order, payload, state)
            else:
                answer, kept = _linear(rows, order, payload, state)
        if not all(np.isfinite(value).all() for value in (*answer.values(), *kept.values())):
            raise InputError(
                f"site {self.site!r}: training diverged; bring all columns to a similar scale, "
                "the same at all sites, or choose a smaller rate"
            )
        return answer, kept


@dataclass(frozen=True)
class TrainingOrder:
    """A request of the coordinator, without the common parameters."""

    alpha: float
    rho: float
    steps: int
    sparsity: float
    rate: float
    temperature: float
    seed: int
    faithful: bool
    send: str

    @classmethod
    def read(cls, payload: Payload) -> TrainingOrder:
        """Read and check a payload, which may come over a network."""
        legal: dict[str, Any] = {"float": (int, float), "int": int, "bool": bool, "str": str}
        values: dict[str, Any] = {}
        for wanted in fields(cls):
            value: Any = payload.get(wanted.name)
            if not isinstance(value, legal[str(wanted.type)]) or value in (np.inf, -np.inf) or value != value:
                raise InputError(f"FedDAG: {wanted.name!r} of a step must be a {wanted.type}, not {value!r}")
            values[wanted.name] = value
        order = cls(**values)
        if not 1 <= order.steps <= MOST_STEPS or order.seed < 0:
            raise InputError(f"FedDAG: a step trains for 1 to {MOST_STEPS} steps from a seed, not {order.steps}")
        return order


def _masked(rows: Floats, site: str, order: TrainingOrder, payload: Payload, state: State) -> tuple[Payload, State]:
    """Train logits and networks by Adam, with a new random mask in every step."""
    p = rows.shape[1]
    logits = np.array(_finite_array(payload, "logits", (p, p)), dtype=np.float64)
    if "networks" in payload:
        weights = _finite_array(payload, "networks", (weight_count(p),)).astype(np.float32)
    elif state:
        weights = np.array(state["networks"])
    else:  # the same at all sites: averages of networks with different initial weights are meaningless
        weights = initial_weights(p, np.random.default_rng([order.seed, 0]), alike=order.faithful)
    on_weights, on_logits = Adam(state, "networks", weights), Adam(state, "logits", logits)
    step = int(state.get("step", 0))
    # One random stream per exchange and, unless `faithful`, per site.
    rng = np.random.default_rng([order.seed, 1, step, 0 if order.faithful else crc32(site.encode())])
    networks, off_diagonal = Networks(rows), 1 - np.eye(p)
    h = 0.0
    for _ in range(order.steps):
        step += 1
        mask = sigmoid((logits + rng.logistic(size=(p, p))) / order.temperature) * off_diagonal
        h, slope = acyclicity(mask * mask)
        if order.faithful:  # single precision, as published: below 1e-7 p it is a rounding error
            h = float(np.float32(h + p) - np.float32(p))
        by_weights, by_mask = networks.loss(weights, mask)[1:]
        by_mask += order.sparsity + (order.alpha + order.rho * h) * 2 * mask * slope
        weights -= on_weights.move(by_weights, order.rate, step)
        logits -= on_logits.move(by_mask * mask * (1 - mask) / order.temperature, order.rate, step)
    parts: Payload = {"logits": logits, "networks": weights.astype(np.float64), "acyclicity": h}
    answer = {name: parts[name] for name in parts if name in order.send.split()}
    return answer, {"networks": weights, "step": np.array(step), **on_weights.state, **on_logits.state}


def _linear(rows: Floats, order: TrainingOrder, payload: Payload, state: State) -> tuple[Payload, State]:
    """Train the weights of a linear model by Adam, from the second moments of the rows."""
    p = rows.shape[1]
    weights = np.array(_finite_array(payload, "weights", (p, p)), dtype=np.float64)
    moments = rows.T @ rows / len(rows)
    adam, step = Adam(state, "weights", weights), int(state.get("step", 0))
    off_diagonal = 1 - np.eye(p)
    for _ in range(order.steps):
        step += 1
        h, slope = acyclicity(weights * weights)
        gradient = moments @ weights - moments
        gradient += order.sparsity * np.sign(weights) + (order.alpha + order.rho * h) * 2 * weights * slope
        weights -= adam.move(gradient * off_diagonal, order.rate, step)
    return {"weights": weights}, {"step": np.array(step), **adam.state}


class Adam:
    """Adam's running means for one array, kept in a worker's state between exchanges.

    Examples
    --------
    >>> import numpy as np
    >>> adam = Adam({}, "w", np.zeros(2))
    >>> adam.move(np.array([3.0, -0.1]), rate=0.5, step=1).round(4)  # the first step has the size of the rate
    array([ 0.5, -0.5])
    """

    def __init__(self, state: State, name: str, like: Array) -> None:
        self._names = (f"{name}_first", f"{name}_second")
        self._first, self._second = (np.array(state.get(key, np.zeros_like(like)), like.dtype) for key in self._names)

    def move(self, gradient: Array, rate: float, step: int) -> Array:
        """Return what to subtract for this gradient; `step` counts from 1."""
        real = gradient.dtype.type
        self._first += real(0.1) * (gradient - self._first)
        self._second += real(0.001) * (gradient * gradient - self._second)
        size = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        out: Array = real(size) * self._first / (np.sqrt(self._second) + real(1e-8))
        return out

    @property
    def state(self) -> State:
        """The means to keep until the next exchange."""
        return dict(zip(self._names, (self._first, self._second), strict=True))


def acyclicity(matrix: Floats) -> tuple[float, Floats]:
    """Compute ``trace(exp(A)) - p`` of a matrix without negative entries, and its gradient ``exp(A)'``.

    Zero if and only if the graph of the positive entries is acyclic. All terms of the sum are positive, so small
    values are as exact as large ones.

    Examples
    --------
    >>> import numpy as np
    >>> acyclicity(np.array([[0, 1.0], [0, 0]]))[0]
    0.0
    >>> float(2 * np.cosh(1) - 2 - acyclicity(np.array([[0, 1.0], [1.0, 0]]))[0]) < 1e-14
    True
    """
    size = float(matrix.sum(axis=1).max())
    if not size < 500:  # exp would overflow in the squarings below
        return np.inf, np.full_like(matrix, np.inf)
    halvings = max(0, int(np.ceil(np.log2(max(size, 0.5)))) + 1)
    small = matrix / 2**halvings
    less_one, term = small.copy(), small  # exp(A) - I
    for at in range(2, TERMS + 1):
        term = term @ small / at
        less_one += term
    for _ in range(halvings):
        less_one = 2 * less_one + less_one @ less_one
    return float(np.trace(less_one)), less_one.T + np.eye(len(matrix))


def sigmoid(values: Floats) -> Floats:
    """Compute 1 / (1 + exp(-x)) without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    out: Floats = np.exp(-np.logaddexp(0, -values))
    return out


def _finite_array(payload: Payload, name: str, shape: tuple[int, ...]) -> Array:
    value = np.asarray(payload.get(name))
    if value.dtype.kind not in "fiu" or value.shape != shape or not np.isfinite(value).all():
        raise InputError(f"FedDAG: {name!r} of a step must be {shape} finite numbers")
    return value
