"""All experiments by name: their cells and their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ..errors import InputError
from .comparisons import COMPARISONS
from .contenders import left_out
from .grid import Cell, forget, run_grid, saved_cells
from .page import Page, Request

Note = Callable[[int, int], None]

MODULES = {
    "settings": "survey",
    "privacy": "privacy",
    "scale": "scale",
    "exactness": "exactness",
    "ablation": "ablation",
    "plan": "results",
}
"""Experiments that are not comparisons over one axis, and their modules."""

NAMES = (*COMPARISONS, *(name for name in MODULES if name != "plan"))
"""The experiments of `all`, in this order."""


class Experiment(Protocol):
    """A list of cells, and a page made from those that are done."""

    def cells(self, request: Request) -> list[Cell]:
        """List the cells."""

    def write(self, found: Sequence[Cell], out: Path, request: Request) -> Page:
        """Write tables and figures into a folder."""


def experiment(name: str) -> Experiment:
    """Find an experiment.

    Examples
    --------
    >>> experiment("table1").title
    'Table 1: variables, linear data'
    >>> experiment("table9")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: there is no benchmark 'table9'; there are: table1, table2, ...
    """
    if name in COMPARISONS:
        return COMPARISONS[name]
    if name not in MODULES:
        raise InputError(
            f"there is no benchmark {name!r}; there are: {', '.join((*NAMES, 'plan', 'real', 'cell', 'all'))}"
        )
    from importlib import import_module

    found: Any = import_module(f".{MODULES[name]}", __package__)
    return found  # type: ignore[no-any-return]


def work(cell: Cell) -> Mapping[str, Any]:
    """Run any cell; the same cell gives the same numbers, except for its time."""
    from . import ablation, exactness, fitting, privacy, real, scale

    tasks: dict[str, Callable[[Cell], Mapping[str, Any]]] = {
        "fit": fitting.fit_cell,
        "filter": fitting.filter_cell,
        "privacy": privacy.work,
        "scale": scale.work,
        "exactness": exactness.work,
        "ablation": ablation.work,
        "real": real.work,
    }
    if cell.get("task") not in tasks:
        raise InputError(f"a cell has a 'task', one of {', '.join(tasks)}; not {cell.get('task')!r}")
    return tasks[cell["task"]](cell)


def run_experiment(
    name: str, out: Path, request: Request, *, jobs: int = 1, note: Note | None = None, saved: bool = False
) -> Page:
    """Run the cells that are missing, write tables and figures, and the page as NAME.md.

    With `saved` nothing is run, and all seeds in the folder are used.
    """
    one = experiment(name)
    request = with_saved_seeds(out, request) if saved else request
    page = one.write(_found(name, one.cells(request), out, jobs=jobs, note=note, saved=saved), out, request)
    if name != "plan":  # the plan writes its own pages
        (out / f"{name}.md").write_text(page.markdown(), encoding="utf-8")
    return page


def has_cells(name: str, out: Path, request: Request) -> bool:
    """Whether a folder has any cell of an experiment."""
    return bool(run_grid(experiment(name).cells(with_saved_seeds(out, request)), work, out, saved=True))


def with_saved_seeds(out: Path, request: Request) -> Request:
    """Request all seeds and sizes for which a folder has cells; record the versions that made them."""
    cells = saved_cells(out)
    found = sorted({cell["seed"] for cell in cells if "seed" in cell})
    versions = tuple(sorted({str(cell["version"]) for cell in cells if "version" in cell}))
    return replace(request, seeds=found or request.seeds, everything=True, versions=versions)


def run_real(
    folder: Path, out: Path, request: Request, *, jobs: int = 1, note: Note | None = None, saved: bool = False
) -> list[Page]:
    """Run all methods on the site files of a folder; every run starts again, since files may have changed."""
    from . import real

    todo = real.cells(folder, request.methods, request.limit)
    if not saved:
        forget(out, "real")
    pages = real.write(_found("real", todo, out, jobs=jobs, note=note, saved=saved), out, request)
    (out / "real.md").write_text("\n".join(page.markdown() for page in pages), encoding="utf-8")
    return pages


def _found(name: str, cells: list[Cell], out: Path, *, jobs: int, note: Note | None, saved: bool) -> list[Cell]:
    """Run the cells that can run here; cells of packages that are not installed say so."""
    missing = {} if saved else left_out(dict.fromkeys(cell["method"] for cell in cells if "method" in cell))
    able = [cell for cell in cells if cell.get("method") not in missing]
    found = run_grid(able, work, out, jobs=jobs, note=note, saved=saved)
    found += [
        {**cell, "error": f"not installed ({missing[cell['method']]}): the extra 'peers' brings it"}
        for cell in cells
        if cell.get("method") in missing
    ]
    if not found:
        raise InputError(f"{str(out / 'cells.jsonl')!r} has no cells of {name}: run it without --saved first")
    return found


def results_page(name: str, pages: Sequence[Page], notes: str, folder: str, request: Request) -> str:
    """Join pages, with the machine and the versions that made them; `notes` come first, and may have a title."""
    title = "Real tables" if name == "real" else pages[0].title if len(pages) == 1 else "Results"
    text = "\n".join(page.markdown(folder) for page in pages)
    head = "" if notes.startswith("# ") else f"# {title}\n\n"
    return f"{head}{notes}{text}\n{_circumstances(name, request)}\n"


def _circumstances(name: str, request: Request) -> str:
    import os
    import platform
    from importlib.metadata import version

    from .._version import __version__

    libraries = ", ".join(f"{library} {version(library)}" for library in ("numpy", "scipy", "pandas"))
    seeds = "" if name == "real" else f" Seeds {min(request.seeds)} to {max(request.seeds)}."
    fedperi = ", ".join(request.versions) or __version__
    made = (
        f"fedperi {fedperi}, Python {platform.python_version()}, {libraries}; {platform.machine()}, "
        f"{os.cpu_count()} cores, one thread per fit"
    )
    return (
        f"Written by `fedperi benchmark {name}`: {made}.{seeds} Tables say how many seeds each row has. ± is half of "
        "the 95 % interval of the mean, unless said otherwise. Bold: the best federated method."
    )
