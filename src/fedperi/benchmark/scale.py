"""`fedperi benchmark scale`: how time, rounds and bytes grow with variables, sites and rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from .figures import fitted_power, growth_figure
from .grid import Cell, summarize_cells, write_table
from .page import Page, Request, markdown_table

AXES = (
    ("p", "variables (K = 10)"),
    ("clients", "sites (p = 20, n = 2000)"),
    ("samples", "rows a site (p = 20, K = 10)"),
)
NUMBERS = ("cpu_s", "rounds", "megabytes", "asked", "shd", "limit")


def cells(request: Request) -> list[Cell]:
    """List the cells of the three axes; a cell on two axes is listed twice."""
    sizes = (10, 20, 50) if request.quick else (10, 20, 50, 100, 200)
    sites = (1, 5, 20) if request.quick else (1, 2, 5, 10, 20, 50, 100, 200)
    rows = (1000, 10_000) if request.quick else (1000, 10_000, 100_000, 1_000_000)
    wanted = [("p", p, 10, 5000 if p >= 200 else 2000) for p in sizes]
    wanted += [("clients", 20, k, 2000) for k in sites] + [("samples", 20, 10, n) for n in rows]
    return [
        {"task": "scale", "axis": axis, "p": p, "clients": k, "samples": n, "seed": seed}
        for axis, p, k, n in wanted
        for seed in request.seeds[: 3 if p < 100 else 1]
    ]


def work(cell: Cell) -> dict[str, float]:
    """Fit once, from tables in memory."""
    import fedperi as fp

    sim = fp.simulate(cell["p"], cell["clients"], cell["samples"], shared_mechanisms=False, seed=cell["seed"])
    start = time.process_time()
    result = fp.IPERI(progress=False).fit(sim.sites)
    seconds = time.process_time() - start
    return {
        "cpu_s": seconds,
        "rounds": result.rounds,
        "megabytes": result.bytes / 1e6,
        "asked": result.queries,
        "shd": fp.shd(result.graph, sim.dag),
        "limit": fp.shd(fp.meek_closure(sim.phi_cpdag), sim.dag),
    }


def write(found: Sequence[Cell], out: Path, request: Request) -> Page:
    """Write a table and a figure with a panel for each axis."""
    rows = summarize_cells(found, ["axis", "p", "clients", "samples"], NUMBERS)
    write_table(rows, out / "scale.csv")
    heads = "p", "K", "n", "CPU s", "rounds", "MB from a site", "numbers asked of a site", "SHD", "its limit", "runs"
    shown = (
        "{p}|{clients}|{samples:,}|{cpu_s:.2f}|{rounds:.1f}|{megabytes:.2f}|{asked:,.0f}|{shd:.1f}|{limit:.1f}|{cells}"
    )
    table = markdown_table(heads, [shown.format(**row).split("|") for row in rows if row["cells"]])
    panels = []
    for axis, label in AXES:
        mine = [row for row in rows if row["axis"] == axis and row["cells"]]
        if len(mine) > 1:
            panels.append((axis, label, mine))
    power = {a: fitted_power([float(r[a]) for r in mine], [r["cpu_s"] for r in mine]) for a, _, mine in panels}
    words = ", ".join(f"{dict(AXES)[axis].split(' (')[0]} to the {value:.2f}" for axis, value in power.items())
    text = (
        "`IPERI()`, in one process and one thread, tables in memory; CPU seconds of all sites and the coordinator "
        f"together. Fitted growth of time: {words}. The limit is the exact Phi-CPDAG's SHD.\n\n"
    )
    figures = (growth_figure(panels, "How time grows", out / "scale.png"),) if panels else ()
    return Page("Scale", text + table, figures)
