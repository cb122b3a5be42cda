"""PC's directions beside causal-learn's: SHD to the true CPDAG on simulated tables of 30, 60 and 100 variables.

Both use Fisher's z at the same level, so that skeletons are the same; only directions differ. causal-learn runs with
its default (`uc_priority=2`: the first collider wins) and with its two rules that go by evidence (3 and 4). Its graphs
may hold cycles; they are compared edge by edge as they are.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/pc_directions.py [--first 1000]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import fedperi as fp

ALPHA = 0.01
SIZES, ROWS = (30, 60, 100), (500, 1000, 2000, 5000)
PRIORITIES = (2, 3, 4)
KINDS: tuple[tuple[str, float, dict[str, Any]], ...] = (  # edges per variable
    ("sparse, strong", 1.0, {"shield_colliders": False, "weights": (0.4, 1.0)}),
    ("dense, strong", 1.5, {"shield_colliders": False, "weights": (0.4, 1.0)}),
    ("sparse, weak", 1.0, {"shield_colliders": False}),
    ("dense, weak", 2.0, {"shield_colliders": False}),
    ("shielded colliders", 1.0, {}),
)


def theirs(table: pd.DataFrame, priority: int) -> fp.PDAG:
    """causal-learn's graph, with its cycles if it has any."""
    from causallearn.search.ConstraintBased.PC import pc

    found = pc(table.to_numpy(), ALPHA, "fisherz", stable=True, uc_rule=0, uc_priority=priority, show_progress=False)
    return fp.PDAG._known_acyclic(found.G.graph == -1, tuple(table.columns))


def row(p: int, n: int, kind: str, edges: float, options: dict[str, Any], seed: int) -> dict[str, Any]:
    """Distances on one data set, and which graphs are no CPDAG."""
    simulation = fp.simulate(p, clients=1, samples=n, edges=edges * p, seed=seed, **options)
    table, truth = simulation.sites[0], fp.cpdag(simulation.dag)
    graphs = {"fedperi": fp.pc(table, ALPHA)} | {str(rule): theirs(table, rule) for rule in PRIORITIES}
    out: dict[str, Any] = {"p": p, "kind": kind, "edges": fp.shd(graphs["fedperi"].skeleton, truth.skeleton)}
    out |= {name: fp.shd(graph, truth) for name, graph in graphs.items()}
    return out | {f"no CPDAG {name}": not fp.is_cpdag(graph) for name, graph in graphs.items()}


def line(name: str, rows: pd.DataFrame) -> str:
    """Means and worst cases of a group of data sets."""
    cells = [f"{rows[who].mean():.1f} ({rows[who].max()})" for who in ("fedperi", *map(str, PRIORITIES))]
    return f"| {name} | {len(rows)} | {rows['edges'].mean():.1f} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1000, help="The first of 60 seeds.")
    first = parser.parse_args().first
    cases = product(KINDS, ROWS, SIZES)
    rows = pd.DataFrame([row(p, n, *kind, seed=first + at) for at, (kind, n, p) in enumerate(cases)])
    print("| data sets | count | skeleton | fedperi | causal-learn | `uc_priority=3` | `uc_priority=4` |")
    print("|---|---|---|---|---|---|---|")
    print(line("all", rows))
    for column in ("p", "kind"):
        for value, group in rows.groupby(column, sort=False):
            print(line(f"{value}" if column == "kind" else f"p = {value}", group))
    better, worse = np.sum(rows["fedperi"] < rows["2"]), np.sum(rows["fedperi"] > rows["2"])
    print(f"\nbetter than causal-learn's default on {better} data sets, worse on {worse}")
    print("no CPDAG:", {who: int(rows[f"no CPDAG {who}"].sum()) for who in ("fedperi", *map(str, PRIORITIES))})


if __name__ == "__main__":
    main()
