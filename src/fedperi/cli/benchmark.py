"""`fedperi benchmark`: experiments that anyone can repeat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from ..errors import InputError
from . import app

NAMES = ("privacy",)


@app.command()
def benchmark(
    name: str = typer.Argument(..., metavar="NAME", help=f"One of: {', '.join(NAMES)}."),
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Where to write [benchmark-NAME]."),
    seeds: int = typer.Option(20, help="Simulated federations for each cell of the grid."),
    quick: bool = typer.Option(False, "--quick", help="A corner of the grid with 3 seeds: to see that it works."),
    jobs: int = typer.Option(1, "--jobs", metavar="N", help="Processes."),
) -> None:
    """Run an experiment: tables, figures, and every single number. Stopped, it goes on where it was."""
    if name not in NAMES:
        raise InputError(f"there is no benchmark {name!r}; there are: {', '.join(NAMES)}")
    if seeds < 1:
        raise InputError(f"--seeds must be a positive number, not {seeds}")
    place = out if out is not None else Path(f"benchmark-{name}")
    if place.exists() and not place.is_dir():
        raise InputError(f"--out {str(place)!r} is a file; give a directory")

    from rich.console import Console

    from ..benchmark import privacy

    console = Console(highlight=False)
    with _progress(name) as note:
        files = privacy.run(place, seeds=min(seeds, 3) if quick else seeds, quick=quick, jobs=jobs, note=note)
    console.print((place / f"{name}.md").read_text(encoding="utf-8"), markup=False, soft_wrap=True)
    console.print(f"Wrote {', '.join(file.name for file in files)} and cells.jsonl to {place}.", soft_wrap=True)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A line on standard error, in a terminal only, with the time that is left."""
    from rich.console import Console

    console = Console(stderr=True)
    begun, first = time.monotonic(), [-1]

    with console.status(f"{name}: starting") as status:

        def note(done: int, of: int) -> None:
            if first[0] < 0:
                first[0] = done  # cells of an earlier run say nothing about speed
            mine = done - first[0]
            left = f", about {(time.monotonic() - begun) / mine * (of - done) / 60:.0f} min left" if mine else ""
            status.update(f"{name}: {done} of {of} cells{left}")

        yield note
