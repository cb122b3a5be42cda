"""`fedperi demo`: a federation of simulated hospitals, from nothing to a graph and a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app

if TYPE_CHECKING:
    from rich.console import Console

    from ..graph import PDAG

# A small clinical story in which every collider is shielded: one hospital alone can direct no edge. Each hospital's
# policy for one variable removes edges into it, and lays a collider bare.
EDGES = [
    ("age", "weight"),
    ("age", "blood_pressure"),
    ("weight", "blood_pressure"),
    ("weight", "medication"),
    ("blood_pressure", "medication"),
    ("blood_pressure", "stroke"),
    ("medication", "stroke"),
    ("age", "smoking"),
    ("age", "lung_function"),
    ("smoking", "lung_function"),
]


@app.command()
def demo(
    out: Path = typer.Option(
        Path("fedperi-demo"), "--out", metavar="DIR", help="Where tables and results are written."
    ),
    seed: int = typer.Option(0, min=0, help="Another seed, another set of hospitals."),
) -> None:
    """Simulate hospitals with unknown interventions, find their graph, and compare it with the truth."""
    from rich.console import Console

    from ..graph import PDAG
    from ..methods import IPERI
    from ..report.text import edge_table
    from ..simulation import simulate

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {str(out)!r} is a file; give a directory")
    console = Console(highlight=False)
    sim = simulate(PDAG.from_edges(EDGES), clients=5, samples=1000, weights=(0.3, 1.0), seed=seed)
    hospitals = {f"hospital {k}": table for k, table in enumerate(sim.sites)}
    console.print(f"[bold]{len(hospitals)} hospitals, 1000 patients each, {len(sim.dag.names)} variables.[/]")
    console.print("One is observational; each other one has a policy of its own for one variable,")
    console.print("which nobody wrote down. No row leaves a hospital.\n")
    result = IPERI().fit(hospitals)
    alone = _alone(hospitals)
    graphs = {"truth": sim.dag, "hospital 0 alone": alone["hospital 0"], "fedperi": result.graph}
    console.print(edge_table(graphs, title="What causes what"))
    _compare(console, sim.dag, {**alone, "fedperi, all hospitals": result.graph})
    told = [f"{', '.join(targets)} (hospital {k})" for k, targets in enumerate(sim.targets) if targets]
    console.print(f"The policies it was not told about: {'; '.join(told)}.\n")
    sim.save(out / "data", overwrite=True)
    result.save(out)
    console.print(f"Wrote the report to {out / 'report.html'}: open it in a browser.", soft_wrap=True)
    console.print(f"Next: fedperi run {out / 'data'}/*.csv --out results   (or files of your own)", soft_wrap=True)


def _alone(hospitals: Mapping[str, Any]) -> dict[str, PDAG]:
    """What each hospital could find without the others."""
    from ..local.discover import ges

    return {name: ges(table) for name, table in hospitals.items()}


def _compare(console: Console, truth: PDAG, found: Mapping[str, PDAG]) -> None:
    """Count right, wrong and open directions, and missing and false edges."""
    from rich.table import Table

    table = Table(title="Against the truth", title_justify="left", title_style="bold", header_style="bold")
    for heading in ("", "right direction", "open", "wrong", "missing", "false"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, graph in found.items():
        same = graph.reordered(truth.names)
        adjacent, true = same.skeleton.undirected, truth.skeleton.undirected
        right = len(same.directed & truth.directed)
        missing, false = len(true - adjacent), len(adjacent - true)
        undecided = len(same.undirected & true)
        wrong = len(true) - right - undecided - missing
        table.add_row(name, *map(str, (right, undecided, wrong, missing, false)))
    console.print(table)
