"""One cell of a comparison: simulate, let one method look for the graph, compare with the truth."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .contenders import SLOW, Problem, contender
from .grid import Cell

if TYPE_CHECKING:
    from ..simulation import Simulation

MIXED = "mixed"
"""Sites of unequal size, as in the paper: each has 500, 1000 or 2000 rows, by chance."""

FILTER = 0.85
"""The paper keeps seeds where the graphs that sites learn by themselves have at least this F1."""

NUMBERS = ("shd", "f1", "skeleton_f1", "cpu_s", "rounds")


def fit_cells(
    methods: Iterable[str],
    seeds: Iterable[int],
    *,
    p: Sequence[int] = (8,),
    clients: Sequence[int] = (4,),
    samples: Sequence[int | str] = (1000,),
    mechanism: str = "linear",
    shared: bool = False,
    standardized: bool = False,
) -> list[Cell]:
    """List the cells of a grid: quick methods first, so that a stopped run has whole rows.

    Examples
    --------
    >>> fit_cells(["peri"], [0], p=[3])
    [{'task': 'fit', 'p': 3, 'clients': 4, 'samples': 1000, 'mechanism': 'linear', 'shared': False, 'method': 'peri', \
'seed': 0}]
    """
    out: list[Cell] = [
        {
            "task": "fit",
            "p": size,
            "clients": count,
            "samples": rows,
            "mechanism": mechanism,
            "shared": shared,
            "method": contender(method) and method,
            "seed": seed,
            **({"standardized": True} if standardized else {}),
        }
        for method in methods
        for size in p
        for count in clients
        for rows in samples
        for seed in seeds
    ]
    return sorted(out, key=lambda cell: cell["method"] in SLOW)


def filter_cells(cells: Iterable[Cell]) -> list[Cell]:
    """List the cells that tell, for every simulation, whether the paper would have kept its seed.

    Examples
    --------
    >>> [cell["task"] for cell in filter_cells(fit_cells(["peri", "iperi"], [0]))]
    ['filter']
    """
    found = {}
    for cell in cells:
        one = {name: value for name, value in cell.items() if name != "method"} | {"task": "filter"}
        found[tuple(one.values())] = one
    return list(found.values())


def simulated(cell: Cell) -> Simulation:
    """Simulate what a cell describes."""
    import numpy as np

    import fedperi as fp

    rows = cell["samples"]
    if rows == MIXED:
        draw = np.random.default_rng([cell["seed"], 500]).choice([500, 1000, 2000], cell["clients"])
        rows = [int(n) for n in draw]
    sim = fp.simulate(
        cell["p"],
        cell["clients"],
        rows,
        mechanism=cell["mechanism"],
        shared_mechanisms=cell["shared"],
        seed=cell["seed"],
    )
    if not cell.get("standardized", False):
        return sim
    return replace(sim, sites=[(table - table.mean()) / table.std() for table in sim.sites])


def fit_cell(cell: Cell) -> dict[str, float]:
    """Run a method on a simulation."""
    import fedperi as fp

    sim = simulated(cell)
    problem = Problem(sim.sites, cell["mechanism"] == "nonlinear", sim)
    start = time.process_time()
    graph, rounds = contender(cell["method"]).fit(problem)
    seconds = time.process_time() - start
    return {
        "shd": fp.shd(graph, sim.dag),
        "f1": fp.f1(graph, sim.dag),
        "skeleton_f1": fp.skeleton_f1(graph, sim.dag),
        "edges": len(graph),
        "true_edges": len(sim.dag),
        "rounds": rounds,
        "cpu_s": seconds,
    }


def filter_cell(cell: Cell) -> dict[str, float]:
    """Let every site learn its own graph by PC, and return the mean F1 against the sites' true CPDAGs."""
    import fedperi as fp

    sim = simulated(cell)
    found = [fp.f1(fp.pc(table), fp.cpdag(truth)) for table, truth in zip(sim.sites, sim.client_dags, strict=True)]
    return {"client_f1": sum(found) / len(found), "least_client_f1": min(found)}


def kept(rows: Sequence[Cell], filters: Sequence[Cell]) -> list[Cell]:
    """Leave out the seeds that the paper's filter leaves out."""
    good = {_simulation(row) for row in filters if row.get("client_f1", 0.0) > FILTER}
    return [row for row in rows if _simulation(row) in good]


def share_kept(filters: Sequence[Cell], by: str) -> dict[object, float]:
    """Return the share of seeds that the filter keeps, for every value of an axis."""
    out: dict[object, list[bool]] = {}
    for row in filters:
        if "error" not in row:
            out.setdefault(row[by], []).append(row["client_f1"] > FILTER)
    return {value: sum(found) / len(found) for value, found in out.items()}


def _simulation(row: Cell) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("p", "clients", "samples", "mechanism", "shared", "standardized", "seed"))
