"""Withdraw sites: their public keys are moved away, and a running coordinator notices within seconds."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ..errors import InputError
from .folder import checked, explained, site_name

WITHDRAWN = "withdrawn"


def withdraw(folder: Path, sites: Sequence[str]) -> list[Path]:
    """Move the public keys of sites away, in the owner's folder or in the coordinator's copy of its part.

    Returns their new paths. Nothing is deleted: the record needs to show which key was withdrawn when.
    """
    names = checked("site", sites, site_name)
    base = folder / "coordinator" if (folder / "coordinator").is_dir() else folder
    keys = base / "sites"
    for name in names:
        if not (keys / f"{name}.pub").is_file():
            known = ", ".join(sorted(path.stem for path in keys.glob("*.pub"))) or "none"
            raise InputError(f"there is no key of site {name!r} in {str(keys)!r} (there: {known})")
    with explained(folder):
        return [_put_aside(folder, base, name) for name in names]


def _put_aside(folder: Path, base: Path, name: str) -> Path:
    mark = f"{name}-{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(2)}"
    aside = base / WITHDRAWN
    aside.mkdir(mode=0o700, exist_ok=True)
    public = aside / f"{mark}.pub"
    (base / "sites" / f"{name}.pub").rename(public)
    handed = folder / "sites" / name
    if base != folder and handed.is_dir():  # the owner's copy of the coordinator's part
        (folder / WITHDRAWN).mkdir(mode=0o700, exist_ok=True)
        handed.rename(folder / WITHDRAWN / mark)
    return public
