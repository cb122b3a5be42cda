"""I-PERI on population moments: how often it finds C(G) and Phi(G) exactly, in four settings.

Sites as in the paper: one observational, three with structural interventions on one or two targets, which lose all or
some of their incoming edges. Weights of size 0.3 to 1, unit noise, nominal n = 10^10. Every case that fails is printed
with what could explain it: the objective at the true DAG, and the weakest dependence that the search has to see.

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
from fedperi.federation import Coordinator, InProcess, Settings
from fedperi.graph import bits
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.iperi import _Oracle
from fedperi.search.families import ParentSets
from fedperi.search.worst import EDGE_PRICE, site_regrets
from fedperi.simulation import implied_covariance

ROWS = 1e10
METHODS = (
    fp.IPERI(masking="adaptive", aggregate="sum"),
    fp.IPERI(masking="adaptive", aggregate="worst"),
    fp.IPERI(masking="consensus", aggregate="worst"),
    fp.IPERI(masking="consensus", aggregate="sum"),
)
Case = tuple[fp.PDAG, list[fp.PDAG], list[NDArray[np.float64]]]


def case(seed: int) -> Case:
    """One true DAG with 3 to 8 nodes, the DAGs of four sites, and their covariances."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 9))
    share = min(1.0, rng.uniform(0.8, 2) * p / (p * (p - 1) / 2))
    upper = np.triu(rng.random((p, p)) < share, 1)
    shuffle = rng.permutation(p)
    dag = fp.PDAG(upper[np.ix_(shuffle, shuffle)])
    clients = [dag] + [intervened(dag, rng) for _ in range(3)]
    weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p))
    return dag, clients, [implied_covariance(weights * client.adjacency, np.ones(p)) for client in clients]


def intervened(dag: fp.PDAG, rng: np.random.Generator) -> fp.PDAG:
    """Remove all or some edges into one or two variables that have any."""
    targets = [name for name in dag.names if dag.parents(name)]
    if not targets:
        return dag
    lost = {}
    for target in rng.choice(targets, size=min(len(targets), int(rng.integers(1, 3))), replace=False):
        parents = list(dag.parents(str(target)))
        some = rng.choice(parents, size=int(rng.integers(1, len(parents) + 1)), replace=False)
        lost[str(target)] = None if rng.random() < 0.5 else [str(name) for name in some]
    return fp.mutilate(dag, lost)


def oracle_sites(dag: fp.PDAG, clients: list[fp.PDAG], moments: list[NDArray[np.float64]]) -> list[fp.OracleSite]:
    """The sites; each knows its own CPDAG, which only the consensus mask uses."""
    return [
        fp.OracleSite(m, ROWS, dag.names, fp.cpdag(client), name=f"site {k}")
        for k, (m, client) in enumerate(zip(moments, clients, strict=True))
    ]


def site_totals(sites: list[fp.OracleSite], dag: fp.PDAG, masking: str) -> NDArray[np.float64]:
    """Each site's regret of a DAG, largest first."""
    coordinator = Coordinator(InProcess(sites), Settings(masking))
    price = float(np.log(ROWS * len(sites))) / 2 if masking == "adaptive" else EDGE_PRICE
    sets = ParentSets(_Oracle(coordinator), price, unconstrained(coordinator.names))
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
