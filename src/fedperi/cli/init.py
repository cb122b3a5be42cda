"""`fedperi init`: write a schema and a knowledge file to start from, filled in from the tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from . import app
from .common import arguments as arg
from .common.inputs import found_inputs, opening_of
from .common.progress import reading

if TYPE_CHECKING:
    from ..tables.checks.report import CheckReport

SCHEMA, KNOWLEDGE = "schema.toml", "knowledge.toml"


@app.command()
def init(
    context: typer.Context,
    files: list[str] = typer.Argument(..., metavar="DIR|FILES", help="The folder of the tables, or the tables."),
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write; by default the tables' folder.")
    ] = None,
    encoding: arg.Encoding = None,
    decimal: arg.DecimalMark = None,
) -> None:
    """Write a schema and a knowledge file to start from, with comments; look through both before a run."""
    place = out if out is not None else Path(files[0]) if len(files) == 1 and Path(files[0]).is_dir() else Path()
    targets = [place / name for name in (SCHEMA, KNOWLEDGE)]
    for target in targets:
        if target.exists():
            raise InputError(f"{str(target)!r} already exists; remove it, or choose another folder with --out")

    from .. import disk
    from ..console import console as terminal
    from ..tables.preparing.templates import knowledge_template, schema_template

    with reading() as tell:
        from ..tables import check

        how = opening_of(context.params)
        report = check(found_inputs(files, how), missing="auto", tell=tell, how=how)
    columns = _columns(report)
    texts = (schema_template(columns, report), knowledge_template(columns, report))
    try:
        place.mkdir(parents=True, exist_ok=True)
        for target, text in zip(targets, texts, strict=True):
            disk.write_new(target, text.encode(), 0o644)
    except OSError as error:
        raise InputError(f"cannot write into {str(place)!r}: {error.strerror or error}") from None
    console = terminal()
    console.print(f"Wrote {targets[0]} and {targets[1]}: look through both.", soft_wrap=True)
    given = " ".join(files)
    console.print(
        f"Then: fedperi check {given} --schema {targets[0]}\n"
        f"      fedperi run {given} --schema {targets[0]} --knowledge {targets[1]} --out results",
        soft_wrap=True,
    )


def _columns(report: CheckReport) -> list[str]:
    """Return the columns of all tables, in the order in which they are found."""
    columns = list(dict.fromkeys(name for table in report.tables for name in table.columns))
    if not columns:
        raise InputError(f"no table could be read: {report.findings[0]}")
    return columns
