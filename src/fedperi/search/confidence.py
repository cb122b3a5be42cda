"""How sure a direction is: the members of the class that have it, each weighted by how well it explains the sites.

The DAG that the sites regret least is one member of its class among many. Where nobody intervened, members differ by
chance only; yet the best of many is a few nats ahead of each other one: sometimes a coefficient that this member has
and the true DAG has not is nearly zero at a site, and passes for a removed edge. So a direction counts only if the
members that share it outweigh those that do not. With a uniform prior over members, its share is its posterior.

Members are not listed. Every member of an undirected component has one source; directing the edges away from it leaves
smaller components, independent of each other and with parents that are the same in all members (He, Jia and Yu, 2015,
who count members so). The weight of a member is a product over nodes, so sums over members follow the same recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..graph.equivalence import complete
from ..graph.members import components
from .families import ParentSets

Floats = NDArray[np.float64]

CONFIDENCE = 0.75
"""Share that a direction must have. docs/explanation/paper-methods.md has the experiment that chose it."""

MOST_PARTS = 5000
"""Parts of one undirected component that are looked at. A component that has more is not weighed: its shares are zero,
so that nothing in it is directed by differences. A clique of 12 has 4095; no chordal graph tried had more than the
clique of its size, so up to 12 variables, where the search is exact, all is weighed."""


class Part(NamedTuple):
    """Nodes joined by undirected edges, and the parents outside that all of them have, as bit sets."""

    nodes: int
    parents: int


Rooted = dict[Part, dict[int, list[Part]]]
"""For every part and each of its nodes as the source: the parts that are left."""


def direction_shares(sets: ParentSets, dag: Sequence[int], among: int) -> Floats:
    """Share of the weight of all members of a DAG's class in which i -> j: ``[i, j]``.

    A member's weight is the exponential of its score. Parent sets that were not asked yet are asked in one round;
    members that background knowledge excludes have no weight.

    Parameters
    ----------
    sets : ParentSets
        Who knows the scores.
    dag : sequence of int
        A member of the class, as bit sets of parents.
    among : int
        Bit set of nodes: only undirected components that hold one of them are weighed; shares elsewhere are zero.

    Examples
    --------
    >>> from fedperi.graph.knowledge import unconstrained
    >>> class Indifferent:
    ...     names = ("A", "B", "C")
    ...     def regrets(self, families):
    ...         return [np.zeros((1, len(nodes), 1)) for nodes, _, _ in families]
    >>> chain = [0b000, 0b001, 0b010]                         # A -> B -> C, A <- B -> C, A <- B <- C
    >>> direction_shares(ParentSets(Indifferent(), 0.0, unconstrained("ABC")), chain, 0b001).round(2)
    array([[0.  , 0.33, 0.  ],
           [0.67, 0.  , 0.67],
           [0.  , 0.33, 0.  ]])
    """
    compelled, lines = complete(dag)
    whole = [
        Part(nodes, compelled[next(bits.members(nodes))])  # in a CPDAG the nodes of a component have the same parents
        for nodes in components(lines, (1 << len(lines)) - 1)
        if nodes & among and nodes.bit_count() > 1
    ]
    weighed = [(part, rooted) for part in whole if (rooted := _all_parts(lines, part)) is not None]
    scores = _scores(sets, {(r, part.parents) for _, rooted in weighed for part in rooted for r in rooted[part]})
    shares = np.zeros((len(lines), len(lines)))
    for part, rooted in weighed:
        _add_shares(shares, part, rooted, scores)
    return shares


def _all_parts(lines: list[int], whole: Part) -> Rooted | None:
    """Every part that some choice of sources leaves; None if there are too many."""
    rooted: Rooted = {}
    open_ = [whole]
    while open_:
        part = open_.pop()
        if part in rooted:
            continue
        if len(rooted) == MOST_PARTS:
            return None
        rooted[part] = {root: list(_left(lines, part, root)) for root in bits.members(part.nodes)}
        open_ += [rest for left in rooted[part].values() for rest in left]
    return rooted


def _left(lines: list[int], part: Part, root: int) -> Iterator[Part]:
    """Direct the edges of a part away from its source; yield what stays undirected, single nodes included.

    Nodes are visited such that those with the same visited neighbours stay together (lexicographic search): they are
    the ones that no rule of Meek directs among each other (Wienöbst, Bannach and Liskiewicz, 2021).
    """
    visited = 1 << root
    groups = [group for group in _split([part.nodes ^ visited], lines[root]) if group]
    settled = 0
    while groups:
        first = groups[0]
        if not first & settled:
            for nodes in components(lines, first):
                yield Part(nodes, part.parents | lines[next(bits.members(nodes))] & visited)
            settled |= first
        node = first & -first
        visited |= node
        groups[0] ^= node
        groups = [group for group in _split(groups, lines[node.bit_length() - 1]) if group]


def _split(groups: Sequence[int], neighbours: int) -> Iterator[int]:
    for group in groups:
        yield group & neighbours
        yield group & ~neighbours


def _scores(sets: ParentSets, asked: set[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Scores of parent sets; minus infinity where background knowledge excludes one."""
    allowed = sorted(query for query in asked if sets.constraints(*query))
    sets.fetch([(node, into, 0) for node, into in allowed if not sets.knows(node, into)])
    scores = dict.fromkeys(asked, -inf)
    for query in allowed:
        score = sets.score(*query)
        assert score is not None  # asked just now
        scores[query] = score
    return scores


def _add_shares(shares: Floats, whole: Part, rooted: Rooted, scores: dict[tuple[int, int], float]) -> None:
    """Sum over members from the smallest parts up; then hand each part's weight down to what its sources leave."""
    by_size = sorted(rooted, key=lambda part: part.nodes.bit_count())
    total: dict[Part, float] = {}
    of_root: dict[tuple[Part, int], float] = {}
    for part in by_size:
        for root, left in rooted[part].items():
            of_root[part, root] = scores[root, part.parents] + sum(total[rest] for rest in left)
        total[part] = _log_sum([of_root[part, root] for root in rooted[part]])
    weight = dict.fromkeys(rooted, 0.0)
    weight[whole] = 1.0
    for part in reversed(by_size):
        if weight[part] == 0.0:  # also if knowledge excludes all of it
            continue
        for root, left in rooted[part].items():
            share = weight[part] * exp(of_root[part, root] - total[part])
            for rest in left:
                weight[rest] += share
                heads = list(bits.members(rest.nodes))
                for tail in bits.members(rest.parents & ~part.parents):
                    shares[tail, heads] += share


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top if top == -inf else top + log(sum(exp(value - top) for value in values))
