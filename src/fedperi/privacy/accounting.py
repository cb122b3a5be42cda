"""The privacy cost of releases: the price of one release, and totals under basic, zCDP and PLD composition.

Neighbouring tables differ by one row, added or removed. Pure functions and values: nothing is stored or drawn here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .zcdp import LARGEST, gaussian_epsilon, positive, probability, real, zcdp_epsilon

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# Sums of decimal fractions have rounding errors in the last place (three times 0.1 is more than 0.3 to a computer).
# A value that is compared with a limit may exceed it by this share, which has no practical consequence.
ROUNDING = 1e-12
# Privacy loss distributions are composed by Fourier transforms, whose rounding noise grows with the number of answers
# and can make epsilon too small. Measured on Gaussians, whose total is known: 4 answers, exact to 1e-4 at delta 1e-12
# and too small by 0.07 % at 1e-14; 10^4 answers, exact at 1e-10 and too small by 0.2 % at 1e-13; 10^6, exact at 1e-8.
# With 10^7 the grid is as coarse as one answer, and a total takes 12 s.
_PLD_DELTA, _PLD_DELTA_EACH, _PLD_ANSWERS = 1e-12, 1e-14, 10**6
# Grid points per standard deviation of the summed privacy loss: k equal Gaussians are then exact to 1e-4.
_RESOLUTION = 3000
_Repeated = tuple[tuple[float, int], ...]  # epsilon of one answer, and how many answers


@dataclass(frozen=True)
class Price:
    """The privacy cost of a release for one row.

    A price lists its mechanisms, because tight composition needs them and not only the claim. The claim must follow
    from them: a price that claims a smaller epsilon than its noise gives is refused.

    Parameters
    ----------
    epsilon, delta : float
        The claim of this release on its own.
    gaussian : float
        zCDP rho of all Gaussian noise together.
    selections : tuple of (float, int)
        Pure epsilon of one selection by the exponential mechanism (noisy max with Gumbel noise), and the number of
        selections. Its range is bounded, so rho is epsilon^2 / 8 each. Noisy max with Laplace or exponential noise has
        no such bound: enter it under `laplace`.
    laplace : tuple of (float, int)
        Pure epsilon of one Laplace answer (or of any other pure mechanism), and the number of answers; rho is
        epsilon^2 / 2 each.

    Examples
    --------
    >>> price = Price(epsilon=1.56, delta=1e-6, gaussian=1 / 18)
    >>> round(price.rho, 6)
    0.055556
    >>> Price(epsilon=0.5, delta=1e-6, gaussian=1 / 18)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: a price claims epsilon 0.5 at delta 1e-06, but its mechanisms only give epsilon 1.447988:
    claim at least that, or add noise
    """

    epsilon: float
    delta: float
    gaussian: float = 0.0
    selections: tuple[float, int] = (0.0, 0)
    laplace: tuple[float, int] = (0.0, 0)

    def __post_init__(self) -> None:
        values = {
            "epsilon": positive(self.epsilon, "epsilon of a price"),
            "delta": real(self.delta, "delta of a price", "0 <= delta < 1", lambda x: 0 <= x < 1),
            "gaussian": real(self.gaussian, "gaussian of a price", f"0 to {LARGEST:g}", lambda x: 0 <= x <= LARGEST),
            "selections": _repeated(self.selections, "selections"),
            "laplace": _repeated(self.laplace, "laplace"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if not self.rho:
            raise InputError(
                "a price names no mechanism: give gaussian, selections or laplace, or it would add up to nothing"
            )
        attainable = self._attainable()
        if attainable > self.epsilon * (1 + 1e-9):
            gives = "no finite epsilon" if math.isinf(attainable) else f"epsilon {attainable:.7g}"
            raise InputError(
                f"a price claims epsilon {self.epsilon:g} at delta {self.delta:g}, but its mechanisms only give "
                f"{gives}: claim at least that, or add noise"
            )

    @property
    def rho(self) -> float:
        """The zCDP parameter of the whole release."""
        (choice, choices), (answer, answers) = self.selections, self.laplace
        return math.fsum((self.gaussian, 1 / 8 * choice**2 * choices, 1 / 2 * answer**2 * answers))

    def _attainable(self) -> float:
        """Return the smallest epsilon that this module can prove at the price's delta."""
        pure = math.fsum(epsilon * count for epsilon, count in (self.selections, self.laplace))
        if not self.gaussian:
            return min(pure, zcdp_epsilon(self.rho, self.delta) if self.delta else math.inf)
        if not self.delta:
            return math.inf
        return min(pure + gaussian_epsilon(self.gaussian, self.delta), zcdp_epsilon(self.rho, self.delta))

    def to_dict(self) -> dict[str, Any]:
        """Return the price as JSON values.

        Examples
        --------
        >>> Price(1.0, 0.0, laplace=(0.1, 10)).to_dict()
        {'epsilon': 1.0, 'delta': 0.0, 'gaussian': 0.0, 'selections': [0.0, 0], 'laplace': [0.1, 10]}
        """
        return asdict(self) | {"selections": list(self.selections), "laplace": list(self.laplace)}

    @classmethod
    def from_dict(cls, values: object) -> Price:
        """Return the price that `to_dict` wrote; anything else is an error.

        Examples
        --------
        >>> price = Price(1.0, 0.0, laplace=(0.1, 10))
        >>> Price.from_dict(price.to_dict()) == price
        True
        """
        fields = tuple(cls.__dataclass_fields__)
        if not isinstance(values, Mapping) or set(values) != set(fields):
            raise InputError(f"a price needs exactly the fields {', '.join(fields)}, got {values!r:.200}")
        return cls(**values)


