"""The page of real tables: what each method finds, and what is right or wrong as far as known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...graph.pdag import PDAG
from ..contenders import CONTENDERS
from ..grid import Cell, write_table
from ..measures import graph_measures
from ..page import Page, Request, markdown_table
from ..tables import without_numbers
from .datasets import Dataset, datasets
from .pictures import graphs_figure, pairs_figure, verdict

MOST_SENTENCES = 5
"""Differences between sites on a page; the report of a run has all."""

HEADS = {
    "adjacent": "edges",
    "directed": "of them directed",
    "right": "right",
    "wrong": "wrong",
    "open": "open",
    "true": "edges of the truth",
    "impossible": "impossible",
    "shd": "SHD",
    "policies": "known targets named",
    "differences": "differences named",
    "cpu_s": "CPU s",
}


def write(found: Sequence[Cell], out: Path, request: Request) -> list[Page]:
    """Write a page for each data set: a table, pictures, mistakes and failures."""
    places = dict.fromkeys(row["data"] for row in found)
    return [
        _write(datasets(Path(place))[0], [r for r in found if r["data"] == place], out, len(places)) for place in places
    ]


def _write(data: Dataset, found: Sequence[Cell], out: Path, many: int) -> Page:
    start = "real" if many == 1 else f"real-{data.name}"
    graphs = {row["method"]: PDAG.from_json(row["graph"]) for row in found if "error" not in row}
    if data.truth is not None:
        graphs = {method: graph.reordered(data.truth.names) for method, graph in graphs.items()}
    rows = [_row(row, graphs.get(row["method"]), data) for row in found]
    write_table(rows, out / f"{start}.csv")
    for row in found:
        if "error" not in row:
            (out / f"{start}-{row['method']}.json").write_text(row["graph"], encoding="utf-8")
    title = data.recipe.title or data.name
    figures = []
    if graphs:
        figures.append(graphs_figure(graphs, data.truth, data.recipe.roots, title, out / f"{start}-graphs.png"))
        figures.append(pairs_figure(graphs, data.truth, data.recipe.roots, title, out / f"{start}-pairs.png"))
    text = f"{len(data.files)} sites. {data.recipe.words}\n\n{_table(rows)}{_mistakes(graphs, data)}{_said(found)}"
    write_table(_distances(graphs), out / f"{start}-distances.csv")
    return Page(title, text, tuple(figures))


def _row(row: Cell, graph: PDAG | None, data: Dataset) -> Cell:
    entry: Cell = {"method": CONTENDERS[row["method"]].label}
    if graph is None:
        return entry | {"error": row["error"]}
    entry |= {"adjacent": len(graph), "directed": len(graph.directed), "open": len(graph.undirected)}
    if data.truth is not None:
        measured = graph_measures(graph, data.truth)
        entry |= {name: measured[name] for name in ("right", "wrong", "shd", "f1", "skeleton_f1")}
        entry["true"] = len(graph.skeleton.undirected & data.truth.skeleton.undirected)
    if data.recipe.roots:
        entry["impossible"] = sum(b in data.recipe.roots for _, b in graph.directed)
    if "named" in row:
        known = {(site, name) for site, names in data.recipe.policies.items() for name in names}
        named = {(site, name) for site, name in row["named"]}
        entry["differences"] = len(named)
        if known:
            entry["policies"] = f"{len(known & named)} of {len(known)}"
    return entry | {"rounds": row["rounds"], "cpu_s": row["cpu_s"]}


def _table(rows: Sequence[Cell]) -> str:
    names = [name for name in HEADS if any(name in row for row in rows)]
    lines = []
    failed: dict[str, list[str]] = {}
    for row in rows:
        if "error" in row:
            short = without_numbers({"why": row["error"], "failed": 1}).removesuffix(" (1)")
            failed.setdefault(row["error"].replace(row["method"], "the method"), []).append(row["method"])
            lines.append([row["method"], short, *[""] * (len(names) - 1)])
            continue
        entries = [f"{row[n]:.3g}" if isinstance(row.get(n), float) else str(row.get(n, "")) for n in names]
        lines.append([row["method"], *entries])
    text = markdown_table(["method", *(HEADS[name] for name in names)], lines) + "\n"
    why = "".join(f"- {', '.join(methods)}: {error}\n" for error, methods in failed.items())
    return text + (f"What failed, and why:\n\n{why}\n" if failed else "")


def _mistakes(graphs: dict[str, PDAG], data: Dataset) -> str:
    """List the arrows of M-PERI with a verdict, and the impossible arrows of all methods."""
    text = ""
    for method in ("mperi", "mperi-75"):
        if method in graphs and graphs[method].directed:
            said = [f"{a} -> {b}{_remark(a, b, data)}" for a, b in sorted(graphs[method].directed)]
            text += f"{CONTENDERS[method].label} directs: {', '.join(said)}.\n\n"
        elif method in graphs:
            text += f"{CONTENDERS[method].label} directs nothing.\n\n"
    if data.recipe.roots:
        wrong = {m: [f"{a} -> {b}" for a, b in sorted(g.directed) if b in data.recipe.roots] for m, g in graphs.items()}
        told = [f"{CONTENDERS[method].label} ({', '.join(some)})" for method, some in wrong.items() if some]
        text += f"Impossible arrows: {'; '.join(told) or 'none'}.\n\n"
    return text


def _remark(a: str, b: str, data: Dataset) -> str:
    if data.truth is None:
        return " (impossible)" if verdict(a, b, None, data.recipe.roots) == "wrong" else ""
    reverse = (b, a) in data.truth.directed
    return " (right)" if (a, b) in data.truth.directed else " (reversed)" if reverse else " (no edge there)"


def _said(found: Sequence[Cell]) -> str:
    """M-PERI's warnings, and the differences with the strongest evidence."""
    row = next((one for one in found if one["method"] == "mperi" and "error" not in one), None)
    if row is None:
        return ""
    text = "".join(f"- {sentence}\n" for sentence in row["warnings"])
    text = f"M-PERI warns:\n\n{text}\n" if text else ""
    sentences = "".join(f"- {sentence}\n" for sentence in row["differences"][:MOST_SENTENCES])
    return text + (f"What it is most sure that sites do differently:\n\n{sentences}\n" if sentences else "")


def _distances(graphs: dict[str, PDAG]) -> list[Cell]:
    """SHD between the graphs of any two methods."""
    import fedperi as fp

    labels = {method: CONTENDERS[method].label for method in graphs}
    first = next(iter(graphs.values())).names if graphs else ()
    same = {method: graph.reordered(first) for method, graph in graphs.items()}
    return [{"method": labels[a], **{labels[b]: fp.shd(same[a], same[b]) for b in same}} for a in same]
