"""A hidden common cause of three variables: whether it explains them better than any arrows between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from ....graph import bits
from ....graph.pdag import PDAG
from ....phrases import listed
from ....tables.summary.summary import Summary
from ..oracle import sampled
from .neighbourhood import MOST_PARENTS, Neighbourhood, gain_of_hidden_cause
from .sign import Sign

ONE_CAUSE = 8.0
"""Nats by which a hidden common cause must be ahead of the best DAG. At 7 one of 590 runs without a hidden cause has a
false alarm, at 8 none; of 60 clinics without bmi 48 have a warning at either (docs/guides/hidden-causes.md)."""

MOST_COMPARED = 40
"""Sets of three that are looked at, those first with which a hidden cause could save most parameters."""


def common_cause_of_three(said: Sequence[Summary], dag: PDAG) -> Iterator[Sign]:
    """Find three numbers that a hidden common cause explains better than the best DAG around them.

    Three correlations alone do not tell: one factor explains any of them. But what causes the hidden cause, or changes
    at a site, reaches all three through it, in proportion, and costs parameters only once. Of sets that overlap in two
    variables the strongest is reported. With more than 128 sites a sample of them is looked at.

    Parameters
    ----------
    said : sequence of Summary
        One per site, with polynomials if effects may be curved: curved effects of a common cause that was seen would
        look like a hidden one.
    dag : PDAG
        A DAG that agrees with the graph of the run, with the variables in the order of the summaries.
    """
    parents, children = bits.columns(dag.adjacency), bits.rows(dag.adjacency)
    usable = [
        v for v, kind in enumerate(said[0].kinds) if kind == "continuous" and parents[v].bit_count() <= MOST_PARENTS
    ]
    said, found = sampled(said), []
    for three in candidates(parents, children, usable)[:MOST_COMPARED]:
        hood = Neighbourhood.of(three, parents, children)
        gain = gain_of_hidden_cause(said, hood)
        if gain > ONE_CAUSE:
            found.append((gain, three))
    named: list[set[int]] = []
    for gain, three in sorted(found, reverse=True):
        if all(len(before & set(three)) < 2 for before in named):
            named.append(set(three))
            names = tuple(dag.names[v] for v in three)
            yield Sign(
                names,
                gain,
                f"{listed(names)} may have a hidden common cause: it would explain them better than arrows between "
                f"them ({gain:.0f} nats).",
            )


def candidates(parents: Sequence[int], children: Sequence[int], usable: Sequence[int]) -> list[tuple[int, ...]]:
    """List sets of three that a hidden cause could explain with no more parameters than a DAG, the likeliest first.

    The DAG has edges between them, and each other variable that is joined with several of them may have its edge with
    the hidden cause instead. Against that stand three edges of the hidden cause.

    Examples
    --------
    >>> candidates([0b000, 0b001, 0b011], [0b110, 0b100, 0b000], [0, 1, 2])      # all joined
    [(0, 1, 2)]
    >>> candidates([0b000, 0b001, 0b010], [0b010, 0b100, 0b000], [0, 1, 2])      # a chain
    []
    """
    joined = [above | below for above, below in zip(parents, children, strict=True)]
    numbers = sum(1 << v for v in usable)
    seen: dict[tuple[int, ...], int] = {}
    for middle in usable:
        for pair in combinations(bits.members(joined[middle] & numbers), 2):
            three = tuple(sorted((middle, *pair)))
            if three in seen:
                continue
            inside = sum(1 << v for v in three)
            edges = 2 + (joined[pair[0]] >> pair[1] & 1)
            near = (joined[three[0]] | joined[three[1]] | joined[three[2]]) & ~inside
            saved = sum(max(0, (joined[v] & inside).bit_count() - 1) for v in bits.members(near))
            seen[three] = edges + saved - 3
    return [three for three, spared in sorted(seen.items(), key=lambda one: (-one[1], one[0])) if spared >= 0]
