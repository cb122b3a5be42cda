"""Right and wrong directions, with and without interventions, and what the share that a direction must have does.

Three tables. `shares`: random DAGs, directions beyond the common CPDAG and SHD over the limit's, for several shares at
once (0: nothing is left out). `limits` and `options`: the demo's graph when assumptions fail, and with other options
(docs/explanation/paper-methods.md); means a run of right and wrong directions, missing and false edges.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/iperi_directions.py [--first 0] [--count 30] [--tables limits,options]
     OPENBLAS_NUM_THREADS=1 python benchmarks/iperi_directions.py --first 100 --count 100 --tables shares
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import fedperi as fp
from fedperi.cli.demo import EDGES
from fedperi.coordinator.coordinator import Coordinator
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.federate import as_transport
from fedperi.methods.iperi.assembly import common_graph
from fedperi.methods.iperi.oracle import CoordinatorOracle
from fedperi.search import confidence
from fedperi.search.phase2 import orient_by_differences

SHARES = (0.0, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("none", {"intervention": "none"}),
    ("none, same weights", {"intervention": "none", "shared_mechanisms": True}),
    ("parametric", {"intervention": "parametric"}),
    ("structural", {}),
    ("structural, some removed", {"removal": "some"}),
    ("structural, same weights", {"shared_mechanisms": True}),
)
SIZES = ((4, 4), (4, 8), (4, 10), (10, 8), (10, 10), (4, 20))
DEMO = fp.PDAG.from_edges(EDGES)
Tables = list[pd.DataFrame]


def at_shares(tables: Tables, method: fp.IPERI) -> tuple[fp.PDAG, list[fp.PDAG]]:
    """The common CPDAG, and the closed graph for every share; phase 1 runs once."""
    coordinator = Coordinator(as_transport(tables), method._settings())
    oracle, free = CoordinatorOracle(coordinator), unconstrained(coordinator.names)
    found = method._phase_1(oracle, free, lambda step: None, lambda so_far: None)
    common = common_graph(found.parents, coordinator.names, free)
    graphs = []
    usual = confidence.CONFIDENCE
    try:
        for share in SHARES:
            confidence.CONFIDENCE = share
            graph, _ = orient_by_differences(
                oracle,
                common,
                found.parents,
                aggregate=method.aggregate,
                weigh=lambda among: confidence.direction_shares(found.sets, found.parents, among),
            )
            graphs.append(fp.meek_closure(graph))
    finally:
        confidence.CONFIDENCE = usual
    return common, graphs


def by_share(seeds: range, method: fp.IPERI, sizes: Iterable[tuple[int, int]] = SIZES) -> None:
    print("\n" + " | ".join(["| ", "K", "p", *(f"{share:g}" for share in SHARES)]) + " |")
    print("|---" * (3 + len(SHARES)) + "|", flush=True)
    for label, options in CASES:
        for clients, p in sizes:
            counts, shds, limits = [], [], []
            for seed in seeds:
                sim = fp.simulate(p, clients, 1000, seed=seed, **{"shared_mechanisms": False, **options})
                common, graphs = at_shares(sim.sites, method)
                new = [graph.directed - common.directed for graph in graphs]
                counts.append([(len(d & sim.dag.directed), len(d - sim.dag.directed)) for d in new])
                shds.append([fp.shd(graph, sim.dag) for graph in graphs])
                limits.append(fp.shd(fp.meek_closure(sim.phi_cpdag), sim.dag))
            means, ratios = np.mean(counts, axis=0), np.mean(shds, axis=0) / np.mean(limits)
            cells = [f"{r:.2f} {w:.2f} ({q:.2f})" for (r, w), q in zip(means, ratios, strict=True)]
            print(" | ".join([f"| {label}", str(clients), str(p), *cells]) + " |", flush=True)


def simulated(seeds: range, samples: int = 1000, **options: Any) -> list[fp.Simulation]:
    given = {"weights": (0.3, 1.0), **options}
    return [fp.simulate(DEMO, clients=5, samples=samples, seed=seed, **given) for seed in seeds]


def row(label: str, method: fp.IPERI, sites: Iterable[Any], truth: fp.PDAG = DEMO) -> None:
    """Fit every federation and print the means as a line of a table."""
    edges = truth.skeleton.undirected
    counts = []
    for tables in sites:
        graph = method.fit(tables).graph
        found = graph.skeleton.undirected
        wrong = {pair for pair in graph.directed if pair[::-1] in truth.directed}
        counts.append((len(graph.directed & truth.directed), len(wrong), len(edges - found), len(found - edges)))
    right, wrongs, missing, false = np.mean(counts, axis=0)
    print(f"| {label} | {right:.2f} | {wrongs:.2f} | {missing:.2f} | {false:.2f} |", flush=True)


def head(title: str) -> None:
    print(f"\n| {title} | right | wrong | missing | false |\n|---|---|---|---|---|", flush=True)


def sites_of(sims: Iterable[fp.Simulation]) -> list[Tables]:
    return [sim.sites for sim in sims]


def changed(sims: Iterable[fp.Simulation], change: Callable[[pd.DataFrame], pd.DataFrame]) -> list[Tables]:
    return [[change(table) for table in sim.sites] for sim in sims]


def with_error(seeds: range, size: float) -> list[Tables]:
    """Blood pressure with measurement error, in units of its standard deviation."""
    out = []
    for seed, sim in zip(seeds, simulated(seeds), strict=True):
        rng = np.random.default_rng(seed)
        tables = []
        for table in sim.sites:
            pressure = table["blood_pressure"]
            noise = rng.normal(size=len(table)) * size * pressure.std()
            tables.append(table.assign(blood_pressure=pressure + noise))
        out.append(tables)
    return out


def with_feedback(seed: int, site: int) -> pd.DataFrame:
    """A linear model in equilibrium where stroke acts back on weight; sites 1 to 4 set one variable each."""
    p = len(DEMO.names)
    weights = np.random.default_rng(seed).uniform(0.3, 0.8, (p, p)) * DEMO.adjacency
    weights[DEMO.index("stroke"), DEMO.index("weight")] = 0.4
    if site:
        weights[:, DEMO.index(["smoking", "blood_pressure", "medication", "weight"][site - 1])] = 0
    noise = np.random.default_rng([seed, site]).normal(size=(1000, p))
    return pd.DataFrame(noise @ np.linalg.inv(np.eye(p) - weights), columns=list(DEMO.names))


def limits(seeds: range) -> None:
    head("docs/explanation/paper-methods.md, when an assumption fails")
    ours = fp.IPERI()
    usual = simulated(seeds)
    own, same = ({"shared_mechanisms": shared} for shared in (False, True))
    row("all is well", ours, sites_of(usual))
    for label, options in (("own strengths", own), ("same strengths", same)):
        row(f"no intervention, {label}", ours, sites_of(simulated(seeds, intervention="none", **options)))
        row(f"... PERI, {label}", fp.PERI(), sites_of(simulated(seeds, intervention="none", **options)))
        row(f"... 20,000 rows, {label}", ours, sites_of(simulated(seeds[:20], 20000, intervention="none", **options)))
    row("policies that shift", ours, sites_of(simulated(seeds, intervention="parametric")))
    hidden = fp.PDAG.from_edges([e for e in EDGES if "age" not in e], names=[n for n in DEMO.names if n != "age"])
    row("age is not measured", ours, changed(usual, lambda table: table.drop(columns="age")), hidden)
    row("feedback", ours, [[with_feedback(seed, site) for site in range(5)] for seed in seeds])
    selected = changed(simulated(seeds, 2000), lambda table: table[table["age"] + table["stroke"] > 0])
    row("age + stroke > 0", ours, selected)
    for size in (0.3, 1.0):
        row(f"measurement error {size}", ours, with_error(seeds, size))
    row("curved, taken as linear", fp.IPERI(data="linear"), sites_of(simulated(seeds, mechanism="nonlinear")))
    row("weak effects", ours, sites_of(simulated(seeds, weights=(0.05, 0.3))))
    for rows in (5000, 500, 200, 100, 50):
        row(f"{rows} rows", ours, sites_of(simulated(seeds, rows)))
    row("without the observational site", ours, [sim.sites[1:] for sim in usual])
    row("uniform noise", ours, sites_of(simulated(seeds, noise="uniform")))
    row("own strengths", ours, sites_of(simulated(seeds, **own)))


def declared(sim: fp.Simulation, targets: Iterable[Any]) -> list[fp.Site]:
    told = zip(sim.sites, targets, strict=True)
    return [fp.Site(table, name=f"site {k}", targets=list(target)) for k, (table, target) in enumerate(told)]


def options(seeds: range) -> None:
    head("docs/explanation/paper-methods.md, choosing options")
    ours = fp.IPERI()
    usual = simulated(seeds)
    curves, codes = simulated(seeds, mechanism="nonlinear"), simulated(seeds, discretize=3)
    row("curved, nonlinear", replace(ours, data="nonlinear"), sites_of(curves))
    row("linear, nonlinear", replace(ours, data="nonlinear"), sites_of(usual))
    row("binary outcome", ours, changed(usual, lambda table: table.assign(stroke=(table.stroke > 0.5).astype(int))))
    row("categories, mixed", replace(ours, data="mixed"), sites_of(codes))
    row("categories, auto", ours, sites_of(codes))
    row("declared targets", ours, [declared(sim, sim.targets) for sim in usual])
    row("declared none, wrongly", ours, [declared(sim, [()] * len(sim.sites)) for sim in usual])
    tiers = [["age"], ["weight", "smoking"], ["blood_pressure", "lung_function", "medication"], ["stroke"]]
    row("tiers", replace(ours, knowledge=fp.Knowledge(tiers=tiers)), sites_of(usual))
    row("paper's variant", fp.IPERI(masking="consensus", aggregate="worst", local="pc"), sites_of(usual))
    row("consensus, sum, GES", fp.IPERI(masking="consensus"), sites_of(usual))
    row("worst", fp.IPERI(aggregate="worst"), sites_of(usual))
    for penalty in (0.5, 2, 4):
        row(f"penalty {penalty}", replace(ours, penalty=penalty), sites_of(usual))
    row("penalty 2, 100 rows", replace(ours, penalty=2), sites_of(simulated(seeds, 100)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--tables", default="limits,options")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.count)
    print(f"seeds {seeds.start} to {seeds.stop - 1}")
    if "shares" in given.tables:
        print("\nDirections beyond the common CPDAG, right and wrong per run, and (SHD over the limit's), by share")
        by_share(seeds, fp.IPERI())
    if "worst" in given.tables:
        print("\nThe same with aggregate='worst'")
        by_share(seeds, fp.IPERI(aggregate="worst"), SIZES[1:3])
    if "consensus" in given.tables:
        print("\nThe same with masking='consensus'")
        by_share(seeds, fp.IPERI(masking="consensus"), SIZES[1:3])
    if "limits" in given.tables:
        limits(seeds)
    if "options" in given.tables:
        options(seeds)


if __name__ == "__main__":
    main()
