"""Does M-PERI's search find the best graph? Its score beside that of the true one, which it must not fall below.

Beyond 12 variables the search is not exact. A graph that scores less than the true DAG shows that it ended in a local
optimum: with enough rows the best score is at least that of the truth. Numbers are score of the graph found less score
of the true one, for several seeds of the search (`MPERI(seed=...)`); negative ones are missed optima.

Run: python benchmarks/mperi_optimum.py [--at 50] [--settings cut,shift,scale] [--first 41000] [--seeds 1]
     [--searches 3]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse

import fedperi as fp
from fedperi.benchmark.settings import draw, setting
from fedperi.graph import bits
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.mperi.method import MPERI
from fedperi.methods.mperi.runs import MechanismComparison
from fedperi.methods.mperi.statements import named_entries, statements
from fedperi.tables.reading import Reading


def lead(p: int, name: str, seed: int, search: int) -> float:
    """Score of the graph found less score of the true DAG."""
    world = draw(setting(name), p, 5, 1000, seed)
    reading = Reading.of(None, "auto", "auto")
    said = statements(named_entries(world.sites, None, reading), reading)
    straight, curved = [part.straight() for part in said], [part for part in said if part.curved]
    method = MPERI(progress=False, seed=search)
    _, _, found = method._search(
        MechanismComparison.of("auto"), straight, curved, unconstrained(said[0].names), lambda step: None
    )
    truth = bits.columns(fp.PDAG.reordered(world.dag, said[0].names).adjacency)
    graphs = [list(enumerate(parents)) for parents in (found.parents, truth)]
    found.sets.fetch((i, some, 0) for graph in graphs for i, some in graph if not found.sets.knows(i, some))
    ours, best = (sum(found.sets.score(i, some) or 0.0 for i, some in graph) for graph in graphs)
    return ours - best


def main() -> None:
    """Print a line for each simulation, and how many searches fell short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", type=int, default=50)
    parser.add_argument("--settings", default="cut,shift,scale")
    parser.add_argument("--first", type=int, default=41_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--searches", type=int, default=3)
    given = parser.parse_args()
    every = []
    for seed in range(given.first, given.first + given.seeds):
        for name in given.settings.split(","):
            found = [lead(given.at, name, seed, search) for search in range(given.searches)]
            every += found
            print(f"p = {given.at}, {name}, seed {seed}: {', '.join(f'{one:.1f}' for one in found)}", flush=True)
    print(f"{sum(one < -1e-6 for one in every)} of {len(every)} searches ended below the score of the true graph")


if __name__ == "__main__":
    main()
