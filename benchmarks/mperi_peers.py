"""Other packages on the same tables, as the benchmarks of M-PERI use them. All see the rows of all sites.

`pip install "fedperi[peers,test]"` installs them. Where one is missing, `reason` says so and tables leave it out.
"""

from __future__ import annotations

import importlib
import random
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

import fedperi as fp

Tables = Sequence[pd.DataFrame]

ALPHA = 1e-3
"""Level of UT-IGSP's tests. Nine ways of use were tried on seeds 0 to 5 of nine cells (cut and shift at p = 4, 8, 10,
strengths at p = 4): levels 1e-2, 1e-3 and 1e-5; with site 0, all rows, or all rows centred per site as the reference.
This level and all rows, centred, had the lowest mean SHD, 3.4; at p = 4 site 0 and 1e-2 was better."""


def ut_igsp(tables: Tables) -> fp.PDAG:
    """UT-IGSP: conditional independence in all rows, centred per site; each site is compared with all rows.

    Its answer is the I-CPDAG of the DAG and the targets that it finds: it does not tell these DAGs apart.
    """
    from conditional_independence import (
        MemoizedCI_Tester,
        MemoizedInvarianceTester,
        gauss_invariance_suffstat,
        gauss_invariance_test,
        partial_correlation_suffstat,
        partial_correlation_test,
    )
    from graphical_model_learning import unknown_target_igsp

    rows = [table.to_numpy(float) for table in tables]
    names = list(tables[0].columns)
    centred = np.vstack([some - some.mean(axis=0) for some in rows])
    tests = MemoizedCI_Tester(partial_correlation_test, partial_correlation_suffstat(centred), alpha=ALPHA)
    same = gauss_invariance_suffstat(np.vstack(rows), rows)
    invariance = MemoizedInvarianceTester(gauss_invariance_test, same, alpha=ALPHA)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  (the package draws from the global generators)
    settings = [{"known_interventions": []} for _ in rows]
    dag, targets = unknown_target_igsp(settings, set(range(len(names))), tests, invariance)
    found = fp.PDAG.from_edges([(names[i], names[j]) for i, j in dag.arcs], names=names)
    return fp.i_cpdag(found, [[names[v] for v in some] for some in targets])


def gnies(tables: Tables) -> fp.PDAG:
    """GnIES with its defaults, but for `center=False`: then a mean that differs is an intervention too."""
    import gnies

    _, found, _ = gnies.fit([table.to_numpy(float) for table in tables], center=False)
    return fp.PDAG(found != 0, list(tables[0].columns))


def ges(tables: Tables) -> fp.PDAG:
    """GES of causal-learn on all rows in one table."""
    from causallearn.search.ScoreBased.GES import ges

    pooled = pd.concat(list(tables))
    return fp.PDAG.from_causallearn(ges(pooled.to_numpy(float), "local_score_BIC_from_cov")["G"], list(pooled.columns))


def pc(tables: Tables) -> fp.PDAG:
    """PC of causal-learn on all rows in one table."""
    from causallearn.search.ConstraintBased.PC import pc

    pooled = pd.concat(list(tables))
    marks = pc(pooled.to_numpy(float), 0.01, show_progress=False).G.graph
    heads = marks.T == 1  # [i, j]: an arrowhead at j; where PC is in conflict there are two, here a line
    return _without_cycles(heads | (marks == -1) & (marks.T == -1), list(pooled.columns))


def _without_cycles(adjacency: Any, names: list[str]) -> fp.PDAG:
    """The graph; arrows that are on a directed cycle become lines. PC's graphs may have some."""
    arrows = adjacency & ~adjacency.T
    reach = arrows.copy()
    for k in range(len(names)):
        reach |= np.outer(reach[:, k], reach[k])
    circular = arrows & reach.T
    return fp.PDAG(adjacency | circular.T, names)


PEERS: dict[str, tuple[tuple[str, ...], Callable[[Tables], fp.PDAG]]] = {
    "UT-IGSP": (("graphical_model_learning", "conditional_independence"), ut_igsp),
    "GnIES": (("gnies",), gnies),
    "GES, pooled": (("causallearn.search.ScoreBased.GES",), ges),
    "PC, pooled": (("causallearn.search.ConstraintBased.PC",), pc),
}


def reason(name: str) -> str:
    """Why a peer cannot run here; empty if it can."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for module in PEERS[name][0]:
                importlib.import_module(module)
        except Exception as error:  # a package may fail in its own ways
            return f"{type(error).__name__}: {error}"
    return ""


class TooSlowError(Exception):
    """A peer has used up its time."""


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Raise `TooSlowError` when this process has used `seconds` of CPU time."""
    if seconds is None:
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
