"""What regrets reveal: a site's correlations and its graph, from the words of a run alone, without any table.

With one parent a local score is ``-(n/2) log(1 - r^2) - price`` above the score without: `n` is told at the beginning,
the price is known, and two regrets differ as the scores do. So single parents give every ``|r|``, and pairs of parents
the signs: the determinant of three variables holds the product of their correlations. (Turning a column's sign changes
no score, so signs are known up to that.) A mask hides little: under "adaptive", what is too weak alone shows beside a
stronger variable; under "consensus", regrets that stay exactly equal tell which edges the site's graph has.

The attack takes every variable as one column of numbers. What it finds of a site is checked against all answers that
it used (`SiteFound.misfit`), so that the attacker knows, too, where that was wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..graph import bits
from ..graph.pdag import PDAG
from ..local.gaussian import GaussianScore
from ..local.ges import ges_fit
from ..local.lattice import subset_sizes
from .masking import INTERVENTION_PRICE, PARTIAL_PRICE, adaptive_mask, consensus_mask
from .messages import Families, Settings, Welcome
from .transcript import Transcript

Floats = NDArray[np.float64]

TOUCH = 1e-7
"""How far a gain must be from where a mask cuts it off to count as seen."""

LEAST = 1e-6
"""Smallest eigenvalue of correlations that are scored."""

SMALLEST = 1e-9
"""Share of a variance that others leave at least: keeps logarithms finite while correlations are being fitted."""


@dataclass(frozen=True, eq=False)
class SiteFound:
    """What was reconstructed of one site.

    Attributes
    ----------
    site : str
    correlation : array, shape (p, p)
        Its correlations, up to the sign of each variable.
    graph : PDAG
        The CPDAG that the site would learn, or has learned, alone.
    misfit : float
        The largest difference, in nats, between an answer and what these correlations give.
    """

    site: str
    correlation: Floats
    graph: PDAG
    misfit: float


def reconstruct(transcript: Transcript) -> tuple[SiteFound, ...]:
    """Recover every site's correlations and graph from a transcript.

    Examples
    --------
    >>> import numpy as np
    >>> import fedperi as fp
    >>> sim = fp.simulate(4, clients=2, samples=500, seed=3)
    >>> found = reconstruct(fp.IPERI().fit(sim.sites).transcript)[0]
    >>> true = np.corrcoef(sim.sites[0].to_numpy().T)
    >>> bool(np.abs(np.abs(found.correlation) - np.abs(true)).max() < 1e-6), found.graph == fp.ges(sim.sites[0])
    (True, True)
    """
    answers = _answers(transcript)
    return tuple(
        _site(welcome, transcript.settings, {key: float(values[k]) for key, values in answers.items()})
        for k, welcome in enumerate(transcript.sites)
    )


@dataclass(frozen=True)
class Closeness:
    """How close a reconstruction is to the truth, over all sites.

    Attributes
    ----------
    largest_error, typical_error : float
        Largest and median absolute error of a correlation, variables signed as fits best.
    exact_graphs : float
        Share of sites whose graph was found exactly.
    """

    largest_error: float
    typical_error: float
    exact_graphs: float


def closeness(
    found: tuple[SiteFound, ...], correlations: Mapping[str, ArrayLike], graphs: Mapping[str, PDAG]
) -> Closeness:
    """Compare a reconstruction with every site's true correlations and graph, which only a test can know.

    Parameters
    ----------
    found : tuple of SiteFound
    correlations : mapping of str to array_like
        By site, variables in the order of the run.
    graphs : mapping of str to PDAG
        By site.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi import PDAG
    >>> graph = PDAG.from_edges(undirected=[("A", "B")])
    >>> found = SiteFound("north", np.array([[1, -0.5], [-0.5, 1]]), graph, 0.0)
    >>> closeness((found,), {"north": [[1, 0.6], [0.6, 1]]}, {"north": graph})
    Closeness(largest_error=0.1, typical_error=0.1, exact_graphs=1.0)
    """
    missing = [site.site for site in found if site.site not in correlations or site.site not in graphs]
    if missing:
        raise InputError(f"nothing to compare site {missing[0]!r} with: give its true correlations and graph")
    errors = np.concatenate([_errors(site.correlation, correlations[site.site]) for site in found])
    exact = [site.graph == graphs[site.site].reordered(site.graph.names) for site in found]
    return Closeness(
        round(float(errors.max(initial=0.0)), 12), round(float(np.median(errors)), 12), float(np.mean(exact))
    )


# -- what was said ----------------------------------------------------------------------------------------------------


def _answers(transcript: Transcript) -> dict[tuple[int, int], Floats]:
    """Regrets of all parent sets of at most two members: (node, bit set) to one number a site."""
    out: dict[tuple[int, int], Floats] = {}
    for questions, replies in transcript.rounds:
        for question, reply in zip(questions, replies, strict=True):
            if isinstance(question, Families):
                fixed, free = question.fixed.shape[1], question.free.shape[1]
                places = [0, *(1 << t for t in range(free)), *(1 << t | 1 << u for t in range(free) for u in range(t))]
                for place in places:
                    if place.bit_count() + fixed <= 2:
                        chosen = [t for t in range(free) if place >> t & 1]
                        members = np.column_stack([question.fixed, question.free[:, chosen]])
                        sets = (1 << members).sum(axis=1).tolist()
                        out |= {
                            (i, s): reply[:, row, place]
                            for row, (i, s) in enumerate(zip(question.nodes.tolist(), sets, strict=True))
                        }
    return out


@dataclass(frozen=True, eq=False)
class _Seen:
    """Gains of one and of two parents over none, as a site's mask shows them; NaN where nothing was asked."""

    one: Floats  # (p, p): node, parent
    two: Floats  # (p, p, p): node, parent, parent
    n: float
    price: float
    mask: str  # "targets" if the site declared some
    targets: tuple[int, ...]

    @property
    def edges(self) -> NDArray[np.bool_]:
        """Where a gain is not exactly zero: under "consensus", a node's parents and neighbours in the site's graph."""
        return np.isfinite(self.one) & (self.one != 0)

    def shown(self) -> tuple[Floats, Floats]:
        """Return the gains that are those of the whole set, not of a part that the mask prefers; else NaN."""
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

    def misfit(self, r: Floats) -> float:
        """The largest difference between a gain that was seen and the one that correlations give."""
        node, j, k = np.nonzero(np.isfinite(self.two))
        pairs = np.column_stack([j, k])
        a, b, c = r[node, j], r[node, k], r[j, k]
        left = (1 - a**2 - b**2 - c**2 + 2 * a * b * c) / np.maximum(1 - c**2, SMALLEST)
        gains = [-self.n / 2 * np.log(np.maximum(v, SMALLEST)) for v in (1 - a**2, 1 - b**2, left)]
        lattice = np.column_stack([np.zeros(len(node)), *gains]) - self.price * subset_sizes(2)
        if self.mask == "adaptive":
            lattice = adaptive_mask(lattice)
        elif self.mask == "consensus":
            lattice = consensus_mask(lattice, self.edges[node[:, None], pairs])
        else:
            lattice = np.where(np.isin(node, self.targets)[:, None], 0.0, lattice)
        seen = np.column_stack([self.one[node, j], self.one[node, k], self.two[node, j, k]])
        return float(np.nanmax(np.abs(lattice[:, 1:] - seen), initial=0.0))


