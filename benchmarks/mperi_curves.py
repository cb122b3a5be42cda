"""What the run that allows for curves withdraws: arrows with and without it, on tables that no line describes.

Two kinds of hospital-like tables that have nothing in common with those of the package:

- *functions*: every effect has a shape of its own (line, tanh, absolute value, square, ramp, sine, exponential), every
  variable its own noise (normal, gamma, Student's t, uniform); columns are numbers, yes/no, ranks or counts;
- *products*: lines, steps, or products of two causes; columns are numbers, log-normal laboratory values, yes/no,
  scores.

Sites differ in case mix, in size, and by policies on one or two variables. An arrow is right if it is in the true DAG,
reversed if the other one is, and extra if there is none.

Run: python benchmarks/mperi_curves.py [--seeds 0 40]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import fedperi as fp
from fedperi.graph.knowledge import unconstrained
from fedperi.methods.mperi.directions import find_graph, stated
from fedperi.methods.mperi.runs import Runs
from fedperi.methods.mperi.statements import named_entries, statements
from fedperi.tables.reading import Reading

Floats = NDArray[np.float64]
Arrows = set[tuple[str, str]]
World = tuple[dict[str, pd.DataFrame], Arrows]

SHAPES: tuple[Callable[[Floats], Floats], ...] = (
    lambda x: x,
    np.tanh,
    np.abs,
    lambda x: x**2 / 2,
    lambda x: np.maximum(x, 0),
    lambda x: np.sin(1.5 * x),
    lambda x: np.exp(np.minimum(x, 5) / 2),
)


def dag(rng: np.random.Generator, p: int, degree: float) -> tuple[list[int], list[list[int]]]:
    """An order, and the parents of every variable."""
    order = rng.permutation(p).tolist()
    parents: list[list[int]] = [[] for _ in range(p)]
    for at, node in enumerate(order):
        parents[node] = [other for other in order[:at] if rng.random() < degree / (p - 1)]
    return order, parents


def yes_no(rng: np.random.Generator, middle: Floats, slope: float) -> NDArray[np.bool_]:
    return np.asarray(rng.random(len(middle)) < 1 / (1 + np.exp(-np.clip(slope * middle, -30, 30))))


def functions(seed: int, p: int = 7, clients: int = 4) -> World:
    rng = np.random.default_rng(seed)
    order, parents = dag(rng, p, 2.6)
    kinds = rng.choice(["number", "number", "number", "yes/no", "rank", "count"], size=p)
    shapes = [[SHAPES[rng.integers(len(SHAPES))] for _ in parents[i]] for i in range(p)]
    weights = [rng.choice([-1, 1], len(parents[i])) * rng.uniform(0.5, 1.3, len(parents[i])) for i in range(p)]
    noises, spreads, levels = rng.integers(4, size=p), rng.uniform(0.6, 1.4, p), 0.3 * rng.normal(size=p)
    sites = {}
    for k in range(clients):
        n = int(rng.choice([400, 800, 1500, 3000]))
        level, weight = levels.copy(), [w.copy() for w in weights]
        for i in range(p):
            if not parents[i] and rng.random() < 0.5:
                level[i] += 0.8 * rng.normal()  # another case mix
        for i in rng.choice(p, size=rng.integers(1, 3), replace=False) if k else ():
            if parents[i] and rng.random() < 0.5:
                weight[i] *= np.where(rng.random(len(weight[i])) < 0.6, 0.0, rng.uniform(0.2, 0.8, len(weight[i])))
            elif parents[i]:
                level[i] += rng.normal()
        inner, shown = np.zeros((n, p)), {}
        for i in order:
            middle = level[i] + sum(
                (w * f(inner[:, j]) for w, f, j in zip(weight[i], shapes[i], parents[i], strict=True)), np.zeros(n)
            )
            noise = (rng.normal(size=n), rng.gamma(2, 1, n) - 2, rng.standard_t(4, n), rng.uniform(-1.7, 1.7, n))
            value = middle + spreads[i] * noise[noises[i]]
            if kinds[i] == "number":
                inner[:, i] = shown[i] = value
            elif kinds[i] == "yes/no":
                yes = yes_no(rng, middle, 1.8)
                inner[:, i], shown[i] = 2.0 * yes - 1, np.where(yes, "yes", "no")
            elif kinds[i] == "rank":
                shown[i] = np.digitize(value, [-1, 0.2, 1.2])
                inner[:, i] = shown[i] - 1.0
            else:
                shown[i] = rng.poisson(np.exp(np.clip(0.6 * middle + 0.5, -3, 3)))
                inner[:, i] = np.log1p(shown[i])
        sites[f"site {k}"] = pd.DataFrame({f"v{i}": shown[i] for i in range(p)})
    return sites, {(f"v{j}", f"v{i}") for i in range(p) for j in parents[i]}


def products(seed: int, p: int = 8) -> World:
    rng = np.random.default_rng(seed)
    clients = int(rng.integers(3, 7))
    order, parents = dag(rng, p, 2.4)
    kinds = rng.choice(["number", "laboratory", "yes/no", "score"], size=p)
    forms = rng.choice(["line", "product", "step"], size=p)
    weights = [rng.choice([-1, 1], len(parents[i])) * rng.uniform(0.4, 1.2, len(parents[i])) for i in range(p)]
    levels = 0.3 * rng.normal(size=p)
    sites = {}
    for k in range(clients):
        n = int(np.exp(rng.uniform(np.log(200), np.log(4000))))
        level, weight, spread = levels.copy(), [w.copy() for w in weights], np.ones(p)
        for i in range(p):
            if not parents[i] and rng.random() < 0.6:
                level[i] += 0.7 * rng.normal()
        for i in rng.choice(p, size=rng.integers(1, 3), replace=False) if k else ():
            policy = rng.choice(["shift", "cut", "strength", "spread"])
            level[i] += (policy == "shift") * rng.choice([-1, 1]) * rng.uniform(0.5, 1.2)
            weight[i] *= 0.0 if policy == "cut" else rng.uniform(0.2, 0.6) if policy == "strength" else 1.0
            spread[i] *= 1.8 if policy == "spread" else 1.0
        inner, shown = np.zeros((n, p)), {}
        for i in order:
            causes = inner[:, parents[i]]
            middle = level[i] + (np.where(causes > 0.3, 1.0, -0.6) if forms[i] == "step" else causes) @ weight[i]
            if forms[i] == "product" and len(parents[i]) > 1 and weight[i].any():
                middle = middle + 0.6 * causes[:, 0] * causes[:, 1]
            value = middle + spread[i] * rng.normal(size=n)
            if kinds[i] == "number":
                inner[:, i] = shown[i] = value
            elif kinds[i] == "laboratory":
                inner[:, i], shown[i] = value, np.round(np.exp(0.6 * np.minimum(value, 12) + 1), 2)
            elif kinds[i] == "yes/no":
                yes = yes_no(rng, middle, 1.5)
                inner[:, i], shown[i] = 2.0 * yes - 1, np.where(yes, "yes", "no")
            else:
                shown[i] = np.clip(np.round(2 * value + 5), 0, 10)
                inner[:, i] = (shown[i] - 5) / 2
        sites[f"site {k}"] = pd.DataFrame({f"v{i}": shown[i] for i in range(p)})
    return sites, {(f"v{j}", f"v{i}") for i in range(p) for j in parents[i]}


def graphs(sites: dict[str, pd.DataFrame]) -> dict[str, fp.PDAG]:
    """The graph of M-PERI, and the one without the run that allows for curves, from the same fit."""
    method, reading = fp.MPERI(progress=False), Reading.of(None, "auto", "auto")
    said = statements(named_entries(sites, None, reading), reading)
    constraints = unconstrained(said[0].names)
    stages = method._stages(said, constraints, lambda step: None)
    lines = Runs(tuple(run for run in stages.runs.runs if run.kind != "curves"), True, 0.0)
    straight, _ = find_graph(constraints, lines, stated(lines), method.confidence)
    return {"straight lines alone": straight, "as it is": stages.graph}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 40), metavar=("FIRST", "COUNT"))
    first, count = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    worlds: dict[str, Callable[[int], World]] = {
        "functions, p=7": functions,
        "functions, p=15": lambda seed: functions(seed, 15, 6),
        "products, p=8": products,
    }
    print(
        "| tables | runs | graph | right | reversed | extra | edges: true | false |\n|---|---|---|---|---|---|---|---|"
    )
    for name, world in worlds.items():
        found: dict[str, Counter[str]] = {}
        runs = 0
        for seed in range(first, first + count):
            sites, truth = world(seed)
            try:
                both = graphs(sites)
            except fp.InputError as error:
                print(f"{name}, seed {seed} is refused: {error}")
                continue
            runs += 1
            for how, graph in both.items():
                tally = found.setdefault(how, Counter())
                for a, b in graph.directed:
                    tally["right" if (a, b) in truth else "reversed" if (b, a) in truth else "extra"] += 1
                for a, b in graph.skeleton.undirected:
                    tally["true" if truth & {(a, b), (b, a)} else "false"] += 1
        for how, tally in found.items():
            cells = (tally[one] for one in ("right", "reversed", "extra", "true", "false"))
            print(f"| {name} | {runs} | {how} | " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
