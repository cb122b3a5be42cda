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

from ..coordinator.transcript import Transcript
from ..discovery.ges.ges import ges_fit
from ..errors import InputError
from ..graph import bits
from ..graph.pdag import PDAG
from ..protocol.messages import Families, Settings, Welcome
from ..scores.gaussian import GaussianScore
from ..scores.lattice import subset_sizes
from ..scores.masking import INTERVENTION_PRICE, PARTIAL_PRICE, adaptive_mask, consensus_mask

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOUCH = 1e-7
"""How far a gain must be from where a mask cuts it off to count as seen."""

GRID, SWEEPS = 41, 6
"""Values tried for a correlation that no equation gives, and how often all of them are gone through."""

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

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.IPERI(masking="none").fit(fp.simulate(3, clients=1, samples=100).sites)
    >>> reconstruct(result.transcript)[0].misfit < 1e-6
    True
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
        return np.asarray(np.isfinite(self.one) & (self.one != 0))

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

    def misfit(self, r: Floats, node: Ints, j: Ints, k: Ints) -> Floats:
        """Differences between gains of j, k and both that were seen at a node, and those that correlations give."""
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
    misfit = seen.misfit(r, *np.nonzero(np.isfinite(seen.two)))
    return SiteFound(welcome.site, r, graph, float(misfit.max(initial=0.0)))


class _Solver:
    """Finds correlations one by one, each from two that are known: three variables have one determinant.

    Its value ``1 - a^2 - b^2 - c^2 + 2abc`` is the share of a variance that two parents leave, times that which they
    leave of each other. Where ``|a|`` is known it gives the sign, elsewhere it is a quadratic equation for ``a``.
    """

    def __init__(self, seen: _Seen) -> None:
        one, two = seen.shown()
        self.seen = seen
        both = np.fmax(one, one.T)  # a gain of a single parent is the same either way
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
        """Return all correlations; those that nothing tells are taken as what goes through a third variable."""
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
        """Take the strongest correlations that form no circle as positive: each fixes the sign of one variable."""
        part = np.arange(len(self.r))
        for i, j in self.pairs:
            if self.size[i, j] > 0 and part[i] != part[j]:
                self._set((i, j), float(self.size[i, j]))
                part[part == part[j]] = part[i]

    def _value(self, i: int, j: int) -> float | None:
        """The correlation of a pair, if some third variable tells."""
        size = float(self.size[i, j])
        if np.isfinite(size):
            return self._signed(i, j, size)
        middle, width = self._roots(i, j)
        roots = np.concatenate([middle - width, middle + width])
        roots = roots[np.abs(roots) <= self.most]
        if not len(roots):
            return None
        # Every third variable offers two values; the true one is among those of all.
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
        """Middle and half the distance of the two solutions, for every third variable and each of the three nodes."""
        thirds = np.flatnonzero(self.known[i] & self.known[j])
        b, c = self.r[i, thirds], self.r[j, thirds]
        ends = [self.left[i, j, thirds] * (1 - c**2), self.left[j, i, thirds] * (1 - b**2)]
        widths = [np.sqrt(np.maximum((1 - b**2) * (1 - c**2) - end, 0.0)) for end in ends]
        rest = np.maximum(1 - self.left[thirds, i, j], SMALLEST)
        widths.append(np.sqrt(np.maximum((b * c) ** 2 - rest * (b**2 + c**2 - rest), 0.0)) / rest)
        middle, width = np.concatenate([b * c, b * c, b * c / rest]), np.concatenate(widths)
        return middle[np.isfinite(width)], width[np.isfinite(width)]

    def _guess(self, left: list[tuple[int, int]]) -> tuple[tuple[int, int], float]:
        """The hidden pair that most goes through a third variable; then any sign that nothing tells."""
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
        """Try other values for what was hidden, by all answers that hold the pair, while these fit better."""
        grid = np.linspace(-self.most, self.most, GRID)
        for _ in range(SWEEPS):
            changed = False
            for i, j in self.hidden:
                # Each of three variables as the node, the other two as its parents.
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
