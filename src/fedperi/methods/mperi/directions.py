"""From the runs to the result: a probability for every pair, the graph, and what each direction depends on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.knowledge import Constraints
from ...graph.order import descendants, topological_order
from ...graph.pdag import PDAG
from ...phrases import listed
from ..parts import Robustness
from .curved import allowing_for_curves, inverted, share
from .runs import Runs

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TEMPER = 0.7
"""Powers for the odds of an edge and of its direction. Chosen for calibration: statements with probability p are right
in a share p of cases, over data that follow the model and data that do not (docs/explanation/method.md)."""

KEPT = 0.5
"""A direction is confirmed by the other sites if its share without a site is at least this."""

OVERWHELMING = 1e-4
"""A direction may need several sites, each of them, only if its doubt is below this, with all rows and when rows count
for a third. With more doubt such sites are often equal by chance: of 52 such arrows on development seeds 17 were wrong;
with less doubt, none of 13."""

UNDERSTATED = 4.0
"""Small doubts are too small: of directions with a probability of 0.9 to 0.99 in the run with all sites a share of 0.87
was right; probabilities of 0.75 to 0.85 were correct (development seeds). So doubt d is allowed up to 4 d^2 there."""

TURNED = 0.25
"""With a share below this a direction counts as reversed, not only as open."""


def stated(runs: Runs) -> Floats:
    """Compute the probabilities that are reported: ``[i, j]`` is that of i -> j.

    One half is the mean over the runs with all sites and without each site; the other half is the run in which rows
    count for a third. Then odds are tempered, and curves may reduce the result. Gaussian scores are overconfident for
    tables that are not quite Gaussian, curved or confounded: these steps calibrate the numbers.
    """
    sites = np.mean([run.edges for run in (runs.all, *runs.of("without"))], axis=0)
    third = np.mean([run.edges for run in runs.of("third")], axis=0)
    return allowing_for_curves(tempered((sites + third) / 2, TEMPER), runs)


def tempered(edges: Floats, power: float) -> Floats:
    """Raise the odds of an edge, and those of its direction, to a power.

    Examples
    --------
    >>> tempered(np.array([[0.0, 0.9], [0.05, 0.0]]), 0.5).round(3)
    array([[0.   , 0.658],
           [0.155, 0.   ]])
    """
    adjacent = np.clip(edges + edges.T, 0.0, 1.0)
    share = np.divide(edges, adjacent, out=np.full_like(edges, 0.5), where=adjacent > 0)
    out = _to_power(adjacent, power) * _to_power(share, power)
    np.fill_diagonal(out, 0.0)
    return out


def _to_power(chance: Floats, power: float) -> Floats:
    sure, other = chance**power, (1.0 - chance) ** power
    return sure / (sure + other)


def allowed_doubt(confidence: float) -> float:
    """Compute how much doubt a direction may have in the run with all sites.

    Examples
    --------
    >>> [round(allowed_doubt(confidence), 4) for confidence in (0.6, 0.75, 0.95)]
    [0.4, 0.25, 0.01]
    """
    doubt = 1 - confidence
    return min(doubt, UNDERSTATED * doubt**2)


def find_graph(
    constraints: Constraints, runs: Runs, chances: Floats, confidence: float, weak: Bools | bool = False
) -> tuple[PDAG, list[Robustness]]:
    """Find the graph: edges between pairs that are probably adjacent, with directions that are known or robust.

    A direction is robust if its doubt with all sites is at most `allowed_doubt`; if its doubt when rows count for a
    third is at most twice that of `confidence`; and if it needs at most one site, or several but with nearly no doubt.
    If little is shared it must also be more probable with the usual penalties, or have nearly no doubt. Curves must not
    invert it (`inverted`), and the edge must not be very weak. Directions are added in the order of their probability,
    except those that would close a cycle. Finally, edges are directed if the other direction would close a cycle.
    """
    names, whole = constraints.names, runs.all.edges
    p = len(names)
    third = np.min([run.edges for run in runs.of("third")], axis=0)
    adjacent = chances + chances.T >= 0.5
    losses = np.sum([np.zeros((p, p), dtype=bool), *(is_lost(run.edges) for run in runs.of("without"))], axis=0)
    beyond_doubt = np.minimum(whole, third) >= 1 - OVERWHELMING
    sure = (whole >= 1 - allowed_doubt(confidence)) & (third >= 1 - 2 * (1 - confidence))
    holds = adjacent & sure & ((losses <= 1) | beyond_doubt)
    for run in runs.of("prices"):
        holds &= (share(run.edges) >= KEPT) | beyond_doubt
    holds &= ~inverted(runs) & np.logical_not(weak)
    known = adjacent & known_directions(constraints)
    arrows = _acyclic(known, holds & ~known.T, whole)
    arrows = _acyclic(arrows, _implied(adjacent, arrows) & (chances > 0.5), whole)
    graph = PDAG(arrows | adjacent & ~arrows.T, names)
    lost = [is_lost(run.edges) for run in runs.runs[1:]]
    entries = [
        _robustness(names, runs, lost, (i, j), directed=bool(arrows[i, j]), known=bool(known[i, j]))
        for i, j in _each_edge_once(adjacent, arrows, chances)
    ]
    return graph, entries


def known_directions(constraints: Constraints) -> Bools:
    """Find directions that background knowledge gives if the pair is adjacent: required, or the other is forbidden."""
    p = len(constraints.names)
    out: Bools = np.zeros((p, p), dtype=bool)
    for node in range(p):
        for parent in bits.members(constraints.required[node]):
            out[parent, node] = True
        for parent in bits.members(constraints.forbidden[node]):
            out[node, parent] = True
    return out & ~out.T


def _acyclic(arrows: Bools, more: Bools, whole: Floats) -> Bools:
    """Add arrows, the most probable first, except those that would close a cycle."""
    out, children = np.array(arrows), bits.rows(arrows)
    for i, j in sorted(np.argwhere(more & ~arrows).tolist(), key=lambda pair: (-whole[pair[0], pair[1]], pair)):
        if not descendants(children, 1 << j) >> i & 1:
            out[i, j] = True
            children[i] |= 1 << j
    return out


def _implied(adjacent: Bools, arrows: Bools) -> Bools:
    """Find the undirected edges that have a directed path between their ends."""
    open_ = adjacent & ~arrows & ~arrows.T
    out: Bools = np.zeros_like(open_)
    children = bits.rows(arrows)
    for i in np.flatnonzero(open_.any(axis=1)).tolist():
        for j in bits.members(descendants(children, 1 << i)):
            out[i, j] = open_[i, j]
    return out


def is_lost(edges: Floats) -> Bools:
    """Find the directions that are lost in a run: the other one is more probable, or the edge is missing."""
    lost: Bools = (share(edges) < KEPT) | (edges + edges.T < 0.5)
    return lost


def _share_of(edges: Floats, pair: tuple[int, int]) -> float:
    """Return the share of one direction in the weight of both."""
    return float(share(edges[np.ix_(pair, pair)])[0, 1])


def _each_edge_once(adjacent: Bools, arrows: Bools, chances: Floats) -> list[tuple[int, int]]:
    """List every edge once: as directed, or in the more probable direction."""
    out = []
    for i, j in zip(*np.nonzero(np.triu(adjacent, 1)), strict=True):
        turned = arrows[j, i] or (not arrows[i, j] and chances[j, i] > chances[i, j])
        out.append((int(j), int(i)) if turned else (int(i), int(j)))
    return out


def _robustness(
    names: Sequence[str], runs: Runs, losses: Sequence[Bools], pair: tuple[int, int], *, directed: bool, known: bool
) -> Robustness:
    """Say what a direction depends on; `losses` lists, for each run after the first, the directions lost in it."""
    a, b = names[pair[0]], names[pair[1]]
    if known or not directed:
        return Robustness(a, b, "known" if known else "", "", ())
    lost = [run for run, gone in zip(runs.runs[1:], losses, strict=True) if gone[pair]]
    flips = tuple(f"{run.name}: {_what_happens(run.edges, pair)}" for run in lost)
    without = [run.site for run in lost if run.site is not None]
    if runs.of("without") and not without:
        # Straight lines fitted to a curve change with the patients, which can look like another mechanism.
        bent = any(_share_of(run.edges, pair) < KEPT for run in runs.of("curves"))
        return Robustness(a, b, "straight lines" if bent else "confirmed", "", flips)
    return Robustness(a, b, "one site", listed(without), flips)


def _what_happens(edges: Floats, pair: tuple[int, int]) -> str:
    if edges[pair] + edges[pair[::-1]] < 0.5:
        return "no edge"
    return "the arrow is reversed" if _share_of(edges, pair) < TURNED else "the direction is open"


def member_of(graph: PDAG, best: Sequence[int]) -> PDAG:
    """Choose a DAG of the graph: it follows the order of the best DAG as far as the graph's arrows allow."""
    order = topological_order(list(best))
    assert order is not None
    place = {node: at for at, node in enumerate(order)}
    arrows = graph.adjacency & ~graph.adjacency.T
    left, matrix = np.ones(len(graph.names), dtype=bool), np.array(arrows)
    waits_for = arrows.sum(axis=0)
    while left.any():
        first = min(np.flatnonzero(left & (waits_for == 0)).tolist(), key=place.__getitem__)
        left[first] = False
        waits_for -= arrows[first]
        matrix[first] |= left & graph.adjacency[first] & graph.adjacency[:, first]
    return PDAG(matrix, graph.names)
