"""`fedperi release`: a site's table as one file of noisy statistics, which may be read and then sent by any channel."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from ..errors import InputError
from ..strict import write_json
from . import app
from .common.say import say

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
    file: str = typer.Argument(..., metavar="FILE", help="The site's table, CSV or Parquet."),
    out: Path | None = typer.Option(None, "--out", metavar="FILE", help="The release file to write: h1.fedperi."),
    epsilon: float | None = typer.Option(None, "--epsilon", help="The promise: 1 is strong, 10 is little."),
    delta: float = typer.Option(1e-6, "--delta", help="Probability that the guarantee fails; 1e-6 or less."),
    bounds: str | None = typer.Option(None, "--bounds", metavar="FILE", help="Public limits and levels (TOML)."),
    schema: str | None = typer.Option(None, "--schema", metavar="FILE", help="Types, levels and bounds, as of check."),
    name: str | None = typer.Option(None, "--name", help="The site's name; the file's if not given."),
    data: str = typer.Option("auto", "--data", metavar="TYPE", help="auto, linear, nonlinear or mixed."),
    missing: str = typer.Option(
        "error", "--missing", metavar="error|drop", help="Count cells that cannot be read as a default, or drop rows."
    ),
    most_rows: int | None = typer.Option(
        None, "--most-rows", metavar="N", help="For a larger delta: a public number of rows that no table exceeds."
    ),
    decimal: str | None = typer.Option(
        None, "--decimal", metavar="MARK", help="Decimal mark of numbers in text: . or ,"
    ),
    targets: str | None = typer.Option(None, "--targets", metavar="A,B", help="Columns that the site has set itself."),
    store: str | None = typer.Option(None, "--store", metavar="DIR", help="Where the site keeps ledger and noise."),
    key: Path | None = typer.Option(None, "--key", metavar="FILE", help="The site's private key, to sign the file."),
    ceiling: float | None = typer.Option(None, "--ceiling", metavar="E", help="The most that the site ever gives."),
    raise_ceiling: bool = typer.Option(
        False, "--raise-ceiling", help="Let --ceiling be above the one in the ledger, which records it."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show price and ledger; draw and write nothing."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Write a table's noisy statistics to one file: no row, no exact number, at a price that is paid once."""
    if epsilon is None:
        raise InputError("give the price of the release: --epsilon 1 is usual")
    if data not in DATA:
        raise InputError(f"--data is one of {', '.join(DATA)}; not {data!r}")
    if missing not in ("error", "drop"):
        raise InputError(f"--missing is error or drop, not {missing!r}")
    signing = None if key is None else _signing_key(key)
    if not dry_run:
        _check_place(out)

    from ..privacy.options import Privacy
    from ..privacy.release.file import is_release
    from ..privacy.release.site_release import plan_release
    from ..tables.table import open_table

    if is_release(file):
        raise InputError(f"{file!r} is a release file already; `fedperi inspect {file}` explains it")
    mark = cast(Any, decimal)
    privacy = Privacy(epsilon, delta, bounds=bounds, ceiling=ceiling, store=store, most_rows=most_rows, decimal=mark)
    table = open_table(file, name)
    plan = plan_release(table, privacy, schema=schema, data=cast("Data", data))
    declared = _targets(targets, plan)
    if dry_run:
        _show(_planned(table, plan, privacy, cast("Missing", missing), schema), as_json)
        return
    if raise_ceiling:
        _raise_ceiling(table, privacy)
    _show(_released(table, privacy, schema, data, missing, declared, cast("Path", out), signing), as_json)


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
    """Refuse, before anything is paid, a place where nothing can be written, and anything but a release file there."""
    from ..privacy.release.file import is_release

    if out is None:
        raise InputError("give the file to write: --out h1.fedperi (or --dry-run to see the price)")
    if not out.parent.is_dir():
        raise InputError(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}; make it first")
    if (out.exists() or out.is_symlink()) and not is_release(out):
        raise InputError(f"--out {str(out)!r} is there already and is no release file; choose another name")
    if not os.access(out.parent, os.W_OK):
        raise InputError(f"--out {str(out)!r}: the folder {str(out.parent)!r} cannot be written; choose another")


def _targets(text: str | None, plan: Plan) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(part.strip() for part in text.split(",") if part.strip())
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
    with _undisturbed():
        release, witness = pending.draw()
    if witness is None and not known:
        raise InputError(
            f"site {table.name!r}: another process made this release at the same moment, and paid for it; nothing was "
            "paid twice and nothing was written here: run the command again, it writes the same release at no new price"
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
        "kept": witness is None,
        "written": not there,
        "ledger": release.ledger,
        "for_the_site_only": None
        if witness is None
        else _secrets(witness, undoes_clipping(release.schema, release.data)) | {"findings": noticed},
    }


