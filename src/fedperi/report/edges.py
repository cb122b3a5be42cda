"""The edges of a result as the report shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..graph.pdag import PDAG
from .pictures.order import downward
from .pictures.svg import drawn_mark

if TYPE_CHECKING:
    from ..methods.evidence import EdgeEvidence
    from ..methods.result import Result

VIEWS = ("cpdag", "phi", "closed")
SIGNS = {"down": "→", "up": "←", "line": "—", "none": "no edge with"}
WHY = {
    "v-structure": "common structure",
    "difference": "sites differ",
    "target": "declared target",
    "knowledge": "background knowledge",
    "Meek": "follows from others",
}


@dataclass(frozen=True)
class Share:
    """A share of the bootstrap runs: the edge found there, its frequency, and a name for style sheets."""

    looks: str
    share: float
    kind: str


@dataclass(frozen=True)
class ShownEdge:
    """An edge of the report.

    Attributes
    ----------
    upper, lower : str
        Its ends as drawn.
    first, second : str
        Its ends as written: the cause first, if the closed graph directs it; else the more probable cause, if known.
    sign : str
        An arrow or a line, of the closed graph.
    marks : dict
        For each of `VIEWS`: ``down``, ``up``, ``line`` or ``none``.
    looks : dict
        For each of `VIEWS`: the edge in that graph, as text.
    extra : str
        ``differs`` if it is directed only because sites differ, ``follows`` if Meek's rules derive it from such edges,
        ``alone`` if its direction depends on one site, or empty.
    evidence : EdgeEvidence or None
        The evidence for it.
    why : str
        Why it is directed, in one or two words.
    stability : tuple of Share
        The edge in bootstrap runs; empty if there were none.
    kept : float or None
        The share of bootstrap runs with the same edge as the closed graph.
    """

    upper: str
    lower: str
    first: str
    second: str
    sign: str
    marks: dict[str, str]
    looks: dict[str, str]
    extra: str
    evidence: EdgeEvidence | None
    why: str
    stability: tuple[Share, ...]
    kept: float | None


def drawn_graph(result: Result) -> PDAG:
    """Make a DAG with an edge for every pair that is adjacent in any graph of the result, in the probable order."""
    names = result.dag.names
    graphs = [g.reordered(names).adjacency for g in (result.dag, result.cpdag, result.phi_cpdag, result.graph)]
    lines = np.logical_or.reduce([g | g.T for g in graphs])
    arrows = graphs[-1] & ~graphs[-1].T & graphs[0] & ~graphs[0].T  # the member DAG has no cycle, so these have none
    chances = np.full(lines.shape, 0.5)
    at = {name: k for k, name in enumerate(names)}
    for one in result.probable:
        a, b = at[one.a], at[one.b]
        chances[a, b], chances[b, a] = one.forward, one.backward
    matrix = np.zeros_like(lines)
    for i, j in downward(PDAG(lines & ~arrows.T, names), chances):
        matrix[i, j] = True
    return PDAG(matrix, names)


def shown_edges(result: Result, pairs: list[tuple[str, str]]) -> list[ShownEdge]:
    """Collect the information about every drawn edge.

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.IPERI().fit(fp.simulate(5, clients=3, samples=2000, seed=3).sites)
    >>> pairs = sorted(drawn_graph(result).directed)
    >>> len(shown_edges(result, pairs)) == len(result.graph)
    True
    """
    evidence = {frozenset((edge.a, edge.b)): edge for edge in result.edges}
    stability = {frozenset((edge.a, edge.b)): edge for edge in result.stability}
    resting = {frozenset((edge.a, edge.b)): edge.grade for edge in result.robustness}
    likely = {(one.a, one.b) if one.forward >= one.backward else (one.b, one.a) for one in result.probable}
    graphs = dict(zip(VIEWS, (result.cpdag, result.phi_cpdag, result.graph), strict=True))
    out = []
    for upper, lower in pairs:
        marks = {view: drawn_mark(graph, upper, lower) for view, graph in graphs.items()}
        pair = frozenset((upper, lower))
        found, runs = evidence.get(pair), stability.get(pair)
        turned = marks["closed"] == "up" or (marks["closed"] == "line" and (lower, upper) in likely)
        first, second = (lower, upper) if turned else (upper, lower)
        shares: tuple[Share, ...] = ()
        if runs is not None:
            forward, backward = (runs.forward, runs.backward) if runs.a == first else (runs.backward, runs.forward)
            shares = (
                Share(f"{first} → {second}", forward, "forward"),
                Share(f"{first} ← {second}", backward, "backward"),
                Share(f"{first} — {second}", runs.undirected, "undirected"),
                Share("no edge", runs.absent, "absent"),
            )
        sign = SIGNS["line" if marks["closed"] == "line" else "down"]
        kept = (shares[2] if marks["closed"] == "line" else shares[0]).share if shares else None
        out.append(
            ShownEdge(
                upper,
                lower,
                first,
                second,
                sign,
                marks,
                {view: f"{upper} {SIGNS[mark]} {lower}" for view, mark in marks.items()},
                _extra(marks, found, resting.get(pair)),
                found,
                WHY.get(found.reason, found.reason) if found is not None else "",
                shares,
                kept,
            )
        )
    return out


def _extra(marks: dict[str, str], found: EdgeEvidence | None, grade: str | None) -> str:
    if grade is not None:
        return "alone" if grade in ("one site", "straight lines") else ""
    if marks["cpdag"] != "line" or marks["closed"] not in ("down", "up"):
        return ""
    return "follows" if found is not None and found.reason == "Meek" else "differs"
