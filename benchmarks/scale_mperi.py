"""M-PERI in one process: CPU seconds and peak memory by stage, beside limits; samples of DAGs beside exact sums.

Sites have 1,000 rows, with interventions of all kinds (`intervention="varied"`). Every size runs in a process of its
own. A peak is the largest memory of the process up to the end of the stage. The stage "hidden causes" looks at all sets
of four variables. Beyond `--signs` variables it is left out, and the total is without it.

The limit of reading is numpy's time for the products of the rows. Families are scored at all sites; each counts once
for every time it is scored, the runs with one thing changed included.

Run: python benchmarks/scale_mperi.py [--sizes 20 50 100] [--clients 10] [--seed 0] [--signs 50]
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from mperi_cases import markdown

import fedperi as fp
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.mperi import method, runs
from fedperi.methods.mperi.statements import named_entries, statements
from fedperi.scores.mechanisms import Mechanisms
from fedperi.search.posterior import Lattice, exact_posterior, sampled_posterior
from fedperi.tables.reading import Reading

STAGES = ("statements", "_look", "posterior_runs", "hidden_causes")


def timed(owner: Any, name: str, seconds: dict[str, float], peaks: dict[str, float]) -> None:
    """Let a function note what it costs."""
    inner = getattr(owner, name)

    def outer(*given: Any, **options: Any) -> Any:
        start = time.process_time()
        found = inner(*given, **options)
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
        peaks[name] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return found

    setattr(owner, name, outer)


def one_size(p: int, clients: int, seed: int, signs: bool) -> dict[str, Any]:
    """Fit once, in this process."""
    sim = fp.simulate(p, clients=clients, samples=1000, seed=seed, intervention="varied")
    fp.MPERI(progress=False).fit(fp.simulate(4, 2, 100).sites)  # imports are not timed
    seconds: dict[str, float] = {}
    peaks: dict[str, float] = {}
    families = 0
    inner = Mechanisms._scores

    def counting(self: Mechanisms, *given: Any, **options: Any) -> Any:
        nonlocal families
        found = inner(self, *given, **options)
        families += int(np.isfinite(found[0]).sum())
        return found

    Mechanisms._scores = counting  # type: ignore[method-assign]
    for name in STAGES:
        timed(method.MPERI if name == "_look" else method, name, seconds, peaks)
    start = time.process_time()
    if signs:
        graph = fp.MPERI(progress=False).fit(sim.sites).graph
    else:
        reading = Reading.of(None, "auto", "auto")
        said = method.statements(named_entries(sim.sites, None, reading), reading)
        graph = fp.MPERI()._stages(said, unconstrained(said[0].names), lambda step: None).graph
    total = time.process_time() - start
    rows = [site.to_numpy() for site in sim.sites]
    start = time.process_time()
    for own in rows:
        _ = own.T @ own
    least = time.process_time() - start
    return {
        "total": total,
        "seconds": seconds,
        "peaks": peaks,
        "families": families,
        "least": least,
        "shd": fp.shd(graph, sim.dag),
        "limit": fp.shd(fp.meek_closure(sim.phi_cpdag), sim.dag),
    }


def by_size(sizes: list[int], clients: int, seed: int, signs: int) -> None:
    """Print CPU seconds and peaks."""
    rows = []
    for p in sizes:
        job = json.dumps([p, clients, seed, p <= signs])
        done = subprocess.run([sys.executable, __file__, "--job", job], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        cells: list[object] = [p, clients, found["total"]]
        for name in STAGES:
            known = name in found["seconds"]
            cells.append(f"{found['seconds'][name]:.2f} ({found['peaks'][name]:.0f})" if known else "not run")
        cells += [found["total"] - sum(found["seconds"].values()), f"{found['least']:.4f}", found["families"]]
        rows.append((*cells, f"{found['shd']} ({found['limit']})"))
    head = ("p", "K", "CPU s", "summaries", "search", "probabilities", "hidden causes", "rest", "products alone")
    title = f"CPU seconds (peak MiB), seed {seed}"
    markdown(title, (*head, "families scored", "SHD (Phi-CPDAG's)"), rows)


def lattices_of(p: int, seed: int) -> list[Lattice]:
    """Scores of all parent sets, as the run with all sites sees them."""
    sim = fp.simulate(p, clients=6, samples=1000, seed=seed, intervention="varied")
    reading = Reading.of(None, "auto", "auto")
    parts = [part.straight() for part in statements(named_entries(sim.sites, None, reading), reading)]
    _, _, found = fp.MPERI()._look(
        runs.Comparison.of("auto"), parts, [], unconstrained(parts[0].names), lambda step: None
    )
    free = [runs.candidates(found.sets, found.parents, node) for node in range(p)]
    return [runs.known_lattice(found.sets, node, some) for node, some in enumerate(free)]


def agreement(seed: int) -> None:
    """Print how far samples are from exact sums, where both are possible."""
    rows = []
    for p in (10, 12):
        lattices = lattices_of(p, seed)
        start = time.process_time()
        exact = exact_posterior(lattices)
        middle = time.process_time()
        rng = np.random.default_rng(seed)
        starts = [rng.permutation(p).tolist() for _ in range(4)]
        drawn = sampled_posterior(lattices, starts, seed=seed, sweeps=runs.SWEEPS)
        end = time.process_time()
        apart = float(abs(drawn.edges - exact.edges).max())
        rows.append((p, middle - start, end - middle, f"{apart:.4f}", f"{drawn.chains_differ:.4f}"))
    head = ("p", "exact, CPU s", "sampled, CPU s", "largest difference of an edge", "chains differ")
    markdown(f"Probabilities of edges: four chains from random orders, seed {seed}", head, rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="*", default=[20, 50, 100])
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--signs", type=int, default=50, help="variables up to which hidden causes are looked for")
    parser.add_argument("--job")
    given = parser.parse_args()
    if given.job:
        print(json.dumps(one_size(*json.loads(given.job))))
        return
    by_size(given.sizes, given.clients, given.seed, given.signs)
    agreement(given.seed)


if __name__ == "__main__":
    main()
