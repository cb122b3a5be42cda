"""The Phi-Markov equivalence class: what sites with unknown interventions can identify, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import InputError
from .equivalence import Triple, cpdag, parents_of, v_structures
from .meek import meek_closure
from .pdag import PDAG, aligned


def phi_cpdag(dag: PDAG, client_dags: Iterable[PDAG]) -> PDAG:
    """Return Phi(G): the CPDAG of a DAG, with every edge directed that some client's CPDAG directs.

    Definition "Phi-CPDAG" of the paper. It is not closed under Meek's rules; `meek_closure` of it is sound and may be
    tighter.

    Parameters
    ----------
    dag : PDAG
        The true DAG.
    client_dags : iterable of PDAG
        The DAGs of the sites: the true one with some edges removed by structural interventions.

    Returns
    -------
    PDAG
        At least as directed as ``cpdag(dag)``.

    Examples
    --------
    >>> import fedperi as fp
    >>> triangle = fp.PDAG.from_edges(directed=[("A", "B"), ("A", "C"), ("B", "C")])
    >>> fp.phi_cpdag(triangle, [triangle, fp.mutilate(triangle, "B")])
    PDAG('A -> C, B -> C, A -- B', names=['A', 'B', 'C'])
    """
    matrix = np.array(cpdag(dag).adjacency)
    for client in _checked_clients(dag, client_dags):
        _, seen = aligned(dag, cpdag(client))
        matrix &= ~(seen & ~seen.T).T  # i -> j compelled at the client: nothing leaves j towards i
    return PDAG._known_acyclic(matrix, dag.names)  # a subset of the true DAG's arrows is directed: no cycle


def phi_equivalent(dag1: PDAG, client_dags1: Iterable[PDAG], dag2: PDAG, client_dags2: Iterable[PDAG]) -> bool:
    """Whether two DAGs with their clients are Phi-Markov equivalent, by the paper's graphical criterion.

    Theorem "Characterization": same adjacencies, same v-structures, and the same v-structures that appear at some
    client but not in the DAG. The families may have different sizes and targets. docs/explanation/theory.md says how
    this criterion relates to the definition by d-separations, with counterexamples.

    Parameters
    ----------
    dag1, dag2 : PDAG
        DAGs over the same variables.
    client_dags1, client_dags2 : iterable of PDAG
        The DAGs of their sites.

    Examples
    --------
    >>> import fedperi as fp
    >>> there, back = fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("B", "A")])
    >>> fp.phi_equivalent(there, [fp.mutilate(there, "B")], back, [fp.mutilate(back, "A")])
    True
    """
    second = dag2.reordered(dag1.names)
    if dag1.skeleton != second.skeleton or v_structures(dag1) != v_structures(second):
        return False
    new1 = revealed_v_structures(dag1, client_dags1)
    return new1 == revealed_v_structures(second, [client.reordered(dag1.names) for client in client_dags2])


def revealed_v_structures(dag: PDAG, client_dags: Iterable[PDAG]) -> frozenset[Triple]:
    """Find the v-structures that some client has and the DAG has not, because an intervention unshielded them.

    Examples
    --------
    >>> import fedperi as fp
    >>> triangle = fp.PDAG.from_edges(directed=[("A", "B"), ("A", "C"), ("B", "C")])
    >>> fp.revealed_v_structures(triangle, [fp.mutilate(triangle, "B")])
    frozenset({('A', 'C', 'B')})
    """
    clients = _checked_clients(dag, client_dags)
    found = frozenset[Triple]().union(*(v_structures(c.reordered(dag.names)) for c in clients))
    return found - v_structures(dag)


def i_cpdag(dag: PDAG, targets: Iterable[Iterable[str]]) -> PDAG:
    """Return the I-CPDAG: what could be known if the targets of perfect interventions were known.

    Hauser and Buehlmann (2012): edges with exactly one end in some target set are directed, then Meek's rules close
    the graph. An observational site (empty target set) is assumed.

    Parameters
    ----------
    dag : PDAG
        The true DAG.
    targets : iterable of iterables of str
        One set of target variables per site.

    Returns
    -------
    PDAG
        At least as directed as the closed Phi-CPDAG of the same interventions.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.i_cpdag(fp.PDAG.from_edges([("A", "B")]), [["B"]])
    PDAG('A -> B', names=['A', 'B'])
    """
    parents_of(dag)
    matrix = np.array(cpdag(dag).adjacency)
    for site in targets:
        inside = np.zeros(len(dag.names), dtype=bool)
        for name in [site] if isinstance(site, str) else site:
            inside[dag.index(name)] = True
        cut = np.not_equal.outer(inside, inside)
        matrix &= ~(cut & dag.adjacency).T
    return meek_closure(PDAG._known_acyclic(matrix, dag.names))


def _checked_clients(dag: PDAG, client_dags: Iterable[PDAG]) -> Sequence[PDAG]:
    parents_of(dag)
    clients = list(client_dags)
    for k, client in enumerate(clients):
        parents_of(client)
        true, seen = aligned(dag, client)
        extra = np.argwhere(seen & ~true)
        if len(extra):
            i, j = extra[0]
            raise InputError(
                f"client DAG {k} has the edge {dag.names[i]} -> {dag.names[j]}, which the DAG does not have: "
                "an intervention can only remove edges"
            )
    return clients
