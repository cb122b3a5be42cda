"""M-PERI on population moments: how often the graph, and the groups of sites, are exactly what can be known.

Random DAGs with 3 to 8 nodes, four sites, weights of size 0.3 to 1, nominal n = 10^10. Mechanisms are shared but for
one to three targets per site, each cut off from all or some parents, with other strengths, shifted, or with another
spread.
What sites can tell about a variable is which of them share its mechanism. So two sites together work like one
intervention whose targets are the variables that differ between them; and an arrow that is cut off at a site tells what
the Phi-CPDAG says. With an observational site all this contains the I-CPDAG of the true targets. Without one, an arrow
may be cut off at every site. No table shows it, so the truth to compare with is the DAG of the arrows that are left at
some site (`visible`).

The model is exact here, so weak edges count as well (`weakest=0`).

    python benchmarks/mperi_exactness.py [cases] [first]
"""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np

import fedperi as fp
from fedperi.simulation import Simulation

ROWS = 1e10


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


def visible(sim: Simulation) -> fp.PDAG:
    """The true DAG less the arrows that every site has cut off."""
    left = np.logical_or.reduce([dag.adjacency for dag in sim.client_dags])
    return fp.PDAG(sim.dag.adjacency & left, sim.dag.names)


def identified(sim: Simulation) -> fp.PDAG:
    """What can be known: the CPDAG, what cut arrows tell, and what differs between each two sites.

    An edge is directed if exactly one of its ends differs between two sites, and it is there at one of them at least.
    """
    number = {
        name: {site: at for at, group in enumerate(groups) for site in group} for name, groups in sim.groups.items()
    }
    known = np.array(fp.phi_cpdag(visible(sim), sim.client_dags).adjacency)
    for a, b in combinations(range(len(sim.client_dags)), 2):
        differs = np.array([number[name][a] != number[name][b] for name in sim.dag.names])
        seen = sim.client_dags[a].adjacency | sim.client_dags[b].adjacency
        known &= ~(np.not_equal.outer(differs, differs) & seen).T
    return fp.meek_closure(fp.PDAG(known, sim.dag.names))


def found_groups(result: fp.Result) -> dict[str, set[frozenset[int]]]:
    """Groups of sites, by number."""
    return {
        one.variable: {frozenset(int(site.split()[1]) for site in group) for group in one.groups}
        for one in result.groups
    }


QUESTIONS = (
    "all that can be known is directed",
    "nothing else is",
    "every edge is found, and no arrow is wrong",
    "the I-CPDAG of the true targets is in it",
    "groups of sites are the true ones",
)


def compare(seed: int, observational: bool, sharing: str) -> tuple[bool, ...]:
    """Answer `QUESTIONS` for one case."""
    sim = case(seed, observational)
    result = fp.MPERI(progress=False, sharing=sharing, weakest=0).fit(oracle_sites(sim))
    true_groups = {name: {frozenset(group) for group in groups} for name, groups in sim.groups.items()}
    best, graph, truth = identified(sim), result.graph, visible(sim)
    same = graph.skeleton == truth.skeleton
    return (
        same and best.directed <= graph.directed,
        same and graph.directed <= best.directed,
        same and graph.directed <= truth.directed,
        same and fp.i_cpdag(sim.dag, sim.targets).directed <= graph.directed,
        found_groups(result) == true_groups,
    )


def main(count: int = 2000, first: int = 0) -> None:
    """Print the tables."""
    for observational in (True, False):
        for sharing in ("auto", "exact"):
            found = {seed: compare(seed, observational, sharing) for seed in range(first, first + count)}
            where = "with an observational site" if observational else "without one"
            print(f"{where}, sharing={sharing!r}: {count} cases")
            for at, what in enumerate(QUESTIONS):
                missed = [seed for seed, answers in found.items() if not answers[at]]
                print(f"  {what}: {count - len(missed)}" + (f"   not: {missed[:12]}" if missed else ""), flush=True)
    less = wrong = 0
    for seed in range(first, first + count):
        sim = case(seed, True, shared=False)
        graph = fp.MPERI(progress=False, weakest=0).fit(oracle_sites(sim)).graph
        limit = fp.meek_closure(sim.phi_cpdag)
        less += graph.skeleton == limit.skeleton and graph.directed <= limit.directed
        wrong += not graph.directed <= sim.dag.directed
    print(f"nothing shared: the closure of the Phi-CPDAG or less in {less} of {count}; with a wrong arrow {wrong}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
