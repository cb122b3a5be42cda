"""Unshielded triples: whether the middle node is needed to separate the other two, by all available sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ..pc.independence import IndependenceTest
from .neighbours import Tested, Triple, ask, lone_pairs, tests_of_neighbours
from .skeleton import Pair, Separated

Floats = NDArray[np.float64]

SEPARATED = 0.1
"""A set separates well enough to judge what lies between two variables if its p-value is above it."""

CONTEXTS = 4.5
"""Nats that pairs of sites must give. In hospital-like tables curves and yes/no variables look like differences."""


@dataclass(frozen=True)
class Triples:
    """What the tests say about the middle of every unshielded triple.

    Attributes
    ----------
    colliders : frozenset
        Triples whose middle node is in no separating set.
    unclear : frozenset
        Triples for which the tests have too little power to decide. The middle node of these may be a neighbour of one
        end only.
    """

    colliders: frozenset[Triple]
    unclear: frozenset[Triple]

    @cached_property
    def doubtful(self) -> Mapping[tuple[int, int], int]:
        """For an end a and a middle b, the bit set of the other ends for which the role of b is unclear."""
        out: dict[tuple[int, int], int] = {}
        for a, b, c in self.unclear:
            out[a, b] = out.get((a, b), 0) | 1 << c
            out[c, b] = out.get((c, b), 0) | 1 << a
        return out

    def clear(self, a: int, b: int, others: int) -> int:
        """Leave out, of a bit set of other ends, those for which the role of b is unclear."""
        return others & ~self.doubtful.get((a, b), 0)


def weigh_triples(
    test: IndependenceTest,
    alpha: float,
    limit: int,
    found: Separated,
    usable: int,
    stricter: IndependenceTest | None = None,
    lone: float = 0.0,
    evidence: float = 3.0,
) -> tuple[Triples, Separated]:
    """Compare, for every unshielded triple, the best separating sets with and without its middle.

    Half the difference of their statistics is a logarithm of a likelihood ratio: between a graph in which the middle
    node is a collider, and one in which it is none. With too little of it the triple is unclear, and no rule uses it.
    A weak dependence that is overlooked would reverse arrows.

    Parameters
    ----------
    test : IndependenceTest
    alpha : float
        A p-value above it means independent.
    limit : int
        The largest size of a set.
    found : Separated
    usable : int
        Bit set of the nodes that may be in a separating set. The others are contexts.
    stricter : IndependenceTest, optional
        The higher of the two p-values counts.
    lone : float
        Where a smaller share of the sets separates two variables, what lies between these is unclear: they may be
        joined in truth.
    evidence : float
        Nats that must speak for one of the two roles of the middle node; for a collider, after what is usual in these
        tables. If pairs of sites say it, at least `CONTEXTS`.

    Returns
    -------
    triples : Triples
    found : Separated
        With the best separators of these pairs.
    """
    tested = tests_of_neighbours(test, limit, found, usable)
    made = sum(map(len, tested.values()))
    separators = found.separators | {
        pair: min(sets, key=lambda code: (-sets[code], code.bit_count(), code)) for pair, sets in tested.items()
    }
    doubtful = lone_pairs(tested, alpha, usable, lone)
    sure = {pair: sets for pair, sets in tested.items() if pair not in doubtful}
    if stricter is not None:
        made += _twice(stricter, sure)
    near = {(a, c): (found.adjacent[a] | found.adjacent[c]) & usable for a, c in tested}
    colliders, others = _judged(_roles(sure, near), found.adjacent, usable, max(alpha, SEPARATED), evidence)
    unclear = {(a, b, c) for (a, c), inside in near.items() for b in bits.members(inside)} - colliders - others
    colliders = {(a, b, c) for a, b, c in colliders if found.adjacent[a] >> b & found.adjacent[c] >> b & 1}
    separated = Separated(found.adjacent, separators, found.tests + made, found.complete)
    return Triples(frozenset(colliders), frozenset(unclear)), separated


def _twice(stricter: IndependenceTest, tested: Tested) -> int:
    """Put the higher p-value of two tests in place of that of the first; returns how many tests that took."""
    # Given nothing, both are the same.
    again = [(*pair, code) for pair, sets in tested.items() for code in sets if code]
    for a, c, code, p in ask(stricter, again):
        tested[a, c][code] = max(p, tested[a, c][code])
    return len(again)


def _roles(best: Mapping[Pair, Mapping[int, float]], near: Mapping[Pair, int]) -> dict[Triple, tuple[float, float]]:
    """For every pair and neighbour the highest p-value of a set with the neighbour, and of one without it."""
    out: dict[Triple, tuple[float, float]] = {}
    for (a, c), sets in best.items():
        # Nodes for which no set with it (first) or without it (second) has come yet.
        left = [near[a, c]] * 2
        highest: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for code, p in sorted(sets.items(), key=lambda item: -item[1]):
            for kind, new in enumerate((left[0] & code, left[1] & ~code)):
                left[kind] &= ~new
                highest[kind].update(dict.fromkeys(bits.members(new), p))
            if not left[0] | left[1]:
                break
        for b in bits.members(near[a, c]):
            out[a, b, c] = highest[0].get(b, 0.0), highest[1].get(b, 0.0)
    return out


def _judged(
    roles: Mapping[Triple, tuple[float, float]], adjacent: Sequence[int], usable: int, clearly: float, evidence: float
) -> tuple[set[Triple], set[Triple]]:
    """Triples whose middle is clearly in no separating set, and those whose middle clearly is in all of them.

    The first kind is a collider if it is joined with both ends. If it is joined with one end only, it may be the last
    node but one of a discriminating path.
    """
    from scipy.special import chdtri

    # The smallest p-value of which chdtri knows the statistic.
    values = chdtri(1, np.clip(np.array(list(roles.values())).reshape(-1, 2), 1e-300, 1.0))
    nats = dict(zip(roles, ((values[:, 0] - values[:, 1]) / 2).tolist(), strict=True))
    whole = [t for t in roles if adjacent[t[0]] >> t[1] & adjacent[t[2]] >> t[1] & 1]
    usual = min(0.0, _usual(np.array([nats[t] for t in whole if usable >> t[2] & 1])))
    together = _together({t: nats[t] for t in whole if not usable >> t[2] & 1}, len(adjacent) - usable.bit_count())
    colliders, others = set(), set()
    for (a, b, c), (with_it, without) in roles.items():
        inside = usable >> c & 1
        least = evidence if inside else max(CONTEXTS, evidence)
        value = nats[a, b, c] if inside else together.get((a, b), nats[a, b, c])
        if value >= least - (usual if inside else 0.0) and without > clearly:
            colliders.add((a, b, c))
        elif -value >= least and with_it > clearly:
            others.add((a, b, c))
    return colliders, others


def _usual(nats: Floats) -> float:
    """Logarithm of the odds that a middle node is a collider, from the triples of these tables themselves (EM).

    In hospital-like tables four of five middle nodes are none. There weak evidence for a collider is mostly wrong.
    """
    share = 0.5
    for _ in range(50):
        odds = np.exp(np.clip(nats, -50.0, 50.0)) * share / (1 - share)
        # One collider and one other beforehand: few triples say little. An exact sum does not depend on their order.
        share = (1 + fsum((odds / (1 + odds)).tolist())) / (2 + len(nats))
    return log(share / (1 - share))


def _together(nats: Mapping[Triple, float], contexts: int) -> dict[tuple[int, int], float]:
    """Add up what all pairs of sites say about a and b: as no variable causes a context, it is one question.

    With K sites, K (K - 1) / 2 pairs say K / 2 times what the sites do.
    """
    said: dict[tuple[int, int], list[float]] = {}
    for (a, b, _), value in nats.items():
        said.setdefault((a, b), []).append(value)
    sites = (1 + sqrt(1 + 8 * contexts)) / 2
    return {ends: 2 / sites * fsum(values) for ends, values in said.items()}
