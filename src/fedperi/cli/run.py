"""`fedperi run`: find a graph from one file per site; write a report, and files for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..phrases import with_noun
from . import app
from .common import arguments as arg
from .common.inputs import found_inputs, opening_of, refuse_standard_input
from .common.methods import BASELINES, HERE, known_options, make_method
from .common.options import check_place, given_options
from .common.outcome import summarize
from .common.say import say
from .common.single.warned import with_findings
from .common.statements import statement_kind
from .common.targets import with_targets

if TYPE_CHECKING:
    from rich.console import Console

    from ..privacy.statement import Statement
    from ..tables.checks.findings import Finding
    from ..tables.checks.report import CheckReport
    from ..tables.preparing.opening import Opening
    from ..tables.table import Table


@app.command()
def run(
    context: typer.Context,
    files: list[str] = typer.Argument(..., metavar="FILES", help=arg.FILES),
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write the results.")] = None,
    method: str | None = typer.Option(
        None, metavar="NAME", help="mperi (default), iperi, peri, fci; for comparison notears-admm, feddag, fedcdh."
    ),
    data: arg.DataType = None,
    knowledge: arg.Knowledge = None,
    schema: arg.SchemaFile = None,
    missing: arg.MissingRows = None,
    columns: arg.Columns = None,
    exclude: arg.Exclude = None,
    accept: arg.Accept = None,
    targets: arg.SiteTargets = None,
    encoding: arg.Encoding = None,
    confidence: arg.Confidence = None,
    sharing: arg.Sharing = None,
    seed: arg.Seed = None,
    masking: arg.Masking = None,
    aggregate: arg.Aggregate = None,
    local: arg.Local = None,
    alpha: arg.Alpha = None,
    contexts: arg.Contexts = None,
    selection: arg.Selection = None,
    max_depth: arg.MaxDepth = None,
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
    force: arg.Force = False,
    dry_run: arg.DryRun = False,
    as_json: arg.AsJson = False,
) -> None:
    """Find the causal graph that the sites share."""
    from ..console import console as terminal
    from ..tables.readers.formats.naming import each_source

    given = {**context.params, "context": contexts}  # typer keeps the name for itself
    asked, said = given_options(config, given, known_options(HERE))
    check_place(out, dry_run, as_json, force=force)
    if dry_run and as_json:
        raise InputError("--dry-run has no result to print: leave out --json (`fedperi check --json` prints findings)")
    # With noise the decimal mark is part of the promise; without, it is about text files alone.
    mark = None if "epsilon" in asked else asked.pop("decimal", None)
    how = opening_of({**context.params, "decimal": mark})
    chosen = make_method(asked, said)
    name = asked.get("method", next(iter(HERE)))
    inputs = found_inputs([one for file in files for one in each_source(file)], how)
    sources, tables = _sources(inputs, name, site_keys)
    console = terminal(quiet=as_json)
    strict = name not in ("mperi", "fci")
    sources, chosen, findings = _checked_sources(console, sources, tables, chosen, how, dry_run, strict=strict)
    sources = with_targets(sources, targets or (), name)
    if dry_run:
        console.print("Nothing was requested: this was a dry run.")
        return
    _say_unsigned(console, sources)
    result = with_findings(chosen.fit(sources), findings)
    if out is not None:
        result.save(out, overwrite=force)
    if as_json:
        say(result.to_json())
    else:
        summarize(console, result, out)


def _checked_sources(
    console: Console, sources: list[Any], tables: list[Any], method: Any, how: Opening, dry_run: bool, *, strict: bool
) -> tuple[list[Any], Any, tuple[Finding, ...]]:
    """Check the tables, or show what privacy costs; return sources that are not read again, the method, findings."""
    from .common.plan import show_plan, show_prices

    findings: tuple[Finding, ...] = ()
    if getattr(method, "privacy", None) is not None and tables:
        opened, method = _protected(tables, method, how)
        show_prices(console, opened, method, dry_run)
        sources = _replaced(sources, opened)
    elif tables:
        checked = _checked(console, tables, method, how, strict=strict)
        _check_knowledge(method, checked.schema.names)
        findings = checked.findings
        if dry_run:
            show_plan(console, checked, method)
        sources = _replaced(sources, checked.tables)  # in the order of the files: all of them passed the check
    for statement in _statements(sources):
        console.print(f"{statement.site}: {statement_kind(statement)}.")
    if dry_run and len(sources) > len(tables):
        console.print(f"{len(sources) - len(tables)} statements: these sites are asked nothing and pay nothing.")
    return sources, method, findings


def _protected(tables: list[Any], method: Any, how: Opening) -> tuple[list[Table], Any]:
    """Open tables for a run with noise. They keep all columns, as their ledgers know them; a schema ignores some."""
    from ..tables.infer import as_schema

    opened = how.open_all(tables)
    refuse_standard_input(opened)
    schema = how.ignoring(as_schema(method.schema), opened)
    left = {one.name for one in schema.preparations if one.ignore} if schema is not None else set()
    _check_knowledge(method, [name for name in opened[0].columns if name not in left])
    return opened, method if schema is None else replace(method, schema=schema)


def _replaced(sources: list[Any], tables: Sequence[Table]) -> list[Any]:
    """Replace files and tables by the tables as they were opened."""
    from ..tables.table import Table

    opened = iter(tables)
    return [next(opened) if isinstance(source, str | Table) else source for source in sources]


def _check_knowledge(method: Any, names: Sequence[str]) -> None:
    """Refuse knowledge that contradicts itself or names no variable, in a dry run too."""
    known = getattr(method, "knowledge", None)
    if known is not None:
        known.constraints(names)


def _sources(files: list[Any], method: str, keys: Path | None) -> tuple[list[Any], list[Any]]:
    """Read the statements among the files; return all sources, and those that are tables.

    The baselines cannot use statements. With a folder of keys, each statement must be signed by its site.
    """
    from ..privacy.release.signature import read_roster
    from ..privacy.statement import is_statement, load_statement

    tables = [file for file in files if not isinstance(file, str) or not is_statement(file)]
    if len(tables) < len(files) and method in BASELINES:
        statement = next(file for file in files if file not in tables)
        raise InputError(f"{statement!r} is a statement, and {method} computes with rows; leave --method out")
    if keys is not None and tables:
        shown = tables[0] if isinstance(tables[0], str) else tables[0].origin
        raise InputError(
            f"--site-keys checks the signatures of releases, and {shown!r} is a table: give releases "
            "only, or omit --site-keys"
        )
    roster = None if keys is None else read_roster(keys)
    return [file if file in tables else load_statement(file, roster) for file in files], tables


def _statements(sources: list[Any]) -> list[Statement]:
    from ..privacy import Release
    from ..tables.summary.summary import Summary

    return [source for source in sources if isinstance(source, Release | Summary)]


def _say_unsigned(console: Console, sources: list[Any]) -> None:
    bare = [one.site for one in _statements(sources) if one.signature is None]
    if bare:
        console.print(
            f"Not signed: the statement{'s' * (len(bare) > 1)} of {', '.join(bare)}. Anyone could have edited them; "
            "sites sign with `fedperi release --key`, and a run checks signatures with --site-keys."
        )


def _checked(console: Console, files: list[Any], method: Any, how: Opening, *, strict: bool) -> CheckReport:
    """Run `fedperi check` first: stop before anything runs if a run would fail."""
    from .common.progress import reading

    with reading() as tell:
        from ..tables import check

        report = check(files, method.schema, method.missing, strict=strict, tell=tell, how=how)
    if not report.ok:
        from ..console import console as terminal

        terminal(stderr=True).print(report.to_rich())
        again = "" if strict else " (`fedperi check` shows it again)"
        raise InputError(f"the tables do not pass the check above; nothing was computed{again}")
    doubts = sum(finding.level == "warning" for finding in report.findings)
    used = [site for site in report.sites if not site.left_out]
    without = len(report.sites) - len(used)
    console.print(
        f"{with_noun(len(used), 'site')}, {sum(site.rows for site in used)} rows, "
        f"{len(report.schema.names)} variables"
        + (f"; {with_noun(without, 'site')} left out." if without else ".")
        + (f" {with_noun(doubts, 'warning')}: see `fedperi check`." if doubts else "")
    )
    return report
