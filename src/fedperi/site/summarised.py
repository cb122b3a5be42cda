"""A site that answers from its summary: after this one statement, no question reaches the site itself."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

from ..graph.pdag import PDAG
from ..protocol.messages import Settings
from ..scores.score import LatticeScore
from ..tables.summary.site_statistics import statistics_of
from ..tables.summary.summary import Summary
from .released import simulated_again
from .respondent import Respondent, digest
from .site import enough_rows, ordered_score


class SummarySite(Respondent):
    """A site known by its exact summary only, here or from a file.

    Parameters
    ----------
    summary : Summary
        What the site said.
    local : callable, optional
        How the site learns its own graph from statistics, if not by name.

    Examples
    --------
    >>> import fedperi as fp
    >>> tables = dict(zip(["north", "south", "west"], fp.simulate(4, clients=3, samples=300, seed=1).sites))
    >>> from_tables = fp.IPERI().fit(tables)
    >>> from_summaries = fp.IPERI().fit([fp.Summary.of(table, name=name) for name, table in tables.items()])
    >>> from_summaries.regrets == from_tables.regrets, from_summaries.graph == from_tables.graph
    (True, True)
    """

    def __init__(self, summary: Summary, local: Callable[..., PDAG] | None = None) -> None:
        self.summary = summary
        self.name = summary.site
        self.targets = summary.targets
        self.local = local

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the summary."""
        return self.summary.names

    def _scores(self, settings: Settings, names: tuple[str, ...]) -> tuple[LatticeScore, LatticeScore, float]:
        statistics = enough_rows(statistics_of(replace(self.summary, site=self.name)))
        if settings.resample is not None:
            statistics = simulated_again(statistics, zlib.crc32(f"{settings.resample} {self.name}".encode()))
        self._statistics = statistics
        return ordered_score(statistics, names, settings.penalty), ordered_score(statistics, names, 0.0), statistics.n

    def fingerprint(self) -> str:
        """SHA-256 of the statistics, the same as for the table that they are of."""
        kept = self._statistics
        return digest(kept.names, kept.n, kept.mean, kept.scale, kept.correlation)

    def _own_graph(self, settings: Settings, score: LatticeScore) -> PDAG:
        from ..discovery.discover import local_graph

        method = self.local if self.local is not None else settings.local
        return local_graph(method, self._statistics, None, alpha=settings.alpha, penalty=settings.penalty)
