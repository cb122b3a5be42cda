"""The oracle: d-separation in a DAG of which only some variables are seen, and rows may be selected."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.equivalence import parents_of
from ...graph.pdag import PDAG
from ...graph.separation import reachable

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class HiddenSeparation:
    """p-value 1 if the DAG separates two observed variables, 0 if not.

    Parameters
    ----------
    dag : PDAG
        A graph without undirected edges, hidden variables included.
    hidden : iterable of str
        Variables that no test can use.
    selected : iterable of str
        Variables that decide which rows are seen: every test is made given these.

    Examples
    --------
    >>> import numpy as np, fedperi as fp
    >>> dag = fp.PDAG.from_edges([("L", "A"), ("L", "B")])
    >>> HiddenSeparation(dag, ["L"]).p_values(np.array([0]), np.array([1]), np.empty((1, 0), dtype=int)).tolist()
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
            key = self._at[a], sum(1 << self._at[node] for node in nodes) | self._always
            if key not in self._reached:
                self._reached[key] = reachable(self._parents, self._children, 1 << key[0], key[1])
            out[i] = not self._reached[key] >> self._at[b] & 1
        return out
