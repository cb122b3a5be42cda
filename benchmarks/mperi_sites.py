"""M-PERI with four and with ten sites: SHD and directions beside I-PERI and the limits, 10 variables.

Settings of `fedperi benchmark settings`, where sites are five. Every fit is a cell of `fedperi benchmark cell`. "Phi
limit" is the closed Phi-CPDAG of the truth, "targets known" the I-CPDAG of the true targets: what could be found with
any number of rows.

Run: python benchmarks/mperi_sites.py [--first 41000] [--seeds 20] [--jobs 1] [--out DIR]

Started again with the same folder, it computes only what is missing.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from pathlib import Path

from fedperi.benchmark.experiments import work
from fedperi.benchmark.fitting import fit_cells
from fedperi.benchmark.grid import Cell, run_grid, summarize_cells

SETTINGS = ("cut", "some cut", "strengths", "shift", "scale", "own strengths", "nothing shared", "no policy")
METHODS = ("mperi-75", "mperi", "iperi", "oracle-phi", "oracle-targets")
NUMBERS = ("shd", "right", "wrong", "open", "cpu_s")
HEAD = ("setting", "K", "M-PERI .75: SHD", "M-PERI", "I-PERI", "Phi limit", "targets known")
MORE = ("M-PERI .75: right / wrong / open", "M-PERI", "I-PERI", "runs")


def line(setting: str, clients: int, rows: list[Cell]) -> str:
    """A line of the table."""
    found = {row["method"]: row for row in rows if (row["setting"], row["clients"]) == (setting, clients)}
    shown = [f"{found[name]['shd']:.2f}" for name in METHODS]
    shown += [" / ".join(f"{found[name][what]:.2f}" for what in NUMBERS[1:4]) for name in METHODS[:3]]
    runs = sorted({found[name]["cells"] for name in METHODS})
    return f"| {setting} | {clients} | {' | '.join(shown)} | {' to '.join(map(str, runs))} |"


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=41_000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("mperi-sites"))
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    cells = fit_cells(METHODS, seeds, settings=SETTINGS, p=(10,), clients=(4, 10))
    found = run_grid(
        sorted(cells, key=lambda cell: (cell["seed"], cell["clients"], SETTINGS.index(cell["setting"]))),
        work,
        given.out,
        jobs=given.jobs,
    )
    rows = summarize_cells(found, ("setting", "clients", "method"), NUMBERS)
    print("| " + " | ".join((*HEAD, *MORE)) + " |\n" + "|" + "---|" * len((*HEAD, *MORE)))
    for setting in SETTINGS:
        for clients in (4, 10):
            print(line(setting, clients, rows), flush=True)
    seconds = {name: sum(row["cpu_s"] * row["cells"] for row in rows if row["method"] == name) for name in METHODS}
    print(f"\n{sum(row['failed'] for row in rows)} failed; CPU seconds: {seconds}")


if __name__ == "__main__":
    main()
