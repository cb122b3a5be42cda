"""A site's half of NOTEARS-ADMM with networks: one hidden layer of sigmoids for every variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from .notears_admm import Floats, Payload, State, consensus_step, updated_dual

EXACT: Any = {"ftol": 1e-9, "gtol": 1e-6, "maxiter": 200}
"""Of a site's minimisation: it is repeated every round from where the last one ended."""


class NotearsMLPWorker:
    """A site's half of `fedperi.NotearsADMM` with ``model="mlp"``.

    Step ``update`` takes the common parameters of all networks, the strength of the pull towards them and the number of
    rows of all sites; it sends the site's own parameters, p * (p * units + 2 * units + 1) numbers. They are a model of
    the site's rows. What can be computed from them is not known; take it to be no less than the covariance matrix.

    Parameters
    ----------
    rows : array, shape (n, p)
        The site's table as numbers.
    site : str
        Its name.
    """

    def __init__(self, rows: Floats, site: str) -> None:
        self.rows, self.site = rows, site

    def perform(self, kind: str, payload: Payload, state: State) -> tuple[Payload, State]:
        """Answer a step."""
        from scipy.optimize import minimize

        p = self.rows.shape[1]
        units = payload.get("hidden")
        if not isinstance(units, int | np.integer) or units < 1:
            raise InputError(f"site {self.site!r} got a step of NOTEARS-ADMM without a number of hidden units")
        common, rho = consensus_step(self, kind, payload, parameter_count(p, int(units)))
        loops = bool(payload["loops"])
        rows = self.rows if loops else self.rows - self.rows.mean(axis=0)
        dual = updated_dual(state or {"dual": np.zeros_like(common)}, common)
        free = np.ones(len(common), dtype=bool)
        free[: p * p * units] = np.repeat(~np.eye(p, dtype=bool).ravel() | loops, units)

        def objective(part: Floats) -> tuple[float, Floats]:
            x = np.zeros_like(common)
            x[free] = part
            with np.errstate(all="ignore"):
                value, slope = squared_error(x, rows, int(units))
                apart = x - common
                value = value / float(payload["total"]) + float(dual @ apart) + rho / 2 * float(apart @ apart)
                gradient = (slope / float(payload["total"]) + dual + rho * apart)[free]
            if not (np.isfinite(value) and np.isfinite(gradient).all()):
                return 1e300, np.zeros_like(gradient)
            return value, gradient

        own = np.zeros_like(common)
        start = state.get("own", common)
        own[free] = minimize(objective, start[free], jac=True, method="L-BFGS-B", options=EXACT).x
        return {"parameters": own}, {"dual": dual, "own": own, "rho": np.array(rho)}


def parameter_count(p: int, units: int) -> int:
    """First-layer weights, their biases, second-layer weights, their biases, in this order."""
    return p * p * units + 2 * p * units + p


def first_parameters(p: int, units: int, seed: int, *, loops: bool) -> Floats:
    """Draw weights and biases uniformly, within one over the root of a layer's inputs.

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
    """Half the squared error of all networks, summed over rows, and its gradient."""
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
