"""The search with hundreds of sites: a sample of them proposes candidate parents, and all of them decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...scores.mechanisms import Mechanisms
from ...search.phase1 import Found, find_dag_within
from ...search.posterior import MOST_EXACT
from ...tables.summary.summary import Summary
from .oracle import ScoreOracle, edge_price
from .runs import candidates

MOST_SEARCHED, SAMPLED = 128, 64
"""Sites up to which all take part in the whole search, and how many do if there are more. Then most of the work would
be families that are far from the best ones, which a sample shows as well (docs/results/scale.md)."""


def sampled(parts: Sequence[Summary], most: int = SAMPLED) -> list[Summary]:
    """Take some of the sites, evenly over their rows in the order of their names: large sites are always among them.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> tables = fp.simulate(2, clients=9, samples=50, seed=1).sites
    >>> [part.site for part in sampled(summaries(dict(zip("ihgfedcba", tables))), most=3)]
    ['h', 'e', 'b']
    """
    if len(parts) <= most:
        return list(parts)
    order = sorted(range(len(parts)), key=lambda k: parts[k].site)
    ends = np.cumsum([float(parts[k].rows) for k in order])
    points = (np.arange(most) + 0.5) * ends[-1] / most
    chosen = {order[at] for at in np.searchsorted(ends, points).tolist()}
    return [part for k, part in enumerate(parts) if k in chosen]


def best_dag(
    prepare: Callable[[Sequence[Summary]], Mechanisms],
    parts: Sequence[Summary],
    search: Callable[[Mechanisms], Found],
    seed: int,
) -> tuple[Mechanisms, Found]:
    """Prepare the scores of all sites, and find the best DAG.

    Parameters
    ----------
    prepare : callable
        Makes scores of sites.
    parts : sequence of Summary
        One per site.
    search : callable
        The whole search, by scores of some sites.
    seed : int
        Of the search.
    """
    mechanisms = prepare(parts)
    if len(parts) <= MOST_SEARCHED or len(mechanisms.names) <= MOST_EXACT:
        return mechanisms, search(mechanisms)
    first = search(prepare(sampled(parts)))
    free = [sum(1 << v for v in candidates(first.sets, first.parents, node)) for node in range(len(first.parents))]
    found = find_dag_within(
        ScoreOracle(mechanisms),
        free,
        first.parents,
        edge_price=edge_price(len(mechanisms.names)),
        constraints=first.sets.constraints,
        seed=seed,
    )
    return mechanisms, found._replace(history=[*first.history, *found.history])
