"""GES on linear Gaussian tables: CPU time of causal-learn and `ges` divided by ours, in one run on the same data.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/ges_speed.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from collections.abc import Callable

import ges
import numpy as np
import pandas as pd
from causallearn.search.ScoreBased.GES import ges as causallearn_ges

import fedperi as fp
from fedperi.discovery.ges.ges import ges_fit
from fedperi.scores.gaussian import GaussianScore
from fedperi.tables import summarize

ROWS = 2000


def table(rng: np.random.Generator, p: int) -> pd.DataFrame:
    sim = fp.simulate(p, 1, ROWS, shield_colliders=False, weights=(0.3, 1.0), seed=int(rng.integers(1 << 30)))
    return sim.sites[0]


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    print(f"{'p':>4} {'ours, s':>9} {'causal-learn':>13} {'ratio':>7} {'ges':>9} {'ratio':>7}")
    times = []
    for p in (10, 20, 50, 100, 200):
        data = table(rng, p)
        ours = cpu(lambda: ges_fit(GaussianScore.of(summarize(data, data="linear"))))  # noqa: B023
        times.append((p, ours))
        row = f"{p:>4} {ours:>9.3f}"
        if p <= 50:
            theirs = cpu(lambda: causallearn_ges(data.to_numpy(), "local_score_BIC_from_cov"))  # noqa: B023
            row += f" {theirs:>13.2f} {theirs / ours:>7.0f}"
        if p <= 20:
            other = cpu(lambda: ges.fit_bic(data.to_numpy()))  # noqa: B023
            row += f" {other:>9.2f} {other / ours:>7.0f}"
        print(row, flush=True)
    (p0, t0), (p1, t1) = times[0], times[-1]
    print(f"growth from p = {p0} to {p1}: p to the power {np.log(t1 / t0) / np.log(p1 / p0):.1f}")


if __name__ == "__main__":
    main()
