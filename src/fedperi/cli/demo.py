"""`fedperi demo`: a federation of simulated hospitals, from nothing to graphs on the screen."""

from __future__ import annotations

import typer

from . import app

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
def demo(seed: int = typer.Option(0, min=0, help="Another seed, another set of hospitals.")) -> None:
    """Simulate hospitals with unknown interventions and show what can be known of their graph."""
    from rich.console import Console

    from ..graph import PDAG, meek_closure
    from ..report.text import edge_table
    from ..simulation import simulate

    sim = simulate(PDAG.from_edges(EDGES), clients=5, samples=1000, weights=(0.3, 1.0), seed=seed)
    console = Console(highlight=False)
    console.print(
        f"[bold]{len(sim.sites)} hospitals, {len(sim.sites[0])} patients each, {len(sim.dag.names)} variables.[/]"
    )
    for k, targets in enumerate(sim.targets):
        policy = f"has its own policy for {', '.join(targets)}" if targets else "is observational"
        console.print(f"  Hospital {k} {policy}.")
    closed = meek_closure(sim.phi_cpdag)
    graphs = {"true DAG": sim.dag, "CPDAG": sim.cpdag, "Phi-CPDAG": sim.phi_cpdag, "closed": closed}
    console.print()
    console.print(edge_table(graphs, title="What can be known of the true graph"))
    alone, together = len(sim.cpdag.directed), len(closed.directed)
    console.print(f"One observational hospital can direct {alone} of {len(sim.dag)} edges,")
    console.print(f"the differences between hospitals, whose policies nobody wrote down, {together}.")
    console.print("\nNext: [bold]fedperi simulate --out data[/] writes such tables, with the truth beside them.")
