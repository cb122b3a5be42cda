"""A chain of DAGs without compiled loops: the same moves with the same random numbers, so the same DAGs up to rounding.

`chains` describes a move. In bit sets of a block's nodes, bits are positions in the block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import ldexp
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from .layers import NO_POWER

if TYPE_CHECKING:
    from .chains import Tables

WORD = (1 << 64) - 1

Weight = tuple[float, int]
"""A number times two to a power (see `layers`)."""

NOTHING: Weight = (0.0, NO_POWER)


class Walk:
    """The state of a chain, and its moves.

    Parameters
    ----------
    made : Tables
    sizes : array
        Cumulative probabilities that a block has one node, two, and so on.
    now : list of int
        The position of each node's parent set in its lattice.
    words : list of int
        State of the random generator: four words.
    """

    def __init__(self, made: Tables, sizes: NDArray[np.float64], now: list[int], words: list[int]) -> None:
        self.now, self.words, self.sizes = now, words, sizes.tolist()
        self.free = [made.free[a:b].tolist() for a, b in pairwise(made.first)]
        self.sums = [
            list(zip(made.value[a:b].tolist(), made.power[a:b].tolist(), strict=True)) for a, b in pairwise(made.begin)
        ]
        self.sets = [
            [(made.sets.item(at), made.set_value.item(at), made.set_power.item(at)) for at in range(a, b)]
            for a, b in pairwise(made.set_first.tolist())
        ]
        self.near = [made.near[a:b].tolist() for a, b in pairwise(made.near_first)]
        self.reach = [made.reach[a:b].tolist() for a, b in pairwise(made.near_first)]

    def run(self, sweeps: int) -> NDArray[np.float64]:
        """Continue for some sweeps. Returns summed probabilities by candidate."""
        sums = np.zeros(sum(map(len, self.free)))
        for _ in range(sweeps):
            for _ in self.now:
                self._redraw()
            sums += self._parents()
        return sums

    def _uniform(self) -> float:
        """Return the next number from 0 to 1 of xoshiro256++ (Blackman and Vigna, 2021)."""
        a, b, c, d = self.words
        total = a + d & WORD
        word = (total << 23 | total >> 41) + a & WORD
        c ^= a
        d ^= b
        self.words = [a ^ d, b ^ c, c ^ (b << 17 & WORD), (d << 45 | d >> 19) & WORD]
        return (word >> 11) * 2.0**-53

    def _choice(self, weights: Sequence[float]) -> int | None:
        """Choose a position in proportion to its weight; None if all are zero."""
        wanted, total, last = self._uniform() * sum(weights), 0.0, None
        for at, weight in enumerate(weights):
            if total > wanted:
                break
            if weight > 0.0:
                last = at
                total += weight
        return last

    def _block(self) -> list[int]:
        """Choose nodes that are near each other, independently of the DAG."""
        size = 1 + bisect_right(self.sizes[:-1], self._uniform())
        block = [int(self._uniform() * len(self.now))]
        for _ in range(1, size):
            by, step = block[int(self._uniform() * len(block))], self._uniform()
            if self.near[by]:
                other = self.near[by][bisect_right(self.reach[by][:-1], step)]
                block += [other] * (other not in block)
        return block

    def _possible(self, block: Sequence[int]) -> list[list[int]]:
        """List the possible parents of each node of a block, by the set of its nodes that are placed before it."""
        children: list[list[int]] = [[] for _ in self.now]
        for head, place in enumerate(self.now):
            if head not in block:
                for t in bits.members(place):
                    children[self.free[head][t]].append(head)
        sources = [0] * len(self.now)  # nodes of the block from which a node can be reached
        for at, node in enumerate(block):
            open_ = [node]
            while open_:
                v = open_.pop()
                if not sources[v] >> at & 1:
                    sources[v] |= 1 << at
                    open_ += children[v]
        return [
            [sum([1 << t for t, v in enumerate(self.free[node]) if not sources[v] & ~placed]) for placed in range(sets)]
            for sets in [1 << len(block)]
            for node in block
        ]

    def _redraw(self) -> None:
        """Redraw the parents of a block, given those of all other nodes."""
        block = self._block()
        within = self._possible(block)
        ends = self._layers(block, within) if len(block) > 1 else [(0, None)]
        if ends is None:
            return
        found = []
        for node, own, (placed, sooner) in zip(block, within, ends, strict=True):
            place = self._draw(node, own[placed], None if sooner is None else own[sooner])
            if place is None:
                return
            found.append(place)
        for node, place in zip(block, found, strict=True):
            self.now[node] = place

    def _layers(self, block: Sequence[int], within: Sequence[Sequence[int]]) -> list[tuple[int, int | None]] | None:
        """Draw layers; return, for each node of a block, the nodes in all earlier layers, and those before the last."""
        sums = [[self.sums[node][place] for place in own] for node, own in zip(block, within, strict=True)]
        whole = (1 << len(block)) - 1
        before: dict[tuple[int, int], Weight] = {(0, 0): (1.0, 0)}  # sums by state: nodes placed, and the last layer
        follow: dict[tuple[int, int, int], Weight] = {}
        for placed in range(whole):
            for layer in _subsets(whole ^ placed):
                ways = []
                for last in _subsets(placed) if placed else [0]:
                    weight = _product([_difference(sums[at], placed, last) for at in bits.members(layer)])
                    follow[placed, last, layer] = weight
                    ways.append(_product([before[placed, last], weight]))
                before[placed | layer, layer] = _sum(ways)
        ends: list[tuple[int, int | None]] = [(0, None)] * len(block)
        placed, layer = whole, 0
        while placed:
            some: list[Weight] = [NOTHING] * (placed + 1)
            for last in _subsets(placed):
                some[last] = _product([before[placed, last], follow[placed, last, layer] if layer else (1.0, 0)])
            top = max(power for _, power in some)
            chosen = self._choice([value * _two_to(power - top) for value, power in some])
            if chosen is None:
                return None
            for at in bits.members(layer):
                ends[at] = placed, placed ^ chosen
            placed, layer = placed ^ chosen, chosen
        return ends

    def _draw(self, node: int, within: int, other: int | None) -> int | None:
        """Draw a subset of one set of parents that is not a subset of another; None if there is none."""
        chance, (total, power) = self._uniform(), self.sums[node][within]
        if other is not None:
            less, scale = self.sums[node][other]
            total -= less * _two_to(scale - power)
        found, added = self._scan(node, within, other, power, chance * total)
        return found if added > chance * total else self._scan(node, within, other, power, chance * added)[0]

    def _scan(self, node: int, within: int, other: int | None, power: int, wanted: float) -> tuple[int | None, float]:
        """Add weights of such sets, the best first, until the sum exceeds `wanted`; return the last set and the sum."""
        last, total = None, 0.0
        for place, value, own in self.sets[node]:
            if total > wanted:
                break
            if not place & ~within and (other is None or place & ~other):
                weight = value * _two_to(own - power)
                if weight > 0.0:
                    last = place
                    total += weight
        return last, total

    def _parents(self) -> NDArray[np.float64]:
        """Return the probability of each parent of each node, given the parents of all other nodes."""
        out = []
        for node, free in enumerate(self.free):
            within = self._possible([node])[0][0]
            value, power = self.sums[node][within]
            for t in range(len(free)):
                less, scale = self.sums[node][within & ~(1 << t)]
                out.append(1.0 - less * _two_to(scale - power) / value if within >> t & 1 else 0.0)
        return np.array(out)


def _subsets(whole: int) -> list[int]:
    """List the subsets of a bit set that are not empty."""
    out = []
    some = whole
    while some:
        out.append(some)
        some = some - 1 & whole
    return out


def _two_to(power: int) -> float:
    """Return two to a power that is not positive; zero where it underflows."""
    return ldexp(1.0, power) if power >= -1022 else 0.0


def _product(some: Sequence[Weight]) -> Weight:
    value, power = 1.0, 0
    for own, scale in some:
        value *= own
        power += scale
    return (value, power) if value > 0.0 else NOTHING


def _sum(some: Sequence[Weight]) -> Weight:
    top = max(power for _, power in some)
    value = sum(own * _two_to(power - top) for own, power in some)
    return (value, top) if value > 0.0 else NOTHING


def _difference(sums: Sequence[Weight], placed: int, last: int) -> Weight:
    """Return the weight of the subsets of the placed set that have a member in its last layer."""
    value, power = sums[placed]
    if placed:
        less, scale = sums[placed ^ last]
        value -= less * _two_to(scale - power)
    return (value, power) if value > 0.0 else NOTHING
