"""M-PERI on simulated tables, beside what can be known, I-PERI and other packages.

Eight settings (see `SETTINGS` in mperi_cases.py), p in {4, 8, 10, 20}, K in {4, 10} sites of 1,000 rows. SHD is against
the true DAG and counts a reversed edge as 2. "Phi limit" is the exact Phi-CPDAG closed under Meek's rules, "targets
known" the I-CPDAG of the true targets. Directions are right, wrong (reversed, or no edge there) and open (edges without
direction); all numbers are means per run. Seeds are consecutive, none is left out. GnIES takes seconds per run: it gets
p <= 10 and the first `--slow` seeds. M-PERI is fitted once per confidence.

Run: python benchmarks/mperi_accuracy.py [--seeds 0 20] [--jobs 2] [--slow 5] [--sizes 4 8 10 20] [--sites 4 10]

Started again, it computes only what is missing (see mperi_cases.py).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from mperi_cases import (
    SETTINGS,
    Record,
    Task,
    able,
    arguments,
    cpu_times,
    failures,
    markdown,
    mean,
    run,
    seeds_of,
    simulated,
    triple,
)

SURE, LIKELY = "MPERI()", "MPERI(confidence=0.75)"
MOST_FOR_PEERS = {"UT-IGSP": 20, "GnIES": 10}
SLOW = ("GnIES",)
Cell = tuple[str, int, int]


def methods_of(cell: Cell, peers: Sequence[str]) -> list[str]:
    """What runs in a cell of the table."""
    setting, _, p = cell
    ours = ["limits", SURE, LIKELY, "IPERI()", *(["PERI()"] if setting == "nobody intervened" else [])]
    return ours + [peer for peer in peers if p <= MOST_FOR_PEERS[peer]]


def tasks_of(cell: Cell, method: str, given: argparse.Namespace) -> list[Task]:
    """One task per seed."""
    setting, clients, p = cell
    seeds = seeds_of(given)[: given.slow] if method in SLOW else seeds_of(given)
    return [{"case": simulated(setting, p, clients, seed), "method": method} for seed in seeds]


def print_tables(cells: Sequence[Cell], peers: Sequence[str], of: Callable[[Cell, str], list[Record]]) -> None:
    """Print SHD, directions, and what is directed where nobody intervened."""
    rows, directions, nobody = [], [], []
    for cell in cells:
        limits = of(cell, "limits")
        phi, targets = mean(limits, "phi"), mean(limits, "targets")
        shd = {name: mean(of(cell, name), "shd") for name in (LIKELY, SURE, "IPERI()")}
        gaps = [record["shd"] - limit["phi"] for record, limit in zip(of(cell, LIKELY), limits, strict=True)]
        error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")
        ratios = [shd[name] / phi if phi else float("nan") for name in (LIKELY, SURE, "IPERI()")]
        theirs = {name: of(cell, name) for name in peers if name not in SLOW}
        others = [f"{mean(some, 'shd'):.2f}" if some else "-" for some in theirs.values()]
        rows.append((*cell, *shd.values(), phi, targets, *ratios, error, *others))
        found = [triple(of(cell, name)) for name in (LIKELY, SURE, "IPERI()")]
        directions.append((*cell, mean(limits, "edges"), *found, *(triple(s) if s else "-" for s in theirs.values())))
        if cell[0] == "nobody intervened":
            nobody.append((*cell[1:], *(mean(of(cell, n), "wrong") for n in (LIKELY, SURE, "IPERI()", "PERI()"))))
    ours = ("M-PERI .75", "M-PERI", "I-PERI")
    peers = [name for name in peers if name not in SLOW]
    head = ("setting", "K", "p", *ours, "Phi limit", "targets known", *(f"{name}: ratio" for name in ours), "+-")
    markdown("SHD, and ratio to the Phi limit (+-: standard error of M-PERI .75 less limit)", (*head, *peers), rows)
    markdown("Directions right / wrong / open", ("setting", "K", "p", "edges", *ours, *peers), directions)
    if nobody:
        markdown("Nobody intervened: wrong directions", ("K", "p", *ours, "PERI"), nobody)


def print_slow(cells: Sequence[Cell], peers: Sequence[str], of: Callable[[Cell, str], list[Record]]) -> None:
    """Print slow peers beside the others, all on the few seeds that the slow ones had."""
    for peer in peers:
        rows = []
        for cell in cells:
            names = (LIKELY, SURE, *(other for other in peers if other != peer))
            count = len(of(cell, peer))
            shown = {name: of(cell, name)[:count] for name in (*names, "UT-IGSP", peer) if of(cell, name)}
            if count:
                rows.append((*cell, *(f"{mean(s, 'shd'):.2f} ({triple(s)})" for s in shown.values())))
                head = ("setting", "K", "p", *shown)
        if rows:
            markdown(f"{peer}, and others on the same seeds: SHD (right / wrong / open)", head, rows)


def main() -> None:
    parser = arguments(__doc__, 20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 8, 10, 20])
    parser.add_argument("--sites", type=int, nargs="+", default=[4, 10])
    parser.add_argument("--settings", nargs="+", default=[*SETTINGS], choices=[*SETTINGS])
    parser.add_argument("--slow", type=int, default=5, help="seeds for slow peers")
    given = parser.parse_args()
    seeds = seeds_of(given)
    print(f"Seeds {seeds.start} to {seeds.stop - 1}, n = 1000; {', '.join(SLOW)}: the first {given.slow} of them")
    peers = able(MOST_FOR_PEERS)
    cells = [(setting, clients, p) for setting in given.settings for clients in given.sites for p in given.sizes]
    tasks = {(cell, name): tasks_of(cell, name, given) for cell in cells for name in methods_of(cell, peers)}
    record = run([task for some in tasks.values() for task in some], given)
    found = {key: [record(task) for task in some] for key, some in tasks.items()}
    print_tables(cells, peers, lambda cell, name: found.get((cell, name), []))
    print_slow(cells, [peer for peer in peers if peer in SLOW], lambda cell, name: found.get((cell, name), []))
    by_method: dict[str, list[Record]] = {}
    for (cell, name), some in found.items():
        by_method.setdefault(f"{name}, p = {cell[2]}", []).extend(some)
    for peer in peers:
        failures(peer, [one for (_, name), some in found.items() if name == peer for one in some])
    cpu_times(dict(sorted(by_method.items())))


if __name__ == "__main__":
    main()
