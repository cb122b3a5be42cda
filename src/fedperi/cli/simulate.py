"""`fedperi simulate`: write tables of simulated sites, and the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app
from .common.say import say

if TYPE_CHECKING:
    from ..simulation import Clinic, Simulation

_BOTH = {"out", "clients", "samples", "drift", "policies", "seed", "overwrite"}
_CLINIC_ONLY = {"clinic", "case_mix", "log"}
_CLINIC_POLICIES = 4


def _rows(text: str) -> int | list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--samples is one number, or one per site separated by commas; got {text!r}") from None
    return sizes[0] if len(sizes) == 1 else sizes


@app.command()
def simulate(
    context: typer.Context,
    out: Path = typer.Option(..., help="Directory for site_0.csv, site_1.csv, ... and truth.json."),
    variables: int = typer.Option(8, help="Number of variables."),
    clients: int | None = typer.Option(None, help="Number of sites: 4 if not given, 6 with --clinic."),
    samples: str = typer.Option("1000", help="Rows per site: one number for all, or one per site: 500,1000,2000."),
    edges: float | None = typer.Option(
        None, help="Expected number of edges, before shielding; by default one per variable."
    ),
    shield_colliders: bool = typer.Option(True, help="Join the parents of v-structures, as the paper does."),
    intervention: str = typer.Option(
        "structural", help="Intervention: structural, parametric, mixed, strengths, shift, scale, varied or none."
    ),
    removal: str = typer.Option("all", help="Incoming edges that a structural target loses: all or some."),
    shift: float = typer.Option(1.0, help="How far a mean is shifted, in standard deviations of the noise."),
    scale: float | None = typer.Option(
        None, help="Factor of the noise's standard deviation; by default 2 or 1/2 at random."
    ),
    mechanism: str = typer.Option("linear", help="Form of the mechanisms: linear or nonlinear."),
    noise: str = typer.Option("gaussian", help="Distribution of the noise: gaussian, uniform or student."),
    noise_levels: tuple[float, float] = typer.Option(
        (1.0, 1.0), help="Smallest and largest standard deviation of the noise."
    ),
    units: tuple[float, float] | None = typer.Option(None, help="Smallest and largest unit of a column."),
    shared_mechanisms: bool = typer.Option(True, help="The same weights at all sites, or different ones."),
    nothing_shared: bool = typer.Option(
        False, "--nothing-shared", help="Different weights, noise levels and means at every site."
    ),
    drift: float = typer.Option(0.0, help="How much every mechanism differs by site; 0.1 is a tenth."),
    policies: int | None = typer.Option(
        None,
        help="Number of different interventions (default: all); with --clinic, of sites with a policy (default: 4).",
    ),
    observational: bool = typer.Option(True, help="Leave the first site without intervention, or intervene there too."),
    hidden: int = typer.Option(0, help="Common causes that are left out of the tables."),
    measurement_error: float = typer.Option(
        0.0, help="Measurement error, as a share of a column's standard deviation."
    ),
    discretize: int | None = typer.Option(None, help="Cut the values into this many bins."),
    graph: str = typer.Option("erdos-renyi", help="Kind of random graph: erdos-renyi or scale-free."),
    targets_per_client: int = typer.Option(1, help="Targets at each intervened site."),
    weights: tuple[float, float] = typer.Option((0.1, 1.0), help="Smallest and largest absolute weight."),
    clinic: str | None = typer.Option(None, help="Hospital-like tables: stroke, diabetes, sepsis or random."),
    case_mix: bool = typer.Option(
        True, help="Different patient populations at the hospitals, or the same; with --clinic."
    ),
    log: bool = typer.Option(False, "--log", help="Write logarithms of skewed laboratory values; with --clinic."),
    seed: int = typer.Option(0, help="Random seed; the same seed gives the same simulation."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing simulation."),
) -> None:
    """Simulate sites: one CSV file per site, and the true graph and interventions in truth.json."""
    _check_options(context, clinic is not None)
    sim = _simulated(dict(context.params)) if clinic is None else _clinic(dict(context.params))
    directory = sim.save(out, overwrite=overwrite)
    say(f"{sim!r}")
    say(f"Wrote {len(sim.sites)} tables and truth.json to {directory}")


def _check_options(context: typer.Context, with_clinic: bool) -> None:
    """Refuse an option that would be ignored."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is None or source.name == "DEFAULT":
            continue
        option = f"--{name.replace('_', '-')}"
        if with_clinic and name not in _BOTH | _CLINIC_ONLY:
            raise InputError(f"{option} has no meaning with --clinic; leave one of them out")
        if not with_clinic and name in _CLINIC_ONLY:
            raise InputError(f"{option} has a meaning only with --clinic; add --clinic stroke, or leave it out")


def _simulated(given: dict[str, Any]) -> Simulation:
    from ..simulation import simulate as run

    if given["nothing_shared"]:
        if not given["shared_mechanisms"]:
            raise InputError("--nothing-shared says more than --no-shared-mechanisms; give one of them")
        given["shared_mechanisms"] = "nothing"
    apart = {"out", "overwrite", "nothing_shared", "variables", "clients", "samples", *_CLINIC_ONLY}
    clients = 4 if given["clients"] is None else given["clients"]
    options = {name: value for name, value in given.items() if name not in apart}
    return run(given["variables"], clients, _rows(given["samples"]), **options)


def _clinic(given: dict[str, Any]) -> Clinic:
    from ..simulation import clinic as run

    sites = 6 if given["clients"] is None else given["clients"]
    policies = min(_CLINIC_POLICIES, sites) if given["policies"] is None else given["policies"]
    options = {name: given[name] for name in ("drift", "case_mix", "log", "seed")}
    return run(sites, _rows(given["samples"]), graph=given["clinic"], policies=policies, **options)
