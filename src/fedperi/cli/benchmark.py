"""`fedperi benchmark`: run experiments that anyone can repeat."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app
from .common.say import say

if TYPE_CHECKING:
    from rich.console import Console

    from ..benchmark.page import Page, Request

NAMES = (
    "table1, table2, published, shared, standardized, clients, samples, local, time, settings, privacy, scale, "
    "exactness, ablation, plan, all, real, cell"
)


@app.command()
def benchmark(
    name: str = typer.Argument(..., metavar="NAME", help=f"One of, or several with commas: {NAMES}."),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Where to write (default: benchmark-NAME). Experiments can share a folder and its cells.",
    ),
    seeds: int = typer.Option(20, help="Simulated federations per cell of the grid."),
    first: int = typer.Option(0, help="The first seed."),
    quick: bool = typer.Option(False, "--quick", help="A small part with 2 seeds (1 for slow methods), to try it out."),
    jobs: int | None = typer.Option(None, metavar="N", help="Processes (default: one per core)."),
    methods: str | None = typer.Option(None, help="Only these methods: names with commas, e.g. mperi,peri,ut-igsp."),
    at: str | None = typer.Option(None, help="Only these p, K or n, whichever varies: numbers with commas, e.g. 3,8."),
    settings: str | None = typer.Option(None, help="With `settings`: only these, names with commas, e.g. 'cut,drift'."),
    limit: float = typer.Option(300.0, metavar="SECONDS", help="CPU seconds after which a fit is stopped."),
    filtered: bool = typer.Option(False, "--filter", help="Only the seeds that the paper's filter would have kept."),
    saved: bool = typer.Option(False, "--saved", help="Run nothing; write tables and figures from saved cells."),
    page: Path | None = typer.Option(
        None, metavar="FILE", help="Where to write a page with notes, machine and versions."
    ),
    data: Path | None = typer.Option(
        None,
        "--tables",
        "--data",
        metavar="DIR",
        help="With `real`: a folder with one table per site, or a folder of such folders.",
    ),
    cell: str | None = typer.Option(
        None, metavar="JSON", help="With `cell`: one cell, copied from a line of cells.jsonl."
    ),
) -> None:
    """Run an experiment; write tables, figures and all single results. A stopped run resumes where it stopped."""
    from ..benchmark.experiments import with_saved_seeds
    from ..benchmark.page import Request
    from ..console import console as terminal

    if seeds < 1 or first < 0:
        raise InputError(f"--seeds must be a positive number and --first not negative; not {seeds} and {first}")
    if not limit > 0:
        raise InputError(f"--limit must be a positive number of CPU seconds, not {limit:g}")
    if name == "cell":
        say(json.dumps(_one_cell(cell)))
        return
    experiments = () if name == "real" else _experiments(name)
    place = out if out is not None else Path(f"benchmark-{name}")
    if place.exists() and not place.is_dir():
        raise InputError(f"--out {str(place)!r} is a file; give a directory")
    chosen = range(first, first + (min(seeds, 2) if quick else seeds))
    request = Request(chosen, quick, _names(methods), _numbers(at), filtered, _names(settings), limit)
    how = {"jobs": (os.cpu_count() or 1) if jobs is None else jobs, "saved": saved}
    console = terminal()
    pages = _real(data, place, request, how) if name == "real" else _run(experiments, place, request, how, console)
    if name == "all" or page is not None:
        shown = with_saved_seeds(place, request) if saved and name != "real" else request
        _write_results(name, pages, place, page or place / "results.md", shown)
    for made in pages:
        _show(console, made)
    console.print(f"Wrote tables, figures and cells.jsonl to {place}.", soft_wrap=True)


def _experiments(name: str) -> tuple[str, ...]:
    """Return the experiments that a name means: one, several with commas, or all; checked before anything runs."""
    from ..benchmark.experiments import NAMES as EVERY
    from ..benchmark.experiments import experiment

    if name == "all":
        return EVERY
    names = _names(name) or ()
    for one in names:
        experiment(one)  # refuses a name that it does not know
    return names


def _run(names: Sequence[str], place: Path, request: Request, how: dict[str, Any], console: Console) -> list[Page]:
    """Run experiments one after the other; with `--saved`, leave out those of several that have nothing saved."""
    from ..benchmark.experiments import has_cells, run_experiment

    pages = []
    for one in names:
        if len(names) > 1 and how["saved"] and not has_cells(one, place, request):
            console.print(f"{one}: skipped, nothing is saved.")
            continue
        with _progress(one) as note:
            pages.append(run_experiment(one, place, request, note=note, **how))
    return pages


def _real(data: Path | None, place: Path, request: Request, how: dict[str, Any]) -> list[Page]:
    from ..benchmark.experiments import run_real

    if data is None:
        raise InputError("benchmark real needs --tables DIR: a folder with one table per site")
    with _progress("real") as note:
        return run_real(data, place, request, note=note, **how)


def _names(text: str | None) -> tuple[str, ...] | None:
    return tuple(name.strip() for name in text.split(",")) if text else None


def _numbers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise InputError(f"--at takes positive whole numbers with commas, like 3,8; not {text!r}")
    return found


def _one_cell(text: str | None) -> object:
    """Run one cell again, to see whether it gives the same numbers."""
    from .._version import __version__
    from ..benchmark.experiments import work
    from ..strict import Unreadable, read_json

    if text is None:
        raise InputError("benchmark cell needs --cell JSON: copy a cell from a line of cells.jsonl")
    try:
        given = read_json(text)
    except Unreadable as error:
        raise InputError(f"--cell is not JSON ({error}): copy a cell from a line of cells.jsonl") from None
    given = given.get("cell", given) if isinstance(given, dict) else given
    if not isinstance(given, dict):
        raise InputError(f"--cell must be an object with a task and a configuration, not {text!r}")
    try:
        return {"cell": given | {"version": __version__}, "found": dict(work(given))}
    except KeyError as error:
        raise InputError(f"--cell lacks {error}: copy a cell from a line of cells.jsonl") from None


def _write_results(name: str, pages: list[Page], place: Path, page: Path, request: Request) -> None:
    """Write all pages to one file, after the folder's notes.md or notes-NAME.md."""
    from ..benchmark.experiments import results_page

    notes = place / (f"notes-{name}.md" if len(pages) == 1 or name == "real" else "notes.md")
    words = notes.read_text(encoding="utf-8") + "\n" if notes.exists() else ""
    way = os.path.relpath(place, page.parent)
    folder = "" if way == "." else f"{Path(way).as_posix()}/"
    page.write_text(results_page(name, pages, words, folder, request), encoding="utf-8")


def _show(console: Console, page: Page) -> None:
    """Print a page, with a layout if this is a terminal."""
    from rich.markdown import Markdown

    if console.is_terminal:
        console.print(Markdown(f"## {page.title}\n\n{page.text}"))
    else:
        console.print(page.markdown(), soft_wrap=True)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a line on standard error, in a terminal only, with the time that is left."""
    from rich.text import Text

    from ..console import console as terminal

    console = terminal(stderr=True)
    begun, first = time.monotonic(), None

    with console.status(Text(f"{name}: starting")) as status:

        def note(done: int, of: int) -> None:
            nonlocal first
            first = done if first is None else first  # cells of an earlier run say nothing about speed
            mine = done - first
            left = f", about {(time.monotonic() - begun) / mine * (of - done) / 60:.0f} min left" if mine else ""
            status.update(Text(f"{name}: {done} of {of} cells{left}"))

        yield note
