"""Correlations that the fitted graph does not explain: how often M-PERI names some, and whether they are there.

A DAG says that a variable is independent of every earlier one that is no cause of it, given its causes. For every run
of `hidden_causes.py` this counts the pairs for which that fails. The true DAG, hidden variables included, tells by
d-separation whether the two depend on each other given these causes; if they do not, it is a false alarm.

    python benchmarks/hidden_residuals.py [clinic|random|sparse][-hidden] [cases] [first]
"""

from __future__ import annotations

import sys

import numpy as np
from hidden_causes import case

import fedperi as fp
from fedperi.discovery.oracle import DSeparation
from fedperi.methods.mperi.hidden.unexplained import failed_independences
from fedperi.tables.summary.summaries import summaries


def depend(truth: DSeparation, names: tuple[str, str], fitted: fp.PDAG) -> bool:
    """Whether two variables depend on each other given the fitted causes of the later one, whichever that is."""
    x, y = sorted(truth.names.index(name) for name in names)
    for name in names:
        given = [[truth.names.index(cause) for cause in fitted.parents(name)]]
        if not {x, y} & set(given[0]):
            p_value = truth.p_values(np.array([x]), np.array([y]), np.array(given, dtype=np.intp))[0]
            if p_value < 0.5:
                return True
    return False


def main() -> None:
    """Count runs, pairs and false alarms."""
    kind = sys.argv[1] if len(sys.argv) > 1 else "sparse"
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    runs = alarms = pairs = false = effects = edges = 0
    for seed in range(first, first + cases):
        tables, truth, hidden = case(kind, seed)
        if kind.endswith("hidden") and hidden is None:
            continue
        said = summaries(tables)
        fitted = fp.MPERI(progress=False).fit(said).dag.reordered(said[0].names)
        found = [(fitted.names[a], fitted.names[b]) for a, b in failed_independences(said, fitted)]
        oracle = DSeparation(truth, [hidden] if hidden else [])
        runs += 1
        alarms += bool(found)
        pairs += len(found)
        false += sum(not depend(oracle, pair, fitted) for pair in found)
        edges += any(pair in truth.directed or pair[::-1] in truth.directed for pair in found)
        effects += hidden is not None and any(set(pair) <= set(truth.children(hidden)) for pair in found)
    print(
        f"{kind}, seeds {first} to {first + cases - 1}: {alarms} of {runs} runs name {pairs} pairs, {false} of them "
        f"independent in truth; {edges} runs name a missing edge, {effects} two effects of the hidden cause"
    )


if __name__ == "__main__":
    main()
