"""Maximal ancestral graphs, by definition: what a DAG with hidden variables looks like, and all its equivalents.

Tests compare FCI with it. It tries all marks, and is for small graphs only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .. import bits
from ..equivalence import parents_of
from ..order import descendants
from ..pdag import PDAG
from ..separation import reachable
from .pag import ARROW, CIRCLE, PAG, TAIL, Marks

Model = dict[tuple[int, int], int]
"""For a node and a bit set of given nodes, the bit set of the nodes that it then depends on."""

TYPES = ((TAIL, ARROW), (ARROW, TAIL), (ARROW, ARROW), (TAIL, TAIL))
"""Marks of an edge of a MAG at its two ends. The last is there only if rows are selected."""


def mag(dag: PDAG, hidden: Iterable[str] = (), selected: Iterable[str] = ()) -> PAG:
    """Find the maximal ancestral graph (MAG) of a DAG over the variables that are neither hidden nor selected on.

    Two variables are adjacent if no set of observed variables separates them. A tail at a variable says that it causes
    the other one or the selection.

    Examples
    --------
    >>> import fedperi as fp
    >>> mag(fp.PDAG.from_edges([("H", "A"), ("H", "B"), ("B", "C")]), hidden=["H"])
    PAG('A <-> B, B --> C', names=['A', 'B', 'C'])
    """
    parents, children = parents_of(dag), bits.rows(dag.adjacency)
    always = sum(1 << dag.index(name) for name in selected)
    unseen = always | sum(1 << dag.index(name) for name in hidden)
    seen = [i for i in range(len(dag.names)) if not unseen >> i & 1]
    above = [descendants(list(parents), 1 << i | always) for i in range(len(dag.names))]  # itself and its ancestors
    marks = np.zeros((len(seen), len(seen)), dtype=np.int8)
    for i, x in enumerate(seen):
        for j, y in enumerate(seen):
            given = (above[x] | above[y]) & ~unseen & ~(1 << x | 1 << y)
            if i != j and reachable(parents, children, 1 << x, given | always) >> y & 1:
                marks[i, j] = TAIL if above[x] >> y & 1 else ARROW
    return PAG(marks, [dag.names[i] for i in seen])


def equivalents(graph: PAG, selection: bool = False, fixed: Marks | None = None) -> Iterator[Marks]:
    """Yield the marks of all MAGs that imply the same independences.

    Parameters
    ----------
    graph : PAG
        A MAG, such as `mag` returns.
    selection : bool
        Whether to look also at MAGs of selected rows.
    fixed : ndarray, optional
        Only MAGs that have these marks, where they are not 0.

    Examples
    --------
    >>> import fedperi as fp
    >>> len(list(equivalents(fp.PAG.from_edges([("A", "-->", "B")]))))         # -->, <--, <->
    3
    """
    model = _model(graph.marks)
    for marks in _same_unshielded_colliders(graph.marks, selection, fixed):
        if PAG(marks).is_ancestral and _tails_fit(marks) and _model(marks, model) == model:
            yield marks


def pag_by_definition(graph: PAG, selection: bool = False) -> PAG:
    """Find the PAG of a MAG: the marks that all its equivalents share, and circles elsewhere.

    Examples
    --------
    >>> import fedperi as fp
    >>> pag_by_definition(mag(fp.PDAG.from_edges([("A", "B"), ("C", "B")])))
    PAG('A o-> B, C o-> B', names=['A', 'B', 'C'])
    """
    common = np.array(graph.marks)
    for marks in equivalents(graph, selection):
        common[common != marks] = CIRCLE
    return PAG(common, graph.names)


def _tails_fit(marks: Marks) -> bool:
    """Whether no end of an edge with two tails has an arrowhead: both ends are causes of the selection."""
    undirected = (marks == TAIL) & (marks.T == TAIL)
    return not bool((undirected.any(axis=0) & (marks == ARROW).any(axis=0)).any())


def _same_unshielded_colliders(truth: Marks, selection: bool, fixed: Marks | None) -> Iterator[Marks]:
    """Yield the ways to mark the same edges with the same unshielded colliders."""
    edges = np.argwhere(np.triu(truth)).tolist()
    p = len(truth)
    triples = [
        (a, b, c)
        for b in range(p)
        for a in range(p)
        for c in range(a)
        if truth[a, b] and truth[c, b] and not truth[a, c]
    ]
    place = {frozenset(edge): k for k, edge in enumerate(edges)}
    ripe: list[list[tuple[int, int, int]]] = [[] for _ in edges]
    for a, b, c in triples:
        ripe[max(place[frozenset((a, b))], place[frozenset((b, c))])].append((a, b, c))
    wanted = {(a, b, c): truth[a, b] == truth[c, b] == ARROW for a, b, c in triples}
    types = TYPES if selection else TYPES[:3]
    held = np.zeros_like(truth) if fixed is None else fixed

    def extend(marks: Marks, k: int) -> Iterator[Marks]:
        if k == len(edges):
            yield marks.copy()
            return
        i, j = edges[k]
        for marks[j, i], marks[i, j] in types:
            if held[j, i] not in (0, marks[j, i]) or held[i, j] not in (0, marks[i, j]):
                continue
            if all((marks[a, b] == marks[c, b] == ARROW) == wanted[a, b, c] for a, b, c in ripe[k]):
                yield from extend(marks, k + 1)

    yield from extend(np.zeros_like(truth), 0)


def _model(marks: Marks, until: Model | None = None) -> Model:
    """All dependences in a MAG, by d-separation in a DAG with a hidden cause per ``<->`` and a selection per ``---``.

    With another model to compare with, stop where the two differ.
    """
    p = len(marks)
    parents = [sum(1 << a for a in range(p) if marks[a, b] == ARROW and marks[b, a] == TAIL) for b in range(p)]
    always = 0
    for i, j in np.argwhere(np.triu(marks)).tolist():
        if marks[i, j] == marks[j, i] == ARROW:
            for end in (i, j):
                parents[end] |= 1 << len(parents)
            parents.append(0)
        elif marks[i, j] == marks[j, i] == TAIL:
            always |= 1 << len(parents)
            parents.append(1 << i | 1 << j)
    children = bits.transpose(parents)
    everyone = (1 << p) - 1
    out: Model = {}
    for x in range(p):
        for given in bits.subsets(everyone & ~(1 << x)):
            reached = reachable(parents, children, 1 << x, given | always) & everyone & ~(1 << x)
            out[x, given] = reached
            if until is not None and until[x, given] != reached:
                return out
    return out
