"""A graph for hidden causes: partial ancestral graphs, as immutable values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from .. import bits
from ..order import topological_order
from ..validate import Pair, checked_names, position, refuse_loops, square

Marks = NDArray[np.int8]
Triple = tuple[str, str, str]

NONE: Final = 0
CIRCLE: Final = 1
ARROW: Final = 2
TAIL: Final = 3

LEFT = {TAIL: "-", ARROW: "<", CIRCLE: "o"}
RIGHT = {TAIL: "-", ARROW: ">", CIRCLE: "o"}
SYMBOLS = {f"{LEFT[a]}-{RIGHT[b]}": (a, b) for a in LEFT for b in RIGHT}
"""Edges as Tetrad writes them, such as ``o->``, with the marks at the left and at the right end."""


class PAG:
    """A partial ancestral graph: what can be known about causes when some of them are hidden. Immutable and hashable.

    An edge has a mark at each end. An arrowhead at b says that b is no cause of the other end. A tail says that it is
    one (or of the selection of rows). A circle says that both are possible. So ``a --> b``: a causes b, perhaps through
    others; ``a <-> b``: neither causes the other, they have a hidden common cause; ``a o-> b``: one of the two;
    ``a o-o b``: anything.

    Two PAGs are equal when they have the same variables and the same edges, whatever the order of the variables.

    Parameters
    ----------
    marks : array_like of int, shape (p, p)
        Entry ``[i, j]`` is the mark at j of the edge between i and j: 0 if there is no edge, 1 for a circle, 2 for an
        arrowhead, 3 for a tail.
    names : sequence of str, optional
        The variables, in the order of the rows. ``X0``, ``X1``, ... if not given.

    Examples
    --------
    >>> import fedperi as fp
    >>> g = fp.PAG.from_edges([("A", "o->", "B"), ("B", "<->", "C")])
    >>> g
    PAG('A o-> B, B <-> C', names=['A', 'B', 'C'])
    >>> g.marks.tolist()
    [[0, 2, 0], [1, 0, 2], [0, 2, 0]]
    >>> g == fp.PAG.from_edges([("C", "<->", "B"), ("B", "<-o", "A")])
    True
    """

    __slots__ = ("_marks", "_names", "_positions")
    _marks: Marks
    _names: tuple[str, ...]
    _positions: dict[str, int]

    def __init__(self, marks: ArrayLike, names: Iterable[str] | None = None) -> None:
        matrix = _checked_marks(marks)
        labels = checked_names(names, len(matrix))
        frozen = np.frombuffer(np.ascontiguousarray(matrix).tobytes(), dtype=np.int8).reshape(matrix.shape)
        object.__setattr__(self, "_marks", frozen)
        object.__setattr__(self, "_names", labels)
        object.__setattr__(self, "_positions", {name: i for i, name in enumerate(labels)})

    @classmethod
    def from_edges(cls, edges: Iterable[Triple], names: Iterable[str] | None = None) -> PAG:
        """Build a graph from triples such as ``("age", "o->", "dose")``.

        Parameters
        ----------
        edges : iterable of (name, symbol, name)
            Symbols are two marks with a dash between them; the marks are ``-``, ``<`` or ``>``, and ``o``.
        names : iterable of str, optional
            All variables. If not given, the names in order of appearance.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PAG.from_edges([("A", "-->", "B")], names=["B", "A"]).names
        ('B', 'A')
        """
        triples = [_checked_triple(edge) for edge in edges]
        seen = dict.fromkeys(name for a, _, b in triples for name in (a, b))
        labels = checked_names(names if names is not None else seen)
        position = {name: i for i, name in enumerate(labels)}
        marks = np.zeros((len(labels), len(labels)), dtype=np.int8)
        for a, symbol, b in triples:
            for name in (a, b):
                if name not in position:
                    known = ", ".join(labels)
                    raise InputError(f"edge {a} {symbol} {b} uses unknown variable {name!r}; known: {known}")
            i, j = position[a], position[b]
            if i == j:
                raise InputError(f"edge {a} {symbol} {b} joins a variable with itself")
            if marks[i, j]:
                raise InputError(f"there are two edges between {a} and {b}: keep one")
            marks[j, i], marks[i, j] = SYMBOLS[symbol]
        return cls(marks, labels)

    # -- contents -----------------------------------------------------------------------------------------------

    @property
    def marks(self) -> Marks:
        """Read-only matrix: ``[i, j]`` is the mark at j of the edge between i and j; 0 if there is none."""
        return self._marks

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order of the rows of `marks`."""
        return self._names

    @property
    def edges(self) -> tuple[Triple, ...]:
        """The edges as triples such as ``("A", "o->", "B")``, in the order of the variables.

        Where one end has an arrowhead and the other has not, the arrow points to the right.
        """
        out = []
        for i, j in zip(*np.nonzero(np.triu(self._marks)), strict=True):
            a, b = (j, i) if self._marks[j, i] == ARROW != self._marks[i, j] else (i, j)
            symbol = f"{LEFT[int(self._marks[b, a])]}-{RIGHT[int(self._marks[a, b])]}"
            out.append((self._names[a], symbol, self._names[b]))
        return tuple(out)

    @property
    def directed(self) -> frozenset[Pair]:
        """The pairs ``a --> b``, as (cause, effect)."""
        tails, heads = np.nonzero((self._marks == ARROW) & (self._marks.T == TAIL))
        return frozenset((self._names[i], self._names[j]) for i, j in zip(tails, heads, strict=True))

    @property
    def bidirected(self) -> frozenset[Pair]:
        """The pairs ``a <-> b``, which have a hidden common cause; each once, in the order of `names`."""
        first, second = np.nonzero(np.triu((self._marks == ARROW) & (self._marks.T == ARROW)))
        return frozenset((self._names[i], self._names[j]) for i, j in zip(first, second, strict=True))

    @property
    def is_ancestral(self) -> bool:
        """Whether its arrows are free of contradictions.

        No variable may cause itself, or cause one from which it has an arrowhead. On finite tables, tests may
        contradict each other so that this fails.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PAG.from_edges([("A", "-->", "B"), ("B", "-->", "C"), ("A", "<->", "C")]).is_ancestral
        False
        """
        causes = (self._marks == ARROW) & (self._marks.T == TAIL)
        if topological_order(bits.columns(causes)) is None:
            return False
        reach = causes
        for _ in range(len(causes).bit_length()):
            step = reach.astype(np.float32)
            reach = reach | (step @ step > 0)
        return not bool((reach & (self._marks.T == ARROW)).any())

    def __len__(self) -> int:
        """Count the edges."""
        return int(np.count_nonzero(np.triu(self._marks)))

    def index(self, name: str) -> int:
        """Position of a variable in `names`; an unknown name is an error that lists the known ones."""
        return position(self._positions, name)

    def edge(self, a: str, b: str) -> str:
        """The edge between two variables, such as ``o->``; empty if there is none.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PAG.from_edges([("A", "o->", "B")]).edge("B", "A")
        '<-o'
        """
        i, j = self.index(a), self.index(b)
        if not self._marks[i, j]:
            return ""
        return f"{LEFT[int(self._marks[j, i])]}-{RIGHT[int(self._marks[i, j])]}"

    def reordered(self, names: Sequence[str]) -> PAG:
        """List the same variables in another order, or some of them: the part of the graph between these."""
        at = [self.index(name) for name in names]
        return PAG(self._marks[np.ix_(at, at)], names)

    # -- for other tools ----------------------------------------------------------------------------------------

    def to_causallearn(self) -> NDArray[np.int_]:
        """Return the matrix of causal-learn's ``GeneralGraph.graph``; see `fedperi.graph.formats.pag`."""
        from ..formats.pag import to_causallearn

        return to_causallearn(self)

    def to_tetrad(self) -> str:
        """Write the text that Tetrad saves and loads; see `fedperi.graph.formats.pag`."""
        from ..formats.pag import to_tetrad

        return to_tetrad(self)

    @classmethod
    def from_tetrad(cls, text: str) -> PAG:
        """Read a graph as Tetrad saves it.

        Examples
        --------
        >>> import fedperi as fp
        >>> fp.PAG.from_tetrad(fp.PAG.from_edges([("A", "o->", "B")]).to_tetrad())
        PAG('A o-> B', names=['A', 'B'])
        """
        from ..formats.pag import from_tetrad

        return from_tetrad(text)

    def to_dot(self) -> str:
        """Write the graph for Graphviz; see `fedperi.graph.formats.pag`."""
        from ..formats.pag import to_dot

        return to_dot(self)

    # -- value semantics ----------------------------------------------------------------------------------------

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a PAG is immutable: cannot set {attribute!r}")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"a PAG is immutable: cannot delete {attribute!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return PAG, (np.array(self._marks), self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PAG):
            return NotImplemented
        if self._positions.keys() != other._positions.keys():
            return False
        return bool(np.array_equal(self._marks, other.reordered(self._names)._marks))

    def __hash__(self) -> int:
        ends = frozenset(
            (self._names[i], self._names[j], int(self._marks[i, j])) for i, j in np.argwhere(self._marks).tolist()
        )
        return hash((frozenset(self._names), ends))

    def __repr__(self) -> str:
        return f"PAG({', '.join(' '.join(edge) for edge in self.edges)!r}, names={list(self._names)!r})"


def _checked_marks(marks: ArrayLike) -> Marks:
    """Return a square matrix of marks; an edge has one at both ends."""
    raw = square(marks, "marks", "are")
    if raw.size and raw.dtype.kind not in "iu":
        raise InputError(f"marks must be whole numbers from 0 to 3, not {raw.dtype} values")
    odd = np.argwhere((raw < 0) | (raw > 3))
    if len(odd):
        i, j = odd[0]
        raise InputError(f"marks[{i}, {j}] is {raw[i, j]}; it must be 0 (none), 1 (circle), 2 (arrowhead) or 3 (tail)")
    refuse_loops(raw, "marks")
    half = np.argwhere((raw == 0) != (raw.T == 0))
    if len(half):
        i, j = half[0]
        raise InputError(f"the edge between {i} and {j} has a mark at one end only: give both, or none")
    return raw.astype(np.int8)


def _checked_triple(edge: Any) -> Triple:
    if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 3:
        raise InputError(f"an edge of a PAG is a triple such as ('A', 'o->', 'B'), not {edge!r}")
    a, symbol, b = edge
    if symbol not in SYMBOLS:
        raise InputError(f"{symbol!r} is not an edge of a PAG; known: {', '.join(SYMBOLS)}")
    for name in (a, b):
        if not isinstance(name, str):
            raise InputError(f"an edge joins two names; {edge!r} holds {name!r}, which is not a string")
    return a, symbol, b