def _seen(welcome: Welcome, settings: Settings, regrets: Mapping[tuple[int, int], float]) -> _Seen:
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
    return _Seen(one, two, welcome.n, settings.penalty * math.log(welcome.n) / 2, mask, targets)


# -- what it tells ----------------------------------------------------------------------------------------------------


def _site(welcome: Welcome, settings: Settings, regrets: Mapping[tuple[int, int], float]) -> SiteFound:
    seen = _seen(welcome, settings, regrets)
    r = _Solver(seen).solve()
    if seen.mask == "consensus":
        graph = PDAG(seen.edges.T, welcome.names)
    else:
        graph = ges_fit(GaussianScore(_definite(r), welcome.n, welcome.names, penalty=settings.penalty)).graph
    return SiteFound(welcome.site, r, graph, seen.misfit(r))


class _Solver:
    """Finds correlations one by one, each from two that are known: three variables have one determinant.

    Its value ``1 - a^2 - b^2 - c^2 + 2abc`` is the share of a variance that two parents leave, times that which they
    leave of each other. Where ``|a|`` is known it gives the sign, elsewhere it is a quadratic equation for ``a``.
    """

    def __init__(self, seen: _Seen) -> None:
        one, two = seen.shown()
        both = np.fmax(one, one.T)  # a gain of a single parent is the same either way
        self.size = np.sqrt(np.clip(1 - np.exp(-2 * (both + seen.price) / seen.n), 0, 1 - SMALLEST))
        self.left = np.exp(-2 * (two + 2 * seen.price) / seen.n)
        hidden = 1 - math.exp(-2 * max(seen.price - INTERVENTION_PRICE, 0.0) / seen.n)
        self.most = math.sqrt(hidden) + TOUCH if seen.mask == "adaptive" else 1.0
        self.r = np.eye(len(one))
        self.known = np.eye(len(one), dtype=bool)

    def solve(self) -> Floats:
        """Return all correlations; those that nothing tells are taken as what goes through a third variable."""
        self._span()
        p = len(self.r)
        pairs = sorted(combinations(range(p), 2), key=lambda pair: -np.nan_to_num(self.size[pair], nan=-1.0))
        open_pairs = [pair for pair in pairs if not self.known[pair]]
        while open_pairs:
            # Signs first, the strongest pairs before the others: what follows rests on them.
            found = next(((pair, a) for pair in open_pairs if (a := self._value(*pair)) is not None), None)
            (i, j), a = found if found is not None else (open_pairs[0], self._guess(*open_pairs[0]))
            self._set(i, j, a)
            open_pairs.remove((i, j))
        return self.r

    def _set(self, i: int, j: int, a: float) -> None:
        self.r[i, j] = self.r[j, i] = a
        self.known[i, j] = self.known[j, i] = True

    def _span(self) -> None:
        """Take the strongest correlations that form no circle as positive: each fixes the sign of one variable."""
        part = np.arange(len(self.r))
        for i, j in sorted(combinations(range(len(self.r)), 2), key=lambda pair: -np.nan_to_num(self.size[pair])):
            if self.size[i, j] > 0 and part[i] != part[j]:
                self._set(i, j, float(self.size[i, j]))
                part[part == part[j]] = part[i]

    def _value(self, i: int, j: int) -> float | None:
        thirds = np.flatnonzero(self.known[i] & self.known[j])
        b, c = self.r[i, thirds], self.r[j, thirds]
        by_ends = np.concatenate([self.left[i, j, thirds] * (1 - c**2), self.left[j, i, thirds] * (1 - b**2)])
        by_third = self.left[thirds, i, j]
        b2, c2 = np.tile(b, 2), np.tile(c, 2)
        size = float(self.size[i, j])
        if np.isfinite(size):
            determinant = np.concatenate([by_ends, by_third * (1 - size**2)])
            b3, c3 = np.tile(b, 3), np.tile(c, 3)
            product = (determinant - 1 + size**2 + b3**2 + c3**2) * b3 * c3  # twice a (bc)^2
            usable = np.isfinite(product) & (np.abs(size * b3 * c3) > TOUCH)
            if not usable.any():
                return None
            return math.copysign(size, float(product[usable][np.argmax(np.abs(b3 * c3)[usable])]))
        spread = np.sqrt(np.maximum((1 - b2**2) * (1 - c2**2) - by_ends, 0.0))
        rest = np.maximum(1 - by_third, SMALLEST)
        spread_third = np.sqrt(np.maximum((b * c) ** 2 - rest * (b**2 + c**2 - rest), 0.0)) / rest
        middle = np.concatenate([b2 * c2, b * c / rest])
        width = np.concatenate([spread, spread_third])
        middle, width = middle[np.isfinite(width)], width[np.isfinite(width)]
        roots = np.concatenate([middle - width, middle + width])
        roots = roots[np.abs(roots) <= self.most]
        if not len(roots):
            return None
        # Every third variable offers two values; the true one is among those of all.
        miss = np.minimum(np.abs(roots[:, None] - middle + width), np.abs(roots[:, None] - middle - width)).sum(axis=1)
        return float(roots[np.argmin(miss.round(9) + 1e-9 * np.abs(roots))])

    def _guess(self, i: int, j: int) -> float:
        if np.isfinite(self.size[i, j]):
            return float(self.size[i, j])
        through = np.where(self.known[i] & self.known[j], self.r[i] * self.r[j], 0.0)
        strongest = float(through[np.argmax(np.abs(through))])
        return min(max(strongest, -self.most), self.most)


