"""Strength of the evidence that an unshielded triple is a collider, or not. Used only if findings disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .independence import IndependenceTest
from .skeleton import Indices, Skeleton, packed, subsets


class Triple(NamedTuple):
    """An unshielded x - z - y, x < y, and whether the tests say that z is a collider.

    Examples
    --------
    >>> Triple(0, 2, 1, collider=True)
    Triple(x=0, z=2, y=1, collider=True)
    """

    x: int
    z: int
    y: int
    collider: bool


def unshielded_triples(skeleton: Skeleton) -> list[Triple]:
    """List every x - z - y with x and y not adjacent; a collider if z is in none of the sets that separated x and y.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> from fedperi.discovery.pc.skeleton import find_skeleton
    >>> chain = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    >>> unshielded_triples(find_skeleton(DSeparation(chain), 0.01, 2))
    [Triple(x=0, z=1, y=2, collider=False)]
    """
    p = len(skeleton.adjacent)
    found = [np.empty((3, 0), dtype=np.intp)]
    for z in range(p):
        near = np.flatnonzero(skeleton.adjacent[z])
        first, second = np.nonzero(np.triu(~skeleton.adjacent[near][:, near], 1))
        found.append(np.stack([near[first], np.full(len(first), z), near[second]]))
    x, middle, y = np.concatenate(found, axis=1)
    collider = ~np.isin((x * p + y) * p + middle, skeleton.separators)
    return [Triple(*row) for row in zip(x.tolist(), middle.tolist(), y.tolist(), collider.tolist(), strict=True)]


def evidence(test: IndependenceTest, skeleton: Skeleton, triples: list[Triple], limit: int) -> NDArray[np.float64]:
    """Find the largest p-values of x against y over sets without z, and over sets with z, for each triple.

    The sets have up to `limit` neighbours of x or of y. A collider should have a large p-value only without z, any
    other triple only with z (Ramsey, 2016).

    Parameters
    ----------
    test : IndependenceTest
    skeleton : Skeleton
    triples : list of Triple
    limit : int
        Size of the largest set.

    Returns
    -------
    ndarray, shape (2, len(triples))
        Without z, and given z.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> from fedperi.discovery.pc.skeleton import find_skeleton
    >>> test = DSeparation(fp.PDAG.from_edges([("A", "B"), ("B", "C")]))
    >>> skeleton = find_skeleton(test, 0.01, 2)
    >>> evidence(test, skeleton, unshielded_triples(skeleton), 1).tolist()
    [[0.0], [1.0]]
    """
    out, legs = np.zeros((2, len(triples))), _legs(skeleton, triples)
    for size in range(min(limit, 1 + max((len(leg.near) for leg in legs), default=0)) + 1):
        for x, y, given, side, triple in packed(_pieces(legs, size)):
            np.maximum.at(out, (side, triple), test.p_values(x, y, given))
    return out


class _Leg(NamedTuple):
    """Triples with the same end and middle, which use the same sets: subsets of `near` with and without z."""

    end: int
    z: int
    other_ends: Indices
    triples: Indices
    near: Indices


def _legs(skeleton: Skeleton, triples: list[Triple]) -> list[_Leg]:
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, t in enumerate(triples):
        found.setdefault((t.x, t.z), []).append((t.y, i))
        found.setdefault((t.y, t.z), []).append((t.x, i))
    near = [np.flatnonzero(row) for row in skeleton.adjacent]
    legs = []
    for (end, z), rest in found.items():
        other_ends, at = np.array(rest, dtype=np.intp).T
        legs.append(_Leg(end, z, other_ends, at, near[end][near[end] != z]))
    return legs


def _pieces(legs: list[_Leg], size: int) -> Iterator[tuple[Indices, ...]]:
    for end, z, other_ends, triples, near in legs:
        for with_z in (0, 1):
            free = size - with_z  # z itself is one of them
            if not 0 <= free <= len(near):
                continue
            for chosen in subsets(len(near), free):
                given = np.full((len(chosen), size), z)
                given[:, :free] = near[chosen]
                rows = len(other_ends) * len(chosen)
                yield (
                    np.full(rows, end),
                    np.repeat(other_ends, len(chosen)),
                    np.tile(given, (len(other_ends), 1)),
                    np.full(rows, with_z),
                    np.repeat(triples, len(chosen)),
                )
