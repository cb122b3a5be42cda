"""`fedperi benchmark privacy`: accuracy of the graph by total price, for both mechanisms."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .grid import Cell, summarize_cells, write_table
from .page import Page, Request, markdown_table

SITES, DELTA, LIMIT = 5, 1e-6, 10.0
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
VARIABLES, ROWS = (5, 10), (2000, 10000, 50000)
NUMBERS = ("shd", "f1", "skeleton_f1")


def cells(request: Request) -> list[Cell]:
    """List the grid; the quick one has a corner of it."""
    variables, rows, epsilons = ((5,), (2000,), (0.5, 2.0)) if request.quick else (VARIABLES, ROWS, EPSILONS)
    settings = [("none", None)] + [(m, e) for m in ("statistics", "regret") for e in epsilons]
    return [
        {"task": "privacy", "p": p, "n": n, "mechanism": mechanism, "epsilon": epsilon, "seed": seed}
        for p in variables
        for n in rows
        for mechanism, epsilon in settings
        for seed in request.seeds
    ]


def work(cell: Cell) -> dict[str, float]:
    """Run one cell: simulate, fit, compare with the true DAG."""
    import fedperi as fp

    sim = fp.simulate(cell["p"], clients=SITES, samples=cell["n"], weights=(0.1, 1.0), seed=cell["seed"])
    if cell["mechanism"] == "none":
        return _compared(fp.IPERI(progress=False).fit(sim.sites).graph, sim.dag)
    with tempfile.TemporaryDirectory() as store, warnings.catch_warnings():
        warnings.simplefilter("error")
        privacy = fp.Privacy(
            cell["epsilon"],
            DELTA,
            mechanism=cell["mechanism"],
            bounds=dict.fromkeys(sim.sites[0].columns, (-LIMIT, LIMIT)),
            store=store,
        )
        return _compared(fp.IPERI(privacy=privacy, progress=False).fit(sim.sites).graph, sim.dag)


def _compared(graph: Any, dag: Any) -> dict[str, float]:
    import fedperi as fp

    return {"shd": fp.shd(graph, dag), "f1": fp.f1(graph, dag), "skeleton_f1": fp.skeleton_f1(graph, dag)}


def write(found: Sequence[Cell], out: Path, request: Request) -> Page:
    """Write privacy.csv and a figure for each number of variables."""
    rows = summarize_cells(found, ["p", "n", "mechanism", "epsilon"], NUMBERS)
    write_table(rows, out / "privacy.csv")
    figures = [_figure(rows, p, out) for p in sorted({row["p"] for row in rows})]
    text = (
        f"{SITES} sites, delta = {DELTA:g}, public bounds of {-LIMIT:g} to {LIMIT:g}, real noise. Epsilon is the whole "
        "price of a run for one person of a site. ± half of the 95 % interval.\n\n"
    )
    return Page("Privacy", text + _markdown(rows), tuple(figures))


def _markdown(rows: Sequence[Cell]) -> str:
    entries = []
    for row in rows:
        price = "-" if row["epsilon"] is None else f"{row['epsilon']:g}"
        numbers = [f"{row[name]:.2f} ± {row[f'{name}_ci']:.2f}" for name in NUMBERS]
        entries.append([str(row["p"]), str(row["n"]), row["mechanism"], price, *numbers, str(row["failed"])])
    heads = ("p", "n", "mechanism", "total epsilon", "SHD", "F1", "skeleton F1", "failed")
    return markdown_table(heads, entries)


def _figure(rows: Sequence[Cell], p: int, out: Path) -> Path:
    """Draw SHD above and F1 of the skeleton below, with one column for each number of rows."""
    from matplotlib.figure import Figure

    mine = [row for row in rows if row["p"] == p]
    sizes = sorted({row["n"] for row in mine})
    figure = Figure(figsize=(1.2 + 3.1 * len(sizes), 5.6), layout="constrained")
    axes = figure.subplots(2, len(sizes), sharex=True, sharey="row", squeeze=False)
    for column, n in enumerate(sizes):
        for at, (number, label) in enumerate((("shd", "SHD to the true DAG"), ("skeleton_f1", "F1 of the skeleton"))):
            ax = axes[at][column]
            for mechanism, colour in (("statistics", "#0b6e99"), ("regret", "#b3541e")):
                line = [row for row in mine if row["n"] == n and row["mechanism"] == mechanism and row["cells"]]
                if not line:
                    continue
                x, y = [row["epsilon"] for row in line], [row[number] for row in line]
                reach = [row[f"{number}_ci"] for row in line]
                ax.plot(x, y, "o-", color=colour, label=f"noise on {mechanism if mechanism != 'regret' else 'regrets'}")
                low = [a - b for a, b in zip(y, reach, strict=True)]
                high = [a + b for a, b in zip(y, reach, strict=True)]
                ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
            for row in mine:
                if row["n"] == n and row["mechanism"] == "none":
                    ax.axhline(row[number], color="#444444", linestyle="--", label="without privacy")
            ax.set_xscale("log", base=2)
            ax.grid(alpha=0.25)
            ax.spines[["top", "right"]].set_visible(False)
            if at == 0:
                ax.set_title(f"{n:,} rows a site", fontsize=10)
            else:
                ax.set_xlabel("total epsilon of a site")
                ax.set_ylim(0, 1.03)
            if column == 0:
                ax.set_ylabel(label)
    for at in (0, 1):
        axes[at][0].xaxis.set_major_formatter("{x:g}")
    axes[0][0].set_ylim(bottom=0)
    axes[0][-1].legend(frameon=False, fontsize=9)
    figure.suptitle(f"{p} variables, {SITES} sites, delta = {DELTA:g}", fontsize=11)
    file = out / f"privacy-p{p}.png"
    figure.savefig(file, dpi=150)
    figure.savefig(file.with_suffix(".svg"))
    return file
