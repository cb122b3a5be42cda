"""`fedperi check`: whether a run would work on these tables. It lists all problems and what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InputError
from ..option_values import MISSING, check_one_of
from ..strict import write_json
from . import app
from .common import arguments as arg
from .common.inputs import found_inputs, opening_of
from .common.options import new_schema
from .common.progress import reading
from .common.say import say

if TYPE_CHECKING:
    from ..tables.checks.findings import Finding
    from ..tables.checks.profile import Missing
    from ..tables.checks.report import CheckReport
    from ..tables.schema import Schema
    from ..tables.table import Table


@app.command()
def check(
    context: typer.Context,
    files: list[str] = typer.Argument(..., metavar="FILES", help=arg.FILES),
    schema: arg.SchemaFile = None,
    missing: arg.MissingRows = "auto",
    bounds: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Public bounds and levels (TOML): also show how a private run would treat the rows."
        ),
    ] = None,
    columns: arg.Columns = None,
    exclude: arg.Exclude = None,
    accept: arg.Accept = None,
    encoding: arg.Encoding = None,
    decimal: arg.DecimalMark = None,
    as_json: arg.AsJson = False,
    write_schema: str | None = typer.Option(
        None, metavar="FILE", help="If there is no error, write the types to this file, for all sites to use."
    ),
) -> None:
    """Check the tables of all sites before a run. Exit code 0 if it would start, 2 if it would fail."""
    from ..console import console as terminal

    check_one_of("missing", missing, MISSING)
    target = None if write_schema is None else new_schema(write_schema, "--write-schema")

    with reading() as tell:
        from ..tables import check as run
        from ..tables.infer import as_schema

        how = opening_of(context.params)
        sources = found_inputs(files, how)
        report = run(sources, schema, cast("Missing", missing), tell=tell, how=how)
    if bounds is not None:
        tables = how.open_all(sources)
        noisy = _with_noise(tables, bounds, decimal, how.ignoring(as_schema(schema), tables), cast("Missing", missing))
        report = replace(report, findings=(*report.findings, *noisy))
    if target is not None and report.ok:
        report.schema.to_file(target)
    if as_json:
        say(write_json(report.to_dict(), indent=2))
    else:
        console = terminal()
        console.print(report.to_rich())
        for line in (*_advice(report, missing), *_about_types(report, schema, target)):
            console.print(line)
    if not report.ok:
        raise typer.Exit(2)


def _with_noise(
    tables: list[Table], bounds: str, decimal: str | None, schema: Schema | None, missing: Missing
) -> Iterator[Finding]:
    """Say how a run with noise would treat the rows: it reads every cell separately and refuses none."""
    from ..privacy import Privacy
    from ..privacy.owner import owner_findings
    from ..tables import Finding
    from ..tables.reading import Reading

    how: dict[str, Any] = {"schema": schema, "missing": Reading(missing=missing).private().missing}
    privacy = Privacy(bounds=bounds, decimal=cast(Any, decimal))
    try:
        for table in tables:
            for finding in owner_findings(table, privacy, **how):
                yield replace(finding, message=f"with noise: {finding.message}")
    except InputError as error:
        message, _, remedy = str(error).partition("; ")
        yield Finding("error", None, (), f"with noise: {message}", remedy)


def _advice(report: CheckReport, missing: str | None) -> list[str]:
    """Name the options of this command that are a remedy for a problem."""
    lines = []
    if missing == "error" and any(site.incomplete for site in report.sites):
        lines.append("To leave incomplete rows out, add --missing drop.")
    if any("schema" in finding.remedy for finding in report.findings if finding.level == "error"):
        lines.append("To declare types or levels, write them in a schema file and add --schema FILE.")
    return lines


def _about_types(report: CheckReport, schema: str | None, target: Path | None) -> list[str]:
    """Say whether the types of the columns were written, or how to write them."""
    if target is not None and report.ok:
        return [f"Wrote the types of {len(report.schema.columns)} columns to {target}."]
    if target is not None:
        return [f"{target} was not written: there are errors."]
    if report.ok and schema is None and len(report.sites) > 1:
        return ["To keep these types for all sites, add --write-schema schema.toml."]
    return []
