"""One cell of a comparison: simulate, run one method, compare with the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from .contenders import LIMIT, SLOW, Problem, TooSlowError, contender, solve
from .grid import Cell
from .measures import graph_measures, policy_measures, stated_directions
from .paired import simulation_of
from .settings import World, draw, setting

FILTER = 0.85
"""The paper keeps seeds for which the graphs that sites learn alone have at least this F1."""

NUMBERS = ("shd", "f1", "skeleton_f1", "right", "wrong", "open", "cpu_s", "rounds")


def fit_cells(
    methods: Iterable[str],
    seeds: Iterable[int],
    *,
    settings: Sequence[str] = ("own strengths",),
    p: Sequence[int] = (8,),
    clients: Sequence[int] = (4,),
    samples: Sequence[int | str] = (1000,),
    limit: float = LIMIT,
) -> list[Cell]:
    """List the cells of a grid: fast methods first, so that a stopped run has complete rows.

    Examples
    --------
    >>> fit_cells(["peri"], [0], p=[3])
    [{'task': 'fit', 'setting': 'own strengths', 'p': 3, 'clients': 4, 'samples': 1000, 'method': 'peri', 'seed': 0, \
'limit': 300.0}]
    """
    out: list[Cell] = [
        {
            "task": "fit",
            "setting": setting(name) and name,
            "p": size,
            "clients": count,
            "samples": rows,
            "method": contender(method) and method,
            "seed": seed,
            "limit": limit,
        }
        for method in methods
        for name in settings
        for size in p
        for count in clients
        for rows in samples
        for seed in seeds
    ]
    return sorted(out, key=lambda cell: SLOW.index(cell["method"]) + 1 if cell["method"] in SLOW else 0)


def filter_cells(cells: Iterable[Cell]) -> list[Cell]:
    """List the cells that compute, for every simulation, whether the paper would have kept its seed.

    Examples
    --------
    >>> [cell["task"] for cell in filter_cells(fit_cells(["peri", "iperi"], [0]))]
    ['filter']
    """
    found = {}
    for cell in cells:
        one = {name: value for name, value in cell.items() if name not in ("method", "limit")} | {"task": "filter"}
        found[tuple(one.values())] = one
    return list(found.values())


def simulated(cell: Cell) -> World:
    """Simulate what a cell describes; the last simulation is kept, for methods that are compared on it."""
    return _drawn(cell["setting"], cell["p"], cell["clients"], cell["samples"], cell["seed"])


@lru_cache(maxsize=1)
def _drawn(name: str, p: int, clients: int, samples: int | str, seed: int) -> World:
    return draw(setting(name), p, clients, samples, seed)


def fit_cell(cell: Cell) -> dict[str, Any]:
    """Run a method on a simulation; if it takes too long it is stopped, and run again only with a higher limit."""
    world, how = simulated(cell), setting(cell["setting"])
    problem = Problem(world.sites, how.curved, world)
    limit = float(cell.get("limit", LIMIT))
    try:
        found, seconds = solve(cell["method"], problem, limit)
    except TooSlowError:
        return {"error": f"stopped after {limit:g} CPU s", "limit": limit}
    return {
        **graph_measures(found.graph, world.dag),
        **policy_measures(found, world, how),
        **stated_directions(found, world.dag),
        "rounds": found.rounds,
        "cpu_s": seconds,
    }


def filter_cell(cell: Cell) -> dict[str, float]:
    """Learn a graph at every site by PC, and return the mean F1 against the sites' true CPDAGs."""
    import fedperi as fp

    sim = simulated(cell)
    found = [fp.f1(fp.pc(table), fp.cpdag(truth)) for table, truth in zip(sim.sites, sim.client_dags, strict=True)]
    return {"client_f1": sum(found) / len(found), "least_client_f1": min(found)}


def kept(rows: Sequence[Cell], filters: Sequence[Cell]) -> list[Cell]:
    """Leave out the seeds that the paper's filter leaves out."""
    good = {simulation_of(row) for row in filters if row.get("client_f1", 0.0) > FILTER}
    return [row for row in rows if simulation_of(row) in good]


def share_kept(filters: Sequence[Cell], by: str) -> dict[object, float]:
    """Return the share of seeds that the filter keeps, for every value of an axis."""
    out: dict[object, list[bool]] = {}
    for row in filters:
        if "error" not in row:
            out.setdefault(row[by], []).append(row["client_f1"] > FILTER)
    return {value: sum(found) / len(found) for value, found in out.items()}
