"""Zero-concentrated differential privacy (zCDP): epsilon from rho and back, and checks of these numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real

from ..errors import InputError

# Beyond this nothing is private in any sense, and floating point begins to overflow.
LARGEST = 1e6


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return epsilon at a delta of a rho-zCDP mechanism.

    The conversion of Canonne, Kamath and Steinke ("The Discrete Gaussian for Differential Privacy", 2020): with
    a = alpha - 1, the smallest over a > 0 of (1 + a) rho + (log(1/delta) - log(1 + a)) / a - log(1 + 1/a).

    Examples
    --------
    >>> round(zcdp_epsilon(1 / 18, 1e-6), 9)
    1.557656057
    """
    rho = real(rho, "rho", "a finite number >= 0", lambda x: 0 <= x < math.inf)
    log_delta = -math.log(probability(delta))
    if not rho:
        return 0.0
    # The derivative is zero where rho a^2 + log(1 + a) = log(1/delta). The left side grows with a, so there is one
    # root. There, one of the two terms is at least half of the right side, and neither exceeds it.
    low = min(math.sqrt(log_delta / 2 / rho), math.expm1(min(log_delta, 700) / 2))
    high = min(math.sqrt(log_delta / rho), math.expm1(min(log_delta, 700)))
    for _ in range(60):
        a = math.sqrt(low) * math.sqrt(high)
        if rho * a * a + math.log1p(a) < log_delta:
            low = a
        else:
            high = a
    # Every a gives a valid bound; the error of the root enters only in second order.
    a = high
    return max(0.0, (1 + a) * rho + (log_delta - math.log1p(a)) / a - math.log1p(1 / a))


@lru_cache(maxsize=256)
def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho whose epsilon at delta is not above the given one: `zcdp_epsilon` inverted, rounded down.

    Examples
    --------
    >>> rho = zcdp_rho(1.0, 1e-6)
    >>> round(rho, 7), zcdp_epsilon(rho, 1e-6) <= 1.0
    (0.024356, True)
    """
    epsilon, delta = positive(epsilon, "epsilon"), probability(delta)
    low, high = 0.0, epsilon
    while zcdp_epsilon(high, delta) <= epsilon:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if zcdp_epsilon(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def positive(value: object, what: str) -> float:
    """Return a positive number of plausible size as a float, or raise."""
    return real(value, what, f"above 0 and at most {LARGEST:g}", lambda x: 0 < x <= LARGEST)


def probability(value: object, what: str = "delta") -> float:
    """Return a number strictly between 0 and 1 as a float, or raise."""
    return real(value, what, "0 < delta < 1, well below one over the number of rows", lambda x: 0 < x < 1)


def real(value: object, what: str, needs: str, fits: Callable[[float], bool]) -> float:
    """Return a number that fits as a float, or raise with what it needs."""
    # An integer of 400 digits does not fit into a float, so the comparison comes first; NaN fails every comparison.
    if isinstance(value, Real) and not isinstance(value, bool) and fits(value):  # type: ignore[arg-type]
        return float(value)
    raise InputError(f"{what} is {value!r:.50}, but must be a number: {needs}")


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Return epsilon of Gaussian noise alone, from its exact curve (Balle and Wang, 2018), rounded up."""
    mu = math.sqrt(2 * rho)

    def exact_delta(epsilon: float) -> float:
        first = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
        tail = math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
        # Where the tail underflows the subtraction is left out, which can only make delta larger.
        return first - (math.exp(epsilon + math.log(tail)) if tail else 0.0)

    low, high = 0.0, zcdp_epsilon(rho, delta)
    while low < (middle := (low + high) / 2) < high and high - low > 1e-12 * high:
        if exact_delta(middle) <= delta:
            high = middle
        else:
            low = middle
    return high