@dataclass(frozen=True)
class Totals:
    """The total privacy cost of several releases for one row, by three kinds of composition.

    Parameters
    ----------
    releases : int
        Number of releases.
    basic_epsilon, basic_delta : float
        The sums of the claims.
    rho : float
        The sum of the zCDP parameters.
    delta : float
        The requested delta, for the next two values.
    zcdp_epsilon : float
        Epsilon by zCDP.
    pld_epsilon : float or None
        Epsilon by privacy loss distributions, the tightest for Gaussian and Laplace noise. Selections are treated as
        any pure mechanism, so with many of them zCDP can be smaller. None if dp-accounting is not installed, or if its
        arithmetic is not exact enough: delta below 1e-12, or below 1e-14 times the number of Laplace answers and
        selections; more than a million of these; or one with an epsilon above 700.

    Examples
    --------
    >>> totals = total([Price(1.56, 1e-6, gaussian=1 / 18)] * 2, 1e-6, pld=False)
    >>> totals.releases, totals.basic_epsilon, round(totals.zcdp_epsilon, 4)
    (2, 3.12, 2.2685)
    """

    releases: int
    basic_epsilon: float
    basic_delta: float
    rho: float
    delta: float
    zcdp_epsilon: float
    pld_epsilon: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the totals as JSON values."""
        return asdict(self)


def total(prices: Iterable[Price], delta: float, pld: bool = True) -> Totals:
    """Add up prices.

    Parameters
    ----------
    prices : iterable of Price
        One for each release.
    delta : float
        The delta for which zCDP and PLD are converted to an epsilon.
    pld : bool
        Whether to compose privacy loss distributions too, which takes up to a second.

    Examples
    --------
    >>> total([Price(0.5, 0.0, laplace=(0.5, 1))] * 3, 1e-6).basic_epsilon
    1.5
    """
    prices = tuple(prices)
    delta = probability(delta)
    rho = math.fsum(price.rho for price in prices)
    return Totals(
        releases=len(prices),
        basic_epsilon=math.fsum(price.epsilon for price in prices),
        basic_delta=math.fsum(price.delta for price in prices),
        rho=rho,
        delta=delta,
        zcdp_epsilon=zcdp_epsilon(rho, delta),
        pld_epsilon=_pld_epsilon(prices, delta) if pld else None,
    )


def spent(prices: Iterable[Price], delta: float) -> float:
    """Return epsilon to compare with a ceiling: zCDP at delta, or the basic sum if smaller and its delta not larger.

    It is the same with and without dp-accounting, so that two installations at a site agree about the remaining budget.

    Examples
    --------
    >>> spent([Price(0.1, 0.0, laplace=(0.1, 1))] * 2, 1e-6)
    0.2
    >>> round(spent([Price(0.1, 0.0, laplace=(0.1, 1))] * 1000, 1e-6), 2)
    20.55
    """
    totals = total(prices, delta, pld=False)
    if totals.basic_delta <= totals.delta * (1 + ROUNDING):
        return min(totals.zcdp_epsilon, totals.basic_epsilon)
    return totals.zcdp_epsilon


def _repeated(value: object, what: str) -> tuple[float, int]:
    if isinstance(value, tuple | list) and len(value) == 2:
        epsilon, count = value
        if isinstance(count, Integral) and not isinstance(count, bool) and 0 <= int(count) <= 10**12:
            if not count and epsilon == 0:
                return 0.0, 0
            if count:
                return positive(epsilon, f"epsilon of {what} in a price"), int(count)
    raise InputError(f"{what} of a price is {value!r:.80}, but must be (epsilon of one, how many), or (0, 0) for none")


def _pld_epsilon(prices: tuple[Price, ...], delta: float) -> float | None:
    answers = sum(price.laplace[1] + price.selections[1] for price in prices)
    if answers > _PLD_ANSWERS or delta < max(_PLD_DELTA, _PLD_DELTA_EACH * answers):
        return None
    try:
        import dp_accounting.pld  # noqa: F401
    except ImportError:
        return None
    gaussian = math.fsum(price.gaussian for price in prices)
    laplace, selections = Counter[float](), Counter[float]()
    for price in prices:
        laplace[price.laplace[0]] += price.laplace[1]
        selections[price.selections[0]] += price.selections[1]
    return _composed(gaussian, tuple(laplace.items()), tuple(selections.items()), delta)


@lru_cache(maxsize=64)
def _composed(gaussian: float, laplace: _Repeated, selections: _Repeated, delta: float) -> float | None:
    """Return epsilon of the composed losses; cached, because sites often pay the same price and it takes up to 1 s."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    pure = [(e, k) for counts in (laplace, selections) for e, k in counts if k]
    spread = math.sqrt(2 * gaussian + math.fsum(k * e * e for e, k in pure))
    if not spread:
        return 0.0
    grid = spread / _RESOLUTION
    cut = delta * 1e-6
    parts: list[PrivacyLossDistribution] = []
    if gaussian:
        # Gaussians add up to one Gaussian exactly.
        parts.append(pld.from_gaussian_mechanism(1 / math.sqrt(2 * gaussian), value_discretization_interval=grid))
    losses = [(pld.from_laplace_mechanism(1 / e, value_discretization_interval=grid), k) for e, k in laplace if k]
    losses += [(_pure_loss(e, grid), k) for e, k in selections if k]
    parts += [loss.self_compose(k, tail_mass_truncation=cut) for loss, k in losses]
    composed = parts[0]
    for part in parts[1:]:
        composed = composed.compose(part, tail_mass_truncation=cut)
    epsilon = float(composed.get_epsilon_for_delta(delta))
    return epsilon if math.isfinite(epsilon) else None


def _pure_loss(epsilon: float, grid: float) -> PrivacyLossDistribution:
    """Return the privacy loss of randomised response, which dominates every mechanism of this pure epsilon.

    dp-accounting has a constructor that rounds the loss up to the grid; its error grows with the number of releases.
    Linear interpolation of the delta curve also rounds up, but only in second order.
    """
    import numpy as np
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    steps = math.ceil(epsilon / grid)
    at = np.arange(-steps, steps + 1)
    loss = np.clip(at * grid, -epsilon, epsilon)
    deltas = -np.expm1(loss - epsilon) / (1 + math.exp(-epsilon))
    deltas = np.where(at * grid < -epsilon, -np.expm1(np.minimum(at * grid, 0.0)), deltas)
    return pld.PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(grid, at, deltas))
