"""How certain a direction is: the share of the members of the class that have it, weighted by their scores.

The DAG with the smallest regret is one of many members of its class. Without interventions, members differ only by
chance. Still, the best of many members is a few nats better than each other one: sometimes a coefficient of this member
that the true DAG does not have is nearly zero at a site, and looks like a removed edge. So a direction counts only if
the members with it have more weight than those without it. With a uniform prior over members, the share is the
posterior probability.

Members are not listed. Every member of an undirected component has one source. Directing the edges away from the source
leaves smaller components, independent of each other, whose outer parents are the same in all members (He, Jia and Yu,
2015, count members in this way). The weight of a member is a product over nodes, so sums over members follow the same
recursion.
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
"""Smallest share of a direction. docs/explanation/paper-methods.md describes the experiment that it was chosen by."""

MOST_PARTS = 5000
"""Most parts of one undirected component. A component with more parts is not weighed: its shares are zero, so that
differences direct nothing in it. A clique of 12 has 4095 parts, and no chordal graph of this size that we tried had
more. So with up to 12 variables, where the search is exact, all components are weighed."""


class Part(NamedTuple):
    """Nodes connected by undirected edges, and the outer parents that all of them have, as bit sets."""

    nodes: int
    parents: int


Rooted = dict[Part, dict[int, list[Part]]]
"""For every part, and each of its nodes as the source: the smaller parts that remain."""


def direction_shares(sets: ParentSets, dag: Sequence[int], among: int) -> Floats:
    """Return the weighted share of the members of a DAG's class with i -> j, as ``[i, j]``.

    A member's weight is the exponential of its score. Unknown parent sets are asked for in one round. Members that
    background knowledge excludes have weight zero.

    Parameters
    ----------
    sets : ParentSets
        The scores.
    dag : sequence of int
        A member of the class, as bit sets of parents.
    among : int
        Bit set of nodes: only undirected components with one of them are weighed; other shares are zero.

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
    """Find every part that results from some choice of sources; None if there are too many."""
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
    """Direct the edges of a part away from its source; yield the parts that stay undirected, including single nodes.

    In the order of visits (lexicographic search), nodes with the same visited neighbours stay together: Meek's rules
    direct no edges between them (Wienöbst, Bannach and Liskiewicz, 2021).
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
    """Return scores of parent sets; minus infinity where background knowledge excludes one."""
    allowed = sorted(query for query in asked if sets.constraints(*query))
    sets.fetch([(node, into, 0) for node, into in allowed if not sets.knows(node, into)])
    return dict.fromkeys(asked, -inf) | {query: sets.known_score(*query) for query in allowed}


def _add_shares(shares: Floats, whole: Part, rooted: Rooted, scores: dict[tuple[int, int], float]) -> None:
    """Sum over members from the smallest parts up; then distribute each part's weight over its smaller parts."""
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
