"""Whether 95 % intervals of effects hold the truth in 95 % of cases.

Settings, six variables unless said otherwise:

- *given the graph*: the true DAG and the true policies are known; arrows cut at a site, means shifted, or every
  strength drifting by 20 % between sites (the truth in common is then the mean). 2, 3, 4, 6 or 10 sites of 200 to 2,000
  rows.
- *yes/no*: a logistic outcome, of which 30 % or 5 % are yes. The truth is the best linear approximation, from two
  million rows.
- *noise*: means and covariances with noise as for privacy, of a known size; 5 sites of 2,000 rows.
- *releases*: private releases of 5 sites with 5,000 or 20,000 rows, total epsilon 1; the true DAG is known.
- *found*: the graph and the policies are what M-PERI found in the same tables (5 sites of 1,000 rows). Intervals then
  bear the mistakes of the search as well, so this is not expected to be 95 %.

Run: python benchmarks/effects_coverage.py [--seeds 0 100] [--peers]

With --peers it compares single numbers with DoWhy instead (pip install dowhy).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

import fedperi as fp
from fedperi.graph import bits
from fedperi.methods.effects.dags import WeighedDag
from fedperi.methods.effects.estimates import Effects
from fedperi.methods.effects.moments import Moments, SiteMoments
from fedperi.methods.effects.policies import Policies
from fedperi.methods.effects.records import COMMON, Effect, Estimate
from fedperi.methods.effects.table import effects_of
from fedperi.methods.parts import Difference
from fedperi.privacy import Privacy, release_table
from fedperi.privacy.release.summaries import released_summaries
from fedperi.tables.summary.summaries import summaries

DRIFT = 0.2
SITES = (2, 3, 4, 6, 10)


class Trial(NamedTuple):
    """One interval: in which setting, of what, whether it holds the truth, and from which seed."""

    setting: str
    what: str
    held: bool
    width: float
    seed: int = -1


def known(moments: Moments, dag: fp.PDAG, differences: list[Difference]) -> Effects:
    parents = tuple(bits.columns(dag.adjacency))
    only = WeighedDag(parents, tuple(bits.transpose(parents)), 1.0)
    return Effects(moments, (only,), {}, Policies.of(moments, differences))


def totals(weights: np.ndarray) -> np.ndarray:
    """Total effects in a linear model: sums over all directed paths."""
    return np.linalg.inv(np.eye(len(weights)) - weights)


def judged(setting: str, row: Effect, direct: float | None, total: float | None) -> Iterator[Trial]:
    place = "in common" if row.site == COMMON else "per site"
    for kind, truth, found in (("direct", direct, row.direct), ("total", total, row.total)):
        if truth is not None and isinstance(found, Estimate) and np.isfinite(found.value):
            yield Trial(setting, f"{kind}, {place}", found.low <= truth <= found.high, found.high - found.low)


def cuts(sim: fp.Simulation, names: list[str]) -> list[Difference]:
    return [
        Difference(names[k], target, "cut", 10.0, "", tuple(sim.dag.parents(target)))
        for k, change in enumerate(sim.changes)
        for target, what in change.items()
        if what == "cut"
    ]


def given_the_graph(seed: int) -> Iterator[Trial]:
    for kind in ("cut", "shift", "drift"):
        clients = SITES[seed % len(SITES)]
        rows = np.random.default_rng(seed).integers(200, 2001, clients).tolist()
        options = {"intervention": {"cut": "structural", "shift": "shift", "drift": "none"}[kind], "edges": 8}
        sim = fp.simulate(6, clients, rows, drift=DRIFT if kind == "drift" else 0.0, seed=seed, **options)
        usual = fp.simulate(6, clients, 10, seed=seed, **options).weights[0]
        names = [f"s{k}" for k in range(clients)]
        moments = Moments.of(summaries(dict(zip(names, sim.sites, strict=True)), data="linear"))
        effects = known(moments, sim.dag, cuts(sim, names))
        mean = usual * np.exp(DRIFT**2 / 2) if kind == "drift" else usual
        every = [(one, totals(one)) for one in (*sim.weights, mean)]
        for cause, effect in effects.pairs():
            i, j = sim.dag.index(cause), sim.dag.index(effect)
            for k, row in enumerate(effects.of(cause, effect)):
                there, along = every[k]
                setting = f"given the graph, {kind}, {'2 to 4' if clients < 5 else '6 or 10'} sites"
                yield from judged(setting, row, float(there[i, j]), float(along[i, j]))


LOGISTIC = {"yes/no, 30 % yes": -1.0, "yes/no, 5 % yes": -3.6}


def logistic_rows(rng: np.random.Generator, n: int, level: float) -> pd.DataFrame:
    age = rng.normal(size=n)
    sick = (rng.random(n) < 1 / (1 + np.exp(-age))).astype(float)
    dose = 0.7 * age + rng.normal(size=n)
    yes = (rng.random(n) < 1 / (1 + np.exp(-(level + 0.8 * age + 0.5 * dose + 0.6 * sick)))).astype(float)
    return pd.DataFrame({"age": age, "dose": dose, "sick": sick, "yes": yes})


def yes_no(seed: int, truths: dict[str, list[Effect]]) -> Iterator[Trial]:
    dag = fp.PDAG.from_edges(
        [("age", "dose"), ("age", "sick"), ("age", "yes"), ("dose", "yes"), ("sick", "yes")],
        names=["age", "dose", "sick", "yes"],
    )
    for setting, level in LOGISTIC.items():
        if setting not in truths:
            many = summaries([logistic_rows(np.random.default_rng(10**6), 2_000_000, level)], data="mixed")
            effects = known(Moments.of(many), dag, [])
            truths[setting] = [effects.of(cause, "yes")[-1] for cause in ("age", "dose", "sick")]
        rng = np.random.default_rng(seed)
        tables = {f"s{k}": logistic_rows(rng, 500, level) for k in range(5)}
        effects = known(Moments.of(summaries(tables, data="mixed")), dag, [])
        for truth in truths[setting]:
            assert truth.direct is not None
            for row in effects.of(truth.cause, "yes"):
                yield from judged(setting, row, truth.direct.value, truth.total.value)


def noisy(seed: int) -> Iterator[Trial]:
    for size in (0.02, 0.1):
        sim = fp.simulate(6, 5, 2000, intervention="none", edges=8, weights=(0.3, 1.0), seed=seed)
        rng = np.random.default_rng(seed)
        exact = Moments.of(summaries(sim.sites, data="linear"))
        sites = []
        for site in exact.sites:
            noise = np.full(site.covariance.shape, size)
            added = np.triu(rng.normal(size=noise.shape) * noise)
            covariance = site.covariance + added + np.triu(added, 1).T
            sites.append(SiteMoments(site.site, site.n, site.mean, covariance, noise=noise))
        moments = Moments(exact.names, exact.blocks, exact.levels, exact.shares, tuple(sites))
        effects, weights = known(moments, sim.dag, []), sim.weights[0]
        for cause, effect in effects.pairs():
            i, j = sim.dag.index(cause), sim.dag.index(effect)
            for row in effects.of(cause, effect):
                yield from judged(f"noise of {size} in each entry", row, weights[i, j], totals(weights)[i, j])


def released(seed: int) -> Iterator[Trial]:
    for n in (5000, 20000):
        sim = fp.simulate(6, 5, n, intervention="none", edges=8, weights=(0.3, 1.0), seed=seed)
        privacy = Privacy(1.0, bounds=dict.fromkeys(sim.dag.names, (-10, 10)), test_seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            releases = [release_table(table, privacy, name=f"s{k}")[0] for k, table in enumerate(sim.sites)]
        effects, weights = known(Moments.of(released_summaries(releases)), sim.dag, []), sim.weights[0]
        for cause, effect in effects.pairs():
            i, j = sim.dag.index(cause), sim.dag.index(effect)
            for row in effects.of(cause, effect):
                yield from judged(f"releases, epsilon 1, {n:,} rows", row, weights[i, j], totals(weights)[i, j])


def found(seed: int) -> Iterator[Trial]:
    kind = ("structural", "shift", "varied")[seed % 3]
    sim = fp.simulate(6, 5, 1000, intervention=kind, edges=8, weights=(0.3, 1.0), seed=seed)
    result = fp.MPERI(progress=False).fit(sim.sites)
    effects = effects_of(result)
    assert effects is not None
    right = result.graph.directed <= sim.dag.directed and result.graph.skeleton == sim.dag.skeleton
    setting = f"found, {'no mistake in the graph' if right else 'graphs with a mistake'}"
    every = [(one, totals(one)) for one in sim.weights]
    usual = None if kind == "varied" else every[0]
    for cause, effect in effects.pairs():
        i, j = sim.dag.index(cause), sim.dag.index(effect)
        for k, row in enumerate(effects.of(cause, effect)):
            there = usual if row.site == COMMON else every[k]
            if there is not None:
                arrow = (cause, effect) in sim.dag.directed
                yield from judged(setting, row, float(there[0][i, j]) if arrow else None, float(there[1][i, j]))


def table(trials: list[Trial]) -> str:
    frame = pd.DataFrame(trials)
    lines = ["| setting | effect | intervals | hold the truth | standard error | mean width |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    for (setting, what), some in frame.groupby(["setting", "what"], sort=False):
        held, wide = f"{some['held'].mean():.1%}", f"{some['width'].mean():.3g}"
        lines.append(f"| {setting} | {what} | {len(some):,} | {held} | {clustered(some):.1%} | {wide} |")
    return "\n".join(lines)


def clustered(some: pd.DataFrame) -> float:
    """Standard error of the share held. Effects of one seed share tables and noise: seeds are independent, not they."""
    left = (some["held"] - some["held"].mean()).groupby(some["seed"]).sum()
    seeds = len(left)
    return float(np.sqrt((left**2).sum() * seeds / max(seeds - 1, 1)) / len(some))


def peers(seeds: range) -> None:
    """Compare total effects on one table with DoWhy, which has rows: is our set one of its, and the number."""
    from dowhy import CausalModel

    worst, effects_seen, invalid = 0.0, 0, 0
    for seed in seeds:
        sim = fp.simulate(5, 1, 500, intervention="none", edges=6, seed=seed)
        effects = known(Moments.of(summaries(sim.sites, data="linear")), sim.dag, [])
        for cause, effect in effects.pairs():
            row = effects.of(cause, effect)[0]
            model = CausalModel(sim.sites[0], cause, effect, graph=sim.dag.to_networkx())
            estimand = model.identify_effect(proceed_when_unidentifiable=True, method_name="exhaustive-search")
            effects_seen += 1
            keys = [key for key, some in estimand.backdoor_variables.items() if set(some) == set(row.adjustment)]
            if not keys:
                invalid += 1
                print(f"seed {seed}: {cause} -> {effect}: {row.adjustment} is no set of DoWhy")
                continue
            theirs = model.estimate_effect(estimand, method_name=f"{keys[0]}.linear_regression")
            worst = max(worst, abs(theirs.value - row.total.value))
    print(f"{effects_seen} effects, {invalid} sets that DoWhy does not know; largest difference: {worst:.2g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", choices=("given", "yes_no", "noisy", "released", "found"))
    asked = parser.parse_args()
    seeds = range(*asked.seeds)
    if asked.peers:
        peers(seeds)
        return
    truths: dict[str, list[Effect]] = {}
    parts = {
        "given": given_the_graph,
        "yes_no": lambda seed: yes_no(seed, truths),
        "noisy": noisy,
        "released": released,
        "found": found,
    }
    trials: list[Trial] = []
    for name, part in parts.items():
        if asked.only in (None, name):
            for seed in seeds:
                trials += [trial._replace(seed=seed) for trial in part(seed)]
                print(f"\r{name} {seed}", end="", file=sys.stderr, flush=True)
    print(table(sorted(trials, key=lambda one: one.setting.startswith("found"))))


if __name__ == "__main__":
    main()
