"""More candidate parents, after a search: what could still improve the DAG that was found, one lattice per node."""

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
"""Most parents beside which further variables are tried: a site looks at all their subsets for each of them."""

LARGEST_BLANKET = 8
"""The same beside the set that explains a node best, which is larger, and tells less."""

MOST_NEIGHBOURS = 16
"""Candidates of a node that has this number of neighbours in the DAG. The search has to find out which of them are its
parents, so all of them must be in one lattice: a hub that lacks a parent there takes its children for parents."""

MOST_TOGETHER = 12
"""Candidates up to which variables that share neighbours with a node are taken in; a hub gets two of them anyway."""


def more_candidates(
    sets: ParentSets, parents: list[int], constraints: Constraints, *, ask: bool = True, most: int = MOST_NEIGHBOURS
) -> dict[int, int]:
    """Ask, in one round, what variables not yet tried would add; return the lattices that should be asked next.

    Without `ask` nothing is asked, and only what the DAG found tells counts. A lattice holds at most `most` candidates.

    A node's lattice holds, while there is room,

    - its parents in the DAG found;
    - neighbours that have parents in common with it, each with all its parents: what the node needs if that edge points
      the other way in truth (`_turnable`);
    - its other children;
    - variables that add to its parents, or to the set that explains it best in any order; those that add most first,
      and likewise the other way round. In the true DAG no non-descendant adds anything to the parents (the local Markov
      property), and only neighbours add to the best set;
    - variables that have two neighbours or more in common with it. Where an edge is missing and another order of the
      variables makes up for it, each end is joined with the neighbours of the other, and no single edge gains;
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
        # Many may gain. Two places are kept for those that share neighbours, which a hub often misses.
        inside = bits.filled(inside, (j for j in gaining[node] if allowed >> j & 1), most - 2)
        together = min(most, max(MOST_TOGETHER, near[node].bit_count() + 2))
        inside = bits.filled(inside, (j for j in _sharing(near, node) if allowed >> j & 1), together)
        if not sets.knows(node, inside):
            strong = (j for other in sets.strong(node, 20) for j in bits.members(other))
            wider[node] = bits.filled(inside, strong, FEWEST_CANDIDATES)
    return wider


def _gaining(sets: ParentSets, parents: list[int], children: list[int], constraints: Constraints) -> list[list[int]]:
    """For every node, the variables that add to what explains it, or that it adds to; those that add most first."""
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

    If an edge is directed wrongly, its head takes over parents of its tail and the tail loses some, so that they have
    two in common or more, or all that the node has. To turn the edge the node needs them back, all at once: no single
    one of them gains.
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
    """Nodes that are not neighbours but have at least two in common with a node, those with most first."""
    shared: dict[int, int] = {}
    for neighbour in bits.members(near[node]):
        for other in bits.members(near[neighbour] & ~near[node] & ~(1 << node)):
            shared[other] = shared.get(other, 0) + 1
    return sorted((other for other in shared if shared[other] > 1), key=lambda other: (-shared[other], other))
