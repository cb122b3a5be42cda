"""Search quality: how often the objective at the result is at least as good as at the true DAG.

Where it is not, the search is at fault, not the statistics. The objective is recomputed from the result's DAG. A true
DAG with more parents at a node than a question may hold cannot be compared; such data sets are counted apart.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/iperi_search.py [seeds] [first]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys

import numpy as np
import pandas as pd

import fedperi as fp
from fedperi.coordinator.coordinator import Coordinator
from fedperi.graph import bits
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.federate import as_transport
from fedperi.methods.iperi.oracle import CoordinatorOracle
from fedperi.protocol.messages import MAX_SET, Settings
from fedperi.search.families import ParentSets

SLACK = 1e-6  # nats


def objective(tables: list[pd.DataFrame], dag: fp.PDAG) -> float:
    """Total regret of a DAG with the price of its edges, as `IPERI()` counts them; smaller is better."""
    coordinator = Coordinator(as_transport(tables), Settings("adaptive"))
    price = float(np.log(sum(site.n for site in coordinator.sites))) / 2
    sets = ParentSets(CoordinatorOracle(coordinator), price, unconstrained(coordinator.names))
    parents = bits.columns(dag.reordered(coordinator.names).adjacency)
    sets.fetch((node, into, 0) for node, into in enumerate(parents))
    return -sum(sets.score(node, into) or 0.0 for node, into in enumerate(parents))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print("| p | data sets | at least as good | better | worse by, nats | not comparable | most rounds |")
    print("|---" * 7 + "|")
    for p in (8, 12, 16, 20):
        good = better = skipped = rounds = 0
        worse = []
        for seed in range(first, first + count):
            sim = fp.simulate(p, 4, 1000, shared_mechanisms=False, seed=seed)
            if max(len(sim.dag.parents(name)) for name in sim.dag.names) > MAX_SET:
                skipped += 1
                continue
            result = fp.IPERI().fit(sim.sites)
            here, there = objective(sim.sites, result.dag), objective(sim.sites, sim.dag)
            good += here <= there + SLACK
            better += here < there - SLACK
            rounds = max(rounds, result.rounds)
            if here > there + SLACK:
                worse.append(f"seed {seed}: {here - there:.2f}")
        print(f"| {p} | {count} | {good} | {better} | {', '.join(worse) or '-'} | {skipped} | {rounds} |", flush=True)


if __name__ == "__main__":
    main()
