"""The site of this version beside those of others: `python docs/site/versions.py build/site` (nox -s site).

Each version has a folder of its own. `versions.json` lists them, for the menu in the header of every page, and the
first page of the folder leads to the newest. Put the folders of earlier versions there first, and all of them on a
server.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FIRST_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fedperi</title>
<meta http-equiv="refresh" content="0; url={0}/index.html"><a href="{0}/index.html">fedperi {0}</a></html>
"""


def series(version: str) -> str:
    """Name the folder of a version: patch releases replace each other.

    Examples
    --------
    >>> series("0.2.1"), series("0.3.0.dev0")
    ('0.2', '0.3.dev')
    """
    first, second = version.split(".")[:2]
    return f"{first}.{second}.dev" if "dev" in version else f"{first}.{second}"


def newest_first(folder: Path) -> list[str]:
    """List the versions whose pages are in a folder; one in development comes after those that are released."""
    found = [path.name for path in folder.iterdir() if (path / "index.html").is_file()]

    def order(name: str) -> tuple[bool, list[int]]:
        return "dev" not in name, [int(number) for number in re.findall(r"\d+", name)]

    return sorted((name for name in found if re.match(r"\d+\.\d+", name)), key=order, reverse=True)


def write_list(folder: Path) -> list[str]:
    """Write what the menu reads, and the page that leads to the newest version."""
    names = newest_first(folder)
    listed = [{"version": name, "title": name, "aliases": ["latest"] * (name == names[0])} for name in names]
    (folder / "versions.json").write_text(json.dumps(listed, indent=1), encoding="utf-8")
    (folder / "index.html").write_text(FIRST_PAGE.format(names[0]), encoding="utf-8")
    return names


def main(folder: Path) -> None:
    """Build this version, and list all."""
    from fedperi import __version__

    place = folder / series(__version__)
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place.resolve())], check=True
    )
    print(f"{place}: versions {', '.join(write_list(folder))}")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
