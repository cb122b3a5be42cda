"""M-PERI when an assumption fails: the table of docs/explanation/limits.md.

The demo's graph (7 variables, 10 edges, every collider shielded), five sites of 1,000 rows, four with a policy of any
kind on one variable. Means per run: directions of true edges that are right, wrong and open, missing and false edges,
policies that are named, differences that are no policies, and the share of runs that warn that little is shared; then
I-PERI's right and wrong directions.

    OPENBLAS_NUM_THREADS=1 python benchmarks/mperi_limits.py [seeds] [first]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import fedperi as fp
from fedperi.cli.demo import EDGES
from fedperi.simulation import Simulation

DEMO = fp.PDAG.from_edges(EDGES)
Tables = list[pd.DataFrame]
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("all is well", {}),
    ("policies cut all arrows into a variable", {"intervention": "structural"}),
    ("policies shift a variable, nothing else", {"intervention": "shift"}),
    ("no policy, all sites the same", {"intervention": "none"}),
    ("no policy, each site its own strengths", {"intervention": "none", "shared_mechanisms": False}),
    ("nothing shared, policies cut arrows", {"intervention": "structural", "shared_mechanisms": "nothing"}),
    ("every mechanism differs a little (10 %)", {"drift": 0.1}),
    ("a common cause is not measured", {"hidden": 1}),
    ("only rows with age + stroke > 0", {"selected": True}),
    ("measurement error, half of each column's sd", {"measurement_error": 0.5}),
    ("curved relations, taken as linear", {"mechanism": "nonlinear"}),
    ('... with `data="nonlinear"`', {"mechanism": "nonlinear", "data": "nonlinear"}),
    ('linear relations with `data="nonlinear"`', {"data": "nonlinear"}),
    ("all categories (3 levels)", {"discretize": 3}),
    ("heavy tails (Student, 4 degrees of freedom)", {"noise": "student"}),
    ("weak effects, 0.05 to 0.3", {"weights": (0.05, 0.3)}),
    ("without an observational site", {"observational": False}),
    ("two sites, one policy", {"clients": 2}),
    ("three sites, two policies", {"clients": 3}),
    ("5,000 rows per site", {"samples": 5000}),
    ("500 rows", {"samples": 500}),
    ("200 rows", {"samples": 200}),
    ("100 rows", {"samples": 100}),
    ("50 rows", {"samples": 50}),
)


def data_of(seed: int, how: dict[str, Any]) -> tuple[Simulation, Tables, str]:
    """Simulate one federation; return its tables and how columns are to be taken."""
    how = {"clients": 5, "samples": 1000, "weights": (0.3, 1.0), "intervention": "varied", **how}
    selected, data = how.pop("selected", False), how.pop("data", "auto")
    sim = fp.simulate(DEMO, **how, seed=seed)
    tables = [table[table.age + table.stroke > 0] for table in sim.sites] if selected else list(sim.sites)
    return sim, tables, data


def counts(graph: fp.PDAG, truth: fp.PDAG) -> list[int]:
    """Right, wrong and open directions of true edges; missing and false edges."""
    same = graph.reordered(truth.names)
    found, true = same.skeleton.undirected, truth.skeleton.undirected
    right = len(same.directed & truth.directed)
    open_ = len(same.undirected & true)
    return [right, len(found & true) - right - open_, open_, len(true - found), len(found - true)]


def named(result: fp.Result, sim: Simulation) -> list[int]:
    """Policies that are among the differences, differences that are not policies, and the warning of little sharing."""
    true = {(f"site {k + 1}", name) for k, names in enumerate(sim.targets) for name in names}
    found = {(one.site, one.variable) for one in result.differences}
    return [len(found & true), len(found - true), any(words.startswith("Little") for words in result.warnings)]


def row(label: str, seeds: range, how: dict[str, Any], show: Callable[[str], None] = print) -> None:
    ours, paper = [], []
    for seed in seeds:
        sim, tables, data = data_of(seed, how)
        result = fp.MPERI(data=data, progress=False).fit(tables)  # type: ignore[arg-type]
        ours.append(counts(result.graph, sim.dag) + named(result, sim))
        paper.append(counts(fp.IPERI(data=data, progress=False).fit(tables).graph, sim.dag)[:2])  # type: ignore[arg-type]
    numbers = [*np.mean(ours, axis=0), *np.mean(paper, axis=0)]
    show(f"| {label} | " + " | ".join(f"{number:.1f}" for number in numbers) + " |")


def main(count: int = 60, first: int = 1000) -> None:
    ours = "right | wrong | open | missing | false | policies named | false differences | warns"
    print(f"| | {ours} | I-PERI right | wrong |")
    print("|---" * 11 + "|", flush=True)
    for label, how in CASES:
        row(label, range(first, first + count), how, lambda text: print(text, flush=True))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
