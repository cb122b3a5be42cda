"""Build the result of PERI or I-PERI: graphs and reasons, from the DAG and the directions found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...coordinator.coordinator import Coordinator
from ...graph import bits
from ...graph.equivalence import complete as completed
from ...graph.equivalence import consistent_extension
from ...graph.knowledge import Constraints
from ...graph.meek import meek_closure, meek_steps
from ...graph.pdag import PDAG
from ...scores.score import RESOLUTION
from ...search.families import ParentSets
from ...search.phase1 import Found
from ...search.phase2 import Direction, directed_as
from ...search.worst import site_regrets
from ..evidence import Reason, Reasons, gather, reasons_by_difference, reasons_by_meek, reasons_in_cpdag
from ..manifest import manifest
from ..result import Result


def assemble(
    method: dict[str, Any],
    coordinator: Coordinator,
    constraints: Constraints,
    found: Found,
    directions: Sequence[Direction],
    *,
    targets: Sequence[tuple[str, ...] | None],
    complete: bool,
) -> Result:
    """Close the graph under Meek's rules, and collect the evidence for its edges.

    Parameters
    ----------
    method : dict
        The name of the method and its options.
    coordinator : Coordinator
        The coordinator of the run.
    constraints : Constraints
        Background knowledge.
    found, directions
        The results of phases 1 and 2.
    targets : sequence of tuples of str or None
        For each site, its declared targets.
    complete : bool
        False if the run was interrupted.
    """
    names = coordinator.names
    sites = [site.site for site in coordinator.sites]
    cpdag = common_graph(found.parents, names, constraints)
    phi = directed_by(cpdag, ((d.tail, d.head) for d in directions))
    before, declared = directed_as(phi, _cut_by_targets(phi, found.parents, targets))
    graph = meek_closure(before)
    reasons: Reasons = {
        **reasons_by_meek(meek_steps(before)),
        **{(names[d.tail], names[d.head]): Reason("target", "a site declared one end as a target") for d in declared},
        **reasons_by_difference(directions, names, sites),
        **_reasons_in_common(found.parents, names, constraints),
    }
    return Result(
        graph=graph,
        phi_cpdag=phi,
        cpdag=cpdag,
        dag=_member(graph, found.parents),
        regrets=dict(zip(sites, _regrets(found.sets, found.parents), strict=True)),
        rounds=coordinator.rounds,
        queries=coordinator.queries,
        bytes=coordinator.bytes,
        history=tuple(found.history),
        edges=gather(graph, found.parents, found.sets, sites, reasons),
        method=method,
        manifest=manifest(method, coordinator),
        complete=complete,
        transcript=coordinator.transcript,
        privacy=_privacy(coordinator),
    )


def _pdag(parents: Sequence[int], lines: Sequence[int], names: tuple[str, ...]) -> PDAG:
    return PDAG(bits.matrix([i | u for i, u in zip(parents, lines, strict=True)]).T, names)


def common_graph(parents: Sequence[int], names: tuple[str, ...], constraints: Constraints) -> PDAG:
    """Return the CPDAG of a DAG, refined by background knowledge."""
    cpdag = _pdag(*completed(parents), names)
    return cpdag if constraints.free else meek_closure(constraints.direct(cpdag))


def _reasons_in_common(parents: Sequence[int], names: tuple[str, ...], constraints: Constraints) -> Reasons:
    cpdag = _pdag(*completed(parents), names)
    reasons = reasons_in_cpdag(cpdag)
    if constraints.free:
        return reasons
    refined = constraints.direct(cpdag)
    why = Reason("knowledge", "background knowledge excludes the other direction")
    by_knowledge: Reasons = dict.fromkeys(refined.directed - cpdag.directed, why)
    return reasons_by_meek(meek_steps(refined)) | by_knowledge | reasons


def directed_by(graph: PDAG, arrows: Iterable[tuple[int, int]]) -> PDAG:
    """Direct some undirected edges of a graph."""
    matrix = np.array(graph.adjacency)
    for tail, head in arrows:
        matrix[head, tail] = False
    return PDAG(matrix, graph.names)


def _cut_by_targets(graph: PDAG, parents: Sequence[int], declared: Sequence[tuple[str, ...] | None]) -> list[Direction]:
    """Find undirected edges with one end among a site's declared targets: its data determine their direction."""
    out = []
    for a, b in sorted(graph.undirected):
        i, j = graph.index(a), graph.index(b)
        if any(targets is not None and (a in targets) != (b in targets) for targets in declared):
            ends = (i, j) if parents[j] >> i & 1 else (j, i)
            out.append(Direction(*ends, 0.0, np.zeros(0)))
    return out


def _member(graph: PDAG, parents: Sequence[int]) -> PDAG:
    """Return the DAG found if it is a member of the graph (unless sites contradict it), otherwise another member."""
    dag = PDAG(bits.matrix(list(parents)).T, graph.names)
    follows = not (dag.adjacency & ~graph.adjacency).any()
    return dag if follows else consistent_extension(graph)


def _regrets(sets: ParentSets, parents: Sequence[int]) -> list[float]:
    """Return the regret of each site; exactly zero if it differs from zero only by rounding."""
    return [float(r) if abs(r) > RESOLUTION else 0.0 for r in site_regrets(sets, parents, edge_price=0.0)]


def _privacy(coordinator: Coordinator) -> dict[str, dict[str, Any]] | None:
    """Collect the privacy of every site at the end of the run; None if no site has any."""
    reported = coordinator.transport.privacy()
    if all(one is None for one in reported):
        return None
    return {
        site.site: one or {"mechanism": "none", "private": False}
        for site, one in zip(coordinator.sites, reported, strict=True)
    }
