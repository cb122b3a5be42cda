"""What M-PERI costs: CPU seconds of a fit with several sizes, beside other packages on all rows in one place.

Sites have 1,000 rows, with interventions of all kinds (`intervention="varied"`). Time is that of the process, all
threads together, reading the tables included. "Chains differ" is how far probabilities differ between samples, beyond
12 variables; below that they are exact. Ratios are over M-PERI's mean in the same run, on the same tables. A package
that takes more than `--limit` CPU seconds is stopped, and its ratio is a lower bound; it then does not get further
seeds of that size, nor larger sizes.

Run: python benchmarks/mperi_cost.py [--seeds 0 5] [--limit 300]

Nothing is kept: times of another hour say little. One process at a time, whatever else is asked for.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mperi_cases import Case, Record, able, arguments, markdown, seeds_of, solve
from mperi_peers import PEERS

SIZES = ((10, 6), (12, 6), (20, 10), (50, 10))


def case_of(p: int, clients: int, seed: int) -> Case:
    return {"variables": p, "clients": clients, "samples": 1000, "intervention": "varied", "seed": seed}


def theirs(peer: str, cases: list[Case], limit: float, ours: float) -> tuple[str, bool]:
    """A peer's mean time as a cell of the table, and whether it was too slow."""
    used: list[float] = []
    for case in cases:
        record = solve({"case": case, "method": peer, "limit": limit})
        used.append(record["cpu"])
        if "failed" in record:
            slow = record["failed"].startswith("more than")
            shown = f"> {limit:g} (> {limit / ours:.2f}x)" if slow else f"failed: {record['failed']}"
            return shown, slow
    mean = float(np.mean(used))
    return f"{mean:.2f} ({mean / ours:.2f}x)", False


def main() -> None:
    parser = arguments(__doc__, 5)
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds after which a peer is stopped")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of the sizes, from the smallest")
    given = parser.parse_args()
    seeds = seeds_of(given)
    peers = able(PEERS)
    start = time.process_time()
    for name in ("MPERI()", "IPERI()", *peers):
        solve({"case": case_of(4, 2, 0), "method": name, "limit": None})  # imports are not timed
    too_slow: set[str] = set()
    rows = []
    for p, clients in SIZES[: given.sizes]:
        cases = [case_of(p, clients, seed) for seed in seeds]
        ours: list[Record] = [solve({"case": case, "method": "MPERI()"}) for case in cases]
        before: list[Record] = [solve({"case": case, "method": "IPERI()"}) for case in cases]
        seconds = [record["cpu"] for record in ours]
        chains = [record["chains_differ"] for record in ours]
        differ = "exact" if p <= 12 else f"{np.mean(chains):.3f} ({max(chains):.3f})"
        mean = float(np.mean(seconds))
        old = float(np.mean([record["cpu"] for record in before]))
        cells = []
        for peer in peers:
            if peer in too_slow:
                cells.append("not run")
                continue
            shown, slow = theirs(peer, cases, given.limit, mean)
            cells.append(shown)
            if slow:
                too_slow.add(peer)
        rows.append((p, clients, mean, max(seconds), differ, f"{old:.2f} ({old / mean:.2f}x)", *cells))
        print(rows[-1], file=sys.stderr, flush=True)
    head = ("p", "K", "M-PERI: mean", "largest", "chains differ: mean (largest)", "I-PERI", *peers)
    markdown(f"CPU seconds, seeds {seeds.start} to {seeds.stop - 1} (in brackets: times M-PERI's mean)", head, rows)
    print(f"\nAll in all {time.process_time() - start:.0f} CPU s")


if __name__ == "__main__":
    main()
