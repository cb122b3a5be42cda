"""`fedperi run`: from one file per site to a graph, a report, and files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app
from .common.methods import DEFAULT, KNOWN, make_run_method
from .common.options import check_place, given_options
from .common.say import say

if TYPE_CHECKING:
    from rich.console import Console

    from ..tables.checks.check import CheckReport


@app.command()
def run(
    files: list[str] = typer.Argument(..., metavar="FILES", help="One per site: a table (CSV, Parquet) or a release."),
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Where to write the results."),
    method: str | None = typer.Option(
        None, metavar="NAME", help="mperi (default), iperi, peri; for comparison notears-admm, feddag, fedcdh."
    ),
    data: str | None = typer.Option(None, metavar="TYPE", help="auto, linear, nonlinear, discrete or mixed."),
    knowledge: str | None = typer.Option(None, metavar="FILE", help="Forbidden and required edges, tiers (TOML)."),
    schema: str | None = typer.Option(None, metavar="FILE", help="Types and levels not to be inferred."),
    missing: str | None = typer.Option(None, metavar="error|drop", help="Refuse incomplete rows, or drop them."),
    confidence: float | None = typer.Option(None, help="mperi: probability a direction must have [0.95]."),
    sharing: str | None = typer.Option(
        None, metavar="auto|exact|none", help="mperi: how alike sites must be to share a mechanism."
    ),
    seed: int | None = typer.Option(None, help="Random seed of the search."),
    masking: str | None = typer.Option(None, metavar="adaptive|consensus|none", help="iperi: how a site is judged."),
    aggregate: str | None = typer.Option(None, metavar="sum|worst", help="iperi: how the sites' regrets are added up."),
    local: str | None = typer.Option(None, metavar="ges|pc", help="iperi: how a site learns alone."),
    alpha: float | None = typer.Option(None, help="Level of tests, of fedcdh and of iperi with --local pc."),
    penalty: float | None = typer.Option(None, help="iperi: multiplies the price of an edge."),
    bootstrap: int | None = typer.Option(None, metavar="N", help="iperi: stability of edges from N resampled runs."),
    jobs: int | None = typer.Option(None, metavar="N", help="iperi: process N sites in parallel."),
    epsilon: float | None = typer.Option(None, help="iperi: differential privacy, the price of the run for each site."),
    delta: float | None = typer.Option(None, help="Probability that the privacy guarantee fails [1e-6]."),
    mechanism: str | None = typer.Option(None, metavar="statistics|regret", help="Where the noise is added."),
    bounds: str | None = typer.Option(None, metavar="FILE", help="Public limits and levels of the columns (TOML)."),
    ceiling: float | None = typer.Option(None, help="Largest total epsilon of a site, over all runs."),
    store: str | None = typer.Option(None, metavar="DIR", help="Where sites keep ledger and noise."),
    most_rows: int | None = typer.Option(None, metavar="N", help="For a larger delta: a public bound on the rows."),
    decimal: str | None = typer.Option(None, metavar="MARK", help="With --epsilon: decimal mark of numbers, . or ,"),
    site_keys: Path | None = typer.Option(
        None,
        "--site-keys",
        metavar="DIR",
        help="Public keys of the sites (SITE.pub); refuse releases not signed by them.",
    ),
    config: str | None = typer.Option(None, "--config", metavar="FILE", help="These options from a TOML file."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would be asked of each site, and stop."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON and nothing else."),
) -> None:
    """Find the causal graph that the sites share."""
    given = {
        "method": method,
        "confidence": confidence,
        "sharing": sharing,
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
        "most_rows": most_rows,
        "decimal": decimal,
    }
    asked = given_options(config, given, KNOWN)
    said = {
        key: f"--{key.replace('_', '-')}" if given.get(key) is not None else f"{key!r} in {config!r}" for key in asked
    }
    check_place(out, dry_run, as_json)
    chosen = make_run_method(asked, said)
    name = asked.get("method", DEFAULT)
    tables = _tables(files, name)
    sources = _sources(files, tables, site_keys)

    from ..report.console import console as terminal
    from .common.outcome import summarize
    from .common.plan import show_plan, show_prices

    console = terminal(quiet=as_json)
    if getattr(chosen, "privacy", None) is not None and tables:
        show_prices(console, tables, chosen, dry_run)
    elif tables:
        checked = _checked(console, tables, asked, strict=name != "mperi")
        if dry_run:
            show_plan(console, checked, chosen)
        read = {table.origin: table for table in checked.tables}  # these are not read again
        sources = [read.get(source, source) if isinstance(source, str) else source for source in sources]
    if dry_run:
        if len(files) > len(tables):
            console.print(f"{len(files) - len(tables)} releases: they are paid for, and a run costs nothing more.")
        console.print("Nothing was asked: this was a dry run.")
        return
    _say_unsigned(console, sources)
    result = chosen.fit(sources)
    if out is not None:
        result.save(out)
    if as_json:
        say(result.to_json())
    else:
        summarize(console, result, out)


def _tables(files: list[str], method: str) -> list[str]:
    """Return the files that are tables; the others are releases, which only methods with regrets can use."""
    from ..privacy import is_release

    tables = [file for file in files if not is_release(file)]
    if len(tables) < len(files) and method not in ("iperi", "peri"):
        release = next(file for file in files if file not in tables)
        why = "M-PERI cannot use noisy summaries yet" if method == "mperi" else f"{method} computes with rows"
        raise InputError(f"{release!r} is a release, and {why}; add --method iperi")
    return tables


def _sources(files: list[str], tables: list[str], keys: Path | None) -> list[Any]:
    """Read the releases among the files, each signed by its site if there is a list of keys."""
    from ..privacy.release.file import load_release
    from ..privacy.release.signature import read_roster

    if keys is not None and tables:
        raise InputError(
            f"--site-keys is about releases, which sites sign, and {tables[0]!r} is a table: give releases "
            "only, or leave --site-keys out"
        )
    roster = None if keys is None else read_roster(keys)
    return [file if file in tables else load_release(file, roster) for file in files]


def _say_unsigned(console: Console, sources: list[Any]) -> None:
    from ..privacy import Release

    bare = [one.site for one in sources if isinstance(one, Release) and one.signature is None]
    if bare:
        console.print(
            f"Not signed: the release{'s' * (len(bare) > 1)} of {', '.join(bare)}. Anyone could have edited them; with "
            "`fedperi release --key` sites sign, and with --site-keys a run checks it.",
            markup=False,
        )


def _checked(console: Console, files: list[str], asked: dict[str, Any], *, strict: bool) -> CheckReport:
    """The pre-flight of `fedperi check`: stop before anything runs if a run would fail."""
    from ..tables import check
    from .common.progress import reading

    with reading(len(files)) as tell:
        report = check(files, asked.get("schema"), asked.get("missing", "error"), strict=strict, tell=tell)
    if not report.ok:
        from ..report.console import console as terminal

        terminal(stderr=True).print(report.to_rich())
        again = "" if strict else " (`fedperi check` shows it again)"
        raise InputError(f"the tables do not pass the check above; nothing was run{again}")
    doubts = sum(finding.level == "warning" for finding in report.findings)
    rows = sum(site.rows or 0 for site in report.sites)
    console.print(
        f"{len(report.sites)} sites, {rows} rows, {len(report.schema.names)} variables."
        + (f" {doubts} warning{'s' * (doubts > 1)}: see `fedperi check`." if doubts else "")
    )
    return report
