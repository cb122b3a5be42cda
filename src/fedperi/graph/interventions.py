"""Mutilated graphs: what a structural intervention leaves of a DAG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ..errors import InputError
from .equivalence import parents_of
from .pdag import PDAG


def mutilate(dag: PDAG, targets: str | Iterable[str] | Mapping[str, Iterable[str] | None]) -> PDAG:
    """Remove all or some of the edges into the targets of a structural intervention.

    Definition "General intervention and mutilated graph" of the paper.

    Parameters
    ----------
    dag : PDAG
        The graph before the intervention.
    targets : str, iterable of str, or mapping
        Targets that lose all their incoming edges; or a mapping from each target to the parents it loses (None for
        all of them).

    Returns
    -------
    PDAG
        The DAG of the intervened site.

    Examples
    --------
    >>> import fedperi as fp
    >>> triangle = fp.PDAG.from_edges(directed=[("A", "B"), ("A", "C"), ("B", "C")])
    >>> fp.mutilate(triangle, "B")
    PDAG('A -> C, B -> C', names=['A', 'B', 'C'])
    >>> fp.mutilate(triangle, {"C": ["A"]})
    PDAG('A -> B, B -> C', names=['A', 'B', 'C'])
    """
    parents_of(dag)
    matrix = np.array(dag.adjacency)
    lost: Mapping[str, Iterable[str] | None]
    if isinstance(targets, Mapping):
        lost = targets
    else:
        lost = dict.fromkeys([targets] if isinstance(targets, str) else targets)
    for target, tails in lost.items():
        head = dag.index(target)
        if tails is None:
            matrix[:, head] = False
            continue
        for tail in [tails] if isinstance(tails, str) else tails:
            if not dag.adjacency[dag.index(tail), head]:
                raise InputError(f"the intervention on {target!r} removes {tail} -> {target}, which is not in the DAG")
            matrix[dag.index(tail), head] = False
    return PDAG._known_acyclic(matrix, dag.names)
