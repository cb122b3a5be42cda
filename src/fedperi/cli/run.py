"""`fedperi run`: from one file a site to a graph, a report, and files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app

if TYPE_CHECKING:
    from rich.console import Console

    from ..data.check import CheckReport
    from ..methods import IPERI, Result

DEFAULTS: dict[str, Any] = {
    "method": "iperi",
    "masking": None,
    "aggregate": None,
    "local": "ges",
    "data": "auto",
    "knowledge": None,
    "schema": None,
    "missing": "error",
    "alpha": 0.01,
    "penalty": 1.0,
    "bootstrap": 0,
    "seed": 0,
}


@app.command()
def run(
    files: list[str] = typer.Argument(..., metavar="FILES", help="One table a site, CSV or Parquet."),
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
    }
    options = {**DEFAULTS, **_from_file(config), **{k: v for k, v in given.items() if v is not None}}
    _check_place(out, dry_run, as_json)
    chosen = _method(options)

    from rich.console import Console

    console = Console(highlight=False, quiet=as_json)
    checked = _checked(console, files, options)
    if dry_run:
        _show_plan(console, checked, chosen)
        return
    result = chosen.fit(files)
    if out is not None:
        result.save(out)
    if as_json:
        typer.echo(result.to_json())
    else:
        summarize(console, result, out)


def _from_file(config: str | None) -> dict[str, Any]:
    """Options of a TOML file: the long names of this command's options."""
    if config is None:
        return {}
    import tomllib

    try:
        content = tomllib.loads(Path(config).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the configuration {config!r} cannot be read: {error}") from None
    unknown = [key for key in content if key not in DEFAULTS]
    if unknown:
        raise InputError(f"the configuration {config!r} has the key {unknown[0]!r}; known: {', '.join(DEFAULTS)}")
    return content


def _check_place(out: Path | None, dry_run: bool, as_json: bool) -> None:
    """Refuse, before any work, to write over results or into a file."""
    if out is None:
        if not dry_run and not as_json:
            raise InputError("give a directory for the results: --out results (or --json to print them, or --dry-run)")
        return
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {str(out)!r} is a file; give a directory")
    if (out / "result.json").exists():
        raise InputError(f"--out {str(out)!r} holds the results of an earlier run; choose another, or remove it")


def _method(options: dict[str, Any]) -> IPERI:
    from ..methods import IPERI, PERI

    classes = {"iperi": IPERI, "peri": PERI}
    name = options["method"]
    if name not in classes:
        raise InputError(f"method is one of {', '.join(classes)}; not {name!r}")
    return classes[name](**{k: v for k, v in options.items() if k != "method" and v is not None})


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


def _show_plan(console: Console, report: CheckReport, method: IPERI) -> None:
    """What a run would ask of each site."""
    from ..search.screening import FEWEST_CANDIDATES, FULL, MOST_CANDIDATES

    p = len(report.schema.names)
    console.print(f"{method!r}", soft_wrap=True)
    console.print("Each site would be told these settings, and be asked in rounds for regrets:")
    console.print("how much worse than at its own best a variable is explained by candidate parents.")
    console.print("No row leaves a site; but regrets without noise tell much of a table (docs/limits.md).")
    if p <= FULL:
        console.print(f"  1 round:  {p} variables x {1 << (p - 1)} parent sets = {p << (p - 1)} numbers")
    else:
        first = p * (p - 1) * 2 + p * (p - 1) * (p - 2) // 2
        console.print(f"  1 round:  single parents and pairs, {first} numbers")
        low, high = p << FEWEST_CANDIDATES, p << MOST_CANDIDATES
        console.print(f"  up to 7:  subsets of candidate parents, {low} to {high} numbers each")
    console.print("  1 round:  directions of the edges still open, a few numbers an edge")
    if method.bootstrap:
        console.print(f"  and all of it {method.bootstrap} times more, on rows that each site draws anew")
    console.print("Nothing was asked: this was a dry run.")


def summarize(console: Console, result: Result, out: Path | None) -> None:
    """Say in words what was found."""
    from ..report.text import edge_table

    graphs = {"common": result.cpdag, "with differences": result.phi_cpdag, "closed": result.graph}
    console.print(edge_table(graphs))
    edges, directed, common = len(result.graph), len(result.graph.directed), len(result.cpdag.directed)
    console.print(
        f"{edges} edges; {directed} directed: {common} by the common structure, "
        f"{directed - common} only because sites differ."
    )
    worst = max(result.regrets, key=result.regrets.__getitem__)
    console.print(f"Worst regret: {result.regrets[worst]:.1f} nats at {worst}. {result.rounds} rounds.")
    if result.stability:
        console.print(f"Stability from {result.replicates} resampled runs is in the report.")
    if out is not None:
        console.print(f"Wrote report.html, result.json, manifest.json and graph.* to {out}.", soft_wrap=True)
