"""A release as text: one layout for people, one canonical form for the checksum."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...tables.bounded import CONSTANT, GRID
from ...tables.readers.private import is_number, limits
from ...tables.schema import Column
from .release import BESIDE, DIAGONAL, Release
from .sentences import NEIGHBOURS, about, how, printable
from .signature import Signature, Signed, public_text, sign
from .units import Source

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

FORMAT = "fedperi.release"
VERSIONS: dict[Source, tuple[int, int]] = {"quartiles": (1, 2), "deviations": (3, 4)}
"""Versions of the file, without and with a signature, by the kind of units. Those with quartiles are from fedperi 0.1.
They can still be read, because a site has paid for them, and are written again as they were."""

_WIDTH = 116


def sign_release(release: Release, key: EllipticCurvePrivateKey) -> Release:
    """Return the release with a signature under a site's private key.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.pki.certificates import new_key
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(2, clients=2, samples=500, seed=1).sites[0]
    >>> release, _ = release_table(table, fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0))
    >>> sign_release(release, new_key()).signature.fingerprint
    'SHA256:...'
    """
    return signed(release, content_of, key)


def signed(statement: Signed, content: Callable[[Signed], dict[str, Any]], key: EllipticCurvePrivateKey) -> Signed:
    """Return a statement with a signature of its content, which includes the public key."""
    public = public_text(key)
    value = sign(canonical(content(replace(statement, signature=Signature(public, "")))), key)
    return replace(statement, signature=Signature(public, value))


def write_release(release: Release) -> str:
    """Write a release as text.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(2, clients=2, samples=500, seed=1).sites[0]
    >>> release, _ = release_table(table, fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0))
    >>> print(write_release(release))
    {
      "format": "fedperi.release",
      "version": 3,
      "about": [
        "NOT PRIVATE: ...
      "moments": {
        "columns": ["constant", ...],
        "lower_triangle": [
          [...],
          [...],
          [...]
        ]
      },
      "ledger": null,
      "checksum": "sha256:..."
    }
    """
    content = content_of(release)
    infinite = infinite_in(content, "")
    if infinite is not None:
        raise InputError(f"the release of site {release.site!r} cannot be written: {infinite} is not a finite number")
    return sealed(content, release.signature)


def sealed(content: dict[str, Any], signature: Signature | None) -> str:
    """Return a content as the text of a file, with its signature if there is one, and a checksum."""
    if signature is not None:
        content["signature"] = signature.value
    content["checksum"] = checksum(content)
    return layout(content, 0) + "\n"


def content_of(release: Release) -> dict[str, Any]:
    """Return everything in a file, except the signature and the checksum."""
    size = len(release.moments)
    signer = {} if release.signature is None else {"signer": release.signature.key}
    return {
        "format": FORMAT,
        "version": VERSIONS[release.units_from][bool(signer)],
        "about": about(release),
        "private": release.private,
        "site": release.site,
        "targets": None if release.targets is None else list(release.targets),
        "identifier": release.identifier,
        "created": release.created,
        "fedperi": release.version,
        "price": {"neighbours": NEIGHBOURS, **release.price.to_dict()},
        "columns": [_column_content(column, release) for column in release.schema.columns],
        "made": {
            "how": how(release),
            "data": release.data,
            "degree": release.degree,
            "limit": float(release.limit),
            "constant": CONSTANT,
            "grid": GRID,
            "weights": [DIAGONAL, BESIDE],
            "sensitivity": CONSTANT**2 + release.limit**2,
            "noise": float(release.noise),
            "noise_beside": release.noise_beside,
        },
        "moments": {
            "columns": _labels(release),
            "lower_triangle": [release.moments[i, : i + 1].tolist() for i in range(size)],
        },
        "ledger": release.ledger,
        **signer,
    }


def _column_content(column: Column, release: Release) -> dict[str, Any]:
    public = {"levels": list(column.levels)} if column.levels is not None else {"bounds": list(limits(column))}
    unit = release.units.get(column.name)
    chosen = {} if unit is None else {"centre": float(unit[0]), "unit": float(unit[1])}
    return {"name": column.name, "kind": column.kind, **public, **chosen}


def _labels(release: Release) -> list[str]:
    found = ["constant"]
    for column, width in zip(release.schema.columns, release.embedding.widths, strict=True):
        if not is_number(column, release.data):
            found += [f"{column.name} = {level}" for level in (column.levels or ())[1:]]
        else:
            found += [column.name, *(f"{column.name}, degree {degree}" for degree in range(2, width + 1))]
    return found


def canonical(value: Any) -> str:
    """Return JSON in canonical form, independent of layout."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of a content's canonical form."""
    return f"sha256:{hashlib.sha256(canonical(content).encode()).hexdigest()}"


def layout(value: Any, depth: int) -> str:
    """Return JSON for people: one item of a list per line, numbers below each other, no invisible characters."""
    line = _line(value)
    if not isinstance(value, dict | list) or not value:
        return line
    short = depth > 0 and len(line) <= _WIDTH
    if isinstance(value, list):
        if short and not isinstance(value[0], dict | list):
            return line
        items = _aligned(value) if isinstance(value[0], list) else [_line(item) for item in value]
    elif short and depth > 1:
        return line
    else:
        items = [f"{_line(key)}: {layout(item, depth + 1)}" for key, item in value.items()]
    space = "  " * (depth + 1)
    return f"{line[0]}\n{space}" + f",\n{space}".join(items) + f"\n{space[2:]}{line[-1]}"


def _line(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False))


def _aligned(rows: list[list[float]]) -> list[str]:
    width = max(len(_line(number)) for row in rows for number in row)
    return [f"[{', '.join(_line(number).rjust(width) for number in row)}]" for row in rows]


def infinite_in(value: Any, place: str) -> str | None:
    """Return the position of a number that is not finite; None if there is none."""
    if isinstance(value, float):
        return None if math.isfinite(value) else repr(place)
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        found = infinite_in(item, f"{place}.{key}" if place else str(key))
        if found is not None:
            return found
    return None
