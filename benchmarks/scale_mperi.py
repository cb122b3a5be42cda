"""M-PERI in one process: CPU seconds and peak memory by stage, beside physical limits, other packages, and samples.

Data are those of `fp.simulate` with interventions of all kinds (`intervention="varied"`). Every fit runs in a process
of its own, and nothing else of this script runs beside it. A peak is the largest memory of the process up to the end of
the stage; making the tables is in it.

Two limits stand beside each fit. "Products" is numpy's time for the products of the rows, which summaries cannot do
without. "Fits" is the number of families that were scored, times sites, times what one regression costs if sites are
not compared with each other. A family counts for every run in which it is scored.

Run: python benchmarks/scale_mperi.py [--parts sizes sites samples peers thousand] [--seeds 10] [--limit 60]

All parts are run unless some are chosen. Of a size with fewer usual seeds (`SIZES`) these are run. Peers need
`pip install "fedperi[peers]"`, and are stopped after the limit, in CPU seconds.
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
from mperi_cases import PEERS, able, markdown, solve

import fedperi as fp
from fedperi.benchmark.contenders import TooSlowError
from fedperi.benchmark.contenders.limits import within
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.mperi import method, runs
from fedperi.methods.mperi.statements import named_entries, statements
from fedperi.scores.mechanisms import Mechanisms
from fedperi.search.chains import Chain, tables
from fedperi.search.posterior import Lattice, best_under, exact_posterior, sampled_posterior
from fedperi.tables.reading import Reading
from fedperi.tables.statistics import Statistics

STAGES = ("statements", "_look", "posterior_runs", "hidden_causes")
SIZES = ((20, 1000, 10), (50, 1000, 3), (100, 1000, 1), (200, 5000, 1))
"""Variables, rows per site, and seeds."""
SITES = ((20, 1), (20, 3), (20, 10), (20, 30), (20, 100), (20, 300), (20, 1000), (50, 1000))
THOUSAND = {"variables": 1000, "clients": 10, "samples": 5000, "seed": 0, "edges": 1000, "shield_colliders": False}
HEAD = ("p", "K", "n", "seed", "CPU s", "summaries", "search", "probabilities", "hidden causes", "rest", "products")
MORE = ("fits", "families", "skeleton F1", "SHD (Phi-CPDAG's)", "chains differ")
RIVALS = ("UT-IGSP", "GnIES", "PC, pooled", "GES, pooled")
OWN_PC = "fedperi's PC, summaries"
LEAST = 0.05
"""Edges of a probability within this of zero or one are certain: their samples say nothing about effective numbers."""


def case_of(p: int, clients: int, samples: int, seed: int) -> dict[str, Any]:
    return {"variables": p, "clients": clients, "samples": samples, "seed": seed}


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


def parts_of(sites: Any) -> Any:
    reading = Reading.of(None, "auto", "auto")
    return [part.straight() for part in statements(named_entries(sites, None, reading), reading)]


def one_fit(case: dict[str, Any]) -> dict[str, Any]:
    """Fit once, in this process."""
    sim = fp.simulate(**case, intervention="varied")
    fp.MPERI(progress=False).fit(fp.simulate(4, 2, 100).sites)  # imports are not timed
    seconds: dict[str, float] = {}
    peaks: dict[str, float] = {}
    families, inner = 0, Mechanisms._scores

    def counting(self: Mechanisms, *given: Any, **options: Any) -> Any:
        nonlocal families
        found = inner(self, *given, **options)
        families += int(np.isfinite(found[0]).sum())
        return found

    Mechanisms._scores = counting  # type: ignore[method-assign]
    for name in STAGES:
        timed(method.MPERI if name == "_look" else method, name, seconds, peaks)
    start = time.process_time()
    result = fp.MPERI(progress=False).fit(sim.sites)
    total = time.process_time() - start
    Mechanisms._scores = inner  # type: ignore[method-assign]
    ours, truth = (graph.adjacency | graph.adjacency.T for graph in (result.graph, sim.dag))
    return {
        "total": total,
        "seconds": seconds,
        "peaks": peaks,
        "families": families,
        "products": products(sim),
        "fits": families * least_fit(sim),
        "f1": 2 * float((ours & truth).sum()) / float(ours.sum() + truth.sum()),
        "shd": fp.shd(result.graph, sim.dag),
        "limit": fp.shd(fp.meek_closure(sim.phi_cpdag), sim.dag),
        "differ": float(result.sampling["chains_differ"]),
    }


def products(sim: fp.Simulation) -> float:
    """Seconds for the products of the rows of all sites."""
    rows = [site.to_numpy() for site in sim.sites]
    start = time.process_time()
    for own in rows:
        _ = own.T @ own
    return time.process_time() - start


def least_fit(sim: fp.Simulation) -> float:
    """Seconds for the regressions of one family at all sites, with up to eight parents, no site compared."""
    mechanisms = Mechanisms(parts_of(sim.sites), tolerances=(0.0,), share=False)
    start = time.process_time()
    for node in range(5):
        mechanisms.lattice(node, (), range(5, 13))
    return (time.process_time() - start) / (5 * 2**8)


def alone(case: dict[str, Any]) -> tuple[object, ...]:
    """A row of the table: fit in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--job", json.dumps(case)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case} failed:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    stages = [f"{found['seconds'][name]:.2f} ({found['peaks'][name]:.0f})" for name in STAGES]
    rest = found["total"] - sum(found["seconds"].values())
    size = [case[key] for key in ("variables", "clients", "samples", "seed")]
    end = [f"{found['products']:.4f}", found["fits"], found["families"], f"{found['f1']:.3f}"]
    row = (*size, found["total"], *stages, rest, *end, f"{found['shd']} ({found['limit']})", found["differ"])
    print(row, file=sys.stderr, flush=True)
    return row


