"""Edges so weak that a small error of the model explains them: they get no direction, and a warning names them.

With enough rows every departure from straight lines becomes significant: a slight curve, or a product of two causes. It
looks like one more cause, and a different case mix at another site seems to give its direction. More rows, fewer sites
and other tolerances do not help, because the error is the same everywhere. But such an edge explains very little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...scores.mechanisms import CONSTANT, Mechanisms
from ...scores.mechanisms_numpy import columns_of, own_columns

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

VISIBLE = 10.0
"""An edge is found only if its share times the rows of all sites is about this (in nats, about the penalty of an edge).
So if there are fewer rows (10,000 for a share of 0.001), an edge that looks so weak does so by chance."""


def very_weak(mechanisms: Mechanisms, dag: Sequence[int], edges: Floats, adjacent: Bools, weakest: float) -> Bools:
    """Find pairs of adjacent variables whose edge explains less than the share `weakest`; symmetric.

    The direction is the more probable one (`edges`), and the other causes are those in the best DAG.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> truth = fp.PDAG.from_edges([("age", "weight")])
    >>> for weight in (0.02, 0.5):
    ...     sim = fp.simulate(truth, clients=3, samples=20_000, weights=(weight, weight), intervention="none", seed=1)
    ...     found = very_weak(Mechanisms(summaries(sim.sites)), (0, 1), np.eye(2)[[1, 0]], ~np.eye(2, dtype=bool), 1e-3)
    ...     print(bool(found[0, 1]))
    True
    False
    """
    out: Bools = np.zeros_like(adjacent)
    if mechanisms.n.sum() * weakest < VISIBLE:
        return out
    for i, j in np.argwhere(np.triu(adjacent, 1)).tolist():
        cause, effect = (i, j) if edges[i, j] >= edges[j, i] else (j, i)
        others = [v for v in bits.members(dag[effect]) if v != cause]
        out[i, j] = out[j, i] = explained_share(mechanisms, cause, effect, others) < weakest
    return out


def explained_share(mechanisms: Mechanisms, cause: int, effect: int, others: Sequence[int]) -> float:
    """Compute the share of an effect's remaining variance that a cause explains, as a mean over the rows of all sites.

    Sites where one of the two is constant say nothing. What chance alone would explain is subtracted.
    """
    given, own = [0, *columns_of(mechanisms, others)], own_columns(mechanisms, effect)
    through = columns_of(mechanisms, [cause])
    varies = np.flatnonzero(~mechanisms.constant[:, cause] & ~mechanisms.constant[:, effect])
    if not len(varies):
        return 0.0
    moments = mechanisms.moments[varies]
    rest = [*through, *own]
    known = moments[np.ix_(range(len(varies)), given, given)]
    across = moments[np.ix_(range(len(varies)), given, rest)]
    left = moments[np.ix_(range(len(varies)), rest, rest)]
    left = left - across.swapaxes(1, 2) @ np.linalg.pinv(known, rcond=CONSTANT, hermitian=True) @ across
    m = len(through)
    of_causes = np.linalg.pinv(left[:, :m, :m], rcond=CONSTANT, hermitian=True)
    of_effects = np.linalg.pinv(left[:, m:, m:], rcond=CONSTANT, hermitian=True)
    between = left[:, :m, m:]
    shares = np.einsum("kab,kbd,kdc,kca->k", of_causes, between, of_effects, between.swapaxes(1, 2)) / len(own)
    rows = mechanisms.n[varies]
    return max(0.0, float((rows @ shares - m * len(rows)) / rows.sum()))


def undirected(chances: Floats, weak: Bools, known: Bools) -> Floats:
    """Give both directions of weak edges the same probability, unless one is known; that of the edge stays.

    Examples
    --------
    >>> nothing = np.zeros((2, 2), dtype=bool)
    >>> undirected(np.array([[0.0, 0.9], [0.1, 0.0]]), ~nothing, nothing)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    return np.where(weak & ~(known | known.T), (chances + chances.T) / 2, chances)
