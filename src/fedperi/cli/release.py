"""`fedperi release`: a site's table as one file of noisy statistics, which may be read and then sent by any channel."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InputError
from ..option_values import COMPLETE, check_one_of
from ..strict import write_json
from . import app
from .common import arguments as arg
from .common.methods import make_privacy
from .common.options import listed
from .common.say import say
from .common.single.release_words import plan_lines, release_lines

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from ..privacy.ledger import Ledger
    from ..privacy.options import Privacy
    from ..privacy.release.draw import TrueCounts
    from ..privacy.release.release import Plan, Release
    from ..tables.checks.profile import Missing
    from ..tables.embedding import Data
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
    data: str = typer.Option("auto", metavar="TYPE", help="auto, linear, nonlinear or mixed."),
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
    if exact:
        _exact(context.params)
        return
    if epsilon is None:
        raise InputError(
            "give the privacy price of the release: --epsilon 1 is usual (--exact writes exact statistics, NOT PRIVATE)"
        )
    check_one_of("data", data, DATA)
    check_one_of("missing", missing, COMPLETE)
    signing = None if key is None else _signing_key(key)
    if not dry_run:
        _check_place(out)

    from ..privacy.release.file import is_release
    from ..privacy.release.site_release import plan_release
    from ..tables.table import open_table

    if is_release(file):
        raise InputError(f"{file!r} is a release file already; `fedperi inspect {file}` explains it")
    privacy = cast("Privacy", make_privacy(context.params))
    table = open_table(file, name)
    plan = plan_release(table, privacy, schema=schema, data=cast("Data", data))
    declared = _targets(targets, plan)
    if dry_run:
        _show(_planned(table, plan, privacy, cast("Missing", missing), schema), as_json)
        return
    if raise_ceiling:
        _raise_ceiling(table, privacy)
    _show(_released(table, privacy, schema, data, missing, declared, cast("Path", out), signing), as_json)


def _exact(given: dict[str, Any]) -> None:
    """Write an exact summary instead, which has no price and promises no privacy."""
    from .common.single.exact import release_exactly

    noisy = ("epsilon", "delta", "bounds", "most_rows", "decimal", "ceiling")
    about = next((option for option in noisy if given[option] is not None), None)
    if about is not None or given["raise_ceiling"]:
        said = (about or "raise_ceiling").replace("_", "-")
        raise InputError(f"--{said} concerns noise, and --exact adds none; omit one of the two")
    check_one_of("data", given["data"], DATA)
    check_one_of("missing", given["missing"], COMPLETE)
    key = None if given["key"] is None else _signing_key(Path(given["key"]))
    out = None if given["out"] is None else Path(given["out"])
    flags = {flag: given[flag] for flag in ("yes", "dry_run", "as_json")}
    release_exactly(given["file"], out, key, given, **flags)


def _signing_key(path: Path) -> EllipticCurvePrivateKey:
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


def _targets(text: str | None, plan: Plan) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = listed(text)
    for name in names:
        if name not in plan.schema:
            raise InputError(
                f"--targets: there is no column {name!r}; there are {', '.join(map(repr, plan.schema.names))}"
            )
    return tuple(dict.fromkeys(names))


def _released(
    table: Table,
    privacy: Privacy,
    schema: str | None,
    data: str,
    missing: str,
    targets: tuple[str, ...] | None,
    out: Path,
    key: EllipticCurvePrivateKey | None,
) -> dict[str, Any]:
    """Make the release, or take the one that was made before, sign it if there is a key, and write it."""
    from ..privacy.release.file import save_release, sign_release
    from ..privacy.release.release import undoes_clipping
    from ..privacy.release.site_release import prepare_release

    pending = prepare_release(
        table, privacy, schema=schema, data=cast("Data", data), missing=cast("Missing", missing), targets=targets
    )
    known = pending.kept
    if out.exists() and not known:
        raise InputError(f"--out {str(out)!r} holds another release; choose another name. Nothing was drawn or paid")
    noticed = [] if pending.kept else _noticed(table, privacy, schema, data, missing)
    with _interrupts_delayed():
        release, true_counts = pending.draw()
    if true_counts is None and not known:
        raise InputError(
            f"site {table.name!r}: another process made this release at the same moment, and paid for it; nothing was "
            "paid twice and nothing was written here: run the command again to write the same release at no new price"
        )
    if key is not None:
        release = sign_release(release, key)
    there = out.exists()
    if there:
        _check_same(release, out)
    else:
        save_release(release, out)
    return {
        "file": str(out),
        "site": release.site,
        "identifier": release.identifier,
        "private": release.private,
        "epsilon": release.epsilon,
        "delta": release.delta,
        "signed_by": None if release.signature is None else release.signature.fingerprint,
        "kept": true_counts is None,
        "written": not there,
        "ledger": release.ledger,
        "for_the_site_only": None
        if true_counts is None
        else _secrets(true_counts, undoes_clipping(release.schema, release.data)) | {"findings": noticed},
    }


def _check_same(release: Release, out: Path) -> None:
    """Accept an existing file with this release, even with an older state of the ledger; refuse any other."""
    from dataclasses import replace

    from ..privacy.release.file import load_release, write_release

    try:
        there = load_release(out)
    except InputError:
        raise InputError(
            f"--out {str(out)!r} is a release file that was cut off or changed; remove it, or choose another name"
        ) from None
    bare = [write_release(replace(one, ledger=None, signature=None)) for one in (there, release)]
    if bare[0] != bare[1]:
        raise InputError(f"--out {str(out)!r} holds another release; choose another name. Nothing was drawn or paid")
    signers = [None if one.signature is None else one.signature.key for one in (there, release)]
    if signers[0] != signers[1]:
        raise InputError(
            f"--out {str(out)!r} holds this release, but {'not signed' if signers[0] is None else 'signed'}, and was "
            "not changed; choose another name, or remove it first. Nothing was drawn or paid"
        )


def _noticed(table: Table, privacy: Privacy, schema: str | None, data: str, missing: str) -> list[str]:
    """List what is odd in the rows, for the owner only, since none of it stops a release."""
    from ..privacy.owner import owner_findings

    how: dict[str, Any] = {"schema": schema, "data": data, "missing": missing}
    return [str(finding) for finding in owner_findings(table, privacy, **how)]


def _secrets(true_counts: TrueCounts, undone: bool) -> dict[str, Any]:
    return {"rows": true_counts.rows, "clipped": true_counts.clipped, "clipping_is_undone": undone}


@contextlib.contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Delay Ctrl-C: between charging the ledger and keeping the noise it would spend budget for nothing."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed and callable(before):
        before(signal.SIGINT, None)


def _planned(table: Table, plan: Plan, privacy: Privacy, missing: Missing, schema: str | None) -> dict[str, Any]:
    """Return the price and the state of the ledger, without creating or changing the ledger."""
    from ..privacy.accounting import spent
    from ..privacy.release.site_release import Budget

    budget = Budget.look(table, privacy)
    ledger = budget.ledger
    kept = budget.holds(plan, missing)
    prices = [entry.price for entry in ledger.releases]
    then = spent(prices if kept else [*prices, plan.price], ledger.ceiling.delta)
    return {
        "dry_run": True,
        "site": table.name,
        "data": plan.data,
        "columns": list(plan.schema.names),
        "price": plan.price.to_dict(),
        "noise": plan.noise,
        "kept": kept,
        "for_the_site_only": {"findings": [] if kept else _noticed(table, privacy, schema, plan.data, missing)},
        "ledger": {**ledger.summary(), "spent_after": then, "remaining_after": max(0.0, ledger.ceiling.epsilon - then)},
        "refused": None if kept else _refused(ledger, plan),
    }


def _refused(ledger: Ledger, plan: Plan) -> str | None:
    try:
        ledger.check(plan.price)
    except InputError as error:
        return str(error)
    return None


def _show(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say(write_json(values, indent=2))
    else:
        from ..report.console import console as terminal

        console = terminal()
        for line in plan_lines(values) if "dry_run" in values else release_lines(values):
            console.print(line, soft_wrap=True)
    if values.get("refused"):
        raise InputError(values["refused"])
