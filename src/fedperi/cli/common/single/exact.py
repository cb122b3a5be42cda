"""`fedperi release --exact`: a table's exact summary as one file, once its owner has seen what it reveals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import InputError
from ....strict import write_json
from ..say import confirm, say
from ..statements import exact_values, explained
from ..targets import own_targets

if TYPE_CHECKING:
    from ....tables.summary.summary import Summary


def release_exactly(
    file: str, out: Path | None, key: Any, options: dict[str, Any], *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Summarise a table exactly, check it for disclosure, show what it reveals, ask, and write it.

    Of the options of the command, `schema`, `data`, `missing`, `name` and `targets` are used. A key signs the file.
    """
    from ....privacy.exact.file import sign_summary
    from ....privacy.exact.reveals import sections
    from ....privacy.statement import save_statement

    summary = _summary(file, options)
    if key is not None:
        summary = sign_summary(summary, key)
    if as_json and not (yes or dry_run):
        raise InputError("with --json there is no question: add --yes to confirm that exact statistics may be written")
    revealed = sections(summary)
    if not as_json:
        for section in revealed:
            say(section.heading)
            for paragraph in section.paragraphs:
                say(f"  {paragraph}")
    if not dry_run:
        if out is None:
            raise InputError("give the file to write: --out h1.fedperi (or --dry-run to see what it reveals)")
        if not yes:
            confirm(
                f"Write exact statistics of {summary.n:g} rows? Type 'exact' to confirm: ",
                no_terminal="exact statistics are written only after a person confirms: add --yes, or use a terminal",
                denied="not confirmed; nothing was written",
                yes=("exact",),
            )
        save_statement(summary, out)
    if as_json:
        values = exact_values(None if out is None else str(out), summary)
        say(write_json({**values, "written": not dry_run, "explanation": explained(revealed)}, indent=2))
    elif dry_run:
        say("Nothing was written: this was a dry run.")
    else:
        say(f"Wrote {str(out)!r}: exact statistics, NOT PRIVATE.")


def _summary(file: str, options: dict[str, Any]) -> Summary:
    from ....site.service.stating import exact_summary
    from ....tables.infer import as_schema
    from ....tables.table import open_table

    table = open_table(file, options["name"])
    targets = own_targets(options["targets"], table.columns)
    schema = as_schema(options["schema"])
    return replace(exact_summary(table, schema, options["data"], options["missing"], targets), targets=targets)