def _definite(r: Floats) -> Floats:
    """Correlations with all eigenvalues positive, so that they can be scored."""
    smallest = float(np.linalg.eigvalsh(r)[0])
    share = max(0.0, (LEAST - smallest) / (1 - smallest)) if smallest < LEAST else 0.0
    out: Floats = (1 - share) * r + share * np.eye(len(r))
    return out


def _errors(found: Floats, true: ArrayLike) -> Floats:
    """Absolute errors of all pairs, the sign of every variable chosen along its strongest known relatives."""
    truth = np.asarray(true, dtype=np.float64)
    if truth.shape != found.shape:
        raise InputError(f"the true correlations have shape {truth.shape}, those that were found {found.shape}")
    agree = truth * found
    sign = np.zeros(len(truth))
    while (sign == 0).any():
        reached = sign != 0
        if not reached.any():
            sign[0] = 1.0
            continue
        bridge = np.where(reached[:, None] & ~reached[None, :], np.abs(agree), -1.0)
        i, j = np.unravel_index(int(np.argmax(bridge)), bridge.shape)
        sign[j] = sign[i] * (1.0 if agree[i, j] >= 0 else -1.0)
    upper = np.triu_indices(len(truth), 1)
    return np.asarray(np.abs(truth - found * np.outer(sign, sign))[upper])
