"""CPU time of PC: against causal-learn on the same data, and how it grows with the number of variables.

Run as ``python benchmarks/pc_speed.py``. Linear-Gaussian data, expected degree 2, n = 2000, alpha = 0.01. Times are CPU
seconds of one process with one BLAS thread, from the table to the graph, the best of a few runs for ours.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded: CPU time should not depend on the machine's cores

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedperi.discovery.pc.independence import FisherZ
from fedperi.discovery.pc.pc import PCResult, pc_fit
from fedperi.tables import summarize

T = TypeVar("T")
ROWS, ALPHA, SEED = 2000, 0.01, 0


def table(p: int) -> NDArray[np.float64]:
    """Sample a random DAG of expected degree 2 whose weights have absolute values of 0.4 to 1.2."""
    rng = np.random.default_rng([SEED, p])
    arrows = np.triu(rng.random((p, p)) < 2 / (p - 1), 1)
    weights = arrows * rng.uniform(0.4, 1.2, (p, p)) * rng.choice([-1, 1], (p, p))
    data = rng.normal(size=(ROWS, p)) @ np.linalg.inv(np.eye(p) - weights)
    return data[:, rng.permutation(p)]


def seconds(run: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Least CPU time of some runs, and the last result."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
    return best, result


def ours(data: NDArray[np.float64]) -> PCResult:
    """From the table to the graph."""
    frame = pd.DataFrame(data, columns=[f"X{i}" for i in range(data.shape[1])])
    statistics = summarize(frame, data="linear")
    return pc_fit(FisherZ(statistics), ALPHA)


def theirs(data: NDArray[np.float64]) -> NDArray[np.int_]:
    """causal-learn's PC with the same settings."""
    from causallearn.search.ConstraintBased.PC import pc

    return pc(data, ALPHA, "fisherz", stable=True, uc_rule=0, uc_priority=2, show_progress=False).G.graph


def main() -> None:
    """Print both tables."""
    ours(table(5)), theirs(table(5))  # imports are not timed
    print(f"PC, linear Gaussian, expected degree 2, n = {ROWS}, alpha = {ALPHA}; CPU seconds\n")
    print("   p    fedperi  causal-learn  ratio  same skeleton")
    for p in (20, 50, 100):
        data = table(p)
        mine, result = seconds(lambda data=data: ours(data), 3)
        other, marks = seconds(lambda data=data: theirs(data), 1)
        same = bool(((marks != 0) == result.graph.skeleton.adjacency).all())
        print(f"{p:4d} {mine:10.3f} {other:13.2f} {other / mine:6.1f}  {same}")
    print("\n   p    fedperi    tests  depth  conflicts")
    sizes, times = [10, 20, 50, 100, 150, 200], []
    for p in sizes:
        data = table(p)
        mine, result = seconds(lambda data=data: ours(data), 3)
        times.append(mine)
        print(f"{p:4d} {mine:10.3f} {result.tests:8d} {result.depth:6d} {len(result.conflicts):10d}")
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    late = np.log(times[-1] / times[2]) / np.log(sizes[-1] / sizes[2])
    print(f"\ntime grows as p^{exponent:.2f} from p = 10 to 200, as p^{late:.2f} from p = 50 to 200")


if __name__ == "__main__":
    main()
