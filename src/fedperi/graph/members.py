"""The members of an equivalence class: all of them, or how many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import factorial, prod

import numpy as np

from . import bits
from .equivalence import consistent_extension
from .meek import close, meek_closure
from .pdag import PDAG


def members(graph: PDAG) -> Iterator[PDAG]:
    """Yield every DAG with the adjacencies, arrows and v-structures of a graph, each once, in a fixed order.

    For a CPDAG these are the members of its Markov equivalence class.

    Parameters
    ----------
    graph : PDAG
        A CPDAG, a Phi-CPDAG, or any PDAG with a consistent extension.

    Examples
    --------
    >>> import fedperi as fp
    >>> len(list(fp.members(fp.PDAG.from_edges(undirected=[("A", "B"), ("B", "C")]))))
    3
    """
    consistent_extension(graph)  # raises if there is no member
    closed = meek_closure(graph).adjacency
    directed = closed & ~closed.T
    for parents in _orientations(bits.columns(directed), bits.rows(directed), bits.rows(closed & closed.T)):
        yield PDAG._known_acyclic(bits.matrix(parents).T, graph.names)


def _orientations(parents: list[int], children: list[int], lines: list[int]) -> Iterator[list[int]]:
    """Branch on one undirected edge and close; in a closed graph either direction has a member (Meek, theorem 4)."""
    a = next((i for i, line in enumerate(lines) if line), None)
    if a is None:
        yield parents
        return
    b = next(bits.members(lines[a]))
    for tail, head in ((a, b), (b, a)):
        into, out, open_ = list(parents), list(children), list(lines)
        open_[tail] ^= 1 << head
        open_[head] ^= 1 << tail
        out[tail] |= 1 << head
        into[head] |= 1 << tail
        for _ in close(into, out, open_):
            pass
        yield from _orientations(into, out, open_)


def count_members(graph: PDAG) -> int:
    """Count the DAGs that `members` yields, without listing them where the structure allows.

    Undirected components are independent of each other once the graph is closed, so their counts multiply. A
    component with no directed edge inside is counted by choosing its root (He, Jia and Yu, 2015); the others, which
    only background knowledge or a Phi-CPDAG produce, are listed.

    Examples
    --------
    >>> import fedperi as fp
    >>> names = [f"X{i}" for i in range(20)]
    >>> clique = fp.PDAG.from_edges(undirected=[(a, b) for a in names for b in names if a < b])
    >>> fp.count_members(clique)
    2432902008176640000
    """
    consistent_extension(graph)
    closed = meek_closure(graph).adjacency
    lines = bits.rows(closed & closed.T)
    total = 1
    for part in components(lines, (1 << len(lines)) - 1):
        inside = list(bits.members(part))
        within = closed[np.ix_(inside, inside)]
        if (within == within.T).all():
            total *= _count_undirected(tuple(bits.rows(within)))
        else:
            directed = within & ~within.T
            listed = _orientations(bits.columns(directed), bits.rows(directed), bits.rows(within & within.T))
            total *= sum(1 for _ in listed)
    return total


def components(lines: list[int] | tuple[int, ...], nodes: int) -> Iterator[int]:
    """Yield the connected components, as bit sets, of an undirected graph restricted to some nodes."""
    while nodes:
        part = front = nodes & -nodes
        while front:
            front = bits.union(lines, front) & nodes & ~part
            part |= front
        yield part
        nodes &= ~part


@cache
def _count_undirected(lines: tuple[int, ...]) -> int:
    """Count acyclic orientations without v-structures of a connected chordal graph: choose a root, orient, multiply."""
    p = len(lines)
    edges = sum(line.bit_count() for line in lines) // 2
    if edges == p - 1:
        return p  # a tree: the root decides everything
    if edges == p * (p - 1) // 2:
        return factorial(p)  # a clique: any order
    return sum(_count_rooted(lines, root) for root in range(p))


def _count_rooted(lines: tuple[int, ...], root: int) -> int:
    parents, children, left = [0] * len(lines), [0] * len(lines), list(lines)
    for b in bits.members(lines[root]):
        left[root] ^= 1 << b
        left[b] ^= 1 << root
        children[root] |= 1 << b
        parents[b] |= 1 << root
    for _ in close(parents, children, left):
        pass
    counts = []
    for part in components(left, (1 << len(lines)) - 1):
        inside = list(bits.members(part))
        at = {node: i for i, node in enumerate(inside)}
        counts.append(_count_undirected(tuple(sum(1 << at[b] for b in bits.members(left[a])) for a in inside)))
    return prod(counts)
