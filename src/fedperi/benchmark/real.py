"""`fedperi benchmark real`: all methods on a folder of site files, with or without a known graph."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..graph.pdag import PDAG
from ..strict import Unreadable, read_json
from .contenders import CONTENDERS, Problem, contender
from .grid import Cell, write_table
from .page import Page, Request

METHODS = ("iperi", "iperi-paper", "peri", "notears-admm", "fedcdh", "pooled", "feddag")
TABLES = (".csv", ".csv.gz", ".parquet")


def cells(folder: Path, methods: Sequence[str] | None) -> list[Cell]:
    """List one cell for every method."""
    sites = site_files(folder)
    if len(sites) < 2:
        raise InputError(f"{str(folder)!r} holds {len(sites)} site files ({', '.join(TABLES)}); a federation needs two")
    return [
        {"task": "real", "data": str(folder.resolve()), "sites": len(sites), "method": contender(m) and m}
        for m in methods or METHODS
    ]


def work(cell: Cell) -> dict[str, Any]:
    """Run a method on the files; the graph is kept as text."""
    start = time.process_time()
    graph, rounds = contender(cell["method"]).fit(Problem(site_files(Path(cell["data"]))))
    return {"graph": graph.to_json(), "rounds": rounds, "cpu_s": time.process_time() - start}


def write(found: Sequence[Cell], out: Path, request: Request) -> Page:
    """Write a table of the graphs, how they differ from each other, and from the truth if there is one."""
    import fedperi as fp

    fine = {row["method"]: PDAG.from_json(row["graph"]) for row in found if "error" not in row}
    truth = known_graph(Path(found[0]["data"])) if found else None
    rows = []
    for row in found:
        entry: Cell = {"method": CONTENDERS[row["method"]].label}
        if "error" in row:
            rows.append(entry | {"error": row["error"]})
            continue
        graph = fine[row["method"]]
        entry |= {"adjacent": len(graph), "directed": len(graph.directed)}
        entry |= {"rounds": row["rounds"], "cpu_s": row["cpu_s"]}
        if truth is not None:
            mine = graph.reordered(truth.names)
            entry |= {"shd": fp.shd(mine, truth), "f1": fp.f1(mine, truth), "skeleton_f1": fp.skeleton_f1(mine, truth)}
        rows.append(entry)
        (out / f"real-{row['method']}.json").write_text(row["graph"], encoding="utf-8")
    write_table(rows, out / "real.csv")
    text = f"{found[0]['sites']} sites.\n\n" if found else ""
    return Page("Real data", text + _table(rows, truth is not None) + _distances(fine), ())


def site_files(folder: Path) -> dict[str, Path]:
    """Return the site files of a folder, by the names of the sites; a truth file is not one of them.

    Examples
    --------
    >>> import tempfile
    >>> site_files(Path(tempfile.mkdtemp()))
    {}
    """
    if not folder.is_dir():
        raise InputError(f"--tables {str(folder)!r} is not a folder; give one with a table for each site")
    files = [f for f in sorted(folder.iterdir()) if f.name.endswith(TABLES) and not f.name.startswith("truth.")]
    return {file.name.split(".")[0]: file for file in files}


def known_graph(folder: Path) -> PDAG | None:
    """Read the truth, if the folder has one: truth.json (of `fedperi simulate`, or a graph) or truth.csv (from, to)."""
    file = next((folder / name for name in ("truth.json", "truth.csv") if (folder / name).exists()), None)
    if file is None:
        return None
    text = file.read_text(encoding="utf-8")
    try:
        if file.suffix == ".csv":
            return PDAG.from_csv(text)
        told = read_json(text)
        simulated = isinstance(told, dict) and "dag" in told
        return PDAG.from_edges(**told["dag"], names=told["names"]) if simulated else PDAG.from_json(text)
    except (InputError, KeyError, TypeError, Unreadable) as error:
        raise InputError(f"the truth file {file.name!r} cannot be read: {error}") from None


def _table(rows: Sequence[Cell], judged: bool) -> str:
    names = ["adjacent", "directed", *(["shd", "f1", "skeleton_f1"] if judged else []), "rounds", "cpu_s"]
    heads = {"adjacent": "adjacencies", "directed": "of them directed", "cpu_s": "CPU s", "shd": "SHD", "f1": "F1"}
    lines = ["| method | " + " | ".join(heads.get(n, n.replace("_", " ")) for n in names) + " |"]
    lines.append("|" + "---|" * (len(names) + 1))
    for row in rows:
        entries = [f"{row[n]:.3g}" if isinstance(row[n], float) else str(row[n]) for n in names if n in row]
        if "error" in row:
            entries = [f"failed: {row['error']}", *[""] * (len(names) - 1)]
        lines.append(f"| {row['method']} | {' | '.join(entries)} |")
    return "\n".join(lines) + "\n\n"


def _distances(graphs: dict[str, PDAG]) -> str:
    """SHD between what any two methods found: where they agree without having to."""
    import fedperi as fp

    if len(graphs) < 2:
        return ""
    names = list(graphs)
    lines = [
        "| SHD between | " + " | ".join(CONTENDERS[m].label for m in names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    first = graphs[names[0]].names
    same = {m: g.reordered(first) for m, g in graphs.items()}
    for a in names:
        lines.append(f"| {CONTENDERS[a].label} | " + " | ".join(f"{fp.shd(same[a], same[b]):g}" for b in names) + " |")
    return "\n".join(lines) + "\n"
