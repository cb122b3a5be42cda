"""The value type of the package: a partially directed acyclic graph over named variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from . import bits
from .interop import Interop
from .order import find_cycle, topological_order
from .validate import Pair, checked_matrix, checked_names, checked_pair, position


class PDAG(Interop):
    """A graph with directed and undirected edges, no directed cycle, and names. Immutable and hashable.

    DAGs, CPDAGs, Phi-CPDAGs and their closures are all PDAGs. Two PDAGs are equal when they have the same variables
    and the same edges, whatever the order in which the variables are listed.

    Parameters
    ----------
    adjacency : array_like of bool or of 0 and 1, shape (p, p)
        Entry ``[i, j]`` says that an edge leaves i towards j. ``i -> j`` sets one entry, ``i -- j`` sets both.
    names : sequence of str, optional
        The variables, in the order of the rows. ``X0``, ``X1``, ... if not given.

    Examples
    --------
    >>> import fedperi as fp
    >>> g = fp.PDAG([[0, 1, 0], [0, 0, 1], [0, 1, 0]], ["A", "B", "C"])
    >>> g
    PDAG('A -> B, B -- C', names=['A', 'B', 'C'])
    >>> g.adjacency.astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 1, 0]]
    >>> g == fp.PDAG.from_edges(directed=[("A", "B")], undirected=[("C", "B")])
    True
    """

    __slots__ = ("_adjacency", "_hash", "_names", "_positions")
    _adjacency: NDArray[np.bool_]
    _names: tuple[str, ...]
    _positions: dict[str, int]
    _hash: int | None

    def __init__(self, adjacency: ArrayLike, names: Iterable[str] | None = None) -> None:
        matrix = checked_matrix(adjacency)
        labels = checked_names(names, len(matrix))
        self._fill(matrix, labels)
        parents = bits.columns(self._adjacency & ~self._adjacency.T)
        if topological_order(parents) is None:
            cycle = find_cycle(parents)
            path = " -> ".join(labels[i] for i in [*cycle, cycle[0]])
            raise InputError(f"the directed edges form a cycle: {path}; a causal graph must have none")

    def _fill(self, matrix: NDArray[np.bool_], names: tuple[str, ...]) -> None:
        # An array over an immutable buffer: unlike a flag, this cannot be switched back to writeable.
        frozen = np.frombuffer(np.ascontiguousarray(matrix).tobytes(), dtype=np.bool_).reshape(matrix.shape)
        object.__setattr__(self, "_adjacency", frozen)
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_positions", {name: i for i, name in enumerate(names)})
        object.__setattr__(self, "_hash", None)

    @classmethod
    def _known_acyclic(cls, matrix: NDArray[np.bool_], names: tuple[str, ...]) -> PDAG:
        """Skip the checks, for results of our own algorithms that cannot violate them."""
        graph = cls.__new__(cls)
        graph._fill(matrix, names)
        return graph

    @classmethod
    def from_edges(
        cls,
        directed: Iterable[Pair] = (),
        undirected: Iterable[Pair] = (),
        names: Iterable[str] | None = None,
    ) -> PDAG:
        """Build a graph from pairs of names.

        Parameters
        ----------
        directed : iterable of (tail, head)
            Arrows.
        undirected : iterable of (name, name)
            Edges without a direction.
        names : iterable of str, optional
            All variables, isolated ones included. If not given, the names in order of appearance.

        Examples
        --------
        >>> import fedperi as fp
        >>> g = fp.PDAG.from_edges(directed=[("A", "B")], names=["A", "B", "C"])
        >>> sorted(g.directed), sorted(g.undirected), g.names
        ([('A', 'B')], [], ('A', 'B', 'C'))
        """
        arrows, lines = [checked_pair(e) for e in directed], [checked_pair(e) for e in undirected]
        labels = checked_names(names if names is not None else dict.fromkeys(n for e in arrows + lines for n in e))
        position = {name: i for i, name in enumerate(labels)}
        matrix = np.zeros((len(labels), len(labels)), dtype=bool)
        for kind, pairs in (("->", arrows), ("--", lines)):
            for a, b in pairs:
                for name in (a, b):
                    if name not in position:
                        known = ", ".join(labels) or "none"
                        raise InputError(f"edge {a} {kind} {b} uses unknown variable {name!r}; known: {known}")
                i, j = position[a], position[b]
                if i == j:
                    raise InputError(f"edge {a} {kind} {b} joins a variable with itself")
                if matrix[j, i] and kind == "->":
                    raise InputError(
                        f"edges {b} -> {a} and {a} -> {b} are both given: list the pair once, or as undirected"
                    )
                if kind == "--" and matrix[i, j] != matrix[j, i]:
                    raise InputError(f"{a} and {b} are given both a directed and an undirected edge: keep one")
                matrix[i, j] = True
                matrix[j, i] = kind == "--"
        return cls(matrix, labels)

    # -- contents -----------------------------------------------------------------------------------------------

    @property
    def adjacency(self) -> NDArray[np.bool_]:
        """Read-only boolean matrix: ``[i, j]`` means an edge leaves i towards j, both entries an undirected edge."""
        return self._adjacency

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order of the rows of `adjacency`."""
        return self._names

    @property
    def directed(self) -> frozenset[Pair]:
        """The arrows, as (tail, head) pairs of names."""
        tails, heads = np.nonzero(self._adjacency & ~self._adjacency.T)
        return frozenset((self._names[i], self._names[j]) for i, j in zip(tails, heads, strict=True))

    @property
    def undirected(self) -> frozenset[Pair]:
        """The edges without a direction, each once, the two names in the order of `names`."""
        first, second = np.nonzero(np.triu(self._adjacency & self._adjacency.T))
        return frozenset((self._names[i], self._names[j]) for i, j in zip(first, second, strict=True))

    @property
    def is_dag(self) -> bool:
        """Whether every edge is directed."""
        return not bool((self._adjacency & self._adjacency.T).any())

    @property
    def skeleton(self) -> PDAG:
        """The same edges, all undirected."""
        return PDAG._known_acyclic(self._adjacency | self._adjacency.T, self._names)

    def __len__(self) -> int:
        """Count the edges."""
        return int(np.triu(self._adjacency | self._adjacency.T).sum())

    def index(self, name: str) -> int:
        """Position of a variable in `names`; an unknown name is an error that lists the known ones."""
        return position(self._positions, name)

    def parents(self, name: str) -> tuple[str, ...]:
        """Variables with an arrow into this one."""
        i = self.index(name)
        return self._select(self._adjacency[:, i] & ~self._adjacency[i, :])

    def children(self, name: str) -> tuple[str, ...]:
        """Variables that this one has an arrow into."""
        i = self.index(name)
        return self._select(self._adjacency[i, :] & ~self._adjacency[:, i])

    def neighbors(self, name: str) -> tuple[str, ...]:
        """Variables joined to this one by an undirected edge."""
        i = self.index(name)
        return self._select(self._adjacency[i, :] & self._adjacency[:, i])

    def adjacent(self, name: str) -> tuple[str, ...]:
        """Variables joined to this one by any edge."""
        i = self.index(name)
        return self._select(self._adjacency[i, :] | self._adjacency[:, i])

    def _select(self, row: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(self._names[j] for j in np.flatnonzero(row))

    # -- the same graph in another form -------------------------------------------------------------------------

    def reordered(self, names: Sequence[str]) -> PDAG:
        """List the same variables in another order; an equal graph.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_edges([("A", "B")]).reordered(["B", "A"]).names
        ('B', 'A')
        """
        if tuple(names) == self._names:
            return self
        same_variables(self, names)
        at = [self._positions[name] for name in names]
        return PDAG._known_acyclic(self._adjacency[np.ix_(at, at)], tuple(names))

    def renamed(self, names: Mapping[str, str]) -> PDAG:
        """Give variables new names; those not mentioned keep theirs.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PDAG.from_edges([("A", "B")]).renamed({"A": "age"})
        PDAG('age -> B', names=['age', 'B'])
        """
        for old in names:
            self.index(old)
        labels = checked_names([names.get(n, n) for n in self._names], len(self._names))
        return PDAG._known_acyclic(self._adjacency, labels)

    # -- value semantics ----------------------------------------------------------------------------------------

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a PDAG is immutable: cannot set {attribute!r}")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"a PDAG is immutable: cannot delete {attribute!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return PDAG, (np.array(self._adjacency), self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PDAG):
            return NotImplemented
        if self._names == other._names:
            return bool(np.array_equal(self._adjacency, other._adjacency))
        if self._positions.keys() != other._positions.keys():
            return False
        return bool(np.array_equal(self._adjacency, other.reordered(self._names)._adjacency))

    def __hash__(self) -> int:
        if self._hash is None:
            lines = frozenset(frozenset(pair) for pair in self.undirected)
            key: Hashable = (frozenset(self._names), self.directed, lines)
            object.__setattr__(self, "_hash", hash(key))
        assert self._hash is not None
        return self._hash

    def __repr__(self) -> str:
        edges = [f"{a} -> {b}" for a, b in sorted(self.directed, key=self._rank)]
        edges += [f"{a} -- {b}" for a, b in sorted(self.undirected, key=self._rank)]
        return f"PDAG({', '.join(edges)!r}, names={list(self._names)!r})"

    def _rank(self, pair: Pair) -> tuple[int, int]:
        return self._positions[pair[0]], self._positions[pair[1]]


def same_variables(graph: PDAG, names: Iterable[str]) -> None:
    """Raise unless the graph is over exactly these variables; the error lists the difference."""
    given = list(names)
    missing = [n for n in graph.names if n not in given]
    extra = [n for n in given if n not in graph.names]
    if missing or extra or len(given) != len(graph.names):
        parts = [f"only in the first: {', '.join(missing)}"] if missing else []
        parts += [f"only in the second: {', '.join(map(str, extra))}"] if extra else []
        parts = parts or ["a variable is listed twice"]
        raise InputError(f"the graphs are over different variables ({'; '.join(parts)})")


def aligned(first: PDAG, second: PDAG) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the adjacency matrices of two graphs over the same variables, both in the first one's order."""
    same_variables(first, second.names)
    return first.adjacency, second.reordered(first.names).adjacency
