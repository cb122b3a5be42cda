"""How the penalty on cycles increases while FedDAG trains, and when training ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .worker import acyclicity


@dataclass(frozen=True)
class Schedule:
    """Numbers that control training; the defaults are the published ones.

    `price` is the first penalty on cycles. Unless the acyclicity falls to a share `enough` of the one before, the
    penalty is multiplied by `growth`. Training ends when the penalty reaches `limit`.
    """

    sparsity: float
    rate: float
    passes: int
    steps: int
    every: int
    threshold: float
    price: float
    growth: float
    limit: float
    tolerance: float
    least_passes: int = 4
    enough: float = 0.25


MASKED = Schedule(1e-2, 3e-2, 20, 1000, 100, 0.5, 6e-3, 10.0, 1e14, 1e-10)
PUBLISHED = Schedule(2e-3, 3e-2, 25, 1000, 200, 0.5, 1e-3, 5.0, 1e14, 1e-10)
"""The numbers in published experiments that compare with FedDAG; `MASKED` has those in the script of its authors."""
LINEAR = Schedule(0.1, 1e-3, 20, 1500, 300, 0.3, 1.0, 10.0, 1e16, 1e-8)

USUAL = 10
"""Number of variables in the script of FedDAG's authors, who recommend other numbers for other sizes."""


def for_variables(plan: Schedule, p: int) -> Schedule:
    """Lower the first penalty on cycles if there are more variables than in the authors' script.

    All entries of the mask start at 1/2, and h grows exponentially with p: it is 6.5 with 10 variables and 110 with 20.
    With the same penalty the first steps remove every edge, and none comes back. With the penalty computed here,
    ``price/2 h^2`` starts at the same value as for 10 variables.

    Examples
    --------
    >>> [float(f"{for_variables(MASKED, p).price:.1e}") for p in (3, 10, 20)]
    [0.006, 0.006, 2.1e-05]
    """
    if p <= USUAL:
        return plan
    usual, here = (acyclicity((1 - np.eye(n)) / 4)[0] for n in (USUAL, p))
    return replace(plan, price=max(plan.price * (usual / here) ** 2, float(np.finfo(float).tiny)))


Solve = Callable[[float, float], tuple[float, float]]
"""Trains with a multiplier and a penalty; returns the acyclicity that the schedule uses, and the one without noise."""


def raise_cycle_penalty(solve: Solve, plan: Schedule) -> str:
    """Solve sub-problems until there is no cycle; raise the penalty whenever cycles did not become much weaker.

    Returns why training ended: "converged", "price limit" or "passes".

    Examples
    --------
    >>> prices = []
    >>> def solve(alpha, price):  # a price of 100 removes all cycles
    ...     prices.append(price)
    ...     return (0.0, 0.0) if price >= 100 else (1.0, 1.0)
    >>> raise_cycle_penalty(solve, LINEAR)
    'converged'
    >>> prices
    [1.0, 1.0, 10.0, 100.0, 100.0, 100.0]
    """
    alpha, price, before = 0.0, plan.price, np.inf
    for at in range(1, plan.passes + 1):
        found, certain = solve(alpha, price)
        while found > plan.enough * before:
            price *= plan.growth
            if price >= plan.limit:
                return "price limit"  # published: passes continue without training
            found, certain = solve(alpha, price)
        if max(found, certain) <= plan.tolerance and at >= plan.least_passes:
            return "converged"
        before = found
        alpha += price * found
    return "passes"
