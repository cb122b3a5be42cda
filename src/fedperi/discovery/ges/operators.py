"""The moves of greedy equivalence search on a CPDAG: Insert, Delete (Chickering, 2002), Turn (Hauser, Buehlmann, 2012).

A move is an edge x -> y and a set. Enumeration yields the moves that satisfy the local conditions of the propositions,
with the score queries for their gain. Conditions on paths concern the whole graph, so they are checked only for the
next move. Applying a move returns a new CPDAG and does not change the old one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...graph import bits
from ...graph.equivalence import complete, extend
from ...graph.members import components
from ...scores.score import Query


class Essential(NamedTuple):
    """A CPDAG as bit sets: parents by compelled arrows, children likewise, neighbours by lines, all adjacent nodes."""

    parents: tuple[int, ...]
    children: tuple[int, ...]
    lines: tuple[int, ...]
    adjacent: tuple[int, ...]

    def around(self, node: int) -> tuple[int, int, int]:
        """Return all edges of a node."""
        return self.parents[node], self.children[node], self.lines[node]


class Move(NamedTuple):
    """A candidate: an edge x -> y and a set, whose meaning depends on the kind."""

    kind: str
    x: int
    y: int
    subset: int


class Scored(NamedTuple):
    """A move and the change of the score: after it, `plus` are scored instead of `minus`."""

    move: Move
    plus: tuple[Query, ...]
    minus: tuple[Query, ...]


class Inserts(NamedTuple):
    """Moves Insert(x, y, T) with the same other parents of y: T is the clique without the neighbours of x."""

    y: int
    clique: int
    base: int
    tails: int


def essential(parents: list[int], lines: list[int]) -> Essential:
    """Bundle the bit sets of a CPDAG."""
    children = bits.transpose(parents)
    adjacent = tuple(i | o | u for i, o, u in zip(parents, children, lines, strict=True))
    return Essential(tuple(parents), tuple(children), tuple(lines), adjacent)


def inserts(g: Essential, y: int) -> Iterator[Inserts]:
    """Insert(x, y, T) for every x not adjacent to y (Chickering, theorem 15, first condition).

    NA_yx and T together must be a clique among the neighbours of y. Enumeration by cliques instead of by x groups the
    moves with the same other parents: all x that are adjacent to no neighbour of y outside the clique.
    """
    free = (1 << len(g.lines)) - 1 & ~g.adjacent[y] & ~(1 << y)
    for clique in cliques(g, g.lines[y]):
        tails = free & ~bits.union(g.adjacent, g.lines[y] & ~clique)
        if tails:
            yield Inserts(y, clique, clique | g.parents[y], tails)


def insert(g: Essential, some: Inserts, x: int) -> Move:
    """Return the move of one x."""
    return Move("insert", x, some.y, some.clique & ~g.adjacent[x])


def deletes(g: Essential, y: int) -> Iterator[Scored]:
    """Delete(x, y, H) for every x -- y or x -> y: NA_yx without H must be a clique (Chickering, theorem 17)."""
    for x in bits.members(g.lines[y] | g.parents[y]):
        shared = g.lines[y] & g.adjacent[x]
        for kept in cliques(g, shared):
            base = (kept | g.parents[y]) & ~(1 << x)
            yield Scored(Move("delete", x, y, shared & ~kept), ((y, base),), ((y, base | 1 << x),))


def turns(g: Essential, y: int) -> Iterator[Scored]:
    """Turn(x, y, C): direct y -> x or x -- y as x -> y (Hauser and Buehlmann, propositions 31 and 34)."""
    for x in bits.members(g.children[y]):  # y -> x is compelled
        shared = g.lines[y] & g.adjacent[x]
        for clique in cliques(g, g.lines[y]):
            if shared & ~clique:
                continue
            base = clique | g.parents[y]
            plus = ((y, base | 1 << x), (x, g.parents[x] & ~(1 << y)))
            yield Scored(Move("turn", x, y, clique), plus, ((y, base), (x, g.parents[x])))
    for x in bits.members(g.lines[y]):  # x -- y
        around = g.lines[y] & ~(1 << x)
        shared = around & g.adjacent[x]
        for subset in cliques(g, around):
            if not subset & ~shared or not _separates(g, subset, shared, around):
                continue
            base, other = subset | g.parents[y], subset & shared | g.parents[x]
            plus = ((y, base | 1 << x), (x, other))
            yield Scored(Move("turn", x, y, subset), plus, ((y, base), (x, other | 1 << y)))


def below(g: Essential) -> list[int]:
    """For every node, all nodes on semi-directed paths that leave it by an arrow.

    Such a path never returns to the undirected component that it left, so components can be processed one after the
    other, each after all components below it.
    """
    out = [0] * len(g.lines)
    waiting = [(nodes, bits.union(g.children, nodes)) for nodes in components(g.lines, (1 << len(g.lines)) - 1)]
    settled = 0
    while waiting:
        later = []
        for nodes, children in waiting:
            if children & ~settled:
                later.append((nodes, children))
                continue
            for node in bits.members(nodes):
                out[node] = _closed(g, out, g.children[node])
            settled |= nodes
        waiting = later
    return out


def _closed(g: Essential, out: list[int], nodes: int) -> int:
    """Return some nodes, their undirected components, and all nodes below."""
    seen = front = nodes
    while front:
        front = bits.union(g.lines, front) & ~seen
        seen |= front
    return seen | bits.union(out, seen)


def path_condition(g: Essential, move: Move, under: list[int]) -> bool:
    """Whether the condition on semi-directed paths from y to x holds, so that the move makes no cycle.

    `under` is `below(g)`, which inserts need. Only neighbours of y block their paths, so blocking matters only until a
    path leaves the component of y.
    """
    if move.kind == "delete":
        return True
    x, y = move.x, move.y
    if move.kind == "insert":
        if under[y] >> x & 1 or not g.lines[y]:
            return not under[y] >> x & 1
        blocked = g.lines[y] & g.adjacent[x] | move.subset
        seen = front = 1 << y
        while front:
            front = bits.union(g.lines, front) & ~blocked & ~seen
            seen |= front
        return not (seen | bits.union(under, seen)) >> x & 1
    if g.lines[y] >> x & 1:
        return True  # turning a line: separation in the neighbourhood of y is enough (proposition 31)
    return not _reaches(g, y, x, blocked=move.subset | g.lines[x], skip=1 << x)


def apply(g: Essential, move: Move) -> Essential | None:
    """Make the move and complete the result; None if it has no consistent extension (the move was not valid)."""
    dag = {"insert": _insert, "delete": _delete, "turn": _turn}[move.kind](g, move)
    return None if dag is None else essential(*complete(dag))


def _insert(g: Essential, move: Move) -> list[int] | None:
    parents, lines = list(g.parents), list(g.lines)
    _direct(parents, lines, move.subset, move.y)
    parents[move.y] |= 1 << move.x
    return _extension(parents, lines)


def _delete(g: Essential, move: Move) -> list[int] | None:
    parents, lines = list(g.parents), list(g.lines)
    x, y = move.x, move.y
    parents[y] &= ~(1 << x)
    lines[y] &= ~(1 << x)
    lines[x] &= ~(1 << y)
    for h in bits.members(move.subset):
        _direct(parents, lines, 1 << y, h)
        if lines[x] >> h & 1:
            _direct(parents, lines, 1 << x, h)
    return _extension(parents, lines)


def _turn(g: Essential, move: Move) -> list[int] | None:
    """Take the member in which the subset is the set of y's parents among its neighbours; reverse y -> x there."""
    parents, lines = list(g.parents), list(g.lines)
    x, y = move.x, move.y
    _direct(parents, lines, move.subset, y)
    for z in bits.members(lines[y]):
        _direct(parents, lines, 1 << y, z)
    _direct(parents, lines, move.subset & lines[x], x)
    for z in bits.members(lines[x]):
        _direct(parents, lines, 1 << x, z)
    dag = _extension(parents, lines)
    if dag is None:
        return None
    dag[x] &= ~(1 << y)
    dag[y] |= 1 << x
    return dag


