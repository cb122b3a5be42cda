"""Possible d-separators (Spirtes, Glymour and Scheines): where hidden causes make neighbours too few to separate."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import bits


def possible_d_separators(adjacent: Sequence[int], into: Sequence[int], x: int) -> int:
    """Collect the nodes that a path reaches on which every inner node is a collider or lies in a triangle.

    Parameters
    ----------
    adjacent : sequence of int
        Bit sets of neighbours.
    into : sequence of int
        For every node b, the bit set of the nodes a with an arrowhead at b of the edge between them.
    x : int
        Where paths start.

    Examples
    --------
    >>> possible_d_separators([0b010, 0b101, 0b010], [0, 0b101, 0], 0)     # 0 *-> 1 <-* 2
    6
    """
    out, seen = adjacent[x], {(x, v) for v in bits.members(adjacent[x])}
    front = list(seen)
    while front:
        u, v = front.pop()
        collider = into[v] if into[v] >> u & 1 else 0
        for w in bits.members(adjacent[v] & (collider | adjacent[u]) & ~(1 << u | 1 << x)):
            if (v, w) not in seen:
                seen.add((v, w))
                front.append((v, w))
                out |= 1 << w
    return out


def blocks(adjacent: Sequence[int]) -> dict[tuple[int, int], int]:
    """For every edge x < y, the nodes that lie on some path between its ends: its biconnected component.

    Others cannot help to separate the two (Colombo and others, 2012).

    Examples
    --------
    >>> blocks([0b0110, 0b0101, 0b1011, 0b0100])                        # a triangle 0, 1, 2 with a tail 2 - 3
    {(2, 3): 12, (0, 2): 7, (1, 2): 7, (0, 1): 7}
    """
    p = len(adjacent)
    order, low = [-1] * p, [0] * p
    out: dict[tuple[int, int], int] = {}
    stack: list[tuple[int, int]] = []
    clock = 0
    for root in range(p):
        if order[root] >= 0:
            continue
        order[root] = low[root] = clock
        clock += 1
        path = [(root, -1, bits.members(adjacent[root]))]
        while path:
            v, parent, rest = path[-1]
            w = next(rest, None)
            if w is None:
                path.pop()
                if parent >= 0:
                    low[parent] = min(low[parent], low[v])
                    if low[v] >= order[parent]:
                        _close(stack, (parent, v), out)
            elif order[w] < 0:
                stack.append((v, w))
                order[w] = low[w] = clock
                clock += 1
                path.append((w, v, bits.members(adjacent[w])))
            elif w != parent and order[w] < order[v]:
                stack.append((v, w))
                low[v] = min(low[v], order[w])
    return out


def _close(stack: list[tuple[int, int]], first: tuple[int, int], out: dict[tuple[int, int], int]) -> None:
    """Take the edges of a finished component from the stack, down to the one that it began with."""
    edges = []
    while True:
        edges.append(stack.pop())
        if edges[-1] == first:
            break
    nodes = 0
    for a, b in edges:
        nodes |= 1 << a | 1 << b
    for a, b in edges:
        out[min(a, b), max(a, b)] = nodes
