"""Lower bounds on epsilon from an attacker's scores; `fedperi.audit.membership` explains the two bounds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..privacy.zcdp import gaussian_epsilon

Floats = NDArray[np.float64]

FEWEST = 50
"""With fewer pairs of runs, bounds are too weak to be useful."""


@dataclass(frozen=True)
class Audit:
    """Result of an attack.

    Attributes
    ----------
    mechanism : {"statistics", "regret"}
        What was attacked: a release, or a single answer with noise.
    epsilon, delta : float
        The claim.
    confidence : float
        Both bounds are below the truth with at least this probability.
    runs, calibration : int
        Number of releases of each table that were counted, and that were used to choose the threshold.
    false_positives, false_negatives : float
        Error rates of the attacker at the threshold.
    wins : float
        Share of pairs in which the larger table has the higher score; one half is a guess.
    free : float
        Lower bound on epsilon without assumptions.
    shaped : float
        Lower bound on epsilon, if the trade-off curve has the shape that the noise should give.
    at_half : float
        What `shaped` would be, on average, with half the noise: shows whether an audit with this number of runs can
        fail at all.

    Examples
    --------
    >>> from fedperi.audit.membership import audit_answer
    >>> found = audit_answer(1.0, runs=2000, confidence=1 - 1e-10)
    >>> found.violated, found.telling
    (False, True)
    """

    mechanism: str
    epsilon: float
    delta: float
    confidence: float
    runs: int
    calibration: int
    false_positives: float
    false_negatives: float
    wins: float
    free: float
    shaped: float
    at_half: float

    @property
    def violated(self) -> bool:
        """Whether a bound is above the claim."""
        return max(self.free, self.shaped) > self.epsilon

    @property
    def telling(self) -> bool:
        """Whether half the noise would probably have been noticed."""
        return self.at_half > self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        return asdict(self) | {"violated": self.violated, "telling": self.telling}


@dataclass(frozen=True)
class Claim:
    """The privacy that is claimed for a mechanism.

    Parameters
    ----------
    mechanism : {"statistics", "regret"}
        Determines the shape of the trade-off curve: that of Gaussian or of Laplace noise.
    epsilon, delta : float
    half : float
        Distance between the two tables for an attacker, in units of the noise, if the noise were half as large.

    Examples
    --------
    >>> claim = Claim("regret", 1.0, 0.0, 2.0)
    >>> round(claim.wins(1.0), 3), round(claim.shown(0.724), 2)
    (0.724, 1.0)
    """

    mechanism: str
    epsilon: float
    delta: float
    half: float

    def wins(self, distance: float) -> float:
        """Share of pairs that an attacker wins if the two tables have this distance."""
        from scipy.special import ndtr

        if self.mechanism == "statistics":
            return float(ndtr(distance / math.sqrt(2)))
        return 1 - math.exp(-distance) * (2 + distance) / 4

    def shown(self, wins: float) -> float:
        """Smallest epsilon, at delta, for which an attacker can win this share of pairs."""
        from scipy.special import ndtri

        if wins <= 0.5:
            return 0.0
        if self.mechanism == "statistics":
            return gaussian_epsilon(float(ndtri(wins)) ** 2, self.delta)  # rho = mu^2 / 2
        low, high = 0.0, 50.0
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if self.wins(middle) <= wins else (low, middle)
        return low


def measure(calibration: Floats, counted: Floats, claim: Claim, confidence: float) -> Audit:
    """Turn scores of both tables into lower bounds on epsilon.

    Parameters
    ----------
    calibration, counted : array, shape (2, runs)
        Scores of releases of the smaller and of the larger table: to choose the threshold, and to be counted.
    claim : Claim
    confidence : float
        Confidence of both bounds together; each may fail with half of the remaining probability.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal([[0.0], [1.0]], 1.0, (2, 3000))     # mu = 1, which is epsilon = 4.89 at delta = 1e-6
    >>> found = measure(scores[:, :1000], scores[:, 1000:], Claim("statistics", 4.0, 1e-6, 2.0), 0.999)
    >>> round(found.free, 2), round(found.shaped, 2), found.violated
    (1.37, 4.55, True)
    """
    doubt = (1 - confidence) / 2
    runs = counted.shape[1]
    positives, negatives = _errors(counted, _threshold(calibration, claim.delta, doubt))
    wins = int((counted[1] > counted[0]).sum())  # ties count as lost, which can only lower the bound
    won, at_half = _at_most(np.array([runs - wins, runs * (1 - claim.wins(claim.half))]), runs, doubt).tolist()
    return Audit(
        claim.mechanism,
        claim.epsilon,
        claim.delta,
        confidence,
        runs,
        calibration.shape[1],
        float(positives[0]) / runs,
        float(negatives[0]) / runs,
        wins / runs,
        math.log(max(1.0, float(_free_ratio(positives, negatives, runs, claim.delta, doubt)[0]))),
        claim.shown(1 - won),
        claim.shown(1 - at_half),
    )


@dataclass(frozen=True)
class Foreseen:
    """Expected range of the shaped bound of an audit: below `low` in one of twenty audits, above `high` in one.

    `violated` is the probability that it is above the claim: a false alarm, unless noise is missing.
    """

    low: float
    middle: float
    high: float
    violated: float


def foreseen(claim: Claim, runs: int, confidence: float = 0.999, noise: float = 1.0) -> Foreseen:
    """Compute how much the shaped bound of an audit varies, from the binomial distribution of the pairs won.

    Parameters
    ----------
    claim : Claim
    runs, confidence
        As in `fedperi.audit.membership.audit_statistics`.
    noise : float
        The noise that reaches the release, as a share of what it should be.

    Examples
    --------
    >>> from fedperi.audit.membership import release_claim
    >>> few, many = (foreseen(release_claim(1.0, 1e-6), runs) for runs in (1000, 16000))
    >>> round(few.high - few.low, 2), round(many.high - many.low, 2)
    (0.47, 0.2)
    """
    from scipy.stats import binom

    doubt, won = (1 - confidence) / 2, claim.wins(claim.half / 2 / noise)

    def bound(wins: float) -> float:
        return claim.shown(1 - float(_at_most(np.array([runs - wins]), runs, doubt)[0]))

    fewest, most = 0, runs + 1  # the smallest number of pairs with a bound above the claim
    while fewest < most:
        half = (fewest + most) // 2
        fewest, most = (fewest, half) if half > runs or bound(half) > claim.epsilon else (half + 1, most)
    low, middle, high = (bound(float(binom.ppf(share, runs, won))) for share in (0.05, 0.5, 0.95))
    return Foreseen(low, middle, high, float(binom.sf(fewest - 1, runs, won)))


def check_runs(runs: object, confidence: object) -> None:
    """Raise unless this number of runs and this confidence make sense.

    Examples
    --------
    >>> check_runs(10, 0.999)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: an audit needs a whole number of runs, 50 at least, not 10; 4000 distinguish half the ...
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < FEWEST:
        raise InputError(
            f"an audit needs a whole number of runs, {FEWEST} at least, not {runs!r}; 4000 distinguish half the "
            "noise from all of it at epsilon = 1"
        )
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence < 1:
        raise InputError(f"the confidence of an audit must be at least 0.5 and below 1, not {confidence!r}; try 0.999")


