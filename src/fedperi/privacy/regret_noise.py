"""The `regret` mechanism: Laplace noise on every answer. How much one row can change a regret, and its cost.

*What is proven.* Rows ``z``, including the common constant, have norm ``B`` at most. Let
``A = sum of zz' + n * ridge * I``, where ``n`` and ``ridge`` are constants: numbers that were released before. For any
set ``T`` of columns, an additional row adds ``log(1 + z_T' A_T^-1 z_T)`` to ``log det A_T``. This is not negative,
grows with ``T``, and is at most ``log(1 + B^2 / (n * ridge))``, since ``A >= n * ridge * I``. The logarithm of the
residual variance of a variable ``i`` given a set ``S`` is ``log det A_{S+i} - log det A_S`` (of the residual
determinant, if a variable has several columns; the constant is always in ``S``). So an additional row adds between 0
and this bound to it, and every local score ``-(n/2) log v - penalty`` changes by an amount in ``[-D, 0]``, with

    D = (n/2) log(1 + B^2 / (n * ridge)) <= B^2 / (2 * ridge).

A maximum of such scores with constant penalties, over a class of sets that does not depend on the rows, also changes by
an amount in ``[-D, 0]``: this covers the adaptive mask and the reference. A regret is the difference of two such
numbers, and so is a discrepancy of phase 2 between two sets that were chosen without the rows. Both change by ``D`` at
most, not by ``2 D``, if a row is added or removed. Scores in units of a column's standard deviation have another term
for each node, which is the same for all sets and cancels in the difference.

The bound is nearly tight: two columns that always agree, and a row where they are opposite (a test has the numbers).

*What is not proven.* A site's own graph is not a maximum with a bounded change: one row can change an edge of it, and
with it the consensus mask. So the graph is learned from a private release, with a share of the budget. The paper's
lemma (`lemma_sensitivity`) does not consider this.

*What it costs.* The paper calls noise of scale ``Q / epsilon`` on each regret epsilon-private. This is the price of one
regret; a run asks for dozens to thousands, and their prices add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .accounting import Price
from .options import Privacy
from .zcdp import zcdp_epsilon, zcdp_rho

Floats = NDArray[np.float64]

OWN_SHARE = 0.2
"""Share of the budget, in rho, for the release that stays at the site: units, number of rows, own graph."""

CLIP_ANSWERS = 1.0
"""Norm to which rows are clipped for answers, in units of the square root of the number of columns. Longer rows need
more noise; shorter rows bias the scores, which no later step can undo. Of 0.75, 1, 1.5 and 2 the first two were equally
good and the last was worst (5 variables, 2000 rows, 8 seeds)."""

MOST_RIDGE, LEAST_RIDGE = 0.5, 1e-4
"""Limits of the ridge, in standard units: a larger one would hide the data; with a smaller one, rounding matters."""

EXACT = 12
"""Up to this number of variables the search asks for every parent set, and the number of answers is known beforehand
(`fedperi.search.screening.FULL`, which a test compares)."""


def lemma_sensitivity(M: float, r: float) -> float:
    """Return the paper's bound on how much one row changes a regret: ``(2M + 1) |log r^2|``.

    The paper prints ``log r^2``, which is negative; its absolute value is meant. It assumes that the norm of all
    parameters is `M` at most, that the density is `r` at least at every row that is or could be in the table and for
    all parameters, and that one row moves the parameters by ``2M / n`` at most. It neglects a term of order
    ``log(n) / n`` and the change of the site's own graph. Nobody can check these assumptions from data, and no normal
    variable has a density that is bounded below everywhere by a positive number. Noise scaled by this bound is private
    only if the assumptions are true.

    Parameters
    ----------
    M : float
        Largest norm of the parameters, not negative.
    r : float
        Smallest density of a row, ``0 < r < 1``.

    Examples
    --------
    >>> round(lemma_sensitivity(M=1.0, r=0.1), 3)
    13.816
    >>> lemma_sensitivity(M=1.0, r=2.0)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: r must be a number above 0 and below 1, the smallest density of a row; not 2.0
    """
    if not _number(M) or not 0 <= M < math.inf:
        raise InputError(f"M must be a number, zero or positive, the largest norm of the parameters; not {M!r}")
    if not _number(r) or not 0 < r < 1:
        raise InputError(f"r must be a number above 0 and below 1, the smallest density of a row; not {r!r}")
    return (2 * float(M) + 1) * abs(2 * math.log(float(r)))


def proven_sensitivity(n: float, limit: float, ridge: float) -> float:
    """Return the largest change of a regret when one row is added or removed; the proof is at the top of the module.

    Parameters
    ----------
    n : float
        The number of rows that scores use: a constant, not the number in the table.
    limit : float
        Largest norm of a row, including the constant that all rows have.
    ridge : float
        The value that is added to every variance.

    Examples
    --------
    >>> round(proven_sensitivity(n=2000, limit=2.0, ridge=0.5), 3)
    3.992
    """
    for name, value in (("n", n), ("limit", limit), ("ridge", ridge)):
        if not _number(value) or not 0 < value < math.inf:
            raise InputError(f"{name} must be a positive, finite number, not {value!r}")
    # Scores are computed in floating point. With a ridge of LEAST_RIDGE at least, log residual variances are exact to
    # 1e-10; the last term keeps the bound true for the numbers that are computed.
    return n / 2 * math.log1p(limit**2 / (n * ridge)) + n * 1e-9


def chosen_ridge(n: float, limit: float, each: float) -> float:
    """Return a ridge for answers of pure epsilon `each`, as a compromise between noise and the bias of the ridge.

    Noise is of order ``limit^2 / (2 ridge each)`` nats. A ridge is like noise on every column: with correlations of
    1/2 it adds false dependences of about ``ridge / 4``, which count ``n ridge^2 / 32`` nats. The ridge makes the two
    equal; with a growing budget both vanish.

    Examples
    --------
    >>> round(chosen_ridge(2000, 3.0, 0.02), 3), round(chosen_ridge(2000, 3.0, 50.0), 3)
    (0.5, 0.113)
    """
    return min(MOST_RIDGE, max(LEAST_RIDGE, math.cbrt(16 * limit**2 / (n * each))))


def ridge_covariance(total: Floats, n: float, ridge: float) -> Floats:
    """Return the covariance, times `n`, from the sum of the outer products of (constant, z); a ridge is added to both.

    Examples
    --------
    >>> ridge_covariance(np.array([[4.0, 2.0], [2.0, 9.0]]), 2.0, 0.5).tolist()
    [[9.2]]
    """
    a = total + n * ridge * np.eye(len(total))
    out: Floats = a[1:, 1:] - np.outer(a[1:, 0], a[0, 1:]) / a[0, 0]
    return out


def most_answers(parents: Sequence[int], neighbours: Sequence[int]) -> int:
    """Return the largest number of different answers that a run asks for, with `EXACT` variables or fewer.

    Phase 1 asks for every parent set of every node; sets that are equal after masking are one question. Phase 2 asks
    for every node as it is, and with each undirected edge in both directions. Only edges in the site's own graph change
    an answer, and a node without such edges has none.

    Parameters
    ----------
    parents : sequence of int
        For every node, the number of other variables that its mask allows as parents: p - 1 without a mask.
    neighbours : sequence of int
        For every node, the largest number of neighbours in the site's graph for phase 2; zeros without phase 2.

    Examples
    --------
    >>> most_answers([2, 2, 2], [1, 2, 1])
    23
    """
    return sum(1 << count for count in parents) + sum(1 + 2 * count for count in neighbours if count)


def own_privacy(privacy: Privacy) -> Privacy:
    """Return the privacy of the release that stays at the site: `OWN_SHARE` of the budget.

    Examples
    --------
    >>> round(own_privacy(Privacy(1.0, 1e-6, mechanism="regret")).epsilon, 3)
    0.424
    """
    epsilon = zcdp_epsilon(OWN_SHARE * zcdp_rho(privacy.epsilon, privacy.delta), privacy.delta)
    if not epsilon > 0:
        raise InputError(
            f"epsilon = {privacy.epsilon:g} at delta = {privacy.delta:g} is too little to be shared among answers; "
            "mechanism='statistics' needs no sharing, or choose a larger epsilon"
        )
    return replace(privacy, epsilon=epsilon, mechanism="statistics", sensitivity=None, answers=None)


@dataclass(frozen=True)
class RegretPlan:
    """How a budget is divided between a release that stays at the site and answers with equal shares.

    Parameters
    ----------
    epsilon, delta : float
        The whole budget.
    own : Price
        The price of the release that stays at the site.
    answers : int
        The number of answers among which the rest is divided.

    Examples
    --------
    >>> own = Price(0.5, 1e-6, gaussian=0.005)
    >>> plan = RegretPlan(1.0, 1e-6, own, 100)
    >>> round(plan.each, 4), plan.pure
    (0.0197, False)
    >>> RegretPlan(1.0, 1e-6, own, 2).pure
    True
    """

    epsilon: float
    delta: float
    own: Price
    answers: int

    def __post_init__(self) -> None:
        if self.answers < 1:
            raise InputError(f"a budget is divided among at least one answer, not {self.answers}; leave answers out")

    @property
    def _by_rho(self) -> float:
        rest = zcdp_rho(self.epsilon, self.delta) - self.own.rho
        return math.sqrt(2 * max(rest, 0.0) / self.answers)

    @property
    def _by_sum(self) -> float:
        return max(self.epsilon - self.own.epsilon, 0.0) / self.answers

    @property
    def pure(self) -> bool:
        """Whether the answers' epsilons are added (True) or their rho (False): the one that allows more per answer."""
        return self._by_sum > self._by_rho

    @property
    def each(self) -> float:
        """Pure epsilon of one answer, rounded down."""
        return max(self._by_sum, self._by_rho) * (1 - 1e-12)

    def price(self, count: int) -> Price:
        """Return the price of this number of answers, as an entry of the ledger.

        Examples
        --------
        >>> RegretPlan(1.0, 1e-6, Price(0.5, 1e-6, gaussian=0.005), 100).price(3).laplace[1]
        3
        """
        together = self.each * count
        by_rho = zcdp_epsilon(self.each**2 / 2 * count, self.delta)
        # A claim without delta can be added to the own release's at the same delta, which the plain sum needs.
        if self.pure or together <= by_rho:
            return Price(together, 0.0, laplace=(self.each, count))
        return Price(by_rho, self.delta, laplace=(self.each, count))


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
