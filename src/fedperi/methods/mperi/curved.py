"""Corrections by the run with curves: edges that only straight lines need, and directions that this run inverts.

A straight line fitted to a curve changes with the patients, so that sites with another case mix seem to have a slightly
different mechanism. Edges and directions then come from the wrong model, not from causes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .runs import Runs

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

INVERTED = 1e-3
"""A direction is clearly inverted by curves if its remaining share is at most this. Of directions with a larger share,
26 of 27 were right (development seeds, data with curves)."""

SAFE = 0.99
"""A direction that curves invert is kept if its share is at least this for every tolerance of the comparison. Of those
with this share 70 of 72 were right, of the others 34 of 58 (the same seeds)."""

OF_EDGES, OF_DIRECTIONS = 2 / 3, 1 / 3
"""Weight of the run with curves where it reduces a probability. For edges the best of 0, 1/2, 2/3 and 1 by Brier score
on two of four kinds of development data, and the second best on the others."""


def inverted(runs: Runs) -> Bools:
    """Find directions that are more probable, but that curves invert and that depend on the tolerance.

    Curves and another case mix cause small differences between lines; large differences exceed any tolerance.
    """
    ahead = share(runs.all.edges) > 0.5
    turned = np.any([np.zeros_like(ahead), *(share(run.edges) < INVERTED for run in runs.of("curves"))], axis=0)
    compared = [share(run.edges) >= SAFE for run in runs.of("tolerance")]
    safe = np.all(compared, axis=0) if compared else np.zeros_like(ahead)
    found: Bools = ahead & turned & ~safe
    return found


def allowing_for_curves(chances: Floats, runs: Runs) -> Floats:
    """Return probabilities that include the run with curves where it reduces them.

    Curves count where they make an edge less probable (`OF_EDGES`), and where they invert a direction (`inverted`,
    `OF_DIRECTIONS`).

    Examples
    --------
    >>> from fedperi.methods.mperi.runs import Run
    >>> straight, curved = np.array([[0.0, 0.9], [0.1, 0.0]]), np.array([[0.0, 0.0], [0.8, 0.0]])
    >>> runs = Runs((Run("with all sites", "all", straight), Run("curved", "curves", curved)), True, 0.0)
    >>> allowing_for_curves(straight, runs).round(2)
    array([[0.  , 0.52],
           [0.35, 0.  ]])
    """
    for run in runs.of("curves"):
        adjacent, with_curves = chances + chances.T, run.edges + run.edges.T
        adjacent = np.minimum(adjacent, _mixed(adjacent, with_curves, OF_EDGES))
        doubtful = inverted(runs)
        directions = _mixed(share(chances), share(run.edges), OF_DIRECTIONS)
        chances = adjacent * np.where(doubtful | doubtful.T, directions, share(chances))
    return chances


def _mixed(straight: Floats, curved: Floats, weight: float) -> Floats:
    return (1 - weight) * straight + weight * curved


def share(edges: Floats) -> Floats:
    """Return the share of i -> j in the weight of both directions; one half if both are zero.

    Examples
    --------
    >>> share(np.array([[0.0, 0.6], [0.2, 0.0]])).round(2)
    array([[0.5 , 0.75],
           [0.25, 0.5 ]])
    """
    both = edges + edges.T
    return np.divide(edges, both, out=np.full_like(edges, 0.5), where=both > 1e-12)
