"""Which choices of the `statistics` mechanism and its inference are best: table of docs/explanation/privacy.md.

    python benchmarks/privacy_choices.py --seeds 40

Fresh seeds from 200 on, p = 10, n = 2000, K = 5, total epsilon 1, delta 1e-6; bounds of 4 or 10 standard deviations.
Noise comes from a seed: an experiment on simulated tables, repeatable, and private to nobody.
"""

import argparse
import warnings
from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import numpy as np

import fedperi as fp
from fedperi.privacy.noise import SeededNoise
from fedperi.privacy.release import release as mechanism
from fedperi.privacy.release import repair
from fedperi.privacy.release.draw import count_rows, draw_release
from fedperi.privacy.release.release import Plan
from fedperi.site.released import ReleasedSite
from fedperi.tables import open_table
from fedperi.tables.schema import Column, Schema

P, N, SITES, EPSILON, DELTA = 10, 2000, 5, 1.0, 1e-6


class Thresholded(ReleasedSite):
    """Partial correlations (given all others) below the noise level are set to zero before anything is learned."""

    def _scores(self, settings, names):
        with patch.object(type(self.release), "statistics", lambda release: thresholded(statistics(release), release)):
            return super()._scores(settings, names)


statistics = mechanism.Release.statistics


def thresholded(found, release):
    precision = np.linalg.inv(found.correlation)
    root = np.sqrt(np.diag(precision))
    partial = -precision / np.outer(root, root)
    noise = 2 * release.noise_beside / release.rows / 0.5
    keep = (np.abs(partial) > noise) | np.eye(len(partial), dtype=bool)
    values, vectors = np.linalg.eigh(np.where(keep, precision, 0.0))
    covariance = (vectors / np.maximum(values, 0.05)) @ vectors.T
    root = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(root, root)
    np.fill_diagonal(correlation, 1.0)
    return replace(found, correlation=(correlation + correlation.T) / 2)


def variants():
    """Name -> (patches, penalty, kind of site, bounds in standard deviations)."""
    amplification = lambda c: [(repair, "AMPLIFICATION", c)]  # noqa: E731
    clip = lambda k: [(mechanism, "CLIP_LINEAR", k)]  # noqa: E731
    as_clipped = [(mechanism, "undo_clipping", lambda covariance, limit: covariance)]
    by_bounds = [(mechanism, "UNITS_SHARE", 1e-9), (mechanism, "_unit", _by_bounds)]
    yield "as it is", [], 1.0, ReleasedSite, 4
    yield "as it is, bounds of 10 sd", [], 1.0, ReleasedSite, 10
    yield "number of rows as it is (scores ignore the noise)", amplification(0.0), 1.0, ReleasedSite, 4
    yield "number of rows as it is, penalty doubled", amplification(0.0), 2.0, ReleasedSite, 4
    for c in (1.0, 2.0, 4.0):
        yield f"effective rows with factor {c:g}", amplification(c), 1.0, ReleasedSite, 4
    yield "effective rows with factor 1, penalty doubled", amplification(1.0), 2.0, ReleasedSite, 4
    yield "effective rows with factor 3, penalty doubled", amplification(3.0), 2.0, ReleasedSite, 4
    yield "partial correlations below the noise set to 0", [], 1.0, Thresholded, 4
    yield "the same, number of rows as it is", amplification(0.0), 1.0, Thresholded, 4
    for k in (0.4, 0.55, 1.0, 1.3):
        yield f"rows clipped at {k:g} sqrt(q)", clip(k), 1.0, ReleasedSite, 4
    yield "clipping not undone", as_clipped, 1.0, ReleasedSite, 4
    yield "clipped at sqrt(q), not undone", as_clipped + clip(1.0), 1.0, ReleasedSite, 4
    yield "units from the bounds alone, bounds of 3 sd", by_bounds, 1.0, ReleasedSite, 3
    yield "units from the bounds alone, bounds of 4 sd", by_bounds, 1.0, ReleasedSite, 4
    yield "units from the bounds alone, bounds of 10 sd", by_bounds, 1.0, ReleasedSite, 10
    for share in (0.05, 0.2):
        yield f"{share:.0%} of the budget for units", [(mechanism, "UNITS_SHARE", share)], 1.0, ReleasedSite, 4


def _by_bounds(column, counts, noise, price):
    low, high = column.bounds
    return (low + high) / 2, (high - low) / 6


def measure(seed, patches, penalty, kind, width):
    sim = fp.simulate(P, clients=SITES, samples=N, weights=(0.1, 1.0), seed=seed)
    spread = np.concatenate([table.to_numpy() for table in sim.sites]).std(axis=0)
    bounds = zip(sim.dag.names, spread, strict=True)
    schema = Schema(tuple(Column(name, "continuous", bounds=(-width * s, width * s)) for name, s in bounds))
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, name, value in patches:
            stack.enter_context(patch.object(place, name, value))
        sites = []
        for k, frame in enumerate(sim.sites):
            table = open_table(frame, f"site {k}")
            plan = Plan.of(schema, "linear", EPSILON, DELTA)
            counts, _ = count_rows(table, plan, "error")
            sites.append(kind(draw_release(table, plan, counts, SeededNoise([seed, k]), "error")[0]))
        graph = fp.IPERI(penalty=penalty, progress=False).fit(sites).graph
    found, true = (g.adjacency | g.adjacency.T for g in (graph, sim.dag))
    wrong = (found & ~true).sum() / 2, (true & ~found).sum() / 2
    return fp.skeleton_f1(graph, sim.dag), fp.shd(graph, sim.dag), *wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=40)
    seeds = range(200, 200 + parser.parse_args().seeds)
    print("| choice | skeleton F1 | SHD | false edges | missing edges |\n|---|---|---|---|---|")
    for name, *how in variants():
        f1, shd, false, missing = np.mean([measure(seed, *how) for seed in seeds], axis=0)
        print(f"| {name} | {f1:.3f} | {shd:.1f} | {false:.2f} | {missing:.2f} |", flush=True)
