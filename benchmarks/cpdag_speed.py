"""CPDAG of sparse DAGs: CPU time of `ges.utils.dag_to_cpdag` divided by ours, in one run.

Run: python benchmarks/cpdag_speed.py
"""

import time
from collections.abc import Callable

import ges.utils
import numpy as np

import fedperi as fp


def sparse_dag(rng: np.random.Generator, p: int) -> fp.PDAG:
    upper = np.triu(rng.random((p, p)) < 2 / (p - 1), 1)
    shuffle = rng.permutation(p)
    return fp.PDAG(upper[np.ix_(shuffle, shuffle)])


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'nodes':>6} {'ours, ms':>9} {'ges, ms':>9} {'ratio':>7}")
    for p in (10, 30, 100, 200):
        dags = [sparse_dag(rng, p) for _ in range(20)]
        ours = cpu(lambda: [fp.cpdag(dag) for dag in dags])  # noqa: B023
        theirs = cpu(lambda: [ges.utils.dag_to_cpdag(dag.adjacency.astype(int)) for dag in dags])  # noqa: B023
        print(f"{p:>6} {ours / 20 * 1e3:>9.2f} {theirs / 20 * 1e3:>9.2f} {theirs / ours:>7.0f}")


if __name__ == "__main__":
    main()