def _direct(parents: list[int], lines: list[int], tails: int, head: int) -> None:
    parents[head] |= tails
    lines[head] &= ~tails
    for tail in bits.members(tails):
        lines[tail] &= ~(1 << head)


def _extension(parents: list[int], lines: list[int]) -> list[int] | None:
    dag, stuck = extend(parents, lines)
    return None if stuck else dag


def cliques(g: Essential, candidates: int) -> Iterator[int]:
    """Yield the subsets of `candidates` that form a clique, the empty one first."""
    stack = [(0, candidates)]
    while stack:
        subset, allowed = stack.pop()
        yield subset
        rest = allowed
        for i in bits.members(allowed):
            rest &= ~(1 << i)  # each clique is built in ascending order, so only once
            stack.append((subset | 1 << i, rest & g.adjacent[i]))


def _reaches(g: Essential, start: int, goal: int, blocked: int, skip: int) -> bool:
    """Whether a semi-directed path leads from start to goal outside `blocked`, without `skip` as its first step."""
    seen = 1 << start
    front = (g.children[start] | g.lines[start]) & ~blocked & ~skip & ~seen
    while front:
        if front >> goal & 1:
            return True
        seen |= front
        front = (bits.union(g.children, front) | bits.union(g.lines, front)) & ~blocked & ~seen
    return False


def _separates(g: Essential, subset: int, shared: int, around: int) -> bool:
    """Whether the intersection of `subset` and `shared` separates their differences from each other, in `around`."""
    wall, goal = subset & shared, shared & ~subset
    front = seen = subset & ~shared
    while front:
        if front & goal:
            return False
        front = bits.union(g.adjacent, front) & around & ~wall & ~seen
        seen |= front
    return True
