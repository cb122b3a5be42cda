"""What a run of `IPERI()` costs: CPU seconds of everything (sites and coordinator), rounds, queries, bytes per site.

Tables of 2,000 rows in memory; their reading is included. One data set each, seed 1.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/iperi_cost.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import fedperi as fp

ROWS = 2000


def main() -> None:
    print("| p | K | CPU s | rounds | queries | kB a site | skeleton F1 | SHD / limit |")
    print("|---" * 8 + "|")
    fp.IPERI().fit(fp.simulate(3, 2, 100).sites)  # imports are not what is measured
    for p, clients in [(p, k) for p in (10, 20, 50) for k in (2, 4, 10)] + [(100, 10)]:
        sim = fp.simulate(p, clients, ROWS, shared_mechanisms=False, seed=1)
        start = time.process_time()
        result = fp.IPERI().fit(sim.sites)
        seconds = time.process_time() - start
        skeleton = fp.skeleton_f1(result.graph, sim.dag)
        shd, limit = fp.shd(result.graph, sim.dag), fp.shd(fp.meek_closure(sim.phi_cpdag), sim.dag)
        print(
            f"| {p} | {clients} | {seconds:.2f} | {result.rounds} | {result.queries:,} | {result.bytes / 1000:.0f} "
            f"| {skeleton:.3f} | {shd} / {limit} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
