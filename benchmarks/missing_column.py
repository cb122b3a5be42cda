"""What to do when one site lacks a column: leave out the site or the column, or use the site for the other variables.

Six variables, five sites of 500 rows with the same mechanisms, one column taken away at one site. The best DAG by BIC
over all orders (exact), and its equivalence class. The site's rows can be used for families (a variable and its
parents) in three ways:

- "where it can": the likelihood of a family without the column counts all sites, with it only those that have it;
- "per row": the same, per row of those that count, times all rows;
- "without the column": families with the column take from this site the likelihood of the family without it.

Directions right and wrong (reversed, or no edge there), edges that do not exist, and edges that are missed, per run.

With ``--mperi K``: M-PERI itself, eight variables, K sites of 500 rows with policies of all kinds; the first two ways.

Run: python benchmarks/missing_column.py [--seeds 0 50] [--mperi 5]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from mperi_cases import markdown
from numpy.typing import NDArray

import fedperi as fp

Floats = NDArray[np.float64]
Local = Callable[[int, tuple[int, ...]], float]
P, SITES, ROWS = 6, 5, 500


def likelihood(rows: Floats, node: int, parents: Sequence[int]) -> float:
    """Log-likelihood of a normal regression, in units in which all variables have variance one."""
    design = rows[:, list(parents)]
    rest = rows[:, node] - (design @ np.linalg.lstsq(design, rows[:, node])[0] if parents else 0.0)
    return float(-0.5 * len(rows) * (np.log(2 * np.pi * rest.var()) + 1))


def ways(tables: list[Floats], lost: int) -> dict[str, tuple[Local, tuple[int, ...]]]:
    """Scores of families, and the variables, for each way to go on without column `lost` of the first site."""
    everything = np.concatenate(tables)
    middle, unit = everything.mean(axis=0), everything.std(axis=0)
    first, *others = ((table - middle) / unit for table in tables)
    rest = np.concatenate(others)
    whole = np.concatenate([first, rest])

    def price(parents: tuple[int, ...]) -> float:
        return float(0.5 * np.log(len(whole)) * (len(parents) + 1))

    def of(rows: Floats) -> Local:
        return lambda node, parents: likelihood(rows, node, parents) - price(parents)

    def where_it_can(node: int, parents: tuple[int, ...]) -> float:
        return of(rest if lost in (node, *parents) else whole)(node, parents)

    def per_row(node: int, parents: tuple[int, ...]) -> float:
        rows = rest if lost in (node, *parents) else whole
        return likelihood(rows, node, parents) * len(whole) / len(rows) - price(parents)

    def without(node: int, parents: tuple[int, ...]) -> float:
        if lost in parents:
            known = tuple(one for one in parents if one != lost)
            return of(rest)(node, parents) + likelihood(first, node, known) - price(known)
        return where_it_can(node, parents)

    names = tuple(range(P))
    return {
        "no column is missing": (of(whole), names),
        "the site is left out": (of(rest), names),
        "the column is left out": (of(whole), tuple(name for name in names if name != lost)),
        "families: where it can": (where_it_can, names),
        "families: per row": (per_row, names),
        "families: without the column": (without, names),
    }


def best_dag(local: Local, names: tuple[int, ...]) -> list[tuple[int, int]]:
    """The best DAG over all orders, by dynamic programming over sets of variables."""
    families: dict[int, dict[frozenset[int], tuple[float, tuple[int, ...]]]] = {}
    for node in names:
        table = families[node] = {}
        others = [name for name in names if name != node]
        for size in range(len(names)):
            for parents in combinations(others, size):
                smaller = [table[frozenset(parents) - {one}] for one in parents]
                table[frozenset(parents)] = max([(local(node, parents), parents), *smaller])
    found: dict[frozenset[int], tuple[float, list[tuple[int, int]]]] = {frozenset(): (0.0, [])}
    for size in range(1, len(names) + 1):
        for some in map(frozenset, combinations(names, size)):
            options = []
            for last in some:
                before, (score, parents) = found[some - {last}], families[last][some - {last}]
                options.append((before[0] + score, before[1] + [(one, last) for one in parents]))
            found[some] = max(options)
    return found[frozenset(names)][1]


def compared(graph: fp.PDAG, truth: fp.PDAG) -> list[int]:
    """Directions right and wrong, edges that do not exist, and edges that are missed."""
    real = {frozenset(edge) for edge in truth.directed}
    seen = {frozenset(edge) for edge in (*graph.directed, *graph.undirected)}
    right = len(graph.directed & truth.directed)
    return [right, len(graph.directed) - right, len(seen - real), len(real - seen)]


def by_bic(seed: int) -> dict[str, list[int]]:
    """All ways on one data set."""
    world = fp.simulate(P, clients=SITES, samples=ROWS, intervention="none", seed=seed)
    tables, names = [table.to_numpy(dtype=np.float64) for table in world.sites], world.dag.names
    found = {}
    for way, (local, some) in ways(tables, seed % P).items():
        edges = [(names[a], names[b]) for a, b in best_dag(local, some)]
        found[way] = compared(fp.cpdag(fp.PDAG.from_edges(edges, names=names)), world.dag)
    return found


def by_mperi(seed: int, sites: int) -> dict[str, list[int]]:
    """M-PERI on the tables that are left."""
    world = fp.simulate(8, clients=sites, samples=ROWS, intervention="varied", seed=seed)
    lost, every = world.dag.names[seed % 8], {f"s{k}": table for k, table in enumerate(world.sites)}
    given = {
        "no column is missing": every,
        "the site is left out": {name: table for name, table in every.items() if name != "s0"},
        "the column is left out": {name: table.drop(columns=lost) for name, table in every.items()},
    }
    method = fp.MPERI(progress=False)
    return {way: compared(method.fit(tables).graph, world.dag) for way, tables in given.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 50], metavar=("FIRST", "COUNT"))
    parser.add_argument("--mperi", type=int, metavar="SITES")
    given = parser.parse_args()
    first, count = given.seeds
    records: dict[str, list[Any]] = {}
    for seed in range(first, first + count):
        for name, found in (by_mperi(seed, given.mperi) if given.mperi else by_bic(seed)).items():
            records.setdefault(name, []).append(found)
    head = ("one column is missing at one site", "right", "wrong", "edges that do not exist", "missed")
    rows = [(name, *np.mean(found, axis=0)) for name, found in records.items()]
    markdown(f"Per run, seeds {first} to {first + count - 1}", head, rows)


if __name__ == "__main__":
    main()
