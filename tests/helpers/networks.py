"""Two small published networks as conditional probability tables, and samples from them.

Asia: Lauritzen and Spiegelhalter (1988). Cancer: Korb and Nicholson (2010).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import fedperi as fp

# variable: (parents, probability of "yes" for each configuration of the parents; the last parent changes fastest, and
# "no" comes before "yes")
Network = dict[str, tuple[list[str], list[float]]]

ASIA: Network = {
    "asia": ([], [0.01]),
    "tub": (["asia"], [0.01, 0.05]),
    "smoke": ([], [0.5]),
    "lung": (["smoke"], [0.01, 0.1]),
    "bronc": (["smoke"], [0.3, 0.6]),
    "either": (["lung", "tub"], [0.0, 1.0, 1.0, 1.0]),
    "xray": (["either"], [0.05, 0.98]),
    "dysp": (["bronc", "either"], [0.1, 0.7, 0.8, 0.9]),
}

CANCER: Network = {
    "pollution": ([], [0.1]),
    "smoker": ([], [0.3]),
    "cancer": (["pollution", "smoker"], [0.001, 0.03, 0.02, 0.05]),
    "xray": (["cancer"], [0.2, 0.9]),
    "dyspnoea": (["cancer"], [0.3, 0.65]),
}


def dag(network: Network) -> fp.PDAG:
    return fp.PDAG.from_edges([(p, v) for v, (parents, _) in network.items() for p in parents], names=list(network))


def sample(network: Network, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw rows; the variables are listed in topological order."""
    drawn: dict[str, np.ndarray] = {}
    for name, (parents, table) in network.items():
        row = np.zeros(n, dtype=int)
        for parent in parents:
            row = 2 * row + drawn[parent]
        drawn[name] = (rng.random(n) < np.array(table)[row]).astype(int)
    return pd.DataFrame({name: np.where(column == 1, "yes", "no") for name, column in drawn.items()})
