"""Phi-Markov equivalence from its definition in the paper, by brute force over d-separations."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product

import fedperi as fp

Statement = tuple[frozenset[str], frozenset[str], frozenset[str]]


@cache
def triples(names: tuple[str, ...]) -> tuple[Statement, ...]:
    """List all disjoint X, Y, Z with X and Y not empty; each unordered pair X, Y once."""
    out = []
    for labels in product(range(4), repeat=len(names)):
        x, y, z = (frozenset(n for n, k in zip(names, labels, strict=True) if k == s) for s in range(3))
        if x and y and min(x) < min(y):
            out.append((x, y, z))
    return tuple(out)


@cache
def separations(dag: fp.PDAG) -> frozenset[Statement]:
    """First condition: the d-separations of the DAG."""
    return frozenset(t for t in triples(dag.names) if fp.d_separated(dag, *t))


@cache
def collider_statements(dag: fp.PDAG) -> frozenset[Statement]:
    """Second condition at one client: X and Y separated by Z, and connected by Z with some further W."""
    separated = separations(dag)
    out = set()
    for x, y, z in separated:
        rest = set(dag.names) - x - y - z
        if any((x, y, z | {w}) not in separated for w in rest):
            out.add((x, y, z))
    return frozenset(out)


def signature_by_definition(dag: fp.PDAG, clients: Iterable[fp.PDAG]) -> object:
    """Signature from the definition: two pairs are equivalent if their signatures are equal."""
    return separations(dag), frozenset[Statement]().union(*(collider_statements(c) for c in clients))


def signature_by_theorem(dag: fp.PDAG, clients: Iterable[fp.PDAG]) -> object:
    """Signature from the graphical criterion (Theorem "Characterization")."""
    return dag.skeleton, fp.v_structures(dag), fp.revealed_v_structures(dag, clients)