def _errors(scores: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
    """For each threshold: how often the smaller table scores above it, and how often the larger one does not."""
    smaller, larger = np.sort(scores, axis=1)
    above = len(smaller) - np.searchsorted(smaller, thresholds, "right")
    return above.astype(np.float64), np.searchsorted(larger, thresholds, "right").astype(np.float64)


def _threshold(scores: Floats, delta: float, doubt: float) -> Floats:
    """The threshold with the best confidence bound on these scores, as an array of length one."""
    candidates = np.unique(scores)
    best = int(np.argmax(_free_ratio(*_errors(scores, candidates), scores.shape[1], delta, doubt)))
    return candidates[best : best + 1]


def _free_ratio(positives: Floats, negatives: Floats, runs: int, delta: float, doubt: float) -> Floats:
    """Lower bound on exp(epsilon) from counts of both errors; each rate may fail with half of `doubt`."""
    fpr, fnr = (_at_most(errors, runs, doubt / 2) for errors in (positives, negatives))
    out: Floats = np.maximum((1 - delta - fnr) / fpr, (1 - delta - fpr) / fnr)
    return out


def _at_most(errors: Floats, runs: int, doubt: float) -> Floats:
    """Upper bound of Clopper and Pearson on a rate."""
    from scipy.special import betaincinv

    some = np.minimum(errors, runs - 1)
    out: Floats = np.where(errors >= runs, 1.0, betaincinv(some + 1, runs - some, 1 - doubt))
    return out
