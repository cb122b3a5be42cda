"""What the site needs beyond the pages: reference generated from the code, and the files outside docs/.

mkdocs calls the functions whose names begin with ``on_``. On a git host none of this is needed: links such as
``../SECURITY.md`` work there as they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))
import notebooks  # noqa: E402  (modules beside this file, which mkdocs does not put on the path)
import reference  # noqa: E402
import rows  # noqa: E402

PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
"""Pages outside docs/, which the site shows in a folder of their own."""

COLOURS = "site/method-colours.js"
"""A generated file: the colour of each method in tables is that of the figures."""

PLACES = {name: f"project/{name}" for name in PROJECT}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*\brel=["']?canonical)[^>]*\bhref=["']?(?:https?:)?//|(?:url\(|@import)\s*["']?(?:https?:)?//"""
)
"""What makes a browser ask another host, in HTML and in style sheets. Links that a reader may follow do not."""

CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """State the version on every page."""
    from fedperi import __version__

    config["copyright"] = f"fedperi {__version__}, Apache-2.0"
    config["extra_javascript"] += [COLOURS, "site/sortable.js"]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add generated pages, notebooks as pages, and files from outside docs/ that pages link to."""
    files.append(File.generated(config, "reference/commands.md", content=reference.commands()))
    files.append(File.generated(config, "reference/python.md", content=reference.names()))
    files.append(File.generated(config, COLOURS, content=_colours()))
    table = ROOT / "docs" / "results" / "settings.csv"
    files.append(File.generated(config, "results/settings-rows.js", content=rows.script(table)))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        text, pictures = notebooks.page(notebook)
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    for name in PROJECT:
        files.append(File.generated(config, PLACES[name], content=(ROOT / name).read_text(encoding="utf-8")))
    for name in _other_targets(files):
        # A browser shows text, and would offer to save a file whose name says nothing.
        PLACES[name] = f"project/{name}.txt"
        files.append(File.generated(config, PLACES[name], content=(ROOT / name).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links that lead out of docs/ into links within the site."""
    here = page.file.src_uri
    origin = here.removeprefix("project/") if here.startswith("project/") else f"docs/{here}"

    def led(match: re.Match[str]) -> str:
        return match[1] + _target(match[2], origin, here) + match[3]

    parts = CODE.split(markdown)
    return "".join(part if i % 2 else LINK.sub(led, part) for i, part in enumerate(parts))


def on_post_build(config: Any) -> None:
    """Fail if a page of the site would make a browser ask another host."""
    place = Path(config["site_dir"])
    for path in sorted([*place.rglob("*.html"), *place.rglob("*.css")]):
        found = LOADED.search(path.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{path.relative_to(place)} asks another host: {found[0]}; put the file under docs/site")


def _colours() -> str:
    import json

    from fedperi.benchmark.contenders import CONTENDERS

    return f"window.METHOD_COLOURS = {json.dumps({one.label: one.colour for one in CONTENDERS.values()})};\n"


def _target(link: str, origin: str, here: str) -> str:
    """Where a link of the file `origin` of the repository leads from the page `here` of the site."""
    name, mark, heading = link.partition("#")
    if not name or re.match(r"[a-z]+:", link):
        return link
    path = normpath(f"{Path(origin).parent.as_posix()}/{name}")
    goal = PLACES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    if goal is not None and goal.endswith(".ipynb") and not here.startswith("notebooks/"):
        goal = goal.removesuffix(".ipynb") + ".md"  # the page that shows what the notebook does
    return link if goal is None else relpath(goal, Path(here).parent.as_posix()) + mark + heading


def _other_targets(files: Files) -> list[str]:
    """Files outside docs/ that pages link to and that are no pages, such as units for systemd."""
    found = set()
    sources = [(f"docs/{file.src_uri}", file.content_string) for file in files.documentation_pages()]
    sources = [(name.replace("docs/project/", ""), text) for name, text in sources]
    for origin, text in sources:
        for link in (link for _, link, _ in LINK.findall(CODE.sub("", text))):
            name = link.partition("#")[0]
            path = normpath(f"{Path(origin).parent.as_posix()}/{name}") if name else ""
            inside = path.startswith(("docs/", "..")) or re.match(r"[a-z]+:", link)
            if path and not inside and path not in PLACES and (ROOT / path).is_file():
                found.add(path)
    return sorted(found)
