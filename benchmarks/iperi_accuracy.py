"""I-PERI on simulated tables: SHD and F1 against the true DAG, next to the population limit of the same simulations.

The limit is the exact Phi-CPDAG, closed under Meek's rules: no method can expect more from unknown interventions. Seeds
are consecutive; none is left out. `ratio` is mean SHD over the limit's mean SHD, `gap` the limit's mean F1 less ours;
`+-` is the standard error of the mean of (SHD - limit's SHD), paired by seed.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/iperi_accuracy.py [--first 0] [--count 20] [--tables main,paper,...]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from typing import Any

import numpy as np

import fedperi as fp

SIZES = (3, 4, 8, 10, 20)
PAPER = fp.IPERI(masking="consensus", aggregate="worst", local="pc")
PARTS = (
    ("consensus, worst, GES", fp.IPERI(masking="consensus", aggregate="worst", local="ges")),
    ("consensus, sum, PC", fp.IPERI(masking="consensus", aggregate="sum", local="pc")),
    ("consensus, sum, GES", fp.IPERI(masking="consensus", aggregate="sum", local="ges")),
    ("adaptive, worst", fp.IPERI(masking="adaptive", aggregate="worst")),
)
HARD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("as above", {}),
    ("some edges removed", {"removal": "some"}),
    ("shared mechanisms", {"shared_mechanisms": True}),
    ("n = 500", {"samples": 500}),
)


def row(method: fp.IPERI, label: str, seeds: range, p: int, clients: int, **options: Any) -> None:
    """Run a method on every seed and print the means as a line of a table."""
    given = {"samples": 1000, "shared_mechanisms": False, **options}
    found, limits, seconds = [], [], 0.0
    for seed in seeds:
        sim = fp.simulate(p, clients, seed=seed, **given)
        start = time.process_time()
        graph = method.fit(sim.sites).graph
        seconds += time.process_time() - start
        limit = fp.meek_closure(sim.phi_cpdag)
        found.append((fp.shd(graph, sim.dag), fp.f1(graph, sim.dag), fp.skeleton_f1(graph, sim.dag)))
        limits.append((fp.shd(limit, sim.dag), fp.f1(limit, sim.dag), fp.shd(sim.cpdag, sim.dag)))
    ours, best = np.array(found), np.array(limits)
    (shd, f1, skeleton), (best_shd, best_f1, plain) = ours.mean(axis=0), best.mean(axis=0)
    error = (ours[:, 0] - best[:, 0]).std(ddof=1) / np.sqrt(len(seeds))
    print(
        f"| {label} | {clients} | {p} | {shd:.2f} / {f1:.3f} | {best_shd:.2f} / {best_f1:.3f} | {shd / best_shd:.2f} "
        f"| {best_f1 - f1:.3f} | {error:.2f} | {skeleton:.3f} | {plain:.2f} | {seconds / len(seeds):.2f} |",
        flush=True,
    )


def head(title: str) -> None:
    print(f"\n{title}\n")
    columns = "| | K | p | SHD / F1 | limit | ratio | gap | +- | skeleton F1 | SHD of C(G) | CPU s a run |"
    print(columns + "\n" + "|---" * 11 + "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--tables", default="main,paper,peri,parts,hard")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.count)
    wanted = given.tables.split(",")
    print(f"seeds {seeds.start} to {seeds.stop - 1}, n = 1000, weights of each site its own, unless said otherwise")
    if "main" in wanted:
        head("IPERI()")
        for clients in (4, 10):
            for p in SIZES:
                row(fp.IPERI(), "I-PERI", seeds, p, clients)
    for name, label, method in (("paper", "paper's variant", PAPER), ("peri", "PERI", fp.PERI())):
        if name in wanted:
            head(label)
            for p in SIZES:
                row(method, label, seeds, p, 4)
    if "parts" in wanted:
        head("Between the paper's variant and IPERI()")
        for label, method in PARTS:
            for p in (8, 10, 20):
                row(method, label, seeds, p, 4)
    if "hard" in wanted:
        head("IPERI(), other conditions")
        for label, options in HARD:
            for p in (8, 10):
                row(fp.IPERI(), label, seeds, p, 4, **options)


if __name__ == "__main__":
    main()
