"""`fedperi run`: from one file a site to a graph, a report, and files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app
from .options import DEFAULTS, HERE, check_place, given_options, make_method

if TYPE_CHECKING:
    from rich.console import Console

    from ..data import Table
    from ..data.check import CheckReport
    from ..methods import IPERI, Result


@app.command()
def run(
    files: list[str] = typer.Argument(..., metavar="FILES", help="One a site: a table (CSV, Parquet) or a release."),
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Where to write the results."),
    method: str | None = typer.Option(None, metavar="iperi|peri", help="I-PERI, or PERI without interventions."),
    masking: str | None = typer.Option(None, metavar="adaptive|consensus|none", help="What a site is judged by."),
    aggregate: str | None = typer.Option(None, metavar="sum|worst", help="How the sites' regrets are added up."),
    local: str | None = typer.Option(None, metavar="ges|pc", help="How a site learns alone (masking consensus)."),
    data: str | None = typer.Option(None, metavar="TYPE", help="auto, linear, nonlinear, discrete or mixed."),
    knowledge: str | None = typer.Option(None, metavar="FILE", help="Forbidden and required edges, tiers (TOML)."),
    schema: str | None = typer.Option(None, metavar="FILE", help="Types and levels not to be inferred."),
    missing: str | None = typer.Option(None, metavar="error|drop", help="Refuse incomplete rows, or drop them."),
    alpha: float | None = typer.Option(None, help="Level of the tests of --local pc."),
    penalty: float | None = typer.Option(None, help="Multiplies the price of an edge."),
    bootstrap: int | None = typer.Option(None, metavar="N", help="Stability of edges from N resampled runs."),
    seed: int | None = typer.Option(None, help="Of the search and the bootstrap."),
    jobs: int | None = typer.Option(None, metavar="N", help="Let N sites work at a time [as many as pay]."),
    epsilon: float | None = typer.Option(None, help="Differential privacy: the price of the run for each site."),
    delta: float | None = typer.Option(None, help="And the probability that it fails [1e-6]."),
    mechanism: str | None = typer.Option(None, metavar="statistics|regret", help="Where the noise is added."),
    bounds: str | None = typer.Option(None, metavar="FILE", help="Public limits and levels of the columns (TOML)."),
    ceiling: float | None = typer.Option(None, help="Largest total epsilon of a site, over all runs."),
    store: str | None = typer.Option(None, metavar="DIR", help="Where sites keep ledger and noise."),
    config: str | None = typer.Option(None, "--config", metavar="FILE", help="These options from a TOML file."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would be asked of each site, and stop."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON and nothing else."),
) -> None:
    """Find the causal graph that the sites share."""
    given = {
        "method": method,
        "masking": masking,
        "aggregate": aggregate,
        "local": local,
        "data": data,
        "knowledge": knowledge,
        "schema": schema,
        "missing": missing,
        "alpha": alpha,
        "penalty": penalty,
        "bootstrap": bootstrap,
        "seed": seed,
        "jobs": jobs,
        "epsilon": epsilon,
        "delta": delta,
        "mechanism": mechanism,
        "bounds": bounds,
        "ceiling": ceiling,
        "store": store,
    }
    defaults = {**DEFAULTS, **HERE}
    options = {**defaults, **given_options(config, given, defaults)}
    check_place(out, dry_run, as_json)
    chosen = make_method(options)

    from rich.console import Console

    console = Console(highlight=False, quiet=as_json)
    tables = _split(files)
    if chosen.privacy is not None and tables:
        _show_prices(console, tables, chosen, dry_run)
    elif tables:
        checked = _checked(console, tables, options)
        if dry_run:
            _show_plan(console, checked, chosen)
    if dry_run:
        if len(files) > len(tables):
            console.print(f"{len(files) - len(tables)} releases: they are paid for, and a run costs nothing more.")
        console.print("Nothing was asked: this was a dry run.")
        return
    result = chosen.fit(files)
    if out is not None:
        result.save(out)
    if as_json:
        typer.echo(result.to_json())
    else:
        summarize(console, result, out)


def _split(files: list[str]) -> list[str]:
    """Return the files that are tables; the others are releases, which `fit` opens."""
    from ..privacy import is_release

    return [file for file in files if not is_release(file)]


def _checked(console: Console, files: list[str], options: dict[str, Any]) -> CheckReport:
    """The pre-flight of `fedperi check`: stop before anything runs if a run would fail."""
    from ..data import check

    report = check(files, options["schema"], options["missing"])
    if not report.ok:
        from rich.console import Console

        Console(highlight=False, stderr=True).print(report.to_rich())
        raise InputError("the tables do not pass the check above; nothing was run (`fedperi check` shows it again)")
    doubts = sum(finding.level == "warning" for finding in report.findings)
    rows = sum(site.rows or 0 for site in report.sites)
    console.print(
        f"{len(report.sites)} sites, {rows} rows, {len(report.schema.names)} variables."
        + (f" {doubts} warning{'s' * (doubts > 1)}: see `fedperi check`." if doubts else "")
    )
    return report


def _show_prices(console: Console, tables: list[str], method: IPERI, dry_run: bool) -> None:
    """What a private run would cost every site, and what its ledger says; nothing is drawn."""
    from ..data import open_tables

    assert method.privacy is not None
    console.print(
        f"Differential privacy, mechanism {method.privacy.mechanism!r}: epsilon = {method.privacy.epsilon:g}, "
        f"delta = {method.privacy.delta:g} for each site, for the whole run.",
        soft_wrap=True,
    )
    if not dry_run:
        return
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False)
    for heading in ("site", "price", "spent", "left", "ceiling"):
        grid.add_column(heading, justify="left" if heading == "site" else "right")
    for table in open_tables(tables):
        grid.add_row(table.name, *_price(table, method))
    console.print(grid)
    console.print("Spent and left: epsilon before this run, at the ceiling's delta, as releases add up under zCDP.")


def _price(table: Table, method: IPERI) -> tuple[str, ...]:
    """The price of a run at one site, and its ledger before."""
    from ..privacy import plan_release
    from ..privacy.site_release import Budget

    assert method.privacy is not None
    budget = Budget.look(table, method.privacy)
    price = f"at most {method.privacy.epsilon:g}"
    if method.privacy.mechanism == "statistics":
        plan = plan_release(table, method.privacy, schema=method.schema, data=method.data)
        drawn = budget.holds(plan, method.missing)
        if not drawn:
            budget.ledger.check(plan.price)
        price = "0 (drawn before)" if drawn else f"{method.privacy.epsilon:g}"
    ledger = budget.ledger
    return price, f"{ledger.spent:.3g}", f"{ledger.remaining:.3g}", f"{ledger.ceiling.epsilon:g}"


def _show_plan(console: Console, report: CheckReport, method: IPERI) -> None:
    """What a run would ask of each site."""
    from ..search.phase1 import rounds_for_subsets
    from ..search.screening import FULL, SCREENING
    from ..search.widening import MOST_NEIGHBOURS

    p = len(report.schema.names)
    console.print(f"{method!r}", soft_wrap=True)
    console.print("Each site would be told these settings, and be asked in rounds for regrets:")
    console.print("how much worse than at its own best a variable is explained by candidate parents.")
    console.print("No row leaves a site; but regrets without noise tell much of a table (docs/limits.md).")
    if p <= FULL:
        console.print(f"  1 round:  {p} variables x {1 << (p - 1)} parent sets = {p << (p - 1)} numbers")
    else:
        singles = p * (p - 1) * 2
        console.print(
            f"  {SCREENING} rounds: single parents, {singles} numbers, and what each would add to the best sets"
        )
        most = rounds_for_subsets(p)
        console.print(
            f"  up to {most}:  subsets of candidate parents, at most {1 << MOST_NEIGHBOURS} numbers a variable"
        )
    console.print("  1 round:  directions of the edges still open, a few numbers an edge")
    if method.bootstrap:
        console.print(f"  and all of it {method.bootstrap} times more, on rows that each site draws anew")


def summarize(console: Console, result: Result, out: Path | None) -> None:
    """Say in words what was found."""
    from ..report.text import edge_table

    edges, directed, common = len(result.graph), len(result.graph.directed), len(result.cpdag.directed)
    rounds = f"{result.rounds} round{'s' * (result.rounds != 1)}."
    if result.regrets:
        graphs = {"common": result.cpdag, "with differences": result.phi_cpdag, "closed": result.graph}
        console.print(edge_table(graphs))
        console.print(
            f"{edges} edges; {directed} directed: {common} by the common structure, "
            f"{directed - common} only because sites differ."
        )
        worst = max(result.regrets, key=result.regrets.__getitem__)
        console.print(f"Worst regret: {result.regrets[worst]:.1f} nats at {worst}. {rounds}")
    else:  # a baseline
        console.print(edge_table({"found": result.graph}))
        console.print(f"{edges} edges; {directed} directed. {rounds}")
        console.print(f"{result.method['name']} is NOT PRIVATE, and its result has no regrets.")
    if result.privacy is not None:
        _say_privacy(console, result.privacy)
    if result.stability:
        console.print(f"Stability from {result.replicates} resampled runs is in the report.")
    if out is not None:
        console.print(f"Wrote report.html, result.json, manifest.json and graph.* to {out}.", soft_wrap=True)


def _say_privacy(console: Console, sites: dict[str, dict[str, Any]]) -> None:
    """Say what was promised to the people in the tables."""
    bare = [name for name, told in sites.items() if not told.get("private")]
    if bare:
        console.print(f"NOT PRIVATE: {', '.join(bare)}. Do not call this result differentially private.")
    kept = [told for told in sites.values() if told.get("private")]
    if kept:
        dearest = max(kept, key=lambda told: float(told["epsilon"]))
        console.print(
            f"Differential privacy for one row of {len(kept)} site{'s' * (len(kept) > 1)}: epsilon = "
            f"{dearest['epsilon']:g}, delta = {dearest['delta']:g} (mechanism {dearest['mechanism']!r})."
        )
