"""Other packages that a user might choose. All of them see the rows of all sites in one place.

The extra `peers` installs them (`pip install ".[peers]"` in the folder of this package). If one is not installed,
tables say so and leave it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .contender import Found, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...graph.pdag import PDAG

INVARIANCE = 1e-3
"""Level of UT-IGSP's tests. Nine ways of use were tried on seeds 0 to 5 of nine cells (cut and shift at p = 4, 8, 10,
strengths at p = 4): levels 1e-2, 1e-3 and 1e-5; with site 0, all rows, or all rows centred per site as the reference.
This level and all rows, centred, had the lowest mean SHD, 3.4; at p = 4 site 0 and 1e-2 was better."""

LEVEL = 0.01
"""Level of the tests of PC, FCI and CD-NOD."""

SITE = "(site)"


def ut_igsp(problem: Problem) -> Found:
    """UT-IGSP: conditional independence in all rows, centred per site; each site is compared with all rows.

    Its result is the I-CPDAG of the DAG and the targets that it finds, since it cannot distinguish the DAGs in it.
    """
    import random

    import numpy as np
    from conditional_independence import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        MemoizedCI_Tester,
        MemoizedInvarianceTester,
        gauss_invariance_suffstat,
        gauss_invariance_test,
        partial_correlation_suffstat,
        partial_correlation_test,
    )
    from graphical_model_learning import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        unknown_target_igsp,
    )

    import fedperi as fp

    tables = problem.tables()
    names = list(tables[0].columns)
    rows = [table.to_numpy() for table in tables]
    centred = np.vstack([some - some.mean(axis=0) for some in rows])
    tests = MemoizedCI_Tester(partial_correlation_test, partial_correlation_suffstat(centred), alpha=INVARIANCE)
    same = gauss_invariance_suffstat(np.vstack(rows), rows)
    invariance = MemoizedInvarianceTester(gauss_invariance_test, same, alpha=INVARIANCE)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  (the package draws from the global generators)
    settings: list[dict[str, Any]] = [{"known_interventions": []} for _ in rows]
    dag, targets = unknown_target_igsp(settings, set(range(len(names))), tests, invariance)
    found = fp.PDAG.from_edges([(names[i], names[j]) for i, j in dag.arcs], names=names)
    named = [[names[v] for v in some] for some in targets]
    pairs = frozenset((k, name) for k, some in enumerate(named) for name in some)
    return Found(fp.i_cpdag(found, named), named=pairs)


def gnies(problem: Problem) -> Found:
    """GnIES with its defaults except `center=False`: then a different mean is an intervention too."""
    import gnies  # type: ignore[import-not-found, import-untyped, unused-ignore]

    import fedperi as fp

    tables = problem.tables()
    names = list(tables[0].columns)
    _, found, targets = gnies.fit([table.to_numpy() for table in tables], center=False)
    return Found(fp.PDAG(found != 0, names), changing=frozenset(names[v] for v in targets))


def cd_nod(problem: Problem) -> Found:
    """CD-NOD of causal-learn: PC on all rows with the number of the site as one more variable.

    Tests are Fisher's z, as the kernel tests that its authors use would take hours on thousands of rows.
    """
    import numpy as np
    from causallearn.search.ConstraintBased.CDNOD import cdnod

    tables = problem.tables()
    names = list(tables[0].columns)
    site = np.concatenate([np.full((len(table), 1), float(k)) for k, table in enumerate(tables)])
    marks = cdnod(_rows(tables), site, LEVEL, "fisherz", show_progress=False).G.graph
    changing = frozenset(name for name, mark in zip(names, marks[len(names)], strict=False) if mark != 0)
    return Found(_from_marks(marks[: len(names), : len(names)], names), changing=changing)


def pc(problem: Problem) -> Found:
    """PC of causal-learn on all rows in one table."""
    from causallearn.search.ConstraintBased.PC import pc

    tables = problem.tables()
    return Found(_from_marks(pc(_rows(tables), LEVEL, show_progress=False).G.graph, list(tables[0].columns)))


def ges(problem: Problem) -> Found:
    """GES of causal-learn on all rows in one table."""
    from causallearn.search.ScoreBased.GES import ges

    import fedperi as fp

    tables = problem.tables()
    graph = ges(_rows(tables), "local_score_BIC_from_cov")["G"]
    return Found(fp.PDAG.from_causallearn(graph, list(tables[0].columns)))


def fci(problem: Problem) -> Found:
    """FCI of causal-learn on all rows in one table.

    An arrow of its PAG is an arrow here, `o->` and `o-o` are lines, and `<->` is not an edge: neither causes the other.
    """
    from causallearn.search.ConstraintBased.FCI import fci

    tables = problem.tables()
    marks = fci(_rows(tables), "fisherz", LEVEL, verbose=False, show_progress=False)[0].graph
    head, tail = marks.T == 1, marks == -1  # [i, j]: an arrowhead at j; a tail at i
    both = head & head.T
    arrows = head & tail & ~both
    lines = (marks != 0) & ~arrows & ~arrows.T & ~both
    return Found(_without_cycles(arrows | lines, list(tables[0].columns)))


def _rows(tables: list[Any]) -> NDArray[Any]:
    import numpy as np

    return np.vstack([table.to_numpy() for table in tables])


def _from_marks(marks: NDArray[Any], names: list[str]) -> PDAG:
    """Convert a graph of causal-learn; two arrowheads, where PC found a conflict, become a line."""
    heads = marks.T == 1  # [i, j]: an arrowhead at j
    return _without_cycles(heads | (marks == -1) & (marks.T == -1), names)


def _without_cycles(adjacency: NDArray[Any], names: list[str]) -> PDAG:
    """Build a graph; arrows on a directed cycle, which PC may return, become lines."""
    import numpy as np

    import fedperi as fp

    arrows = adjacency & ~adjacency.T
    reach = arrows.copy()
    for k in range(len(names)):
        reach |= np.outer(reach[:, k], reach[k])
    circular = arrows & reach.T
    return fp.PDAG(adjacency | circular.T, names)
