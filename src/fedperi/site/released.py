"""Sites of which only a statement is known: statistics from which any number of questions can be answered."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..graph.pdag import PDAG
from ..protocol.messages import Settings
from ..scores.score import LatticeScore
from .respondent import Respondent, digest
from .site import gaussian_scores

if TYPE_CHECKING:
    from ..privacy.release.release import Release
    from ..tables import Statistics


class StatedSite(Respondent):
    """A site that answers from the statistics of its statement. Subclasses say how to read them."""

    @abstractmethod
    def _stated(self) -> Statistics:
        """Return the statistics under the site's name; raise if they are worth too few rows."""

    def _scores(self, settings: Settings, names: tuple[str, ...]) -> tuple[LatticeScore, LatticeScore, float]:
        statistics = self._stated()
        if settings.resample is not None:
            statistics = simulated_again(statistics, zlib.crc32(f"{settings.resample} {self.name}".encode()))
        self._statistics = statistics
        return gaussian_scores(statistics, names, settings.penalty)


class ReleasedSite(StatedSite):
    """A site of which only a private release is known, made here or read from a file.

    Parameters
    ----------
    release : Release
        Noisy moments of the site's table; see `fedperi.privacy`.
    local : callable, optional
        Learns the site's own graph from statistics, instead of the method that the settings name.
    """

    def __init__(self, release: Release, local: Callable[..., PDAG] | None = None) -> None:
        self.release = release
        self.name = release.site
        self.targets = release.targets
        self.privacy = release.summary()
        self.local = local

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the release covers."""
        return self.release.schema.names

    def _stated(self) -> Statistics:
        statistics, epsilon = replace(self.release.statistics(), site=self.name), self.release.epsilon
        widest = max(map(len, statistics.blocks))
        if statistics.n < max(len(statistics.names), 2 * widest):
            raise InputError(
                f"site {self.name!r}: at epsilon = {epsilon:g} its noisy moments are worth {statistics.n} rows, too "
                f"few for {len(statistics.names)} variables; release with a larger epsilon, or leave variables or the "
                "site out"
            )
        return statistics

    def fingerprint(self) -> str:
        """Return the SHA-256 of the noisy moments."""
        return digest(self.names, self.release.noise, self.release.moments)


def simulated_again(statistics: Statistics, seed: int) -> Statistics:
    """Draw statistics from a normal distribution with these moments: a bootstrap without rows, free of privacy cost."""
    q, n = len(statistics.correlation), statistics.n
    rng = np.random.default_rng(seed)
    # Bartlett: the scatter of n normal rows comes from a triangular matrix of normal variables, with roots of
    # chi-squares on its diagonal. With fewer rows than columns the scatter would be singular: each chi-square keeps at
    # least one degree of freedom.
    triangle = np.tril(rng.standard_normal((q, q)), -1)
    triangle[np.diag_indices(q)] = np.sqrt(rng.chisquare(np.maximum(n - np.arange(q), 1)))
    root = np.linalg.cholesky(statistics.correlation) @ triangle
    scatter = root @ root.T
    scale = np.sqrt(np.diag(scatter))
    correlation = scatter / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    return replace(statistics, correlation=(correlation + correlation.T) / 2)
