"""The moves of greedy equivalence search on a CPDAG: Insert, Delete (Chickering, 2002), Turn (Hauser, Buehlmann, 2012).

A move names an edge x -> y and a set. Enumerating yields the moves that satisfy the local conditions of the
propositions, with the score queries that give their gain. Conditions on paths concern the whole graph, so they are
asked only of the move about to be made. Applying a move returns a new CPDAG and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..graph import bits
from ..graph.equivalence import complete, extend
from .score import Query


class Essential(NamedTuple):
    """A CPDAG as bit sets: parents by compelled arrows, children likewise, neighbours by lines, all adjacent nodes."""

    parents: tuple[int, ...]
    children: tuple[int, ...]
    lines: tuple[int, ...]
    adjacent: tuple[int, ...]


class Move(NamedTuple):
    """A candidate: after it, `plus` are scored instead of `minus`."""

    kind: str
    x: int
    y: int
    subset: int
    plus: tuple[Query, ...]
    minus: tuple[Query, ...]


def essential(parents: list[int], lines: list[int]) -> Essential:
    """Bundle the bit sets of a CPDAG."""
    children = bits.transpose(parents)
    adjacent = tuple(i | o | u for i, o, u in zip(parents, children, lines, strict=True))
    return Essential(tuple(parents), tuple(children), tuple(lines), adjacent)


def inserts(g: Essential, y: int, tails: int) -> Iterator[Move]:
    """Insert(x, y, T) for every x in `tails` not adjacent to y (Chickering, theorem 15, first condition)."""
    for x in bits.members(tails & ~g.adjacent[y] & ~(1 << y)):
        shared = g.lines[y] & g.adjacent[x]  # NA_yx: neighbours of y adjacent to x
        for subset in cliques(g, shared, g.lines[y] & ~g.adjacent[x]):
            base = shared | subset | g.parents[y]
            yield Move("insert", x, y, subset, ((y, base | 1 << x),), ((y, base),))


def deletes(g: Essential, y: int, tails: int) -> Iterator[Move]:
    """Delete(x, y, H) for every x -- y or x -> y: NA_yx without H must be a clique (Chickering, theorem 17)."""
    for x in bits.members(tails & (g.lines[y] | g.parents[y])):
        shared = g.lines[y] & g.adjacent[x]
        for kept in cliques(g, 0, shared):
            base = (kept | g.parents[y]) & ~(1 << x)
            yield Move("delete", x, y, shared & ~kept, ((y, base),), ((y, base | 1 << x),))


def turns(g: Essential, y: int, tails: int) -> Iterator[Move]:
    """Turn(x, y, C): direct y -> x or x -- y as x -> y (Hauser and Buehlmann, propositions 31 and 34)."""
    for x in bits.members(tails & g.children[y]):  # y -> x is compelled
        shared = g.lines[y] & g.adjacent[x]
        for subset in cliques(g, shared, g.lines[y] & ~g.adjacent[x]):
            base = shared | subset | g.parents[y]
            plus = ((y, base | 1 << x), (x, g.parents[x] & ~(1 << y)))
            yield Move("turn", x, y, shared | subset, plus, ((y, base), (x, g.parents[x])))
    for x in bits.members(tails & g.lines[y]):  # x -- y
        around = g.lines[y] & ~(1 << x)
        shared = around & g.adjacent[x]
        for subset in cliques(g, 0, around):
            if not subset & ~shared or not _separates(g, subset, shared, around):
                continue
            base, other = subset | g.parents[y], subset & shared | g.parents[x]
            plus = ((y, base | 1 << x), (x, other))
            yield Move("turn", x, y, subset, plus, ((y, base), (x, other | 1 << y)))


def path_condition(g: Essential, move: Move) -> bool:
    """Whether the condition on semi-directed paths from y to x holds, so that the move makes no cycle."""
    if move.kind == "delete":
        return True
    x, y = move.x, move.y
    if move.kind == "insert":
        return not _reaches(g, y, x, blocked=g.lines[y] & g.adjacent[x] | move.subset, skip=0)
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
    """Take the member in which y's parents among its neighbours are the subset, and then reverse y -> x there."""
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


def cliques(g: Essential, base: int, candidates: int) -> Iterator[int]:
    """Yield the subsets of `candidates` that together with `base` form a clique, the empty one first."""
    common = candidates
    for i in bits.members(base):
        if base & ~g.adjacent[i] & ~(1 << i):
            return
        common &= g.adjacent[i]
    stack = [(0, common)]
    while stack:
        subset, allowed = stack.pop()
        yield subset
        rest = allowed
        for i in bits.members(allowed):
            rest &= ~(1 << i)  # each clique is reached in ascending order only, so once
            stack.append((subset | 1 << i, rest & g.adjacent[i]))


def _reaches(g: Essential, start: int, goal: int, blocked: int, skip: int) -> bool:
    """Whether a semi-directed path leads from start to goal outside `blocked`, not by the first step `skip`."""
    seen = 1 << start
    front = (g.children[start] | g.lines[start]) & ~blocked & ~skip & ~seen
    while front:
        if front >> goal & 1:
            return True
        seen |= front
        front = (bits.union(g.children, front) | bits.union(g.lines, front)) & ~blocked & ~seen
    return False


def _separates(g: Essential, subset: int, shared: int, around: int) -> bool:
    """Whether the common part of `subset` and `shared` separates what only one of them has, within `around`."""
    wall, goal = subset & shared, shared & ~subset
    front = seen = subset & ~shared
    while front:
        if front & goal:
            return False
        front = bits.union(g.adjacent, front) & around & ~wall & ~seen
        seen |= front
    return True
