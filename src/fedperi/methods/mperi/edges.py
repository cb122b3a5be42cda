"""Parts of a result: what each step found, the probabilities of every pair, and the evidence for each edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.pdag import PDAG
from ...scores.mechanisms import Mechanisms
from ...search.phase1 import Found
from ..evidence import EdgeEvidence
from ..parts import Difference, Groups, PairProbability, Robustness
from .runs import Runs

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Scored(NamedTuple):
    """What is computed from the summaries without the confidence: scores, the best DAG, and probabilities."""

    mechanisms: Mechanisms
    curved: Mechanisms | None
    found: Found
    runs: Runs


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
        reason = "" if not edge.grade else "knowledge" if edge.grade == "known" else "mechanisms"
        differing = tuple(dict.fromkeys(one.site for one in differences if one.variable in (edge.a, edge.b)))
        gain = _gain(found, graph, dag, i, j)
        out.append(EdgeEvidence(edge.a, edge.b, bool(edge.grade), gain, (), reason, _why(edge, sites), differing))
    return out


def _gain(found: Found, graph: PDAG, dag: PDAG, i: int, j: int) -> float:
    """Compute how much the score falls without an edge, if the other parents are kept."""
    tail, head = (i, j) if dag.adjacency[i, j] else (j, i)
    into = bits.columns(dag.adjacency)[head]
    less = into & ~(1 << tail)
    if not (found.sets.knows(head, into) and found.sets.knows(head, less)):
        found.sets.fetch([(head, 0, into)])
    return (found.sets.score(head, into) or 0.0) - (found.sets.score(head, less) or 0.0)
