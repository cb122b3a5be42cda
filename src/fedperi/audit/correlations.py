"""Compute a site's correlations from its regrets: one equation for every three variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..protocol.messages import Settings, Welcome
from ..scores.lattice import subset_sizes
from ..scores.masking import INTERVENTION_PRICE, PARTIAL_PRICE, adaptive_mask, consensus_mask

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOUCH = 1e-7
"""A gain counts as visible if it is at least this far from the limit at which a mask cuts it off."""


GRID, SWEEPS = 41, 6
"""Values that are tried for a correlation that no equation determines, and how often all of them are tried."""


SMALLEST = 1e-9
"""Smallest share of a variance that other variables leave unexplained: keeps logarithms finite during the fit."""


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of one parent and of two parents over none, as a site's mask shows them; NaN where nothing was asked."""

    one: Floats  # (p, p): node, parent
    two: Floats  # (p, p, p): node, parent, parent
    n: float
    price: float
    mask: str  # "targets" if the site declared some
    targets: tuple[int, ...]

    @property
    def edges(self) -> NDArray[np.bool_]:
        """Where a gain is not exactly zero. With "consensus": a node's parents and neighbours in the site's graph."""
        return np.asarray(np.isfinite(self.one) & (self.one != 0))

    def shown(self) -> tuple[Floats, Floats]:
        """Return the gains that are those of the whole set, and NaN where the mask may have used a subset."""
        one, two = self.one, self.two
        if self.mask == "adaptive":
            best = np.fmax(0.0, np.fmax(one[:, :, None], one[:, None, :]))
            least = np.maximum(-INTERVENTION_PRICE, best - PARTIAL_PRICE)
            return np.where(one > TOUCH - INTERVENTION_PRICE, one, np.nan), np.where(two > least + TOUCH, two, np.nan)
        keep = np.ones(one.shape, dtype=bool)
        keep[list(self.targets)] = False
        if self.mask == "consensus":
            keep = self.edges
        return np.where(keep, one, np.nan), np.where(keep[:, :, None] & keep[:, None, :], two, np.nan)

    def misfit(self, r: Floats, node: Ints, j: Ints, k: Ints) -> Floats:
        """Differences between observed gains of j, k and both at a node, and the gains that correlations imply."""
        a, b, c = r[..., node, j], r[..., node, k], r[..., j, k]
        if not a.size:
            return np.zeros((*a.shape, 3))
        left = (1 - a**2 - b**2 - c**2 + 2 * a * b * c) / np.maximum(1 - c**2, SMALLEST)
        gains = [-self.n / 2 * np.log(np.maximum(v, SMALLEST)) for v in (1 - a**2, 1 - b**2, left)]
        lattice = np.stack([np.zeros(a.shape), *gains], axis=-1) - self.price * subset_sizes(2)
        if self.mask == "adaptive":
            lattice = adaptive_mask(lattice)
        elif self.mask == "consensus":
            allowed = self.edges[node[:, None], np.column_stack([j, k])]
            lattice = consensus_mask(lattice.reshape(-1, 4), np.tile(allowed, (a.size // len(node), 1)))
            lattice = lattice.reshape(*a.shape, 4)
        else:
            lattice = np.where(np.isin(node, self.targets)[:, None], 0.0, lattice)
        seen = np.column_stack([self.one[node, j], self.one[node, k], self.two[node, j, k]])
        return np.asarray(np.nan_to_num(np.abs(lattice[..., 1:] - seen)))


def gains_of(welcome: Welcome, settings: Settings, regrets: Mapping[tuple[int, int], float]) -> Gains:
    """Compute the gains from a site's regrets, by node and bit set of parents."""
    p = len(welcome.names)
    one, two = np.full((p, p), np.nan), np.full((p, p, p), np.nan)
    for (node, members), regret in regrets.items():
        gain = regrets.get((node, 0), np.nan) - regret
        if members and np.isfinite(gain):
            j, *more = bits.members(members)
            if more:
                two[node, j, more[0]] = two[node, more[0], j] = gain
            else:
                one[node, j] = gain
    declared = welcome.targets is not None and settings.masking != "none"
    targets = tuple(welcome.names.index(t) for t in welcome.targets or ()) if declared else ()
    mask = "targets" if declared else settings.masking
    return Gains(one, two, welcome.n, settings.penalty * math.log(welcome.n) / 2, mask, targets)


class CorrelationSolver:
    """Finds correlations one by one, each from two known ones and the determinant of three variables.

    The determinant ``1 - a^2 - b^2 - c^2 + 2abc`` is the share of a variance that two parents leave unexplained, times
    the share that they leave unexplained of each other. If ``|a|`` is known it gives the sign; otherwise it is a
    quadratic equation for ``a``.
    """

    def __init__(self, seen: Gains) -> None:
        one, two = seen.shown()
        self.seen = seen
        both = np.fmax(one, one.T)  # the gain of a single parent is symmetric
        self.size = np.sqrt(np.clip(1 - np.exp(-2 * (both + seen.price) / seen.n), 0, 1 - SMALLEST))
        self.left = np.exp(np.minimum(-2 * (two + 2 * seen.price) / seen.n, 0.0))
        hidden = 1 - math.exp(-2 * max(seen.price - INTERVENTION_PRICE, 0.0) / seen.n)
        self.most = math.sqrt(hidden) + TOUCH if seen.mask == "adaptive" else 1.0
        self.r = np.eye(len(one))
        self.known = np.eye(len(one), dtype=bool)
        pairs = combinations(range(len(one)), 2)
        self.pairs = sorted(pairs, key=lambda pair: -np.nan_to_num(self.size[pair], nan=-1.0))  # strongest first
        self.hidden = [pair for pair in self.pairs if np.isnan(self.size[pair])]

    def solve(self) -> Floats:
        """Return all correlations; those that no answer determines are set to what a third variable explains."""
        self._span()
        left = [pair for pair in self.pairs if not self.known[pair]]
        while left:
            found = next(((pair, a) for pair in left if (a := self._value(*pair)) is not None), None)
            pair, a = found if found is not None else self._guess(left)
            self._set(pair, a)
            left.remove(pair)
        self._improve()
        return self.r

    def _set(self, pair: tuple[int, int], a: float) -> None:
        self.r[pair] = self.r[pair[::-1]] = a
        self.known[pair] = self.known[pair[::-1]] = True

    def _span(self) -> None:
        """Take the strongest correlations that form no cycle as positive: each fixes the sign of one variable."""
        part = np.arange(len(self.r))
        for i, j in self.pairs:
            if self.size[i, j] > 0 and part[i] != part[j]:
                self._set((i, j), float(self.size[i, j]))
                part[part == part[j]] = part[i]

    def _value(self, i: int, j: int) -> float | None:
        """The correlation of a pair, if some third variable determines it."""
        size = float(self.size[i, j])
        if np.isfinite(size):
            return self._signed(i, j, size)
        middle, width = self._roots(i, j)
        roots = np.concatenate([middle - width, middle + width])
        roots = roots[np.abs(roots) <= self.most]
        if not len(roots):
            return None
        # Every third variable gives two solutions; the true value is a solution for all of them.
        miss = np.minimum(np.abs(roots[:, None] - middle + width), np.abs(roots[:, None] - middle - width)).sum(axis=1)
        return float(roots[np.argmin(miss.round(9) + 1e-9 * np.abs(roots))])

    def _signed(self, i: int, j: int, size: float) -> float | None:
        thirds = np.flatnonzero(self.known[i] & self.known[j])
        b, c = np.tile(self.r[i, thirds], 3), np.tile(self.r[j, thirds], 3)
        left = np.concatenate([self.left[i, j, thirds], self.left[j, i, thirds], self.left[thirds, i, j]])
        of_each_other = 1 - np.concatenate([self.r[j, thirds], self.r[i, thirds], np.full(len(thirds), size)]) ** 2
        product = (left * of_each_other - 1 + size**2 + b**2 + c**2) * b * c  # 2 a (bc)^2
        usable = np.isfinite(product) & (np.abs(size * b * c) > TOUCH)
        if not usable.any():
            return None
        return math.copysign(size, float(product[usable][np.argmax(np.abs(b * c)[usable])]))

    def _roots(self, i: int, j: int) -> tuple[Floats, Floats]:
        """Centre and half-width of the two solutions, for every third variable and each of the three nodes."""
        thirds = np.flatnonzero(self.known[i] & self.known[j])
        b, c = self.r[i, thirds], self.r[j, thirds]
        ends = [self.left[i, j, thirds] * (1 - c**2), self.left[j, i, thirds] * (1 - b**2)]
        widths = [np.sqrt(np.maximum((1 - b**2) * (1 - c**2) - end, 0.0)) for end in ends]
        rest = np.maximum(1 - self.left[thirds, i, j], SMALLEST)
        widths.append(np.sqrt(np.maximum((b * c) ** 2 - rest * (b**2 + c**2 - rest), 0.0)) / rest)
        middle, width = np.concatenate([b * c, b * c, b * c / rest]), np.concatenate(widths)
        return middle[np.isfinite(width)], width[np.isfinite(width)]

    def _guess(self, left: list[tuple[int, int]]) -> tuple[tuple[int, int], float]:
        """The unknown pair that a third variable explains best; then any sign that is not determined."""
        best: tuple[tuple[int, int], float] | None = None
        for i, j in left:
            if np.isnan(self.size[i, j]):
                through = np.where(self.known[i] & self.known[j], self.r[i] * self.r[j], 0.0)
                a = float(through[np.argmax(np.abs(through))])
                if best is None or abs(a) > abs(best[1]):
                    best = ((i, j), a)
        if best is not None and (best[1] or len(self.hidden) == len(left)):
            return best[0], min(max(best[1], -self.most), self.most)
        pair = left[0]
        return pair, float(np.nan_to_num(self.size[pair]))

    def _improve(self) -> None:
        """Try other values for unknown correlations, as long as all answers with the pair fit better."""
        grid = np.linspace(-self.most, self.most, GRID)
        for _ in range(SWEEPS):
            changed = False
            for i, j in self.hidden:
                # Each of the three variables as the node, with the other two as parents.
                thirds = [k for k in range(len(self.r)) if k not in (i, j)]
                triples = [triple for k in thirds for triple in ((i, j, k), (j, i, k), (k, i, j))]
                nodes, first, second = np.array(triples, dtype=np.int64).reshape(-1, 3).T
                middle, width = self._roots(i, j)
                tried = np.concatenate([[self.r[i, j]], middle - width, middle + width, grid])
                tried = tried[np.abs(tried) <= self.most]
                r = np.repeat(self.r[None], len(tried), axis=0)
                r[:, i, j] = r[:, j, i] = tried
                miss = self.seen.misfit(r, nodes, first, second).sum(axis=(1, 2))
                best = int(np.argmin(miss))
                if miss[best] < miss[0] - TOUCH:
                    self._set((i, j), float(tried[best]))
                    changed = True
            if not changed:
                return
