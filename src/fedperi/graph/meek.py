"""Meek's orientation rules 1-4 (Meek, 1995), and the record of which rule oriented what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from . import bits
from .pdag import PDAG


class MeekStep(NamedTuple):
    """One application of a rule: `tail` -- `head` became `tail` -> `head` because of rule `rule` and `witnesses`.

    Examples
    --------
    >>> import fedperi as fp
    >>> (step,) = fp.meek_steps(fp.PDAG.from_edges(directed=[("A", "B")], undirected=[("B", "C")]))
    >>> f"{step.tail} -> {step.head} by rule {step.rule}, because of {step.witnesses[0]}"
    'B -> C by rule 1, because of A'
    """

    tail: str
    head: str
    rule: int
    witnesses: tuple[str, ...]


def meek_closure(graph: PDAG) -> PDAG:
    """Orient every undirected edge that Meek's rules 1-4 imply; adjacencies and arrows stay.

    For a CPDAG with further true orientations (a Phi-CPDAG, background knowledge) the result is complete: every
    orientation shared by all remaining members is there (Meek, 1995, theorem 4).

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.meek_closure(fp.PDAG.from_edges(directed=[("A", "B")], undirected=[("B", "C")]))
    PDAG('A -> B, B -> C', names=['A', 'B', 'C'])
    """
    matrix = np.array(graph.adjacency)
    for step in meek_steps(graph):
        matrix[graph.index(step.head), graph.index(step.tail)] = False
    try:
        return PDAG(matrix, graph.names)
    except InputError as error:
        raise InputError(f"the graph has no consistent extension: under Meek's rules {error}") from None


def meek_steps(graph: PDAG) -> tuple[MeekStep, ...]:
    """List the orientations of `meek_closure` in the order in which the rules give them, each with its reason.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.meek_steps(fp.PDAG.from_edges(directed=[("A", "B")], undirected=[("B", "C")]))
    (MeekStep(tail='B', head='C', rule=1, witnesses=('A',)),)
    """
    directed = graph.adjacency & ~graph.adjacency.T
    parents, children = bits.columns(directed), bits.rows(directed)
    lines = bits.rows(graph.adjacency & graph.adjacency.T)
    names = graph.names
    return tuple(
        MeekStep(names[a], names[b], rule, tuple(names[w] for w in witnesses))
        for a, b, rule, witnesses in close(parents, children, lines)
    )


def close(parents: list[int], children: list[int], lines: list[int]) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """Apply the rules to bit sets, in place, until none applies; yield (tail, head, rule, witnesses)."""
    adjacent = [i | o | u for i, o, u in zip(parents, children, lines, strict=True)]
    changed = True
    while changed:
        changed = False
        for a in range(len(lines)):
            for b in bits.members(lines[a]):
                reason = _reason(a, b, parents, children, lines, adjacent)
                if reason:
                    changed = True
                    lines[a] ^= 1 << b
                    lines[b] ^= 1 << a
                    children[a] |= 1 << b
                    parents[b] |= 1 << a
                    yield a, b, *reason


def _reason(
    a: int, b: int, parents: list[int], children: list[int], lines: list[int], adjacent: list[int]
) -> tuple[int, tuple[int, ...]] | None:
    """Return the rule that turns a -- b into a -> b, with the nodes it needs; None if there is none."""
    # Rule 1: c -> a -- b, c and b not adjacent. Otherwise a would be an unshielded collider.
    if found := parents[a] & ~adjacent[b]:
        return 1, (_first(found),)
    # Rule 2: a -> c -> b. Otherwise there would be a cycle.
    if found := children[a] & parents[b]:
        return 2, (_first(found),)
    # Rule 3: a -- c -> b, a -- d -> b, c and d not adjacent.
    both = lines[a] & parents[b]
    for c, d in combinations(bits.members(both), 2):
        if not adjacent[c] >> d & 1:
            return 3, (c, d)
    # Rule 4: c -> d -> b, a adjacent to both c and d, c and b not adjacent. (Meek draws a -- c and a -- d; for the
    # other marks rules 1 and 2 give the same arrow, so "adjacent" is enough.)
    for d in bits.members(parents[b] & adjacent[a]):
        if found := parents[d] & adjacent[a] & ~adjacent[b] & ~(1 << b):
            return 4, (_first(found), d)
    return None


def _first(found: int) -> int:
    return (found & -found).bit_length() - 1
