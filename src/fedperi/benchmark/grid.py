"""Run a grid of cells: in parallel, resumable, one failing cell at a time.

A cell is a dictionary with a configuration and a seed; a worker turns it into a dictionary of numbers. Each finished
cell is a line of ``cells.jsonl``, so that a stopped run can be resumed, and every number has its cell. The published
file is the same, packed (``gzip -9n cells.jsonl``). Work is distributed by joblib: within
``joblib.parallel_config(backend=...)`` the same grid runs on a cluster.
"""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import InputError
from ..names import guarded

Cell = dict[str, Any]
Worker = Callable[[Cell], Mapping[str, Any]]

CELLS, PACKED = "cells.jsonl", "cells.jsonl.gz"
"""Finished cells of a folder; those that are packed come before the others."""


def run_grid(
    cells: Sequence[Cell],
    worker: Worker,
    out: Path,
    *,
    jobs: int = 1,
    note: Callable[[int, int], None] | None = None,
    saved: bool = False,
) -> list[Cell]:
    """Run the cells that are not in the folder yet, and return all, each with its numbers or its error.

    The next run repeats cells that failed. Cells that were stopped at the time limit are repeated only with a higher
    limit (`limit` of a cell; it does not identify the cell).

    Parameters
    ----------
    cells : sequence of dict
        Values must be JSON values.
    worker : callable
        Must be importable by name: it runs in other processes.
    out : Path
        The folder, made if needed.
    jobs : int
        Number of processes.
    note : callable, optional
        Called with the number of cells done and the total.
    saved : bool
        Run nothing; return the cells in the folder, with the version that made them.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> run_grid([{"x": 2.0}], _square, folder)
    [{'x': 2.0, 'version': '...', 'square': 4.0}]
    """
    from joblib import Parallel, delayed

    if jobs < 1:
        raise InputError(f"--jobs must be a positive number of processes, not {jobs}")
    file, done = _folder(out) / CELLS, _read(out)
    if saved:
        return _saved(cells, done)
    cells = [{**cell, "version": __version__} for cell in cells]
    todo = [cell for cell in cells if not _settled(done.get(_key(cell)), cell)]
    if note is not None:
        note(len(cells) - len(todo), len(cells))
    cut = file.exists() and not file.read_bytes().endswith(b"\n")
    with file.open("a", encoding="utf-8") as stream, _one_thread():
        stream.write("\n" if cut else "")  # a run was stopped in the middle of a line
        found = Parallel(n_jobs=min(jobs, max(len(todo), 1)), return_as="generator_unordered")(
            delayed(_work)(worker, cell) for cell in todo
        )
        for count, (cell, numbers) in enumerate(found, start=len(cells) - len(todo) + 1):
            done[_key(cell)] = numbers
            stream.write(json.dumps({"cell": cell, "found": numbers}) + "\n")
            stream.flush()
            if note is not None:
                note(count, len(cells))
    return [{**cell, **done[_key(cell)]} for cell in cells]


def summarize_cells(rows: Sequence[Cell], by: Sequence[str], numbers: Sequence[str]) -> list[Cell]:
    """Average numbers over the cells that agree in `by`: mean, standard deviation, half of the 95 % interval, count.

    Cells without a number, or with None, are not used for it. `why` is the first error.

    Examples
    --------
    >>> rows = [{"p": 5, "seed": 0, "shd": 1.0}, {"p": 5, "seed": 1, "shd": 3.0}, {"p": 5, "seed": 2, "error": "no"}]
    >>> summarize_cells(rows, ["p"], ["shd"])
    [{'p': 5, 'cells': 2, 'failed': 1, 'why': 'no', 'shd': 2.0, 'shd_sd': 1.414..., 'shd_ci': 12.7...}]
    """
    from scipy.special import stdtrit

    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    out = []
    for key, members in groups.items():
        fine = [row for row in members if "error" not in row]
        entry: Cell = {**dict(zip(by, key, strict=True)), "cells": len(fine), "failed": len(members) - len(fine)}
        if len(fine) < len(members):
            entry["why"] = next(row["error"] for row in members if "error" in row)
        for name in numbers:
            values = [float(row[name]) for row in fine if row.get(name) is not None]
            mean = math.fsum(values) / len(values) if values else math.nan
            spread = (
                math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0
            )
            reach = float(stdtrit(len(values) - 1, 0.975)) if len(values) > 1 else 0.0
            entry |= {name: mean, f"{name}_sd": spread, f"{name}_ci": reach * spread / math.sqrt(max(len(values), 1))}
        out.append(entry)
    return out


def write_table(rows: Sequence[Cell], file: Path) -> None:
    """Write rows as CSV; cells that could be read as a formula are escaped."""
    import pandas as pd

    cells = [{key: guarded(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows]
    pd.DataFrame(cells).to_csv(file, index=False, float_format="%.6g")


def saved_cells(out: Path) -> list[Cell]:
    """List the cells that a folder has, finished or failed."""
    return [json.loads(key) for key in _read(out)]


def forget(out: Path, task: str) -> None:
    """Remove the cells of a task from a folder, since their input may have changed."""
    file, every = out / CELLS, _read(out)
    kept = {key: found for key, found in every.items() if json.loads(key)["task"] != task}
    if every:
        (out / PACKED).unlink(missing_ok=True)
        lines = [json.dumps({"cell": json.loads(key), "found": found}) + "\n" for key, found in kept.items()]
        file.write_text("".join(lines), encoding="utf-8")


def _work(worker: Worker, cell: Cell) -> tuple[Cell, dict[str, Any]]:
    try:
        return cell, dict(worker(cell))
    except Exception as error:  # one failing cell must not stop the rest; it is counted and shown
        return cell, {"error": f"{type(error).__name__}: {error}"}


@contextmanager
def _one_thread() -> Iterator[None]:
    """Allow one thread per process: with small matrices more threads only slow each other down."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {str(out)!r}: {error.strerror or error}") from None
    return out


def _read(out: Path) -> dict[str, dict[str, Any]]:
    packed, file = out / PACKED, out / CELLS
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else b""
    text += b"\n" + (file.read_bytes() if file.exists() else b"")
    done: dict[str, dict[str, Any]] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        try:
            entry = json.loads(line)
            key = _key(entry["cell"])
            done.pop(key, None)  # so that the entry moves to the end
            done[key] = entry["found"]
        except (ValueError, KeyError, TypeError):
            continue  # a run was stopped while it wrote this line: its cell runs again
    return done


def _saved(cells: Sequence[Cell], done: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
    """Return the numbers of these cells, made by any version; if there are several, those written last."""
    versions: dict[str, Cell] = {}
    for key, found in done.items():
        cell = json.loads(key)
        version = cell.pop("version", "unknown")
        versions[_key(cell)] = {"version": version, **found}
    return [{**cell, **versions[_key(cell)]} for cell in cells if _key(cell) in versions]


def _key(cell: Cell) -> str:
    return json.dumps({name: value for name, value in cell.items() if name != "limit"}, sort_keys=True)


def _settled(found: Mapping[str, Any] | None, cell: Cell) -> bool:
    """Whether a cell need not be run (again)."""
    if found is None or "error" not in found:
        return found is not None
    return "limit" in found and found["limit"] >= cell.get("limit", math.inf)


def _square(cell: Cell) -> dict[str, float]:
    return {"square": cell["x"] ** 2}