def _check_same(release: Release, out: Path) -> None:
    """Let a file stand that holds this release, though the ledger in it may be an older one; refuse any other."""
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
            f"--out {str(out)!r} holds this release, but {'not signed' if signers[0] is None else 'signed'}, and it "
            "was left as it is; choose another name, or remove it first. Nothing was drawn or paid"
        )


def _noticed(table: Table, privacy: Privacy, schema: str | None, data: str, missing: str) -> list[str]:
    """Say what the rows hold that is odd: for the owner's eyes, since nothing of it is refused."""
    from ..privacy.owner import owner_findings

    how: dict[str, Any] = {"schema": schema, "data": data, "missing": missing}
    return [str(finding) for finding in owner_findings(table, privacy, **how)]


def _secrets(witness: TrueCounts, undone: bool) -> dict[str, Any]:
    return {"rows": witness.rows, "clipped": witness.clipped, "clipping_is_undone": undone}


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait: between the charge and the keeping of the noise it would cost budget for nothing."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed and callable(before):
        before(signal.SIGINT, None)


def _planned(table: Table, plan: Plan, privacy: Privacy, missing: Missing, schema: str | None) -> dict[str, Any]:
    """Look at the price and the ledger; the ledger is not begun by looking, nor its ceiling changed."""
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
        for line in _plan_lines(values) if "dry_run" in values else _release_lines(values):
            console.print(line, soft_wrap=True)
    if values.get("refused"):
        raise InputError(values["refused"])


def _release_lines(made: dict[str, Any]) -> list[str]:
    file, secret, ledger = made["file"], made["for_the_site_only"], made["ledger"]
    lines = [
        f"Wrote {file}: noisy statistics of site {made['site']!r}."
        if made["written"]
        else f"{file} holds this release already, and was left as it is."
    ]
    if made["kept"]:
        lines.append("It is the same release as before, no new price.")
    else:
        lines.append(f"Price: epsilon = {made['epsilon']:g}, delta = {made['delta']:g}, paid once.")
    lines += _ledger_lines(ledger)
    if secret is not None:
        share = 100 * secret["clipped"] / max(1, secret["rows"])
        undone = " Most are, by design, and the effect is undone." if secret["clipping_is_undone"] else ""
        lines += [
            "",
            "For this site only, and not in the file:",
            f"  {secret['rows']:,} rows, {share:.1f} % of them longer than the limit and shortened.{undone}",
            *(f"  {finding}" for finding in secret["findings"]),
        ]
    signed = (
        "Not signed: anyone on its way could edit it. Give the site's key to sign it: --key site.key"
        if made["signed_by"] is None
        else f"Signed with the key {made['signed_by']}."
    )
    return [*lines, "", signed, f"To read it in words: fedperi inspect {file}"]


def _plan_lines(plan: dict[str, Any]) -> list[str]:
    price, ledger = plan["price"], plan["ledger"]
    lines = [
        f"A release of site {plan['site']!r}: {len(plan['columns'])} columns, taken as {plan['data']}.",
        f"Price: epsilon = {price['epsilon']:g}, delta = {price['delta']:g}."
        if not plan["kept"]
        else "It was drawn before: the same release again, no new price.",
        *_ledger_lines(ledger),
    ]
    if not plan["kept"]:
        lines.append(
            f"After this release: epsilon = {ledger['spent_after']:.4g}, remaining {ledger['remaining_after']:.4g}."
        )
    if plan["for_the_site_only"]["findings"]:
        lines += ["For this site only; nothing of it is refused, so mend the table before it is released:"]
        lines += [f"  {finding}" for finding in plan["for_the_site_only"]["findings"]]
    return [*lines, "Nothing was drawn, paid or written: this was a dry run."]


def _ledger_lines(ledger: dict[str, Any]) -> list[str]:
    count, ceiling = len(ledger["releases"]), ledger["ceiling"]
    return [
        f"Ledger: {count} release{'s' * (count != 1)}, together epsilon = {ledger['spent']:.4g} at "
        f"delta = {ceiling['delta']:g}.",
        f"Ceiling: {ceiling['epsilon']:g}; remaining: {ledger['remaining']:.4g}.",
    ]
