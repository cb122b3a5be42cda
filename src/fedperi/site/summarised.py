"""A site that answers from its exact summary: no question reaches the site itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..tables.summary.site_statistics import statistics_of
from ..tables.summary.summary import Summary
from .released import StatedSite
from .site import enough_rows

if TYPE_CHECKING:
    from ..tables import Statistics


class SummarySite(StatedSite):
    """A site of which only an exact summary is known, made here or read from a file.

    Examples
    --------
    >>> import fedperi as fp
    >>> tables = dict(zip(["north", "south", "west"], fp.simulate(4, clients=3, samples=300, seed=1).sites))
    >>> from_tables = fp.IPERI().fit(tables)
    >>> from_summaries = fp.IPERI().fit([fp.Summary.of(table, name=name) for name, table in tables.items()])
    >>> from_summaries.regrets == from_tables.regrets, from_summaries.graph == from_tables.graph
    (True, True)
    """

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.name = summary.site
        self.targets = summary.targets

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the summary."""
        return self.summary.names

    def _stated(self) -> Statistics:
        return enough_rows(statistics_of(replace(self.summary, site=self.name)))
