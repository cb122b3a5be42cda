"""Topological orders and the cycles that prevent them, on bit sets of parents."""

from __future__ import annotations

from collections.abc import Sequence

from . import bits


def topological_order(parents: Sequence[int]) -> list[int] | None:
    """Order nodes so that parents come first, or None if the graph has a cycle.

    Among nodes that are ready, the lowest index goes first, so that one graph has one order.
    """
    order: list[int] = []
    placed = 0
    waiting = list(range(len(parents)))
    while waiting:
        later = []
        for node in waiting:
            if parents[node] & ~placed:
                later.append(node)
            else:
                order.append(node)
                placed |= 1 << node
        if len(later) == len(waiting):
            return None
        waiting = later
    return order


def find_cycle(parents: Sequence[int]) -> list[int]:
    """Find one directed cycle, as the nodes along it in the direction of the arrows; empty if there is no cycle."""
    # Remove nodes without parents repeatedly. Every node left has a parent, so walking to parents closes a cycle.
    left = (1 << len(parents)) - 1
    peeled = True
    while peeled:
        ready = [node for node in bits.members(left) if not parents[node] & left]
        peeled = bool(ready)
        for node in ready:
            left ^= 1 << node
    if not left:
        return []
    node = (left & -left).bit_length() - 1
    path: list[int] = []
    while node not in path:
        path.append(node)
        above = parents[node] & left
        node = (above & -above).bit_length() - 1
    cycle = path[path.index(node) :][::-1]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def descendants(children: Sequence[int], start: int) -> int:
    """Close a bit set under the given children (or parents, for ancestors). The start belongs to the result."""
    seen = front = start
    while front:
        front = bits.union(children, front) & ~seen
        seen |= front
    return seen
