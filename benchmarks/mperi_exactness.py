"""M-PERI on population moments: how often the graph, and the groups of sites, are exactly what can be known.

Random DAGs with 3 to 8 nodes, four sites, weights of size 0.3 to 1, nominal n = 10^8. Mechanisms are shared but for one
to three targets per site, each cut off from all or some parents, with other strengths, shifted, or with another spread.
What sites can tell about a variable is which of them share its mechanism. So two sites together work like one
intervention whose targets are the variables that differ between them: the best possible graph is the I-CPDAG of these
sets, over all pairs of sites. With an observational site it contains the I-CPDAG of the true targets.

    python benchmarks/mperi_exactness.py [cases] [first]
"""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np

import fedperi as fp
from fedperi.simulation import Simulation

ROWS = 1e8


def case(seed: int, observational: bool, shared: bool = True) -> Simulation:
    """Draw a simulation; its rows are never looked at."""
    rng = np.random.default_rng([seed, observational, shared])
    p = int(rng.integers(3, 9))
    return fp.simulate(
        p,
        clients=4,
        samples=2,
        edges=min(float(rng.uniform(0.8, 2) * p), p * (p - 1) / 2),
        shield_colliders=bool(rng.random() < 0.5),
        intervention="varied" if shared else "structural",
        shared_mechanisms=True if shared else "nothing",
        targets_per_client=int(rng.integers(1, min(4, p))),
        policies=int(rng.integers(2, 5)),
        weights=(0.3, 1.0),
        observational=observational,
        seed=int(rng.integers(1 << 30)),
    )


def oracle_sites(sim: Simulation) -> list[fp.OracleSite]:
    """Sites that answer from population moments."""
    return [
        fp.OracleSite(covariance, ROWS, sim.dag.names, mean=mean, name=f"site {k}")
        for k, (mean, covariance) in enumerate(sim.population)
    ]


def identified(sim: Simulation) -> fp.PDAG:
    """The I-CPDAG of the variables that differ between each two sites, and what arrows that are cut off tell."""
    number = {
        name: {site: at for at, group in enumerate(groups) for site in group} for name, groups in sim.groups.items()
    }
    differ = [
        tuple(name for name in sim.dag.names if number[name][a] != number[name][b])
        for a, b in combinations(range(len(sim.client_dags)), 2)
    ]
    known = fp.i_cpdag(sim.dag, differ).adjacency & ~(sim.phi_cpdag.adjacency & ~sim.phi_cpdag.adjacency.T).T
    return fp.meek_closure(fp.PDAG(known, sim.dag.names))


def found_groups(result: fp.Result) -> dict[str, set[frozenset[int]]]:
    """Groups of sites, by number."""
    return {
        one.variable: {frozenset(int(s.split()[1]) for s in group) for group in one.groups} for one in result.groups
    }


def compare(seed: int, observational: bool) -> tuple[bool, bool, bool, bool]:
    """Whether the graph is the best possible, holds the I-CPDAG of the targets, has no wrong arrow; and the groups."""
    sim = case(seed, observational)
    result = fp.MPERI(progress=False).fit(oracle_sites(sim))
    true_groups = {name: {frozenset(group) for group in groups} for name, groups in sim.groups.items()}
    targets = fp.i_cpdag(sim.dag, sim.targets)
    return (
        result.graph == identified(sim),
        targets.directed <= result.graph.directed and result.graph.skeleton == sim.dag.skeleton,
        result.graph.directed <= sim.dag.directed,
        found_groups(result) == true_groups,
    )


def main(count: int = 2000, first: int = 0) -> None:
    for observational in (True, False):
        found = {seed: compare(seed, observational) for seed in range(first, first + count)}
        sums = np.sum(list(found.values()), axis=0)
        where = "with an observational site" if observational else "without one"
        print(f"{where}: {count} cases")
        for what, total, at in zip(
            ("best possible graph", "all that known targets tell", "no wrong arrow", "groups of sites"),
            sums,
            range(4),
            strict=True,
        ):
            missed = [seed for seed, one in found.items() if not one[at]]
            print(f"  {what}: {total}" + (f"   not: {missed[:20]}" if missed else ""), flush=True)
    less = wrong = 0
    for seed in range(first, first + count):
        sim = case(seed, True, shared=False)
        result = fp.MPERI(progress=False).fit(oracle_sites(sim))
        limit = fp.meek_closure(sim.phi_cpdag)
        less += result.graph.directed <= limit.directed and result.graph.skeleton == limit.skeleton
        wrong += not result.graph.directed <= sim.dag.directed
    print(f"nothing shared: the closure of the Phi-CPDAG or less in {less} of {count}; with a wrong arrow {wrong}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
