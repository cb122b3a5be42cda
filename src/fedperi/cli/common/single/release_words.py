"""The outcome or the plan of `fedperi release`, in words on a terminal."""

from __future__ import annotations

from typing import Any

from ....phrases import with_noun


def release_lines(made: dict[str, Any]) -> list[str]:
    """Say what was written, its price, and what only the site should know."""
    file, secret = made["file"], made["for_the_site_only"]
    lines = [
        f"Wrote {file}: noisy statistics of site {made['site']!r}."
        if made["written"]
        else f"{file} already holds this release, and was not changed."
    ]
    if made["kept"]:
        lines.append("It is the same release as before, at no new price.")
    else:
        lines.append(f"Price: epsilon = {made['epsilon']:g}, delta = {made['delta']:g}, paid once.")
    lines += _ledger_lines(made["ledger"])
    if secret is not None:
        share = 100 * secret["clipped"] / max(1, secret["rows"])
        undone = " Most are, by design, and the effect is corrected for." if secret["clipping_is_undone"] else ""
        lines += [
            "",
            "For this site only, and not in the file:",
            f"  {secret['rows']:,} rows, {share:.1f} % of them longer than the limit and shortened.{undone}",
            *(f"  {finding}" for finding in secret["findings"]),
        ]
    signed = (
        "Not signed: anyone could edit it on the way. To sign it, give the site's key: --key site.key"
        if made["signed_by"] is None
        else f"Signed with the key {made['signed_by']}."
    )
    return [*lines, "", signed, f"To have it explained: fedperi inspect {file}"]


def plan_lines(plan: dict[str, Any]) -> list[str]:
    """Say what a release would cost, and what the ledger holds."""
    price, ledger = plan["price"], plan["ledger"]
    lines = [
        f"A release of site {plan['site']!r}: {len(plan['columns'])} columns, taken as {plan['data']}.",
        f"Price: epsilon = {price['epsilon']:g}, delta = {price['delta']:g}."
        if not plan["kept"]
        else "It was drawn before: the same release again, at no new price.",
        *_ledger_lines(ledger),
    ]
    if not plan["kept"]:
        lines.append(
            f"After this release: epsilon = {ledger['spent_after']:.4g}, remaining {ledger['remaining_after']:.4g}."
        )
    if plan["for_the_site_only"]["findings"]:
        lines += ["For this site only; none of this stops the release, so correct the table first:"]
        lines += [f"  {finding}" for finding in plan["for_the_site_only"]["findings"]]
    return [*lines, "Nothing was drawn, paid or written: this was a dry run."]


def _ledger_lines(ledger: dict[str, Any]) -> list[str]:
    ceiling = ledger["ceiling"]
    return [
        f"Ledger: {with_noun(len(ledger['releases']), 'release')}, together epsilon = {ledger['spent']:.4g} at "
        f"delta = {ceiling['delta']:g}.",
        f"Ceiling: {ceiling['epsilon']:g}; remaining: {ledger['remaining']:.4g}.",
    ]
