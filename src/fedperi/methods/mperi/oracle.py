"""The oracle for phase 1 of M-PERI: the score of all sites together, and the penalty on an edge.

With hundreds of sites a sample of them is used to find candidate parents, and all of them to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np
from numpy.typing import NDArray

from ...scores.mechanisms import Mechanisms
from ...search.phase1 import Found
from ...search.posterior import MOST_EXACT
from ...tables.summary.summary import Summary
from .runs import candidates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CANDIDATES = 13
"""Most candidate parents of a variable with many neighbours: a family takes fifty times as long as in I-PERI."""

MOST_LIKELY_NEIGHBOURS = 10
"""Largest number of neighbours of a variable a priori. A smaller number led to wrong arrows: an edge that is narrowly
missed leaves a false collider (docs/explanation/method.md)."""


def edge_price(p: int) -> float:
    """Compute the penalty of an edge, in nats, in addition to that of its parameters.

    Zero if there are few variables, so that all DAGs have the same prior; larger if there are many, since each might be
    a parent by chance.

    Examples
    --------
    >>> edge_price(4), round(edge_price(50), 2)
    (0.0, 1.59)
    """
    return log(max(1.0, (p - 1) / MOST_LIKELY_NEIGHBOURS))


FEWEST_REMEMBERED = 5
"""With at least this number of candidates the scores of all their subsets are cached. Pairs are asked for only once."""


@dataclass(frozen=True)
class ScoreOracle:
    """The federation as one site for the search; its regrets are the negative scores of all sites together.

    Rounds of the search often ask again how much one more parent would add to a set that did not change: with 100
    variables, in two of three such questions. These answers are cached. So are the scores of all subsets of some
    candidates: the next lattice of a node has most of its candidates in common with the last one.
    """

    mechanisms: Mechanisms
    _seen: dict[tuple[int, ...], Floats] = field(default_factory=dict, repr=False, compare=False)
    _lattices: dict[int, list[tuple[list[int], Floats]]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.mechanisms.names

    def regrets(self, families: Sequence[tuple[Ints, Ints, Ints]]) -> list[Floats]:
        """Return the negative scores of families, as those of one site."""
        return [
            -np.stack(
                [
                    self._scores(node, fixed, free)
                    for node, fixed, free in zip(nodes.tolist(), held.tolist(), open_.tolist(), strict=True)
                ]
            )[None]
            for nodes, held, open_ in families
        ]

    def _scores(self, node: int, fixed: list[int], free: list[int]) -> Floats:
        if not fixed and len(free) >= FEWEST_REMEMBERED:
            some = self._lattices.setdefault(node, [])
            found = self.mechanisms.lattice(node, fixed, free, known=_known(free, some) if some else None)
            some.append((free, found))
            return found
        if free or not fixed:
            return self.mechanisms.lattice(node, fixed, free)
        # The last digit depends on the order of the columns, so only the same order counts as the same question.
        beside = self._seen.setdefault((node, *fixed[:-1]), np.full(len(self.names), np.nan))
        last = fixed[-1]
        if np.isnan(beside[last]):
            beside[last] = self.mechanisms.lattice(node, fixed, ())[0]
        return beside[last : last + 1]


def _known(free: list[int], lattices: list[tuple[list[int], Floats]]) -> Floats:
    """Collect the scores of subsets of some candidates that are known from other lattices; NaN for the rest.

    Examples
    --------
    >>> _known([2, 5], [([2, 3], np.array([0.0, 1.0, 2.0, 3.0]))]).tolist()
    [0.0, 1.0, nan, nan]
    """
    out = np.full(1 << len(free), np.nan)
    for others, scores in lattices:
        ours = theirs = np.zeros(1, dtype=np.int64)
        for t, v in enumerate(others):
            if v in free:
                ours = np.concatenate([ours, ours + (1 << free.index(v))])
                theirs = np.concatenate([theirs, theirs + (1 << t)])
        out[ours] = scores[theirs]
    return out


MOST_SEARCHED, SAMPLED = 128, 64
"""Up to this number of sites all take part in the whole search; with more, a sample of this size. Most of the work is
for families that are far from the best ones, which a sample shows as well (docs/results/scale.md)."""


def sampled(parts: Sequence[Summary], above: int | None = None, most: int | None = None) -> list[Summary]:
    """Select some of the sites if there are many, evenly over their rows in the order of their names.

    Sites with a large share of the rows are always selected. By default, `SAMPLED` sites are selected if there are more
    than `MOST_SEARCHED`.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> tables = fp.simulate(2, clients=9, samples=50, seed=1).sites
    >>> [part.site for part in sampled(summaries(dict(zip("ihgfedcba", tables))), above=8, most=3)]
    ['h', 'e', 'b']
    """
    most = SAMPLED if most is None else most
    if len(parts) <= (MOST_SEARCHED if above is None else above):
        return list(parts)
    order = sorted(range(len(parts)), key=lambda k: parts[k].site)
    ends = np.cumsum([float(parts[k].rows) for k in order])
    points = (np.arange(most) + 0.5) * ends[-1] / most
    chosen = {order[at] for at in np.searchsorted(ends, points).tolist()}
    return [part for k, part in enumerate(parts) if k in chosen]


def best_dag(
    prepare: Callable[[Sequence[Summary]], Mechanisms],
    parts: Sequence[Summary],
    search: Callable[[Mechanisms, Sequence[int] | None], Found],
) -> tuple[Mechanisms, Found]:
    """Prepare the scores of all sites, and find the best DAG.

    Parameters
    ----------
    prepare : callable
        Prepares the scores of sites.
    parts : sequence of Summary
        One per site.
    search : callable
        The search with the scores of some sites; it skips screening if first candidates are given.
    """
    mechanisms = prepare(parts)
    if len(parts) <= MOST_SEARCHED or len(mechanisms.names) <= MOST_EXACT:
        return mechanisms, search(mechanisms, None)
    found = search(prepare(sampled(parts)), None)
    first = [sum(1 << v for v in candidates(found.sets, found.parents, node)) for node in range(len(found.parents))]
    return mechanisms, search(mechanisms, first)
