"""The search with hundreds of sites: a sample of them proposes candidate parents, and all of them decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...scores.mechanisms import Mechanisms
from ...search.phase1 import Found
from ...search.posterior import MOST_EXACT
from ...tables.summary.summary import Summary
from .runs import candidates

MOST_SEARCHED, SAMPLED = 128, 64
"""Sites up to which all take part in the whole search, and how many do if there are more. Then most of the work would
be families that are far from the best ones, which a sample shows as well (docs/results/scale.md)."""


def sampled(parts: Sequence[Summary], above: int | None = None, most: int | None = None) -> list[Summary]:
    """Take some of the sites if there are many, evenly over their rows in the order of their names.

    Sites with a large share of the rows are always among them. Unless said otherwise, `SAMPLED` sites of more than
    `MOST_SEARCHED` are taken.

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
        Makes scores of sites.
    parts : sequence of Summary
        One per site.
    search : callable
        The whole search by scores of some sites; the first candidates, if there are any, need not be looked for.
    """
    mechanisms = prepare(parts)
    if len(parts) <= MOST_SEARCHED or len(mechanisms.names) <= MOST_EXACT:
        return mechanisms, search(mechanisms, None)
    found = search(prepare(sampled(parts)), None)
    first = [sum(1 << v for v in candidates(found.sets, found.parents, node)) for node in range(len(found.parents))]
    return mechanisms, search(mechanisms, first)
