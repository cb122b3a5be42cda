"""Common to the baselines: sites as workers, sums over sites, repair of cycles, a `Result` without regrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..coordinator.work import WorkCoordinator, WorkTransport
from ..errors import InputError
from ..graph.equivalence import consistent_extension, cpdag
from ..graph.pdag import PDAG
from ..methods.federate import as_respondents
from ..methods.manifest import record
from ..methods.result import Result
from ..search.phase1 import Step
from ..site.released import ReleasedSite
from ..site.site import Site
from ..transports.in_process import WorkInProcess

if TYPE_CHECKING:
    from ..tables.checks.profile import Missing


def work_transport(
    sites: Any, schema: Any = None, missing: Missing = "error", method: str = "this method"
) -> WorkTransport:
    """Make a transport from tables, paths, `Site` objects or a mapping of them; return a transport as it is.

    Targets that a `Site` declares are not used: these methods have no notion of an intervention.

    Parameters
    ----------
    sites : list or mapping
        As for `IPERI.fit`. Release files and `OracleSite` objects are refused, because they have no rows.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    method : str
        Name of the method, for error messages.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.baselines.baseline import work_transport
    >>> work_transport([fp.OracleSite([[1.0]], n=100)], method="NOTEARS-ADMM")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'oracle' has no rows, and NOTEARS-ADMM computes with rows; give it a table
    """
    from ..tables.readers.rows import numeric_rows

    if hasattr(sites, "begin") and hasattr(sites, "perform"):
        return cast(WorkTransport, sites)
    tables: dict[str, Any] = {}
    for site in as_respondents(sites):
        if isinstance(site, ReleasedSite):
            raise InputError(f"site {site.name!r} is a release, and {method} computes with rows; give it the table")
        if not isinstance(site, Site):
            raise InputError(f"site {site.name!r} has no rows, and {method} computes with rows; give it a table")
        tables[site.name] = site.table
    if not tables:
        raise InputError("a federation needs at least one site; the list is empty")
    return WorkInProcess(*numeric_rows(tables, schema, missing, method))


def coordinate(sites: Any, schema: Any, missing: Missing, method: str, worker: str) -> WorkCoordinator:
    """Begin a run at all sites; the arguments are those of `work_transport`, and the name of the worker."""
    coordinator = WorkCoordinator(work_transport(sites, schema, missing, method), worker)
    if len(coordinator.names) < 2:
        raise InputError(f"{method} needs at least two variables; there is only {coordinator.names[0]!r}")
    return coordinator


def baseline_result(
    method: dict[str, Any],
    coordinator: WorkCoordinator,
    graph: PDAG,
    history: Sequence[Step] = (),
    *,
    complete: bool = True,
) -> Result:
    """Build the result of a method that has no regrets and no evidence for single edges.

    `graph` and `phi_cpdag` are the graph that the method returned; `dag` is that graph or, if it has undirected edges,
    one that directs them; `cpdag` is the class of `dag`. There are no `regrets` and no `edges`.

    Parameters
    ----------
    method : dict
        Name and options, from `described`, and anything else about the run that should be kept.
    coordinator : WorkCoordinator
        The coordinator, after the run.
    graph : PDAG
        The graph that the method found.
    history : sequence of Step
        The steps of the run; `worst_regret` is not used.
    complete : bool
        False if the run was stopped early.
    """
    transport = coordinator.transport
    fingerprints, dropped = transport.fingerprints(), [dict(entry) for entry in transport.dropped]
    transport.close()
    dag = member(graph)
    return Result(
        graph=graph,
        phi_cpdag=graph,
        cpdag=cpdag(dag),
        dag=dag,
        regrets={},
        rounds=coordinator.rounds,
        queries=coordinator.bytes // 8,
        bytes=coordinator.bytes,
        history=tuple(history),
        edges=(),
        method=method,
        manifest={**record(method, coordinator.names, coordinator.sites, fingerprints), "dropped": dropped},
        complete=complete,
    )


def member(graph: PDAG) -> PDAG:
    """Orient the undirected edges of a graph: without new v-structures if possible, else in a topological order.

    Examples
    --------
    >>> import fedperi as fp
    >>> square = [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")]  # every orientation has a new collider
    >>> member(fp.PDAG.from_edges(undirected=square))
    PDAG('A -> B, A -> D, B -> C, C -> D', names=['A', 'B', 'C', 'D'])
    """
    if graph.is_dag:
        return graph
    try:
        return consistent_extension(graph)
    except InputError:
        from ..graph import bits
        from ..graph.order import topological_order

        order = topological_order(bits.columns(graph.adjacency & ~graph.adjacency.T))
        assert order is not None  # a PDAG has no directed cycle
        rank = np.argsort(order)
        return PDAG(graph.adjacency & (rank[:, None] < rank[None, :]), graph.names)


def acyclic(
    strength: NDArray[np.float64], *, anywhere: bool = False
) -> tuple[NDArray[np.bool_], list[tuple[int, int]]]:
    """Drop the weakest edges of a directed graph until it has no cycle.

    Parameters
    ----------
    strength : array, shape (p, p)
        Entry ``[i, j]`` is the weight of ``i -> j``; zero where there is no edge. Signs do not matter.
    anywhere : bool
        As long as there is a cycle, drop the weakest edge of the whole graph; if False, the weakest edge on a cycle.

    Returns
    -------
    adjacency : array of bool
        The acyclic graph.
    dropped : list of (int, int)
        The edges that were dropped, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> acyclic(np.array([[0, 0.9, 0.1], [-0.5, 0, 0], [0, 0, 0]]))[1]
    [(1, 0)]
    >>> acyclic(np.array([[0, 0.9, 0.1], [-0.5, 0, 0], [0, 0, 0]]), anywhere=True)[1]
    [(0, 2), (1, 0)]
    """
    from scipy.sparse.csgraph import connected_components

    size = np.abs(strength)
    kept: NDArray[np.bool_] = size > 0
    dropped: list[tuple[int, int]] = []
    while True:
        component = connected_components(kept, directed=True, connection="strong")[1]
        on_cycle = kept & (component[:, None] == component[None, :])  # a loop i -> i included
        if not on_cycle.any():
            return kept, dropped
        weakest = np.where(kept if anywhere else on_cycle, size, np.inf).argmin()
        i, j = divmod(int(weakest), len(kept))
        kept[i, j] = False
        dropped.append((i, j))


def total(parts: Sequence[Any]) -> NDArray[np.float64]:
    """Add arrays of the sites, the smallest numbers first, so that the order of the sites does not matter.

    Examples
    --------
    >>> total([np.array([1.0, 2.0]), np.array([3.0, -4.0])]).tolist()
    [4.0, -2.0]
    """
    out: NDArray[np.float64] = np.sort(np.asarray(parts, dtype=np.float64), axis=0).sum(axis=0)
    return out


def pairs(edges: Iterable[tuple[int, int]], names: Sequence[str]) -> list[list[str]]:
    """Replace the numbers of variables by names, in the form that a result keeps."""
    return [[names[i], names[j]] for i, j in edges]


Note = Callable[[Step], None]
"""Shows a step to a person, from `fedperi.methods.progress.watching`."""
