"""The work of `fedperi release` once its options are clear: show the price, or draw, sign and write."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from ....privacy.ledger import Ledger
    from ....privacy.options import Privacy
    from ....privacy.release.release import Plan, Release
    from ....tables.table import Table


def make_release(
    table: Table,
    privacy: Privacy,
    how: dict[str, Any],
    targets: tuple[str, ...] | None,
    out: Path,
    key: EllipticCurvePrivateKey | None,
) -> dict[str, Any]:
    """Make the release, or take the one that was made before, sign it if there is a key, and write it.

    `how` has the options `schema`, `data` and `missing`.
    """
    from ....privacy.release.file import save_release, sign_release
    from ....privacy.release.release import undoes_clipping
    from ....privacy.release.site_release import prepare_release

    pending = prepare_release(table, privacy, targets=targets, **how)
    known = pending.kept
    if out.exists() and not known:
        raise InputError(f"--out {str(out)!r} holds another release; choose another name. Nothing was drawn or paid")
    noticed = [] if known else _noticed(table, privacy, how)
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
    secret = true_counts and {
        "rows": true_counts.rows,
        "clipped": true_counts.clipped,
        "clipping_is_undone": undoes_clipping(release.schema, release.data),
        "findings": noticed,
    }
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
        "for_the_site_only": secret,
    }


def _check_same(release: Release, out: Path) -> None:
    """Accept an existing file with this release, even with an older state of the ledger; refuse any other."""
    from dataclasses import replace

    from ....privacy.release.file import load_release, write_release

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


def _noticed(table: Table, privacy: Privacy, how: dict[str, Any]) -> list[str]:
    """List what is odd in the rows, for the owner only, since none of it stops a release."""
    from ....privacy.owner import owner_findings

    return [str(finding) for finding in owner_findings(table, privacy, **how)]


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


def look_at_price(table: Table, privacy: Privacy, how: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the price and the state of the ledger, without creating or changing the ledger."""
    from ....privacy.accounting import spent
    from ....privacy.release.site_release import Budget

    budget = Budget.look(table, privacy)
    ledger = budget.ledger
    kept = budget.holds(plan, how["missing"])
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
        "for_the_site_only": {"findings": [] if kept else _noticed(table, privacy, {**how, "data": plan.data})},
        "ledger": {**ledger.summary(), "spent_after": then, "remaining_after": max(0.0, ledger.ceiling.epsilon - then)},
        "refused": None if kept else _refused(ledger, plan),
    }


def _refused(ledger: Ledger, plan: Plan) -> str | None:
    try:
        ledger.check(plan.price)
    except InputError as error:
        return str(error)
    return None
