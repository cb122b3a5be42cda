"""`fedperi demo`: simulate hospitals, find their common graph, and write a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import InputError
from . import app

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..graph import PDAG
    from ..methods import Result
    from ..simulation import Simulation

# A small clinical example in which every collider is shielded: one hospital alone cannot be sure of any direction.
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
HOSPITALS = ("Brest", "Lyon", "Metz", "Nice", "Tours")
ROWS = 1000


@app.command()
def demo(
    out: Path = typer.Option(Path("fedperi-demo"), metavar="DIR", help="Where tables and results are written."),
    seed: int = typer.Option(0, min=0, help="Random seed; another seed gives other hospitals."),
    force: bool = typer.Option(False, "--force", help="Replace what an earlier demo wrote there."),
) -> None:
    """Simulate hospitals with unrecorded policies, find their common graph, and compare it with the truth."""
    from rich.text import Text

    from ..console import console as terminal
    from ..discovery.discover import ges
    from ..graph import PDAG
    from ..methods import MPERI
    from ..report.grades import counted
    from ..report.pictures.text import edge_table
    from ..simulation import simulate

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {str(out)!r} is a file; give a directory")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise InputError(f"--out {str(out)!r} is not empty; choose another directory, or add --force to write over it")
    console = terminal()
    sim = simulate(
        PDAG.from_edges(EDGES),
        clients=len(HOSPITALS),
        samples=ROWS,
        weights=(0.3, 1.0),
        intervention="varied",
        seed=seed,
    )
    hospitals = dict(zip(HOSPITALS, sim.sites, strict=True))
    size = f"{len(hospitals)} hospitals, {ROWS} patients each, {len(sim.dag.names)} variables."
    console.print(Text(size, style="bold"))
    console.print(f"All but {HOSPITALS[0]} have a policy for one variable, which is not recorded anywhere.")
    console.print("Each hospital gives its means and covariances. No row leaves it.\n")
    result = MPERI().fit(hospitals)
    alone = {f"{name} alone": ges(table) for name, table in hospitals.items()}
    first = f"{HOSPITALS[0]} alone"
    graphs = {"truth": sim.dag, first: alone[first], "fedperi": result.graph}
    console.print(edge_table(graphs, title="What causes what"))
    console.print(f"{counted(result)}\n", soft_wrap=True)
    _compare(console, sim.dag, {**alone, "fedperi, all hospitals": result.graph})
    console.print()
    console.print(_policies(sim, result))
    _save(sim, out / "data")
    result.save(out, overwrite=force)
    console.print(f"\nWrote the report to {out / 'report.html'}: open it in a browser.", soft_wrap=True)
    console.print(f"Next: fedperi run {out / 'data'}/*.csv --out results   (or files of your own)", soft_wrap=True)


def _save(sim: Simulation, place: Path) -> None:
    """Write the tables, each with the name of its hospital, and the truth."""
    sim.save(place, overwrite=True)
    for k, name in enumerate(HOSPITALS):
        (place / f"site_{k}.csv").replace(place / f"{name}.csv")


def _policies(sim: Simulation, result: Result) -> Table:
    """Make a table of the true policies, and of what was found about each hospital."""
    from rich.table import Table

    table = Table(title="What each hospital does differently", title_justify="left", title_style="bold")
    for heading in ("", "its policy (unknown to fedperi)", "what fedperi says"):
        table.add_column(heading, header_style="bold")
    for k, name in enumerate(HOSPITALS):
        found = [one.words.removeprefix(f"At {name}, ") for one in result.differences if one.site == name]
        table.add_row(name, "\n".join(_truth(sim, k)) or "nothing", "\n".join(found) or "nothing")
    return table


def _truth(sim: Simulation, site: int) -> list[str]:
    """Say what a hospital truly does differently."""
    usual, own = sim.mechanisms[0], sim.mechanisms[site]
    words = []
    for variable, change in sim.changes[site].items():
        at, parents = sim.dag.index(variable), sim.dag.parents(variable)
        lost = [parent for parent in parents if parent not in sim.client_dags[site].parents(variable)]
        step, ratio = own.means[at] - usual.means[at], own.noise_scales[at] / usual.noise_scales[at]
        words.append(
            {
                "cut": f"{variable} does not depend on {' and '.join(lost)}",
                "some cut": f"{variable} does not depend on {' and '.join(lost)}",
                "strengths": f"{variable} depends on {' and '.join(parents)} with other strengths",
                "shift": f"{variable} is {'higher' if step > 0 else 'lower'} by {abs(step):.2g}",
                "scale": f"{variable} varies {ratio:.2g} times as much",
            }[change]
            + "."
        )
    return words


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
