"""FedCDH's score for the direction of an edge: how much two distributions change together between sites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .layout import Floats
from .tests import FeatureTests

LANDMARKS, GAMMA = 5, 0.2
"""Points where kernel means are computed, and the kernel's inverse squared width; as in the published code."""


def dependence_of_change(tests: FeatureTests, pairs: Sequence[tuple[int, int]]) -> list[float]:
    """For pairs (x, y): how much the distribution of x and the joint one of x and y change together between sites.

    If x causes y, the mechanisms of x and of y given x change independently of each other. Then the changes of x
    explain less of the changes of (x, y) than those of y do. A site's distribution is represented by the means of a
    kernel at five landmarks, whitened (Nystroem). The score is the squared covariance over sites between the means
    for x and those for (x, y), divided by the variance of those for x.

    The published code uses rows of the table as landmarks. A federation cannot share rows, so landmarks are drawn
    from a Gaussian. The published code also takes the covariance over the five landmarks instead of over the sites,
    in the units of the table; ``faithful`` does the same.
    """
    if not pairs:
        return []
    singles = sorted({x for x, _ in pairs})
    doubles = sorted({(min(pair), max(pair)) for pair in pairs})
    columns = np.array([(x, -1) for x in singles] + doubles)
    landmarks = np.random.default_rng(tests.features.seed).normal(size=(LANDMARKS, 2))
    means = _embeddings(tests, columns, landmarks)
    index = {tuple(key): at for at, key in enumerate(columns.tolist())}
    score = _over_landmarks if tests.features.faithful else _over_sites
    return [score(means[:, index[x, -1]], means[:, index[min(x, y), max(x, y)]], tests.rows) for x, y in pairs]


def _embeddings(tests: FeatureTests, columns: Floats, landmarks: Floats) -> Floats:
    """Means of whitened kernel features, for every site and set of columns."""
    p, faithful = len(tests.coordinator.names), tests.features.faithful
    centre, scale = (np.zeros(p), np.ones(p)) if faithful else (tests.centre, tests.scale)
    at = np.array([landmarks * tests.scale[c] + tests.centre[c] if faithful else landmarks for c in columns])
    payload = {"columns": columns, "landmarks": at, "centre": centre, "scale": scale, "gamma": GAMMA}
    answers = tests.coordinator.perform("change", payload, {"mean": (len(columns), LANDMARKS)})
    out = np.array([answer["mean"] for answer in answers])
    for which, used in enumerate(columns >= 0):
        points = at[which][:, used]
        kernel = np.exp(-GAMMA * ((points[:, None] - points[None]) ** 2).sum(axis=2))
        values, vectors = np.linalg.eigh(kernel)
        out[:, which] = out[:, which] @ (vectors / np.sqrt(np.maximum(values, 1e-6))) @ vectors.T
    return out


def _over_sites(one: Floats, both: Floats, rows: Floats) -> float:
    share = rows / rows.sum()
    a, b = one - share @ one, both - share @ both
    shared = (a * share[:, None]).T @ b
    variance = float(share @ (a**2).sum(axis=1))
    return float((shared**2).sum()) / variance if variance > 0 else 0.0


def _over_landmarks(one: Floats, both: Floats, rows: Floats) -> float:
    """The published matrix has an entry for every two rows, but only one value for every two sites."""
    a, b = one - one.mean(axis=1, keepdims=True), both - both.mean(axis=1, keepdims=True)
    shared = a @ b.T / (LANDMARKS - 1)
    variance = float(rows @ (a**2).sum(axis=1)) / (LANDMARKS - 1)
    return float((np.outer(rows, rows) * shared**2).sum()) / variance if variance > 0 else 0.0
