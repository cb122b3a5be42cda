"""`fedperi run`: from one file per site to a graph, a report, and files for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from . import app
from .common import arguments as arg
from .common.methods import BASELINES, HERE, known_options, make_method
from .common.options import check_place, given_options
from .common.say import say
from .common.statements import statement_kind

if TYPE_CHECKING:
    from rich.console import Console

    from ..tables.checks.check import CheckReport
    from ..tables.checks.findings import Finding


@app.command()
def run(
    context: typer.Context,
    files: list[str] = typer.Argument(..., metavar="FILES", help="One per site: a table (CSV, Parquet) or a release."),
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write the results.")] = None,
    method: str | None = typer.Option(
        None, metavar="NAME", help="mperi (default), iperi, peri; for comparison notears-admm, feddag, fedcdh."
    ),
    data: arg.DataType = None,
    knowledge: arg.Knowledge = None,
    schema: arg.SchemaFile = None,
    missing: arg.MissingRows = None,
    confidence: arg.Confidence = None,
    sharing: arg.Sharing = None,
    seed: arg.Seed = None,
    masking: arg.Masking = None,
    aggregate: arg.Aggregate = None,
    local: arg.Local = None,
    alpha: arg.Alpha = None,
    penalty: arg.Penalty = None,
    bootstrap: arg.Bootstrap = None,
    jobs: int | None = typer.Option(
        None, metavar="N", help="iperi: process N sites in parallel.", rich_help_panel=arg.METHOD
    ),
    epsilon: arg.Epsilon = None,
    delta: arg.Delta = None,
    mechanism: arg.Mechanism = None,
    bounds: arg.Bounds = None,
    ceiling: arg.Ceiling = None,
    store: arg.Store = None,
    most_rows: arg.MostRows = None,
    decimal: arg.DecimalMark = None,
    site_keys: arg.SiteKeys = None,
    config: arg.Config = None,
    dry_run: arg.DryRun = False,
    as_json: arg.AsJson = False,
) -> None:
    """Find the causal graph that the sites share."""
    asked, said = given_options(config, context.params, known_options(HERE))
    check_place(out, dry_run, as_json)
    chosen = make_method(asked, said)
    name = asked.get("method", next(iter(HERE)))
    tables = _tables(files, name)
    sources = _sources(files, tables, site_keys)

    from ..methods.remarks import found_by_check
    from ..report.console import console as terminal
    from .common.outcome import summarize

    console = terminal(quiet=as_json)
    sources, findings = _looked_at(console, sources, tables, chosen, dry_run, strict=name != "mperi")
    if dry_run:
        console.print("Nothing was asked: this was a dry run.")
        return
    _say_unsigned(console, sources)
    result = chosen.fit(sources)
    result = replace(result, warnings=(*result.warnings, *found_by_check(findings)))
    if out is not None:
        result.save(out)
    if as_json:
        say(result.to_json())
    else:
        summarize(console, result, out)


def _looked_at(
    console: Console, sources: list[Any], tables: list[str], method: Any, dry_run: bool, *, strict: bool
) -> tuple[list[Any], Sequence[Finding]]:
    """Check the tables, or show what privacy costs; return sources that need no second reading."""
    findings: Sequence[Finding] = ()
    from ..privacy import Release
    from ..tables.summary.summary import Summary
    from .common.plan import show_plan, show_prices

    if getattr(method, "privacy", None) is not None and tables:
        show_prices(console, tables, method, dry_run)
    elif tables:
        checked = _checked(console, tables, method, strict=strict)
        if dry_run:
            show_plan(console, checked, method)
        findings = checked.findings
        read = iter(checked.tables)  # in the order of the files: all of them passed the check
        sources = [next(read) if isinstance(source, str) else source for source in sources]
    for source in sources:
        if isinstance(source, Release | Summary):
            console.print(f"{source.site}: {statement_kind(source)}.", markup=False)
    if dry_run and len(sources) > len(tables):
        console.print(f"{len(sources) - len(tables)} statements: nothing is asked of these sites, and nothing is paid.")
    return sources, findings


def _tables(files: list[str], method: str) -> list[str]:
    """Return the files that are tables; the others are statements, which the baselines cannot use."""
    from ..privacy.statement import is_statement

    tables = [file for file in files if not is_statement(file)]
    if len(tables) < len(files) and method in BASELINES:
        statement = next(file for file in files if file not in tables)
        raise InputError(f"{statement!r} is a statement, and {method} computes with rows; leave --method out")
    return tables


def _sources(files: list[str], tables: list[str], keys: Path | None) -> list[Any]:
    """Read the statements among the files, each signed by its site if there is a list of keys."""
    from ..privacy.release.signature import read_roster
    from ..privacy.statement import load_statement

    if keys is not None and tables:
        raise InputError(
            f"--site-keys is about releases, which sites sign, and {tables[0]!r} is a table: give releases "
            "only, or leave --site-keys out"
        )
    roster = None if keys is None else read_roster(keys)
    return [file if file in tables else load_statement(file, roster) for file in files]


def _say_unsigned(console: Console, sources: list[Any]) -> None:
    from ..privacy import Release
    from ..tables.summary.summary import Summary

    bare = [one.site for one in sources if isinstance(one, Release | Summary) and one.signature is None]
    if bare:
        console.print(
            f"Not signed: the statement{'s' * (len(bare) > 1)} of {', '.join(bare)}. Anyone could have edited them; "
            "with `fedperi release --key` sites sign, and with --site-keys a run checks it.",
            markup=False,
        )


def _checked(console: Console, files: list[str], method: Any, *, strict: bool) -> CheckReport:
    """The pre-flight of `fedperi check`: stop before anything runs if a run would fail."""
    from ..tables import check
    from .common.progress import reading

    with reading(len(files)) as tell:
        report = check(files, method.schema, method.missing, strict=strict, tell=tell)
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
