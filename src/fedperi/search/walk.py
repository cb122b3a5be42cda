"""A chain of DAGs without compiled loops: the same moves by the same random numbers, so the same DAGs but for rounding.

`chains` says what a move is. Bit sets of a block's nodes are by their place in the block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import exp, inf, log, log1p
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph import bits

if TYPE_CHECKING:
    from .chains import Tables

WORD = (1 << 64) - 1


class Walk:
    """The state of a chain, and how it continues.

    Parameters
    ----------
    made : Tables
    sizes : array
        How often a block has one node, two, and so on, added up.
    now : list of int
        The place of each node's parent set in its lattice.
    words : list of int
        Four words: the state of the generator.
    """

    def __init__(self, made: Tables, sizes: NDArray[np.float64], now: list[int], words: list[int]) -> None:
        self.now, self.words, self.sizes = now, words, sizes.tolist()
        self.free = [made.free[a:b].tolist() for a, b in pairwise(made.first)]
        self.levels: list[list[list[float]]] = [
            made.log_sums[a:b].reshape(-1, 1 << len(free)).tolist()
            for (a, b), free in zip(pairwise(made.begin), self.free, strict=True)
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
        """The next number from 0 to 1 of xoshiro256++ (Blackman and Vigna, 2021)."""
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
        """Choose nodes that are near each other, whatever the DAG is."""
        size = 1 + bisect_right(self.sizes[:-1], self._uniform())
        block = [int(self._uniform() * len(self.now))]
        for _ in range(1, size):
            by, step = block[int(self._uniform() * len(block))], self._uniform()
            if self.near[by]:
                other = self.near[by][bisect_right(self.reach[by][:-1], step)]
                block += [other] * (other not in block)
        return block

    def _possible(self, block: Sequence[int]) -> list[list[int]]:
        """What each node of a block may take as parents, by set of nodes of the block that are placed before."""
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
        """Draw layers; say what is placed before each node of a block, and what of it before the layer before."""
        sums = [[self.levels[node][0][place] for place in own] for node, own in zip(block, within, strict=True)]
        whole = (1 << len(block)) - 1
        before = {(0, 0): 0.0}  # log sums by state: what is placed, and the last layer
        follow: dict[tuple[int, int, int], float] = {}
        for placed in range(whole):
            for layer in _subsets(whole ^ placed):
                ways = []
                for last in _subsets(placed) if placed else [0]:
                    log_weight = sum(_log_difference(sums[at], placed, last) for at in bits.members(layer))
                    follow[placed, last, layer] = log_weight
                    ways.append(before[placed, last] + log_weight)
                top = max(ways)
                added = top if top == -inf else top + log(sum(exp(way - top) for way in ways))
                before[placed | layer, layer] = added
        ends: list[tuple[int, int | None]] = [(0, None)] * len(block)
        placed, layer = whole, 0
        while placed:
            logs = [-inf] * (placed + 1)
            for last in _subsets(placed):
                logs[last] = before[placed, last] + (follow[placed, last, layer] if layer else 0.0)
            top = max(logs)
            chosen = self._choice([exp(value - top) if value > -inf else 0.0 for value in logs])
            if chosen is None:
                return None
            for at in bits.members(layer):
                ends[at] = placed, placed ^ chosen
            placed, layer = placed ^ chosen, chosen
        return ends

    def _draw(self, node: int, within: int, other: int | None) -> int | None:
        """Draw a parent set within a place, but not within another one; None if no set qualifies."""
        tables, high, top = self.levels[node], 0, len(self.free[node])
        total = tables[0][within]
        for table in tables[1:]:
            low = max(top - 3, 0)
            below = (1 << low) - 1
            weights = [0.0] * 8
            for x in range(1 << (top - low)):
                place = high | x << low
                if x & ~(within >> low):
                    continue
                weights[x] = exp(table[place | within & below] - total)
                if other is not None and not place & ~other:
                    weights[x] = max(0.0, weights[x] - exp(table[place | other & below] - total))
            chosen = self._choice(weights)
            if chosen is None:
                return None
            high |= chosen << low
            total, top = table[high | within & below], low
        return None if other is not None and not high & ~other else high

    def _parents(self) -> NDArray[np.float64]:
        """The probability of each parent of each node, given the parents of all other nodes."""
        out = []
        for node, free in enumerate(self.free):
            within, sums = self._possible([node])[0][0], self.levels[node][0]
            out += [
                1.0 - exp(sums[within ^ 1 << t] - sums[within]) if within >> t & 1 else 0.0 for t in range(len(free))
            ]
        return np.array(out)


def _subsets(whole: int) -> list[int]:
    """The subsets of a bit set that are not empty."""
    out = []
    some = whole
    while some:
        out.append(some)
        some = some - 1 & whole
    return out


def _log_difference(log_sums: Sequence[float], placed: int, last: int) -> float:
    """Logarithm of the weight of what is within the set placed, but not without its last layer."""
    if not placed:
        return log_sums[0]
    less = log_sums[placed ^ last] - log_sums[placed] if log_sums[placed] > -inf else 0.0
    return log_sums[placed] + log1p(-exp(less)) if less < 0.0 else -inf
