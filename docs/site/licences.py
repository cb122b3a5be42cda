"""Licences of what an installation brings, as a page: run in an environment with the package and its extras.

`nox -s licences` does that, and writes docs/reference/licences.md and a bill of materials (CycloneDX).
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

EXTRAS = ("files", "sql", "flower", "metrics", "networkx", "accounting")
"""Extras that users install; `peers`, `test`, `docs` and `dev` are for those who change the package."""

HEAD = """# Licences of what is installed

fedperi itself is under Apache-2.0 ([LICENSE](../../LICENSE)). This is what `pip install` adds, as the metadata of each
package states it. `nox -s licences` writes this page from the versions of that day, and a bill of materials
(CycloneDX, JSON).
"""


def brought(name: str, extra: str = "") -> set[str]:
    """Names of all packages that a package with an extra needs here, and what they need in turn."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: set[str] = set()
    waiting = [(name, extra)]
    seen = set()
    while waiting:
        package, wanted = waiting.pop()
        if (package, wanted) in seen:
            continue
        seen.add((package, wanted))
        try:
            needs = distribution(package).requires or []
        except PackageNotFoundError:
            continue  # for another system or Python
        found.add(canonicalize_name(package))
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": wanted}):
                waiting += [(need.name, one) for one in ("", *need.extras)]
    return found - {canonicalize_name(name)}


def licence(package: Distribution) -> str:
    """What a package says of its licence, in a few words."""
    about = package.metadata
    stated = about.get("License-Expression")
    named = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or [] if text.startswith("License :: ")]
    short = (about.get("License") or "").strip().splitlines()
    words = stated or ", ".join(named) or (short[0] if short else "") or "not stated"
    return re.sub(r"[|\n]", " ", words)[:80]


def page() -> str:
    """The page: one table of what always comes, one for what extras add."""
    core = brought("fedperi")
    lines = [HEAD, "## Always", "", *_table(dict.fromkeys(core, "")), "", "## With extras", ""]
    added: dict[str, list[str]] = {}
    for extra in EXTRAS:
        for name in brought("fedperi", extra) - core:
            added.setdefault(name, []).append(f"`{extra}`")
    lines += _table({name: ", ".join(by) for name, by in added.items()}, "extra")
    return "\n".join(lines) + "\n"


def _table(names: dict[str, str], column: str = "") -> list[str]:
    head = ["package", "version", "licence", *([column] if column else [])]
    rows = [head, ["---"] * len(head)]
    for name in sorted(names):
        package = distribution(name)
        rows.append([name, package.version, licence(package), *([names[name]] if column else [])])
    return [f"| {' | '.join(row)} |" for row in rows]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
