"""Notebooks as pages: their cells run in a plain Python process, without Jupyter, and the pictures are made here.

Notebooks are kept without outputs, so that what a page shows is what the code does now.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple


class Ran(NamedTuple):
    """A cell that was run: what it is, and what came out."""

    kind: str
    source: str
    text: str
    html: str
    pictures: list[bytes]


def cells(path: Path) -> list[tuple[str, str]]:
    """Kind (``markdown`` or ``code``) and source of the cells of a notebook."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in found]


def run(path: Path) -> list[Ran]:
    """Run the cells in order, in the folder of the notebook; an error is an error here."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(path.parent):
        return [_cell(kind, source, names, path.name) for kind, source in cells(path)]


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by file name."""
    parts, pictures = [], {}
    for cell in run(path):
        if cell.kind == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if cell.text:
            parts.append(f"```text\n{cell.text}\n```")
        if cell.html:
            whole = re.sub(r"\n\s*\n", "\n", cell.html)  # a blank line would end the block of HTML
            parts.append(f'<div class="fp-output">{whole}</div>')
        for picture in cell.pictures:
            name = f"{path.stem}-{len(pictures) + 1}.png"
            pictures[name] = picture
            parts.append(f"![A figure that the code above draws]({name})")
    parts.append(f"[The notebook]({path.name}), to run it yourself.")
    return "\n\n".join(parts) + "\n", pictures


def _cell(kind: str, source: str, names: dict[str, Any], name: str) -> Ran:
    if kind != "code":
        return Ran(kind, source, "", "", [])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = _value(source, names, name)
    html = getattr(value, "_repr_html_", None)
    text = printed.getvalue()
    if value is not None and html is None and not type(value).__module__.startswith("matplotlib"):
        text += repr(value)
    return Ran(kind, source, text.rstrip(), html() if html else "", _figures())


def _value(source: str, names: dict[str, Any], name: str) -> Any:
    """Run a cell; the value of its last line if that is an expression, as notebooks show it."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if not isinstance(last, ast.Expr) or source.rstrip().endswith(";"):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), names)


def _figures() -> list[bytes]:
    import matplotlib.pyplot as plt

    pictures = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        # No date: two builds of the same pages are equal.
        plt.figure(number).savefig(file, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
        pictures.append(file.getvalue())
    plt.close("all")
    return pictures
