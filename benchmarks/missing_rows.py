"""How many rows should incomplete rows count for? Edges and differences found where there are none.

Six independent normal variables at three sites of 300 rows, so that every edge and every difference is false. Values
are missing completely at random: 40 % of all columns, or 45 % of two columns and 5 % of the others. A site counts for
all its rows; for the mean share of cells; for the mean number of rows that two columns share; or for the fewest that
two columns share, which is what fedperi does.

Run: python benchmarks/missing_rows.py [--seeds 0 20]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from mperi_cases import markdown
from numpy.typing import NDArray

import fedperi as fp
from fedperi.tables.summary import incomplete

Floats = NDArray[np.float64]

COLUMNS = list("abcdef")
SHARES = {"none": [0.0] * 6, "40 % of all": [0.4] * 6, "45 % of two, 5 % of four": [0.45] * 2 + [0.05] * 4}
RULES: dict[str, Callable[[Floats, int], float]] = {
    "all rows": lambda shared, rows: rows,
    "share of cells": lambda shared, rows: float(np.diag(shared).mean()),
    "mean of pairs": lambda shared, rows: float(shared[np.triu_indices(len(shared), 1)].mean()),
    "fewest of pairs": lambda shared, rows: float(shared.min()),
}


def counting(rule: Callable[[Floats, int], float]) -> Callable[..., int]:
    """Count rows by a rule, in place of `least_shared`."""

    def rows(patterns: Any, schema: Any, embedding: Any, site: str) -> int:
        present = patterns.present[:, [columns[0] for columns in embedding.positions]].astype(float)
        shared = (present * patterns.counts[:, None]).T @ present
        return int(rule(shared, int(patterns.counts.sum())))

    return rows


def false_findings(shares: list[float], seed: int) -> tuple[int, int]:
    """Edges and differences of one run."""
    rng = np.random.default_rng(seed)
    tables = {}
    for name in ("north", "south", "west"):
        rows = rng.normal(size=(300, 6))
        rows[rng.random(rows.shape) < np.array(shares)] = np.nan
        tables[name] = pd.DataFrame(rows, columns=COLUMNS)
    result = fp.MPERI(missing="em", progress=False).fit(tables)
    return len(result.graph.directed) + len(result.graph.undirected), len(result.differences)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 20], metavar=("FIRST", "COUNT"))
    first, count = parser.parse_args().seeds
    rows = []
    for missing, shares in SHARES.items():
        for name, rule in RULES.items():
            incomplete.least_shared = counting(rule)
            found = np.array([false_findings(shares, seed) for seed in range(first, first + count)])
            rows.append((missing, name, *found.mean(axis=0)))
            if not any(shares):
                break
    head = ("missing", "rows count by", "false edges", "false differences")
    markdown(f"Per run, seeds {first} to {first + count - 1}", head, rows)


if __name__ == "__main__":
    main()
