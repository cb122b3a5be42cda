"""The server's half of NOTEARS-ADMM: common parameters that are sparse and become acyclic over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HUGE = 1e300
"""The objective of a trial point whose exponential overflows."""


EXACT: Any = {"ftol": 1e-10, "gtol": 1e-6, "maxiter": 2000, "maxfun": 20000}
"""With SciPy's defaults, rounding errors in a weight grow to 3e-4 by the end of a run; with these, to 7e-5."""


@dataclass(frozen=True)
class ParameterLayout:
    """Positions in a flat vector of parameters: the first p * p * units are the weights from i to unit u of j.

    The linear model has one unit and no second layer. `scale` multiplies the squared strengths in `acyclicity`. The
    result is zero for the same graphs, but the weight of long cycles relative to short ones changes. So the rounds may
    end in another acyclic graph.
    """

    p: int
    units: int = 1
    size: int = 0
    scale: float = 1.0

    @property
    def edges(self) -> int:
        """Number of parameters that represent edges."""
        return self.p * self.p * self.units

    def strength(self, parameters: Floats) -> Floats:
        """Compute the strength of every edge: the norm of its weights."""
        first = parameters[: self.edges].reshape(self.p, self.p, self.units)
        return np.asarray(np.sqrt((first**2).sum(axis=2)))

    def acyclicity(self, parameters: Floats) -> tuple[float, Floats]:
        """``h = tr exp(A) - p``, A the squared strengths times `scale`, and its gradient; zero iff there is no cycle.

        Examples
        --------
        >>> import numpy as np
        >>> from fedperi.baselines.notears_admm.server import ParameterLayout
        >>> h, gradient = ParameterLayout(2, size=4).acyclicity(np.array([0.0, 1.0, 1.0, 0.0]))  # 0 -> 1 -> 0
        >>> round(h, 4), gradient.round(4).tolist()  # 2 cosh(1) - 2; 2 sinh(1) for both edges
        (1.0862, [0.0, 2.3504, 2.3504, 0.0])
        """
        from scipy.linalg import expm

        first = parameters[: self.edges].reshape(self.p, self.p, self.units)
        squares = self.scale * (first**2).sum(axis=2)
        gradient = np.zeros(self.size)
        if not squares.max(initial=0.0) < 1e15:  # repeated squaring would overflow only after a long time
            return np.inf, gradient
        exponential = expm(squares)
        gradient[: self.edges] = (2 * self.scale * exponential.T[:, :, None] * first).ravel()
        # A sum of differences, so that a small h keeps its digits.
        return float((np.diag(exponential) - 1).sum()), gradient


@dataclass(frozen=True)
class ServerState:
    """The server's state for one start: common parameters, sum of the sites' duals, multipliers and penalties.

    A step also sets `h` (zero iff there is no cycle), `apart` (the largest difference between a site's parameters and
    the common ones) and `moved` (the largest change of a common parameter).
    """

    layout: ParameterLayout
    parameters: Floats
    duals: Floats
    rho1: float
    rho2: float
    alpha: float = 0.0
    h: float = 0.0
    apart: float = np.inf
    moved: float = np.inf

    def step(self, answers: Sequence[Floats], l1: float, l2: float, faithful: bool) -> ServerState:
        """One round: minimise over the common parameters, then update multipliers (docs/explanation/baselines.md)."""
        # Sorted, so that the order of the sites does not change the rounding of the sums.
        own = np.sort(np.stack(answers), axis=0)
        smooth = _Smooth(self, own, l2)
        found = (_published if faithful else _split)(smooth, self, l1)
        h = self.layout.acyclicity(found)[0]
        return replace(
            self,
            parameters=found,
            duals=self.duals + self.rho2 * (own - found).sum(axis=0),
            alpha=self.alpha + self.rho1 * h,
            h=h,
            apart=float(np.abs(own - found).max()),
            moved=float(np.abs(found - self.parameters).max()),
        )

    def penalty(self, l1: float, l2: float) -> float:
        """Compute the penalty on the size of the parameters."""
        x = self.parameters
        return l1 * float(np.abs(x[: self.layout.edges]).sum()) + l2 / 2 * float(x @ x)

    def tightened(self, growth1: float, growth2: float, most: float) -> ServerState:
        """Raise the penalties on cycles and on disagreement, up to a limit."""
        return replace(
            self,
            rho1=self.rho1 * growth1 if self.rho1 < most else self.rho1,
            rho2=self.rho2 * growth2 if self.rho2 < most else self.rho2,
        )


@dataclass(frozen=True)
class _Smooth:
    """The server's objective without the l1 term, and its gradient."""

    server: ServerState
    own: Floats
    l2: float

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        s = self.server
        with np.errstate(all="ignore"):  # late line searches try points whose exponential overflows
            h, slope = s.layout.acyclicity(x)
            # Subtract before squaring: expanded squares would cancel, and large penalties magnify the rounding error.
            apart = self.own - x
            near = s.rho2 / 2 * float((apart**2).sum()) - float(s.duals @ x) + self.l2 / 2 * float(x @ x)
            value = s.alpha * h + s.rho1 / 2 * h * h + near
            gradient = (s.alpha + s.rho1 * h) * slope - s.duals - s.rho2 * apart.sum(axis=0) + self.l2 * x
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return HUGE, np.zeros_like(x)
        return value, gradient


def _split(smooth: _Smooth, server: ServerState, l1: float) -> Floats:
    """Minimise with a smooth l1 term: edges = positive part - negative part; no loops."""
    from scipy.optimize import minimize

    layout, x0 = server.layout, server.parameters
    edges = np.flatnonzero(np.repeat(~np.eye(layout.p, dtype=bool), layout.units))
    rest = np.arange(layout.edges, layout.size)
    m = len(edges)

    def joined(v: Floats) -> Floats:
        x = np.zeros(layout.size)
        x[edges], x[rest] = v[:m] - v[m : 2 * m], v[2 * m :]
        return x

    def objective(v: Floats) -> tuple[float, Floats]:
        value, slope = smooth(joined(v))
        gradient = np.concatenate([slope[edges] + l1, -slope[edges] + l1, slope[rest]])
        return value + l1 * float(v[: 2 * m].sum()), gradient

    start = np.concatenate([np.maximum(x0[edges], 0), np.maximum(-x0[edges], 0), x0[rest]])
    bounds = [(0.0, None)] * (2 * m) + [(None, None)] * len(rest)
    return joined(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=EXACT).x)


def _published(smooth: _Smooth, server: ServerState, l1: float) -> Floats:
    """Minimise as the published code does: L-BFGS-B on |x| itself, loops free; with networks, a sum without |.|."""
    from scipy.optimize import minimize

    layout = server.layout
    linear = layout.size == layout.edges

    def objective(x: Floats) -> tuple[float, Floats]:
        value, slope = smooth(x)
        first = x[: layout.edges]
        signs = np.sign(first) if linear else np.ones(layout.edges)
        slope[: layout.edges] += l1 * signs
        return value + l1 * float(signs @ first), slope

    return np.asarray(minimize(objective, server.parameters, jac=True, method="L-BFGS-B").x)
