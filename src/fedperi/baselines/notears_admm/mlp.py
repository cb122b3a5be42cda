"""A site's half of NOTEARS-ADMM with networks: one hidden layer of sigmoids for every variable."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...protocol.worker import Payload, State, StepKind, Worker
from .worker import Floats, consensus_step, updated_dual

EXACT: Any = {"ftol": 1e-9, "gtol": 1e-6, "maxiter": 200}
"""Options of a site's minimisation; the next round continues where it ended."""


class NotearsMLPWorker(Worker):
    """A site's half of `fedperi.NotearsADMM` with ``model="mlp"``.

    Step ``update`` takes the common parameters of all networks, the penalty on the distance from them, and the number
    of rows of all sites, for several starts at once. It sends the site's own parameters for each start, p * (p * units
    + 2 * units + 1) numbers. They are a model of the site's rows. What can be computed from them is not known; assume
    at least the covariance matrix. Step ``loss`` takes the common parameters of all starts and sends the site's share
    of each loss, one number.
    """

    kinds: ClassVar = {
        "update": StepKind(
            "parameters rho total loops hidden seed", {"parameters": "weights of networks fitted to the site's rows"}
        ),
        "loss": StepKind(
            "parameters total loops hidden seed", {"loss": "squared errors of the common networks of every start"}
        ),
    }

    def perform(self, kind: str, payload: Payload, state: State) -> tuple[Payload, State]:
        """Answer a step."""
        p = self.rows.shape[1]
        units = payload.get("hidden")
        if not isinstance(units, int | np.integer) or units < 1:
            raise InputError(f"site {self.site!r} got a step of NOTEARS-ADMM without a number of hidden units")
        common, rho = consensus_step(self, kind, payload, parameter_count(p, int(units)))
        total, loops = float(payload["total"]), bool(payload["loops"])
        rows = self.rows if loops else self.rows - self.rows.mean(axis=0)
        if kind == "loss":
            return {"loss": np.array([squared_error(x, rows, int(units))[0] / total for x in common])}, state
        dual = updated_dual(state, common)
        free = np.ones(common.shape[1], dtype=bool)
        free[: p * p * units] = np.repeat(~np.eye(p, dtype=bool).ravel() | loops, units)
        starts = zip(common, dual, rho, state.get("own", common), strict=True)
        own = np.stack([_own(rows, int(units), total, free, *start) for start in starts])
        return {"parameters": own}, {"dual": dual, "own": own, "rho": rho}


def _own(
    rows: Floats,
    units: int,
    total: float,
    free: NDArray[np.bool_],
    common: Floats,
    dual: Floats,
    rho: float,
    at: Floats,
) -> Floats:
    """Fit the networks from their current weights, with a penalty on the distance from the common ones."""
    from scipy.optimize import minimize

    def objective(part: Floats) -> tuple[float, Floats]:
        x = np.zeros_like(common)
        x[free] = part
        with np.errstate(all="ignore"):
            value, slope = squared_error(x, rows, units)
            apart = x - common
            value = value / total + float(dual @ apart) + rho / 2 * float(apart @ apart)
            gradient = (slope / total + dual + rho * apart)[free]
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return 1e300, np.zeros_like(gradient)
        return value, gradient

    own = np.zeros_like(common)
    own[free] = minimize(objective, at[free], jac=True, method="L-BFGS-B", options=EXACT).x
    return own


def parameter_count(p: int, units: int) -> int:
    """Number of parameters, in this order: first-layer weights, their biases, second-layer weights, their biases."""
    return p * p * units + 2 * p * units + p


def first_parameters(p: int, units: int, seed: int, *, loops: bool) -> Floats:
    """Draw weights and biases uniformly, with limits of one over the square root of a layer's number of inputs.

    Examples
    --------
    >>> first_parameters(2, 1, seed=0, loops=False)[:4].round(2)  # X0 -> X0, X0 -> X1, X1 -> X0, X1 -> X1
    array([ 0.  , -0.33, -0.65,  0.  ])
    """
    rng = np.random.default_rng(seed)
    first, second = p * p * units + p * units, p * units + p
    out = np.concatenate(
        [rng.uniform(-1, 1, first) / np.sqrt(p), rng.uniform(-1, 1, second) / np.sqrt(units)],
    )
    if not loops:
        out[: p * p * units][np.repeat(np.eye(p, dtype=bool).ravel(), units)] = 0.0
    return out


def squared_error(parameters: Floats, rows: Floats, units: int) -> tuple[float, Floats]:
    """Half the squared error of all networks (sum over rows), and its gradient."""
    n, p = rows.shape
    cuts = np.cumsum([p * p * units, p * units, p * units])
    first, bias, second, offset = np.split(parameters, cuts)
    weights = first.reshape(p, p * units)  # from i to unit u of j, at [i, j * units + u]
    hidden = 1 / (1 + np.exp(-(rows @ weights + bias)))
    fitted = (hidden * second).reshape(n, p, units).sum(axis=2) + offset
    residual = fitted - rows
    back = np.repeat(residual, units, axis=1)
    inner = back * second * hidden * (1 - hidden)
    gradient = np.concatenate(
        [(rows.T @ inner).ravel(), inner.sum(axis=0), (back * hidden).sum(axis=0), residual.sum(axis=0)]
    )
    return float((residual**2).sum()) / 2, gradient
