"""A good DAG of one table in little time: the best edge next, as long as one gains."""

from __future__ import annotations

import numpy as np

from .score import RESOLUTION, Score, ScoreCache


def greedy_parents(score: Score) -> list[int]:
    """Add the edge that gains most and closes no cycle, until none gains; return the parents of each node as bit sets.

    No edge is ever taken back or turned, so that this is where a search begins, not where it ends.

    Examples
    --------
    >>> from fedperi.local import GaussianScore
    >>> collider = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    >>> greedy_parents(GaussianScore(collider, n=1000))  # 2 -> 0 and 2 -> 1, of equal ones the first; then 1 -> 0
    [6, 4, 0]
    """
    p = len(score.names)
    cache = ScoreCache(score)
    parents = [0] * p
    reaches = np.eye(p, dtype=bool)  # [i, j]: a directed path leads from i to j
    gains = np.full((p, p), -np.inf)  # [head, tail]
    others = [np.delete(np.arange(p), node) for node in range(p)]
    for head, found in enumerate(cache.gains([(node, 0, others[node]) for node in range(p)])):
        gains[head, others[head]] = found
    while True:
        head, tail = divmod(int(np.argmax(gains)), p) if p else (0, 0)
        if not p or not gains[head, tail] > RESOLUTION:
            return parents
        parents[head] |= 1 << tail
        reaches |= np.outer(reaches[:, tail], reaches[head])
        gains[reaches] = -np.inf  # a head that reaches the tail would close a cycle
        gains[head, tail] = -np.inf
        free = np.flatnonzero(gains[head] > -np.inf)
        if len(free):
            gains[head, free] = cache.gains([(head, parents[head], free)])[0]
