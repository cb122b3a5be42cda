"""I-PERI on population moments: how often it finds C(G) and Phi(G) exactly, in four settings.

The cases are those of `fedperi benchmark exactness`. Every case that fails is printed with what could explain it: the
objective at the true DAG, and the weakest dependence that the search has to see.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/iperi_exactness.py [cases] [first]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import fedperi as fp
from fedperi.benchmark.exactness import ROWS, SETTINGS, case, oracle_sites
from fedperi.coordinator.coordinator import Coordinator
from fedperi.graph import bits
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.iperi.oracle import CoordinatorOracle
from fedperi.protocol.messages import Settings
from fedperi.search.families import ParentSets
from fedperi.search.worst import EDGE_PRICE, site_regrets
from fedperi.transports.in_process import InProcess

METHODS = tuple(fp.IPERI(masking=masking, aggregate=aggregate) for masking, aggregate in SETTINGS)


def site_totals(sites: list[fp.OracleSite], dag: fp.PDAG, masking: str) -> NDArray[np.float64]:
    """Each site's regret of a DAG, largest first."""
    coordinator = Coordinator(InProcess(sites), Settings(masking))
    price = float(np.log(ROWS * len(sites))) / 2 if masking == "adaptive" else EDGE_PRICE
    sets = ParentSets(CoordinatorOracle(coordinator), price, unconstrained(coordinator.names))
    parents = bits.columns(dag.adjacency)
    sets.fetch((node, into, 0) for node, into in enumerate(parents))
    return np.sort(site_regrets(sets, parents, edge_price=0.0))[::-1]


def weakest(clients: list[fp.PDAG], moments: list[NDArray[np.float64]]) -> float:
    """Smallest partial correlation, over sites, pairs and conditioning sets, where the site's DAG has a dependence."""
    return min(found for client, m in zip(clients, moments, strict=True) for found in _dependences(client, m))


def _dependences(dag: fp.PDAG, moments: NDArray[np.float64]) -> Iterator[float]:
    everyone = range(len(dag.names))
    for i, j in combinations(everyone, 2):
        rest = [v for v in everyone if v not in (i, j)]
        for size in range(len(rest) + 1):
            for given in combinations(rest, size):
                if not fp.d_separated(dag, dag.names[i], dag.names[j], [dag.names[v] for v in given]):
                    inverse = np.linalg.inv(moments[np.ix_([i, j, *given], [i, j, *given])])
                    yield abs(float(inverse[0, 1])) / float(np.sqrt(inverse[0, 0] * inverse[1, 1]))
    yield np.inf  # a DAG without edges has none


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print("| masking | aggregate | cases | C(G) found | Phi(G) found | CPU s |\n|---|---|---|---|---|---|")
    failed: list[tuple[int, fp.IPERI, fp.Result]] = []
    for method in METHODS:
        common = phi = 0
        start = time.process_time()
        for seed in range(first, first + count):
            dag, clients, moments = case(seed)
            result = method.fit(oracle_sites(dag, clients, moments))
            right = result.cpdag == fp.cpdag(dag), result.phi_cpdag == fp.phi_cpdag(dag, clients)
            common, phi = common + right[0], phi + right[1]
            if not all(right):
                failed.append((seed, method, result))
        seconds = time.process_time() - start
        print(f"| {method.masking} | {method.aggregate} | {count} | {common} | {phi} | {seconds:.0f} |", flush=True)
    for seed, method, result in failed:
        dag, clients, moments = case(seed)
        sites = oracle_sites(dag, clients, moments)
        here, there = (site_totals(sites, dag_, method.masking) for dag_ in (result.dag, dag))
        print(f"\ncase {seed}, {method.masking}, {method.aggregate}: true DAG {dag}")
        print(f"  C(G): found {result.cpdag}, right {fp.cpdag(dag)}")
        print(f"  Phi(G): found {result.phi_cpdag}, right {fp.phi_cpdag(dag, clients)}")
        print(f"  sites: {clients[1:]}")
        print(f"  edges {len(result.dag)} / {len(dag)}; regrets, largest first: found {here}, true DAG {there}")
        r = weakest(clients, moments)
        print(f"  weakest dependence: |r| = {r:.2g}, worth {-ROWS / 2 * np.log1p(-r * r):.3g} nats", flush=True)


if __name__ == "__main__":
    main()
