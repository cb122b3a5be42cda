"""The graph without each site, computed from the answers of the run: no site is asked again.

Wrong answers of one site, by mistake or on purpose, can determine the graph. Bounds on single numbers cannot detect
this. But then the graph changes without this site, and stays the same without any other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...coordinator.record import Transcript
from ...graph.pdag import PDAG
from ...phrases import listed
from ...protocol.messages import Floats, Ints, Orientations

LEAST_SITES = 3
"""With two sites, nobody can say which of them is wrong."""

MOST_EDGES = 3
"""Number of edges of one kind, or of further sites, that a sentence names."""

MOST_SITES = 5
"""Number of sites that get a separate sentence."""


class NotStored(Exception):
    """A question that the run did not ask, so that its answer is not stored."""


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of all sites but one in a run, as an oracle; other questions raise `NotStored`."""

    transcript: Transcript
    site: int

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.transcript.sites[0].names

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> list[Floats]:
        """Raise: known regrets are in the sets of the search, and there are no others."""
        raise NotStored

    def discrepancies(self, dag: NDArray[np.bool_], nodes: Ints, marks: Ints) -> Floats:
        """Return the other sites' answers to this question of phase 2."""
        for questions, answers in reversed(self.transcript.rounds):
            for question, answer in zip(questions, answers, strict=True):
                if isinstance(question, Orientations) and all(
                    np.array_equal(mine, theirs)
                    for mine, theirs in zip(question.arrays().values(), (dag, nodes, marks), strict=True)
                ):
                    return np.delete(answer, self.site, axis=0)
        raise NotStored


class ChangedGraph(NamedTuple):
    """Changes of the graph without a site: edges that are lost, new edges, and edges with another direction."""

    site: str
    lost: tuple[str, ...]
    new: tuple[str, ...]
    turned: tuple[str, ...]

    @property
    def edges(self) -> int:
        """Number of edges that differ."""
        return len(self.lost) + len(self.new) + len(self.turned)


def changes(sites: Sequence[str], without: Callable[[int], tuple[PDAG, PDAG]]) -> list[ChangedGraph]:
    """Compare a graph with the graphs without each site; sites that change nothing are not listed.

    Parameters
    ----------
    sites : sequence of str
        Names of the sites.
    without : callable
        Called with the number of a site; returns two graphs to compare: of all sites, and of all but this one.

    Examples
    --------
    >>> import fedperi as fp
    >>> graph = fp.PDAG.from_edges([("A", "B")])
    >>> other = fp.PDAG.from_edges([("B", "A")], names=["A", "B"])
    >>> [change.turned for change in changes(["x", "y", "z"], lambda k: (graph, other if k == 1 else graph))]
    [('A -> B',)]
    """
    if len(sites) < LEAST_SITES:
        return []
    found = [_change(site, *without(k)) for k, site in enumerate(sites)]
    return sorted((change for change in found if change.edges), key=lambda change: (-change.edges, change.site))


def _change(site: str, graph: PDAG, other: PDAG) -> ChangedGraph:
    lost: list[str] = []
    new: list[str] = []
    turned: list[str] = []
    differs = graph.adjacency != other.adjacency
    for i, j in np.argwhere(np.triu(differs | differs.T)).tolist():
        before, after = _edge_kind(graph, i, j), _edge_kind(other, i, j)
        edge = f"{graph.names[i]} {before or after} {graph.names[j]}"
        (lost if not after else turned if before else new).append(edge)
    return ChangedGraph(site, tuple(lost), tuple(new), tuple(turned))


def _edge_kind(graph: PDAG, i: int, j: int) -> str:
    return [["", "<-"], ["->", "--"]][int(graph.adjacency[i, j])][int(graph.adjacency[j, i])]


def sentences(found: Sequence[ChangedGraph], count: int) -> list[str]:
    """Name the sites on which the graph depends; `count` is the number of its edges.

    Examples
    --------
    >>> sentences([ChangedGraph("Lyon", ("A -- B",), (), ("B -> C",))], 4)[0]
    'Lyon alone changes the graph: without it, 1 of 4 edges would be missing (A -- B) and 1 would point differently ...'
    """
    out = []
    for change in found[:MOST_SITES]:
        parts = [
            f"{len(change.lost)} of {count} edges would be missing ({_few(change.lost)})" if change.lost else "",
            f"{len(change.new)} would be new ({_few(change.new)})" if change.new else "",
            f"{len(change.turned)} would point differently ({_few(change.turned)})" if change.turned else "",
        ]
        what = listed([part for part in parts if part])
        begin = f"{change.site} alone changes the graph: without it," if len(found) == 1 else f"Without {change.site},"
        rest = " No other site does so." if len(found) == 1 else ""
        out.append(
            f"{begin} {what}.{rest} Ask {change.site} what is done differently there, and whether its table is right."
        )
    if len(found) > MOST_SITES:
        more = [change.site for change in found[MOST_SITES:]]
        out.append(f"Fewer edges would also change without any one of these: {_few(more)}.")
    return out


def _few(edges: Sequence[str]) -> str:
    more = len(edges) - MOST_EDGES
    return ", ".join(edges if more <= 0 else [*edges[:MOST_EDGES], f"{more} more"])
