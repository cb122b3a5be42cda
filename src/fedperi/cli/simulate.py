"""`fedperi simulate`: tables of simulated sites, with the truth beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..errors import InputError
from . import app


def _rows(text: str) -> int | list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--samples is one number, or one a site separated by commas; got {text!r}") from None
    return sizes[0] if len(sizes) == 1 else sizes


@app.command()
def simulate(
    out: Path = typer.Option(..., "--out", help="Directory for site_0.csv, site_1.csv, ... and truth.json."),
    variables: int = typer.Option(8, help="Number of variables."),
    clients: int = typer.Option(4, help="Number of sites; the first is observational."),
    samples: str = typer.Option("1000", help="Rows of each site: one number, or one a site: 500,1000,2000."),
    edges: float | None = typer.Option(None, help="Expected number of edges, before shielding. [default: variables]"),
    shield_colliders: bool = typer.Option(True, help="Join the parents of v-structures, as the paper does."),
    intervention: str = typer.Option("structural", help="structural, parametric, mixed or none."),
    removal: str = typer.Option("all", help="A structural target loses all incoming edges, or some."),
    mechanism: str = typer.Option("linear", help="linear or nonlinear."),
    noise: str = typer.Option("gaussian", help="gaussian or uniform."),
    shared_mechanisms: bool = typer.Option(True, help="The same weights at all sites, or each its own."),
    discretize: int | None = typer.Option(None, help="Cut the values into this many bins."),
    graph: str = typer.Option("erdos-renyi", help="erdos-renyi or scale-free."),
    targets_per_client: int = typer.Option(1, help="Targets at each intervened site."),
    weights: tuple[float, float] = typer.Option((0.1, 1.0), help="Smallest and largest absolute weight."),
    seed: int = typer.Option(0, help="One seed gives one simulation."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a simulation that is already there."),
) -> None:
    """Write tables of simulated sites, one CSV a site, and what is true of them in truth.json."""
    from ..simulation import simulate as run

    options: dict[str, Any] = {
        "edges": edges,
        "shield_colliders": shield_colliders,
        "intervention": intervention,
        "removal": removal,
        "mechanism": mechanism,
        "noise": noise,
        "shared_mechanisms": shared_mechanisms,
        "discretize": discretize,
        "graph": graph,
        "targets_per_client": targets_per_client,
        "weights": weights,
        "seed": seed,
    }
    sim = run(variables, clients, _rows(samples), **options)
    directory = sim.save(out, overwrite=overwrite)
    typer.echo(f"{sim!r}")
    typer.echo(f"Wrote {len(sim.sites)} tables and truth.json to {directory}")
