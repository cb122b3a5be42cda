"""More candidate parents after a search: variables that could still improve the DAG found, one lattice per node."""

from __future__ import annotations

import numpy as np

from ..graph import bits
from ..graph.knowledge import Constraints
from ..graph.order import descendants
from ..scores.score import RESOLUTION
from .families import ParentSets
from .screening import FEWEST_CANDIDATES
from .sums import in_steps

LARGEST_BESIDE = 11
"""Largest parent set to which further variables are added: a site uses all its subsets for each of them."""

LARGEST_BLANKET = 8
"""The same for the set that explains a node best, which is larger and less informative."""

MOST_NEIGHBOURS = 16
"""Most candidates of a node with as many neighbours in the DAG. All neighbours must be in one lattice, so that the
search can find which of them are parents: a hub without one of its parents takes children as parents instead."""

MOST_TOGETHER = 12
"""Variables that share neighbours with a node are added up to this number of candidates; a hub gets two in any case."""


def more_candidates(
    sets: ParentSets, parents: list[int], constraints: Constraints, *, ask: bool = True, most: int = MOST_NEIGHBOURS
) -> dict[int, int]:
    """Ask in one round how much variables that were not tried would add; return the lattices to ask for next.

    Without `ask` there are no questions, and only the DAG found is used. A lattice has at most `most` candidates.

    A node's lattice contains, while there is room,

    - its parents in the DAG found;
    - neighbours with common parents, each with all its parents: the node needs them if the true edge has the other
      direction (`_turnable`);
    - its other children;
    - variables that add to its parents, or to the set that explains it best in any order, and variables to which the
      node adds in this way; those that add most first. In the true DAG no non-descendant adds anything to the parents
      (the local Markov property), and only neighbours add to the best set;
    - variables with at least two common neighbours. If an edge is missing, another order of the variables may
      compensate: then each end is adjacent to the neighbours of the other, and no single edge improves the score;
    - variables of its best parent sets so far.
    """
    p = len(parents)
    children = bits.transpose(parents)
    near = [into | out for into, out in zip(parents, children, strict=True)]
    gaining = _gaining(sets, parents, children, constraints) if ask else [[] for _ in parents]
    wider: dict[int, int] = {}
    for node in range(p):
        allowed = ~constraints.forbidden[node]
        first = (*_turnable(parents, near, node), *bits.members(children[node]))
        inside = bits.filled(parents[node], (j for j in first if allowed >> j & 1), most)
        # Many variables may gain. Two positions are reserved for those that share neighbours, which a hub often lacks.
        inside = bits.filled(inside, (j for j in gaining[node] if allowed >> j & 1), most - 2)
        together = min(most, max(MOST_TOGETHER, near[node].bit_count() + 2))
        inside = bits.filled(inside, (j for j in _sharing(near, node) if allowed >> j & 1), together)
        if not sets.knows(node, inside):
            strong = (j for other in sets.strong(node, 20) for j in bits.members(other))
            wider[node] = bits.filled(inside, strong, FEWEST_CANDIDATES)
    return wider


def _gaining(sets: ParentSets, parents: list[int], children: list[int], constraints: Constraints) -> list[list[int]]:
    """For every node, the variables that add to its explaining set, or to whose set it adds; the largest gain first."""
    asked: dict[tuple[int, int], int] = {}
    for node, into in enumerate(parents):
        free = ((1 << len(parents)) - 1) & ~(1 << node) & ~constraints.forbidden[node]
        blanket = sets.best_parents(node, free)
        for beside, others, most in (
            (into, free & ~descendants(children, 1 << node), LARGEST_BESIDE),
            (blanket, free, LARGEST_BLANKET),
        ):
            if beside.bit_count() <= most:
                more = asked.get((node, beside), 0) | others & ~beside
                asked[node, beside] = more & ~sets.known_beside(node, beside)
    found: list[dict[int, None]] = [{} for _ in parents]
    gains, heads, tails = sets.gains(asked)
    for at in np.lexsort((-tails, -heads, -in_steps(gains))).tolist():
        if gains[at] > RESOLUTION:
            head, tail = int(heads[at]), int(tails[at])
            found[head][tail] = found[tail][head] = None
    return [list(some) for some in found]


def _turnable(parents: list[int], near: list[int], node: int) -> list[int]:
    """Neighbours that share parents with a node, those that share most first, each with its parents.

    If an edge has the wrong direction, its head takes over parents of its tail, and the tail loses some. So they have
    at least two parents in common, or all parents of the node. To reverse the edge the node needs all of them back: no
    single one improves the score.
    """
    common = {other: (parents[other] & parents[node]).bit_count() for other in bits.members(near[node])}
    turnable = [
        other
        for other, count in common.items()
        if count > 1 or (count == 1 and not parents[node] & ~(1 << other) & ~parents[other])
    ]
    turnable.sort(key=lambda other: (-common[other], other))
    return [j for other in turnable for j in (other, *bits.members(parents[other])) if j != node]


def _sharing(near: list[int], node: int) -> list[int]:
    """Nodes that are not neighbours but have at least two common neighbours with a node, those with most first."""
    shared: dict[int, int] = {}
    for neighbour in bits.members(near[node]):
        for other in bits.members(near[neighbour] & ~near[node] & ~(1 << node)):
            shared[other] = shared.get(other, 0) + 1
    return sorted((other for other in shared if shared[other] > 1), key=lambda other: (-shared[other], other))
