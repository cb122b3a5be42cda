"""The paths that orientation rules look for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...graph import bits
from .ends import Ends
from .triples import Triples


def discriminated(ends: Ends, b: int, c: int) -> Iterator[tuple[int, int]]:
    """Find the paths d ... a, b, c that discriminate b: yield every pair (a, d).

    Every node between d and b is a collider on the path and a parent of c, and d is not joined with c.
    """
    parents = ends.parents(c)
    for a in bits.members(parents & ends.seen_from(ends.arrow, b)):
        seen, front = 1 << a | 1 << b | 1 << c, [a]
        while front:
            inner = front.pop()
            for w in bits.members(ends.arrow[inner] & ~seen):
                seen |= 1 << w
                if not ends.adjacent[c] >> w & 1:
                    yield a, w
                elif parents >> w & 1 and ends.arrow[w] >> inner & 1:
                    front.append(w)


def first_steps(ends: Ends, triples: Triples) -> Callable[[int, int], int]:
    """Second nodes of the uncovered paths from a start to a goal that may be directed, as a bit set.

    A path may be directed if no edge has an arrowhead at its earlier, or a tail at its later end. It is uncovered if
    no two nodes that are two steps apart are joined; what is between these must be clear.
    """
    tails = bits.transpose(ends.tail)
    forward = [near & ~ends.arrow[u] & ~tails[u] for u, near in enumerate(ends.adjacent)]

    def steps(start: int, goal: int) -> int:
        found = 0
        for first in bits.members(forward[start]):
            paths = _walk(ends.adjacent, forward, triples, (start, first), 1 << goal)
            if first == goal or next(paths, None):
                found |= 1 << first
        return found

    return steps


def circle_cycles(ends: Ends, triples: Triples) -> Iterator[Sequence[int]]:
    """Uncovered paths a, c, ..., d, b of o-o edges that an edge a o-o b closes to a cycle.

    Neither a and d nor b and c are joined.
    """
    both = [circles & seen for circles, seen in zip(ends.circle, bits.transpose(ends.circle), strict=True)]
    for a, near in enumerate(both):
        for b in bits.members(near >> a << a):
            last = triples.clear(a, b, both[b] & ~ends.adjacent[a] & ~(1 << a))
            for c in bits.members(triples.clear(b, a, both[a] & ~ends.adjacent[b] & ~(1 << b))):
                for path in _walk(ends.adjacent, both, triples, (a, c), last):
                    u, d = path[-2:]
                    if triples.clear(b, d, 1 << u & ~ends.adjacent[b]) and b not in path:
                        yield (*path, b)


def _walk(
    adjacent: Sequence[int],
    forward: Sequence[int],
    triples: Triples,
    start: tuple[int, int],
    ends: int,
) -> Iterator[tuple[int, ...]]:
    """Yield the uncovered paths that begin with two nodes and have reached an end, no node twice."""
    paths: list[tuple[int, ...]] = [start]
    while paths:
        path = paths.pop()
        u, v = path[-2:]
        if len(path) > 2 and ends >> v & 1:
            yield path
        inside = sum(1 << w for w in path)
        paths += [(*path, w) for w in bits.members(triples.clear(u, v, forward[v] & ~adjacent[u] & ~inside))]
