"""The matrix of end marks that causal-learn keeps in ``cg.G.graph``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..validate import checked_names
from .build import checked_name_list

if TYPE_CHECKING:
    from ..pdag import PDAG

# graph[i, j] is the mark at i of the edge between i and j.
_TAIL, _ARROW, _CIRCLE = -1, 1, 2


def to_causallearn(graph: PDAG) -> NDArray[np.int_]:
    """Return the matrix of end marks, as in causal-learn's ``GeneralGraph.graph``.

    Returns
    -------
    ndarray of int, shape (p, p)
        ``i -> j`` is ``[j, i] = 1`` and ``[i, j] = -1``; ``i -- j`` is -1 in both. Rows are in the order of `names`.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_causallearn
    >>> to_causallearn(fp.PDAG.from_edges([("A", "B")], [("B", "C")])).tolist()
    [[0, -1, 0], [1, 0, -1], [0, -1, 0]]
    """
    leaves = graph.adjacency
    return np.where(leaves, _TAIL, np.where(leaves.T, _ARROW, 0)).astype(np.int_)


def from_causallearn(graph: Any, names: Iterable[str] | None = None) -> PDAG:
    """Read a matrix of end marks, or a causal-learn graph.

    Parameters
    ----------
    graph : array_like of shape (p, p), or causal-learn GeneralGraph or CausalGraph
        For example ``pc(data).G.graph``, ``pc(data).G`` or ``ges(data)["G"]``.
    names : iterable of str, optional
        The variables in the order of the rows. If not given, the names of the nodes of a causal-learn graph, and
        ``X0``, ``X1``, ... for a matrix.

    Examples
    --------
    >>> from fedperi.graph.formats import from_causallearn
    >>> from_causallearn([[0, -1, 0], [1, 0, -1], [0, -1, 0]], names=["A", "B", "C"])
    PDAG('A -> B, B -- C', names=['A', 'B', 'C'])
    """
    # Known by a method, not by an attribute: a table may well have a column named G or graph.
    matrix, labels = matrix_and_names(graph.G if hasattr(getattr(graph, "G", None), "get_nodes") else graph, names)
    try:
        marks = _checked_marks(matrix)
        variables = checked_names(labels, len(marks))
        _check_pairs(marks, variables)
        from ..pdag import PDAG

        # With the pairs checked, a tail at i is an edge that leaves i: the adjacency of a PDAG.
        return PDAG(marks == _TAIL, variables)
    except InputError as problem:
        raise InputError(f"causal-learn: {problem}") from None


def matrix_and_names(graph: Any, names: Iterable[str] | None) -> tuple[Any, list[Any] | None]:
    """Return the matrix of end marks of a causal-learn graph, or a matrix as it is; and the names, given or its own."""
    is_object = hasattr(graph, "get_nodes")
    if names is None and is_object:
        names = [node.get_name() for node in graph.get_nodes()]
    return graph.graph if is_object else graph, None if names is None else checked_name_list(names, "causal-learn")


def _checked_marks(matrix: Any) -> NDArray[np.int_]:
    """Return a square matrix of whole numbers."""
    try:
        raw = np.asarray(matrix)
    except ValueError:
        raise InputError("not a matrix: its rows have different lengths") from None
    if raw.size == 0:
        raw = np.zeros((0, 0), dtype=int)
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1] or raw.dtype.kind not in "iuf":
        shape = " x ".join(map(str, raw.shape)) or "a single object"
        raise InputError(f"expected a square matrix of end marks, got {shape} of {raw.dtype} values")
    known = np.isin(raw, (-1, 0, 1, 2, 3, 4, 5))
    if not known.all():
        i, j = np.argwhere(~known)[0]
        raise InputError(f"entry [{i}, {j}] is {raw[i, j]}; the end marks of a PDAG are -1, 0 and 1")
    return raw.astype(np.int_)


def _check_pairs(marks: NDArray[np.int_], names: tuple[str, ...]) -> None:
    """Refuse every pair that is not an arrow, an undirected edge or no edge; the error names the pair."""
    transposed = marks.T
    fine = (marks == 0) & (transposed == 0)
    fine |= (marks == _TAIL) & ((transposed == _TAIL) | (transposed == _ARROW))
    fine |= (marks == _ARROW) & (transposed == _TAIL)
    fine &= ~np.eye(len(marks), dtype=bool) | (marks == 0)
    if fine.all():
        return
    i, j = np.argwhere(~fine)[0]
    a, b, at_a, at_b = names[i], names[j], int(marks[i, j]), int(marks[j, i])
    if i == j:
        raise InputError(f"entry [{i}, {i}] is {at_a}: {a} has an edge to itself")
    if at_a == at_b == _ARROW:
        reason = "is bidirected (end marks 1 and 1), a hidden common cause; a PDAG has no such edge"
    elif _CIRCLE in (at_a, at_b):
        reason = f"has a circle (end marks {at_a} and {at_b}), as in the PAG of FCI; a PDAG has no such edge"
    else:
        reason = (
            f"has end marks {at_a} and {at_b}; an arrow is -1 and 1, an undirected edge -1 twice "
            "(for a matrix of 0 and 1 use PDAG(adjacency))"
        )
    raise InputError(f"the edge between {a} and {b} {reason}")