def by_size(seeds: int) -> None:
    cases = [case_of(p, 10, n, seed) for p, n, usual in SIZES for seed in range(min(seeds, usual))]
    rows = list(map(alone, cases))
    markdown("Variables: CPU seconds (peak MiB)", (*HEAD, *MORE), rows)
    for p, _, _ in SIZES:
        spent = [float(str(row[4])) for row in rows if row[0] == p]
        print(f"\np = {p}: mean {np.mean(spent):.2f}, most {max(spent):.2f} CPU s over {len(spent)} seeds")


def by_sites() -> None:
    cases = [case_of(p, clients, 1000, 1) for p, clients in SITES]
    markdown("Sites: CPU seconds (peak MiB)", (*HEAD, *MORE), map(alone, cases))


def theirs(name: str, case: dict[str, Any], limit: float) -> float | None:
    """CPU seconds of a peer; None if it takes more than the limit."""
    if name != "ges, pooled":
        record = solve({"case": {**case, "intervention": "varied"}, "method": name, "limit": limit})
        return None if "failed" in record else float(record["cpu"])
    import ges

    pooled = np.vstack([site.to_numpy() for site in fp.simulate(**case, intervention="varied").sites])
    start = time.process_time()
    try:
        with within(limit):
            ges.fit_bic(pooled)
    except TooSlowError:
        return None
    return time.process_time() - start


def own_pc(sites: Any) -> float:
    """CPU seconds of summaries of all sites, and of PC on their pooled moments."""
    start = time.process_time()
    parts = parts_of(sites)
    rows = np.array([float(part.rows) for part in parts])
    means = np.stack([part.mean for part in parts])
    mean = rows @ means / rows.sum()
    second = np.stack([part.covariance + np.outer(own, own) for part, own in zip(parts, means, strict=True)])
    covariance = np.einsum("k,kij->ij", rows / rows.sum(), second) - np.outer(mean, mean)
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    fp.pc(Statistics(parts[0].names, parts[0].blocks, int(rows.sum()), mean, scale, correlation), alpha=0.05)
    return time.process_time() - start


def compare(cases: list[dict[str, Any]], limit: float) -> None:
    """Print CPU seconds of M-PERI and of other packages on the same tables, and ratios."""
    peers = [*(name for name in able(PEERS) if name in RIVALS), "ges, pooled"]
    rows = []
    for case in cases:
        sites = fp.simulate(**case, intervention="varied").sites
        fp.MPERI(progress=False).fit(fp.simulate(4, 2, 100).sites)
        start = time.process_time()
        fp.MPERI(progress=False).fit(sites)
        ours = time.process_time() - start
        cells = []
        for name in (OWN_PC, *peers):
            used = own_pc(sites) if name == OWN_PC else theirs(name, case, limit)
            cells.append(f"> {limit:g} (> {limit / ours:.1f}x)" if used is None else f"{used:.2f} ({used / ours:.1f}x)")
        rows.append((case["variables"], case["clients"], case["seed"], ours, *cells))
        print(rows[-1], file=sys.stderr, flush=True)
    markdown("Other packages: CPU seconds (times M-PERI's)", ("p", "K", "seed", "M-PERI", OWN_PC, *peers), rows)


