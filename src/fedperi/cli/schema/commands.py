"""`fedperi schema merge` and `accept`: sites propose, the coordinator merges, owners accept. No table is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import InputError
from ...phrases import with_noun
from .. import app
from ..common import arguments as arg
from ..common.options import new_schema, split_names
from ..common.say import confirm, say

if TYPE_CHECKING:
    from ...coordinator.proposals import Proposal
    from ...tables.schema import Schema

schema = typer.Typer(no_args_is_help=True, help="Agree on one schema for all sites; no table is needed.")
app.add_typer(schema, name="schema")


@schema.command("merge")
def merge_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="One schema file per site, named like the site; SITE=FILE names the site."
        ),
    ],
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Where to write the agreed schema.")] = None,
    leave_out: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to leave out at all sites.")] = None,
    as_json: arg.AsJson = False,
) -> None:
    """Merge the schemas that sites propose, or list the conflicts to settle first. Exit code 2 if there are any."""
    from ...coordinator.proposals import merge
    from ...strict import write_json

    target = None if out is None else new_schema(out, "--out")
    merged = merge([_proposal(text) for text in files], split_names(leave_out))
    if as_json:
        columns = {column.name: column.kind for column in merged.schema.columns}
        outcome = {"agreed": columns, "conflicts": merged.conflicts, "remarks": merged.remarks}
        say(write_json(outcome, indent=2))
    else:
        _show("Settled by a rule; check that this is right", merged.remarks)
        _show("The sites must settle first", merged.conflicts)
        conflicts = with_noun(len(merged.conflicts), "conflict")
        say(f"{with_noun(len(merged.schema.columns), 'column')} agreed on, {conflicts}.")
    if merged.conflicts:
        if target is not None:
            raise InputError(f"{out!r} was not written: there are conflicts")
        raise typer.Exit(2)
    if target is not None:
        merged.schema.to_file(target)
        if not as_json:
            say(f"Wrote {out}: each owner accepts it with `fedperi schema accept {out} --schema THEIRS --out NEW`.")


@schema.command("accept")
def accept_command(
    agreed: Annotated[str, typer.Argument(metavar="FILE", help="The agreed schema, as the coordinator sent it.")],
    own: Annotated[str, typer.Option("--schema", metavar="FILE", help="The schema that this site uses now.")],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write the accepted schema: a new file.")],
    yes: Annotated[bool, typer.Option("--yes", help="Accept without being asked.")] = False,
) -> None:
    """Accept an agreed schema at a site: shows what changes, and writes a file for `fedperi site --schema`."""
    from ...coordinator.proposals import accepted
    from ...tables.schema import Schema

    target = new_schema(out, "--out")
    made, changes = accepted(Schema.from_file(own), _only_columns(agreed))
    _show("What changes at this site", changes)
    if not changes:
        say("Nothing changes at this site.")
    if not yes:
        no_terminal = "there is no terminal for a question: look at the changes, and repeat the command with --yes"
        confirm("Accept it? [y]es, [n]o: ", no_terminal=no_terminal, denied="nothing was written")
    made.to_file(target)
    say(f"Wrote {out}. Check it with `fedperi check TABLE --schema {out}`, then start the site with --schema {out}.")


def _only_columns(agreed: str) -> Schema:
    """Read an agreed schema; refuse one that also says how a site prepares its cells."""
    from ...tables.schema import Schema

    read = Schema.from_file(agreed)
    if read.preparations:
        names = ", ".join(one.name for one in read.preparations)
        raise InputError(
            f"{agreed!r} would change the cells of {names} (ignore, missing_values, rename or scale): an agreed schema "
            "says what the columns are; how a site prepares its cells belongs in the site's own file"
        )
    return read


def _proposal(text: str) -> Proposal:
    from ...coordinator.proposals import Proposal
    from ...names import check_name
    from ...tables.schema import Schema

    site, named, file = text.partition("=")
    file = file if named else text
    site = site if named else Path(text).stem
    check_name(site, f"the site of {file!r}")
    return Proposal(site, Schema.from_file(file))


def _show(title: str, lines: Sequence[str]) -> None:
    if lines:
        say("\n  ".join((f"{title}:", *lines)))
