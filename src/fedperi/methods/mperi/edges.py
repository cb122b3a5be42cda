"""What a result is made of: what each step found, what it says about every pair, and why there is an edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.pdag import PDAG
from ...search.phase1 import Found
from ..evidence import EdgeEvidence
from ..parts import Difference, Groups, PairProbability, Robustness
from .runs import Runs

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Stages(NamedTuple):
    """The results of the steps after the summaries."""

    found: Found
    runs: Runs
    chances: Floats
    weak: Bools
    graph: PDAG
    dag: PDAG
    robust: list[Robustness]
    groups: list[Groups]
    differences: list[Difference]


def probable_pairs(names: Sequence[str], chances: Floats) -> list[PairProbability]:
    """List every pair of variables with the probabilities of both directions and of no edge."""
    return [
        PairProbability(
            a, names[j], float(chances[i, j]), float(chances[j, i]), float(max(0.0, 1 - chances[i, j] - chances[j, i]))
        )
        for i, a in enumerate(names)
        for j in range(i + 1, len(names))
    ]


def _why(edge: Robustness, sites: int) -> str:
    if edge.grade == "one site" and edge.site:
        return f"rests on {edge.site} alone: without it, the direction is lost"
    if edge.grade == "one site":
        return "rests on the difference between two sites" if sites > 1 else "rests on what is independent in one table"
    return {
        "confirmed": "holds whichever site is left out",
        "straight lines": "rests on straight lines: if effects may be curved, the direction is lost",
        "known": "is known beforehand",
        "": "",
    }[edge.grade]


def edge_evidence(
    graph: PDAG,
    dag: PDAG,
    found: Found,
    robust: Sequence[Robustness],
    differences: Sequence[Difference],
    sites: int,
) -> list[EdgeEvidence]:
    """Collect the evidence for every edge and its direction."""
    out = []
    for edge in robust:
        i, j = graph.index(edge.a), graph.index(edge.b)
        directed = bool(edge.grade)
        differing = tuple(one.site for one in differences if one.variable in (edge.a, edge.b))
        reason = "" if not directed else "knowledge" if edge.grade == "known" else "mechanisms"
        words = _why(edge, sites)
        out.append(
            EdgeEvidence(
                edge.a,
                edge.b,
                directed,
                _gain(found, graph, dag, i, j),
                (),
                reason,
                words,
                tuple(dict.fromkeys(differing)),
            )
        )
    return out


def _gain(found: Found, graph: PDAG, dag: PDAG, i: int, j: int) -> float:
    """Loss of the score without an edge, if the other parents are kept."""
    tail, head = (i, j) if dag.adjacency[i, j] else (j, i)
    into = bits.columns(dag.adjacency)[head]
    scores = [found.sets.score(head, parents) for parents in (into, into & ~(1 << tail))]
    if scores[0] is None or scores[1] is None:
        found.sets.fetch([(head, 0, into)])
        scores = [found.sets.score(head, parents) for parents in (into, into & ~(1 << tail))]
    return float((scores[0] or 0.0) - (scores[1] or 0.0))
