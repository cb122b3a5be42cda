"""A site that answers from a release: noisy moments that were drawn once, so that any number of questions is free."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..graph.pdag import PDAG
from ..protocol.messages import Settings
from ..scores.score import LatticeScore
from .respondent import Respondent, digest
from .site import ordered_score

if TYPE_CHECKING:
    from ..privacy.release.release import Release
    from ..tables import Statistics


class ReleasedSite(Respondent):
    """A site whose table is known by a private release only, here or from a file.

    Parameters
    ----------
    release : Release
        Noisy moments of the site's table; see `fedperi.privacy`.
    local : callable, optional
        How the site learns its own graph from statistics, if not by name.
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

    def _scores(self, settings: Settings, names: tuple[str, ...]) -> tuple[LatticeScore, LatticeScore, float]:
        statistics = replace(self.release.statistics(), site=self.name)
        _check_worth(statistics, self.release)
        if settings.resample is not None:
            statistics = simulated_again(statistics, zlib.crc32(f"{settings.resample} {self.name}".encode()))
        self._summary = statistics
        return ordered_score(statistics, names, settings.penalty), ordered_score(statistics, names, 0.0), statistics.n

    def fingerprint(self) -> str:
        """SHA-256 of the noisy moments."""
        return digest(self.names, self.release.noise, self.release.moments)

    def _own_graph(self, settings: Settings, score: LatticeScore) -> PDAG:
        from ..discovery.discover import local_graph

        method = self.local if self.local is not None else settings.local
        return local_graph(method, self._summary, None, alpha=settings.alpha, penalty=settings.penalty)


def simulated_again(statistics: Statistics, seed: int) -> Statistics:
    """Draw statistics that as many normal rows could have: a bootstrap that needs no row, and so costs no privacy."""
    q, n = len(statistics.correlation), statistics.n
    rng = np.random.default_rng(seed)
    # Bartlett: the scatter of n normal rows, from a triangle of normal variables with roots of chi-squares on its
    # diagonal. With fewer rows than columns it is singular, as it should be, and is kept from that by one row each.
    triangle = np.tril(rng.standard_normal((q, q)), -1)
    triangle[np.diag_indices(q)] = np.sqrt(rng.chisquare(np.maximum(n - np.arange(q), 1)))
    root = np.linalg.cholesky(statistics.correlation) @ triangle
    scatter = root @ root.T
    scale = np.sqrt(np.diag(scatter))
    correlation = scatter / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    return replace(statistics, correlation=(correlation + correlation.T) / 2)


def _check_worth(statistics: Statistics, release: Release) -> None:
    """Refuse a release whose noise leaves nothing to learn from; known from the release alone."""
    widest = max(map(len, statistics.blocks))
    if statistics.n < max(len(statistics.names), 2 * widest):
        raise InputError(
            f"site {statistics.site!r}: at epsilon = {release.epsilon:g} its noisy moments are worth {statistics.n} "
            f"rows, too few for {len(statistics.names)} variables; release with a larger epsilon, or leave variables "
            "or the site out"
        )