def lattices_of(p: int, clients: int, seed: int) -> list[Lattice]:
    """Scores of all parent sets, as the run with all sites sees them."""
    sim = fp.simulate(p, clients=clients, samples=1000, seed=seed, intervention="varied")
    parts = parts_of(sim.sites)
    _, _, found = fp.MPERI()._search(
        runs.MechanismComparison.of("auto"), parts, [], unconstrained(parts[0].names), lambda step: None
    )
    free = [runs.candidates(found.sets, found.parents, node) for node in range(p)]
    return [runs.known_lattice(found.sets, node, some) for node, some in enumerate(free)]


def samples(seeds: int) -> None:
    """Print how far samples are from exact sums, how fast they get effective, and when chains agree."""
    agree, effective = [], []
    for p in (10, 12):
        for seed in range(seeds):
            lattices = lattices_of(p, 6, seed)
            start = time.process_time()
            exact = exact_posterior(lattices)
            middle = time.process_time()
            drawn = sampled_posterior(lattices, starts_of(p, seed), seed=seed, sweeps=runs.SWEEPS)
            apart = float(abs(drawn.edges - exact.edges).max())
            spent = time.process_time() - middle
            agree.append((p, seed, middle - start, spent, f"{apart:.4f}", f"{drawn.chains_differ:.4f}"))
    head = ("p", "seed", "exact, CPU s", "sampled, CPU s", "largest difference of an edge", "chains differ")
    markdown("Four chains from random orders, and exact sums", head, agree)
    for p in (20, 50):
        for seed in range(seeds):
            effective.append((p, seed, *effective_numbers(lattices_of(p, 10, seed), p, seed)))
    head = (
        "p",
        "seed",
        "open edges",
        "effective samples per CPU s: median",
        "least",
        "CPU s until chains differ by 0.1",
    )
    markdown("Four chains from random orders, ten sites", head, effective)


def starts_of(p: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(p).tolist() for _ in range(4)]


def effective_numbers(lattices: list[Lattice], p: int, seed: int, batches: int = 30, length: int = 100) -> Any:
    """Independent samples that would vary as little as the means of batches do, by edge; per CPU second."""
    begin = time.process_time()
    made = tables([free for free, _ in lattices], [scores for _, scores in lattices])
    seeds = np.random.SeedSequence(seed).spawn(4)
    starts = starts_of(p, seed)
    chains = [Chain(made, best_under(lattices, one), own) for one, own in zip(starts, seeds, strict=True)]
    for chain in chains:
        chain.run(300)
    start, agreed, means = time.process_time(), None, []
    for _ in range(batches):
        means.append([chain.run(length) for chain in chains])
        whole = np.mean(means, axis=0)
        if agreed is None and float(np.ptp(whole, axis=0).max()) < 0.1:
            agreed = time.process_time() - begin
    spent = time.process_time() - start
    parts = np.array(means).reshape(-1, p, p)
    chance, variance = parts.mean(axis=0), parts.var(axis=0, ddof=1) / len(parts)
    open_ = (chance > LEAST) & (chance < 1 - LEAST)
    if not open_.any():
        return 0, "none is open", "", agreed
    numbers = (chance * (1 - chance))[open_] / variance[open_] / spent
    return int(open_.sum()), float(np.median(numbers)), float(numbers.min()), agreed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ("sizes", "sites", "samples", "peers", "thousand")
    parser.add_argument("--parts", nargs="*", choices=known, default=known)
    parser.add_argument("--seeds", type=int, default=10, help="at most, of each size")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds after which a peer is stopped")
    parser.add_argument("--job")
    given = parser.parse_args()
    if given.job:
        print(json.dumps(one_fit(json.loads(given.job))))
        return
    if "sizes" in given.parts:
        by_size(given.seeds)
    if "sites" in given.parts:
        by_sites()
    if "samples" in given.parts:
        samples(min(given.seeds, 3))
    if "peers" in given.parts:
        compare([case_of(p, 10, 1000, seed) for p in (20, 50) for seed in range(min(given.seeds, 1))], given.limit)
    if "thousand" in given.parts:
        markdown("A thousand variables, degree 2: CPU seconds (peak MiB)", (*HEAD, *MORE), [alone(THOUSAND)])
        compare([THOUSAND], given.limit)


if __name__ == "__main__":
    main()
