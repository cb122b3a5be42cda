"""`fedperi release`: a site's table as one file of noisy statistics, to be read and then sent by any channel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InputError
from ..option_values import COMPLETE, check_one_of
from ..strict import write_json
from . import app
from .common import arguments as arg
from .common.methods import make_privacy
from .common.say import say
from .common.single.exact import release_exactly
from .common.single.release_words import plan_lines, release_lines
from .common.single.releasing import look_at_price, make_release
from .common.targets import own_targets

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from ..privacy.options import Privacy
    from ..tables.table import Table

DATA = ("auto", "linear", "nonlinear", "mixed")


@app.command()
def release(
    context: typer.Context,
    file: str = typer.Argument(..., metavar="FILE", help="The site's table, CSV or Parquet."),
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The release file to write: h1.fedperi.")] = None,
    epsilon: arg.Epsilon = None,
    delta: arg.Delta = None,
    bounds: arg.Bounds = None,
    schema: arg.SchemaFile = None,
    name: arg.SiteName = None,
    data: str = typer.Option("auto", metavar="TYPE", help="Kind of data: auto, linear, nonlinear or mixed."),
    missing: arg.SiteMissing = "error",
    most_rows: arg.MostRows = None,
    decimal: arg.DecimalMark = None,
    targets: arg.Targets = None,
    store: arg.Store = None,
    key: arg.SiteKey = None,
    ceiling: arg.Ceiling = None,
    raise_ceiling: bool = typer.Option(
        False, "--raise-ceiling", help="Raise the ceiling in the ledger to --ceiling; the ledger records the change."
    ),
    exact: bool = typer.Option(False, "--exact", help="NOT PRIVATE: exact means and covariances, once you confirm."),
    yes: bool = typer.Option(False, "--yes", help="With --exact: confirm without being asked."),
    dry_run: arg.DryRun = False,
    as_json: arg.AsJson = False,
) -> None:
    """Write a table's noisy statistics to one file: no rows, no exact numbers; the privacy price is paid once."""
    check_one_of("data", data, DATA)
    check_one_of("missing", missing, COMPLETE)
    if exact:
        _refuse_options_of_noise(context.params)
        release_exactly(file, out, _signing_key(key), context.params, yes=yes, dry_run=dry_run, as_json=as_json)
        return
    if epsilon is None:
        raise InputError(
            "give the privacy price of the release: --epsilon 1 is usual (--exact writes exact statistics, NOT PRIVATE)"
        )
    signing = _signing_key(key)
    if not dry_run:
        _check_place(out)

    from ..privacy.release.file import is_release
    from ..privacy.release.site_release import plan_release
    from ..tables.table import open_table

    if is_release(file):
        raise InputError(f"{file!r} is a release file already; `fedperi inspect {file}` explains it")
    privacy = cast("Privacy", make_privacy(context.params))
    table = open_table(file, name)
    how: dict[str, Any] = {"schema": schema, "data": data, "missing": missing}
    plan = plan_release(table, privacy, schema=schema, data=how["data"])
    declared = own_targets(targets, plan.schema.names)
    if dry_run:
        _show(look_at_price(table, privacy, how, plan), as_json)
        return
    if raise_ceiling:
        _raise_ceiling(table, privacy)
    _show(make_release(table, privacy, how, declared, cast("Path", out), signing), as_json)


def _refuse_options_of_noise(given: dict[str, Any]) -> None:
    """Refuse options that have no meaning with --exact, which has no price and promises no privacy."""
    noisy = ("epsilon", "delta", "bounds", "most_rows", "decimal", "ceiling")
    option = next((option for option in noisy if given[option] is not None), None)
    if option is not None or given["raise_ceiling"]:
        said = (option or "raise_ceiling").replace("_", "-")
        raise InputError(f"--{said} concerns noise, and --exact adds none; omit one of the two")


def _signing_key(path: Path | None) -> EllipticCurvePrivateKey | None:
    if path is None:
        return None
    from ..pki.certificates import read_site_key

    return read_site_key(path)


def _raise_ceiling(table: Table, privacy: Privacy) -> None:
    from ..privacy.ledger import Ceiling, Ledger
    from ..privacy.store import Store
    from ..tables.bounded import fingerprint

    if privacy.ceiling is None:
        raise InputError("--raise-ceiling needs the new ceiling: --ceiling 12")
    mark = fingerprint(table)
    place = Store(privacy.store).place(table.name, mark)
    Ledger.open(place, site=table.name, table=mark, ceiling=Ceiling(privacy.ceiling), raise_ceiling=True)


def _check_place(out: Path | None) -> None:
    """Refuse, before anything is paid, an output that cannot be written or that is not a release file."""
    from ..privacy.release.file import is_release

    if out is None:
        raise InputError("give the file to write: --out h1.fedperi (or --dry-run to see the price)")
    if not out.parent.is_dir():
        raise InputError(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}; make it first")
    if (out.exists() or out.is_symlink()) and not is_release(out):
        raise InputError(f"--out {str(out)!r} already exists and is not a release file; choose another name")
    if not os.access(out.parent, os.W_OK):
        raise InputError(f"--out {str(out)!r}: the folder {str(out.parent)!r} cannot be written; choose another")


def _show(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say(write_json(values, indent=2))
    else:
        from ..console import console as terminal

        console = terminal()
        for line in plan_lines(values) if "dry_run" in values else release_lines(values):
            console.print(line, soft_wrap=True)
    if values.get("refused"):
        raise InputError(values["refused"])
