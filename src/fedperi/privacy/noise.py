"""Sources of noise: OpenDP, which is safe against floating-point attacks and cannot be seeded.

`SeededNoise` replaces it in tests. It warns, and everything made with it is marked as not private.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Noise(Protocol):
    """What a mechanism needs from a source of noise."""

    @property
    def private(self) -> bool:
        """Whether a release with this noise is private."""

    def gaussian(self, values: Integers, sensitivity: float, rho: float) -> Integers:
        """Add discrete Gaussian noise of scale sensitivity / sqrt(2 rho) to whole numbers: rho-zCDP."""

    def select(self, scores: Integers, sensitivity: int, rho: float) -> int:
        """Choose the position of a large score by the exponential mechanism: rho-zCDP."""

    def laplace(self, values: Floats, scale: float) -> Floats:
        """Add Laplace noise to numbers."""


class SecureNoise:
    """Noise from OpenDP.

    Examples
    --------
    >>> noise = SecureNoise()
    >>> noise.gaussian(np.array([0, 1000]), sensitivity=1.0, rho=50.0).shape
    (2,)
    >>> noise.select(np.array([0, 5000, 0]), sensitivity=1, rho=1.0)
    1
    """

    private = True

    def gaussian(self, values: Integers, sensitivity: float, rho: float) -> Integers:
        """Add discrete Gaussian noise to whole numbers."""
        return np.array(_gaussian(sensitivity, rho)(np.asarray(values, dtype=np.int64)), dtype=np.int64)

    def select(self, scores: Integers, sensitivity: int, rho: float) -> int:
        """Choose the position of a large score by the exponential mechanism."""
        return int(_noisy_max(sensitivity, rho)(np.asarray(scores, dtype=np.int64)))

    def laplace(self, values: Floats, scale: float) -> Floats:
        """Add Laplace noise to numbers."""
        return np.array(_laplace(scale)(np.asarray(values, dtype=np.float64)), dtype=np.float64)


# OpenDP's mechanisms are pure functions of their scale; an audit uses the same few mechanisms thousands of times.


@lru_cache(maxsize=64)
def _gaussian(sensitivity: float, rho: float) -> Any:
    dp = _opendp()
    measurement = dp.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=noise_scale(sensitivity, rho)
    )
    _proven(measurement.map(sensitivity), rho)
    return measurement


@lru_cache(maxsize=64)
def _noisy_max(sensitivity: int, rho: float) -> Any:
    dp = _opendp()
    measurement = dp.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64"),
        dp.zero_concentrated_divergence(),
        scale=noise_scale(sensitivity, rho),
    )
    _proven(measurement.map(sensitivity), rho)
    return measurement


@lru_cache(maxsize=64)
def _laplace(scale: float) -> Any:
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
    return dp.make_laplace(domain, dp.l1_distance(T="f64"), scale=scale)


class SeededNoise:
    """The same noise from a seed, for tests only: anyone who knows the seed can remove it.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     SeededNoise(0).private
    False
    """

    private = False

    def __init__(self, seed: int | Sequence[int]) -> None:
        warnings.warn(
            "test_seed: noise is drawn from a seed, so NOTHING in this run is private; never use it on real data",
            UserWarning,
            stacklevel=2,
        )
        self._rng = np.random.default_rng(seed)

    def gaussian(self, values: Integers, sensitivity: float, rho: float) -> Integers:
        """Add rounded Gaussian noise to whole numbers."""
        noise = self._rng.normal(0.0, noise_scale(sensitivity, rho), len(values))
        return values + np.rint(noise).astype(np.int64)

    def select(self, scores: Integers, sensitivity: int, rho: float) -> int:
        """Choose the position of a large score by the exponential mechanism."""
        return int(np.argmax(scores + self._rng.gumbel(0.0, noise_scale(sensitivity, rho), len(scores))))

    def laplace(self, values: Floats, scale: float) -> Floats:
        """Add Laplace noise to numbers."""
        return values + self._rng.laplace(0.0, scale, len(values))


def noise_scale(sensitivity: float, rho: float) -> float:
    """Return the scale of Gaussian noise, or of Gumbel noise on scores, that is rho-zCDP, rounded up a little.

    Examples
    --------
    >>> round(noise_scale(1.0, 0.5), 6)
    1.0
    """
    return sensitivity / math.sqrt(2 * rho) * _UP


_UP = 1 + 1e-9  # OpenDP rounds its own bounds up; a scale to the last digit would be refused


def _proven(price: float, rho: float) -> None:
    if not price <= rho * (1 + 1e-12):
        raise InputError(f"OpenDP cannot show that this noise keeps rho = {rho:g}; it proves {price:g}")


@cache
def _opendp() -> Any:
    """Return the functions of OpenDP that are used. Its prelude would also load scikit-learn, which takes a second."""
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    return SimpleNamespace(**vars(domains) | vars(measures) | vars(metrics) | vars(measurements))
