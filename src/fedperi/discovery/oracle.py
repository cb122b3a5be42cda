"""An oracle of independence: d-separation in a DAG; variables may be hidden, or select the rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..graph.equivalence import parents_of
from ..graph.pdag import PDAG
from ..graph.separation import reachable

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class DSeparation:
    """The oracle: p-value 1 if the DAG separates two observed variables, 0 if not.

    Parameters
    ----------
    dag : PDAG
        A graph without undirected edges, hidden variables included.
    hidden : iterable of str
        Variables that no test can use.
    selected : iterable of str
        Variables that determine which rows are observed: every test conditions on them.

    Examples
    --------
    >>> import numpy as np, fedperi as fp
    >>> test = DSeparation(fp.PDAG.from_edges([("A", "C"), ("B", "C")]))
    >>> test.p_values(np.array([0]), np.array([2]), np.array([[1]])).tolist()  # names are A, C, B
    [0.0]
    >>> fork = fp.PDAG.from_edges([("L", "A"), ("L", "B")])
    >>> DSeparation(fork, hidden=["L"]).p_values(np.array([0]), np.array([1]), np.empty((1, 0), dtype=int)).tolist()
    [0.0]
    """

    def __init__(self, dag: PDAG, hidden: Iterable[str] = (), selected: Iterable[str] = ()) -> None:
        chosen = tuple(selected)
        unseen = {*hidden, *chosen}
        self._at = [i for i, name in enumerate(dag.names) if name not in unseen]
        self._names = tuple(dag.names[i] for i in self._at)
        self._always = sum(1 << dag.index(name) for name in chosen)
        self._parents, self._children = parents_of(dag), bits.rows(dag.adjacency)
        self._reached: dict[tuple[int, int], int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The observed variables."""
        return self._names

    @property
    def max_given(self) -> int:
        """The largest conditioning set: all other observed variables."""
        return max(0, len(self._names) - 2)

    def p_values(self, x: Indices, y: Indices, given: Indices) -> Floats:
        """Test x[i] against y[i] given the set given[i], for all i."""
        out = np.empty(len(x))
        for i, (a, b, nodes) in enumerate(zip(x.tolist(), y.tolist(), given.tolist(), strict=True)):
            reached = self._reach(self._at[a], sum(1 << self._at[node] for node in nodes) | self._always)
            out[i] = not reached >> self._at[b] & 1
        return out

    def _reach(self, x: int, given: int) -> int:
        # One search gives the answer for every y, and PC asks for many y with the same x and set.
        found = self._reached.get((x, given))
        if found is None:
            found = self._reached[x, given] = reachable(self._parents, self._children, 1 << x, given)
        return found
