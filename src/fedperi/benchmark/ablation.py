"""`fedperi benchmark ablation`: masking x aggregation x search x closure, with everything else equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..discovery.ges.ges import ges_fit
from ..graph import bits
from ..graph.equivalence import consistent_extension
from ..methods import IPERI
from ..search.families import ParentSets
from ..search.orders import best_order, parents_in
from ..search.phase1 import Found, Step
from ..search.screening import candidate_parents
from ..search.worst import improve_worst, site_regrets
from .fitting import simulated
from .grid import Cell, summarize_cells, write_table
from .page import Page, Request, markdown_table

if TYPE_CHECKING:
    from ..graph.knowledge import Constraints
    from ..scores.score import Query

MASKINGS, AGGREGATES = ("adaptive", "consensus", "none"), ("sum", "worst")
SEARCHES = ("orders", "one order", "GES")


def cells(request: Request) -> list[Cell]:
    """List the cells: p = 8 and 20, four sites."""
    return [
        {
            "task": "ablation",
            "p": p,
            "clients": 4,
            "samples": 1000,
            "setting": "own strengths",
            "masking": masking,
            "aggregate": aggregate,
            "search": search,
            "seed": seed,
        }
        for p in ((8,) if request.quick else (8, 20))
        for masking, aggregate, search in product(MASKINGS, AGGREGATES, SEARCHES)
        for seed in request.seeds
    ]


def work(cell: Cell) -> dict[str, float]:
    """Run one variant; the closure is evaluated on the same run, before and after."""
    import fedperi as fp

    sim = simulated(cell)
    kind = {"orders": IPERI, "one order": _OneOrder, "GES": _GES}[cell["search"]]
    method = kind(masking=cell["masking"], aggregate=cell["aggregate"], local="pc", progress=False)
    result = method.fit(sim.sites)
    return {
        "shd": fp.shd(result.graph, sim.dag),
        "f1": fp.f1(result.graph, sim.dag),
        "shd_open": fp.shd(result.phi_cpdag, sim.dag),
        "f1_open": fp.f1(result.phi_cpdag, sim.dag),
        "rounds": result.rounds,
    }


def write(found: Sequence[Cell], out: Path, request: Request) -> Page:
    """Write a table for every number of variables."""
    numbers = ("shd", "f1", "shd_open", "f1_open", "rounds")
    rows = summarize_cells(found, ["p", "masking", "aggregate", "search"], numbers)
    write_table(rows, out / "ablation.csv")
    text = (
        "K = 4, n = 1000, each site its own weights. *Orders* is the search that `IPERI` uses (exact up to 12 "
        "variables). *One order* takes the first candidates and improves one order, without restarts. *GES* is greedy "
        "equivalence search at the coordinator, forward and backward; it asks sites hundreds of times. Sites learn "
        "their graphs by PC, which only `consensus` uses. *Closed*: under Meek's rules. SHD / F1, ± half of the 95 % "
        "interval of SHD.\n\n"
    )
    heads = ("masking", "aggregate", "search", "closed", "before closing", "rounds", "seeds")
    for p in sorted({row["p"] for row in rows}):
        entries = [
            (
                *(row[name] for name in ("masking", "aggregate", "search")),
                f"{row['shd']:.2f} ± {row['shd_ci']:.2f} / {row['f1']:.3f}",
                f"{row['shd_open']:.2f} / {row['f1_open']:.3f}",
                f"{row['rounds']:.0f}",
                str(row["cells"]),
            )
            for row in rows
            if row["p"] == p and row["cells"]
        ]
        text += f"p = {p}\n\n{markdown_table(heads, entries)}\n"
    return Page("Ablation: masking, aggregation, search, closure", text, ())


class _OneOrder(IPERI):
    """Phase 1 with the first candidates and one order: no restarts, no further candidates."""

    def _phase_1(self, oracle: Any, constraints: Constraints, note: Callable[[Step], None], keep: Any) -> Found:
        sets = ParentSets(oracle, self._edge_price(oracle.coordinator.sites), constraints)
        sets.fetch((node, 0, free) for node, free in enumerate(candidate_parents(sets)))
        order = best_order(sets, np.random.default_rng(self.seed), 0, None)
        return _found(self, sets, parents_in(sets, order))


class _GES(IPERI):
    """Phase 1 by greedy equivalence search over aggregated regrets.

    With a mask these are not score-equivalent, so that turning edges might never end: this phase is left out.
    """

    def _phase_1(self, oracle: Any, constraints: Constraints, note: Callable[[Step], None], keep: Any) -> Found:
        sets = ParentSets(oracle, self._edge_price(oracle.coordinator.sites), constraints)
        score = _Regrets(sets)
        dag = consistent_extension(ges_fit(score, phases=("forward", "backward")).graph)
        parents = bits.columns(dag.adjacency)
        score.local(list(enumerate(parents)))
        return _found(self, sets, parents)


@dataclass
class _Regrets:
    """Aggregated regrets as a score."""

    sets: ParentSets

    @property
    def names(self) -> tuple[str, ...]:
        return self.sets.oracle.names

    def local(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        new = dict.fromkeys((n, s) for n, s in queries if not self.sets.knows(n, s))
        self.sets.fetch((node, parents, 0) for node, parents in new)
        return np.array([self.sets.score(node, parents) for node, parents in queries], dtype=np.float64)


def _found(method: IPERI, sets: ParentSets, parents: list[int]) -> Found:
    if method.aggregate == "worst":
        parents = improve_worst(sets, parents)
    # The evidence for an edge is what its head loses without it. Lattices hold that; GES may not have asked.
    without = [(node, into & ~(1 << tail)) for node, into in enumerate(parents) for tail in bits.members(into)]
    sets.fetch((node, into, 0) for node, into in without if not sets.knows(node, into))
    objective = -sum(sets.score(i, s) or 0.0 for i, s in enumerate(parents))
    return Found(parents, sets, [Step("search", 0, objective, float(site_regrets(sets, parents).max()))])
