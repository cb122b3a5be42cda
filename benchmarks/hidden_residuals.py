"""Residual correlation that a fitted DAG leaves: whether it would show hidden causes.

A DAG says that a variable is independent of every earlier one that is no cause of it, given its causes. For every run
of `hidden_causes.py` this prints the strongest exception: by how many nats an edge would raise the likelihood, beyond
the price that BIC has for it, (log N) / 2. A sign of hidden causes would be an exception where something is hidden, and
none elsewhere.

    python benchmarks/hidden_residuals.py [clinic|random|sparse][-hidden] [cases] [first]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import log, log1p

import numpy as np
from hidden_causes import case

import fedperi as fp
from fedperi.graph import bits
from fedperi.graph.order import descendants
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.summary.summary import Summary

LIMITS = (0.0, 3.0, 10.0)


def strongest_exception(said: Sequence[Summary], dag: fp.PDAG) -> tuple[float, str, str]:
    """Nats beyond the price of an edge, and the two variables."""
    parts = [part.straight() for part in said]
    rows = np.array([float(part.n) for part in parts])
    pooled = np.einsum("k,kij->ij", rows / rows.sum(), np.stack([part.covariance for part in parts]))
    adjacency = dag.reordered(parts[0].names).adjacency
    parents, children, first = bits.columns(adjacency), bits.rows(adjacency), [b[0] for b in parts[0].blocks]
    found = []
    for b, names in enumerate(parts[0].names):
        before = ((1 << len(adjacency)) - 1) & ~descendants(children, 1 << b) & ~parents[b] & ~(1 << b)
        given = [column for v in bits.members(parents[b]) for column in parts[0].blocks[v]]
        for a in bits.members(before):
            chosen = [first[a], first[b]]
            across = pooled[np.ix_(given, chosen)]
            left = pooled[np.ix_(chosen, chosen)] - across.T @ np.linalg.pinv(pooled[np.ix_(given, given)]) @ across
            square = left[0, 1] ** 2 / (left[0, 0] * left[1, 1]) if min(left[0, 0], left[1, 1]) > 0 else 0.0
            gain = -rows.sum() / 2 * log1p(-min(square, 1 - 1e-12)) - log(rows.sum()) / 2
            found.append((gain, parts[0].names[a], names))
    return max(found, default=(-np.inf, "", ""))


def main() -> None:
    """Count the runs with an exception, and where it joins two effects of the hidden variable."""
    kind = sys.argv[1] if len(sys.argv) > 1 else "sparse"
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    runs, exceptions, right = 0, dict.fromkeys(LIMITS, 0), dict.fromkeys(LIMITS, 0)
    for seed in range(first, first + cases):
        tables, truth, hidden = case(kind, seed)
        if kind.endswith("hidden") and hidden is None:
            continue
        runs += 1
        gain, *pair = strongest_exception(summaries(tables), fp.MPERI(progress=False).fit(tables).dag)
        for limit in LIMITS:
            exceptions[limit] += gain > limit
            right[limit] += gain > limit and hidden is not None and set(pair) <= set(truth.children(hidden))
    for limit in LIMITS:
        print(
            f"{kind}, seeds {first} to {first + cases - 1}, more than {limit:g} nats beyond the price: "
            f"{exceptions[limit]} of {runs} runs, {right[limit]} between two effects of the hidden cause"
        )


if __name__ == "__main__":
    main()
