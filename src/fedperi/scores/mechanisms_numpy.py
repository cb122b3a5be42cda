"""The score of `fedperi.scores.mechanisms`, one family at a time and by definition: where there are no compiled loops.

It says what _kernel/mechanisms.c computes, in fewer words and a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .mechanisms import CONSTANT, USUAL, Prices

if TYPE_CHECKING:
    from .mechanisms import Mechanisms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TOO_FEW = -1e9
"""What a site scores alone if it has too few rows for the family: it must join others."""

MOST_TOGETHER = 12
"""Groups of sites that are compared with each other at a time."""

LEAST_GAIN = 1e-7
"""Nats by which moving a site must gain."""

NEAR = 3.0
"""Nats that a move may seem to lose, and still be looked at."""


@dataclass(frozen=True)
class Group:
    """Sites that share a mechanism: their weighted moments, one matrix per part; rows; what joining does not change.

    `score` is with all parents; `value` the better of that and fewer parents, with prices; `cut` are the parents that
    it is left with then; `fit` is the fit of a site alone.
    """

    members: tuple[int, ...]
    moments: tuple[Floats, ...]
    rows: float
    fixed: float
    score: float
    value: float
    fit: float = 0.0
    cut: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Alone:
    """What one site says of a family by itself."""

    score: float
    likelihood: float
    parameters: float
    variance: Floats


def score_families(
    mechanisms: Mechanisms,
    node: int,
    parents: Ints,
    fixed: int,
    wanted: Bools | None = None,
    without: Floats | None = None,
) -> tuple[Floats, Ints, Floats]:
    """Score a node for its first `fixed` parents joined with every subset of the others.

    Returns the scores, the group of every site (named by its lowest member) and the tolerance, for each set. The scores
    without each site are written to `without`, if it is given.
    """
    sites, count, subsets = range(len(mechanisms.n)), len(parents), 1 << len(parents)
    chosen = [[p for t, p in enumerate(parents.tolist()) if at >> t & 1] for at in range(subsets)]
    alone = [
        [] if mechanisms.constant[k, node] else [_alone(mechanisms, node, chosen[at], k) for at in range(subsets)]
        for k in sites
    ]
    for fits in alone:
        for at, fit in enumerate(fits):
            if fit.score == TOO_FEW:  # it could fit anything: its spread is that without parents
                fits[at] = Alone(TOO_FEW, fits[0].likelihood, fit.parameters, fits[0].variance)
    shape = 1 << (count - fixed)
    out, groups, tolerances = np.full(shape, -np.inf), np.zeros((shape, len(sites)), dtype=np.int64), np.zeros(shape)
    if without is not None:
        without[:] = -np.inf
    hopeless, best = np.zeros(shape, dtype=bool), np.full(shape, -np.inf)
    for at in range(shape):
        inside = [] if fixed else [at ^ 1 << t for t in range(count) if at >> t & 1]
        best[at] = max((best[one] for one in inside), default=-np.inf)
        if any(hopeless[one] for one in inside) or (wanted is not None and not wanted[at]):
            hopeless[at] = not fixed
            continue
        full = at << fixed | (1 << fixed) - 1
        here = {k: alone[k][full] for k in sites if alone[k]}
        cuts = {k: _cut([fit.score for fit in alone[k]], full, mechanisms.prices) for k in here}
        left = {k: tuple(chosen[at]) for k, (_, at) in cuts.items()}
        for tau in mechanisms.tolerances.tolist():
            scores = {k: score for k, (score, _) in cuts.items()}
            score, found, fewer = _score(mechanisms, node, chosen[full], here, scores, left, tau, without is not None)
            price = mechanisms.prices.tolerance if tau > 0 else 0.0
            score -= price * len(sites)
            if score > out[at]:
                out[at], groups[at], tolerances[at] = score, found, tau
                if without is not None:
                    without[:, at] = fewer - price * (len(sites) - 1)
        hopeless[at] = out[at] < best[at] - mechanisms.margin
        best[at] = max(best[at], out[at])
    return out, groups, tolerances


def group_score(mechanisms: Mechanisms, node: int, parents: Sequence[int], sites: Sequence[int], tau: float) -> float:
    """Score of some sites that share one mechanism, before any price."""
    columns = [0, *_columns(mechanisms, parents)], own_columns(mechanisms, node)
    score = _Scorer(len(columns[0]), len(columns[1]), bool(mechanisms.spread[node]))
    fits = [_alone(mechanisms, node, parents, k) for k in sites]
    groups = [
        _single(mechanisms, k, columns, fit, -np.inf, tau, score.spread) for k, fit in zip(sites, fits, strict=True)
    ]
    return score.join(*groups).score


def _columns(mechanisms: Mechanisms, variables: Sequence[int]) -> list[int]:
    return [c for v in variables for c in range(int(mechanisms.first[v]), int(mechanisms.first[v + 1]))]


def own_columns(mechanisms: Mechanisms, node: int) -> list[int]:
    """Columns of a node that its parents explain: of a number the first, which is itself; its powers follow from it."""
    columns = _columns(mechanisms, [node])
    return columns[:1] if mechanisms.spread[node] else columns


def _residual_squares(moments: Floats, last: int, least: float) -> tuple[Floats, int]:
    """Residual sums of squares of the last columns, each given all before it, and the rank of the columns before."""
    left, rank = moments.copy(), 0
    squares = []
    for at in range(len(moments)):
        pivot = left[at, at]
        if at >= len(moments) - last:
            squares.append(max(pivot, 0.0))
        if pivot > least:
            rank += at < len(moments) - last
            left = left - np.outer(left[:, at], left[at]) / pivot
    return np.array(squares), rank


def _parameters(own: int, rank: int, spread: bool) -> float:
    return own * rank + own * (own - 1) / 2 + (own if spread else 0)


def _alone(mechanisms: Mechanisms, node: int, parents: Sequence[int], site: int) -> Alone:
    before, own = [0, *_columns(mechanisms, parents)], own_columns(mechanisms, node)
    n = float(mechanisms.n[site])
    moments = mechanisms.moments[site][np.ix_(before + own, before + own)]
    squares, rank = _residual_squares(moments, len(own), CONSTANT * n)
    variance = np.maximum(squares / n, mechanisms.floor[site, own])
    likelihood = -0.5 * n * (float(np.log(variance).sum()) + len(own))
    parameters = _parameters(len(own), rank, bool(mechanisms.spread[node]))
    few = n < 2 * (len(before) + len(own))
    return Alone(TOO_FEW if few else likelihood - 0.5 * parameters * np.log(n), likelihood, parameters, variance)


def _cut(scores: Sequence[float], at: int, prices: Prices) -> tuple[float, int]:
    """The best that a site can have with fewer parents, none of them or some; and which it is left with."""
    if not at:
        return -np.inf, 0
    some = max((part for part in range(at) if not part & ~at), key=lambda part: scores[part])
    none = scores[0] - prices.cut
    return (scores[some] - prices.some, some) if scores[some] - prices.some > none else (none, 0)


def _score(
    mechanisms: Mechanisms,
    node: int,
    parents: Sequence[int],
    alone: dict[int, Alone],
    cuts: dict[int, float],
    left: dict[int, tuple[int, ...]],
    tau: float,
    without: bool,
) -> tuple[float, Ints, Floats]:
    columns = [0, *_columns(mechanisms, parents)], own_columns(mechanisms, node)
    spread = bool(mechanisms.spread[node])
    told, groups = dict[int, float](), list[Group]()
    for k, fit in alone.items():
        if mechanisms.declared[k, node]:
            told[k] = max(fit.score, cuts[k] + mechanisms.prices.cut)
        else:
            groups.append(_single(mechanisms, k, columns, fit, cuts[k], tau, spread, left[k]))
    shapes = [len(_columns(mechanisms, [parent])) for parent in parents]
    score = _Scorer(
        len(columns[0]), len(columns[1]), spread, tuple(parents), tuple(shapes), tau == 0, mechanisms.prices
    )
    found = _find_groups(groups, score) if mechanisms.share else groups
    labels, declared = np.arange(len(mechanisms.n)), sum(told.values())
    for group in found:
        labels[list(group.members)] = min(group.members)
    total = declared + _add_up(found)
    fewer = np.full(len(mechanisms.n), total)
    for k, value in told.items():
        fewer[k] -= value
    for group in found if without else []:
        for k in group.members:
            rest = [site for site in _members(groups, group) if site.members[0] != k]
            others = [other for other in found if other is not group]
            if len(rest) > 1:
                others.append(score.cut_to(score.join(*(replace(one, cut=None) for one in rest)), group.cut))
            if len(rest) == 1 and rest[0].value == TOO_FEW and others:  # it must join others
                joins = [score.join(*_members(groups, other), rest[0]).value - other.value for other in others]
                fewer[k] = declared + _add_up(others) + max(TOO_FEW, *joins)
                continue
            fewer[k] = declared + _add_up(others + (rest if len(rest) == 1 else []))
    return total, labels, fewer


def _members(sites: list[Group], group: Group) -> list[Group]:
    return [site for site in sites if site.members[0] in group.members]


def _add_up(groups: list[Group]) -> float:
    """Add up groups, one of which has all parents, free of charge."""
    return sum(group.value for group in groups) + max((group.score - group.value for group in groups), default=0.0)


def _single(
    mechanisms: Mechanisms,
    site: int,
    columns: tuple[list[int], list[int]],
    fit: Alone,
    cut: float,
    tau: float,
    spread: bool,
    left: tuple[int, ...] = (),
) -> Group:
    before, own = columns
    n, few = float(mechanisms.n[site]), fit.score == TOO_FEW
    c = 1.0 if few else 1.0 + n * tau**2
    fixed = -0.5 * fit.parameters * np.log(c)
    own_fit = fit.likelihood + fixed
    parts = [own] if spread else [own[: j + 1] for j in range(len(own))]
    weights = [1 / c] if spread else (1 / c / fit.variance).tolist()
    fixed += (1 - 1 / c) * fit.likelihood if spread else fit.likelihood + 0.5 * n / c * len(own)
    moments = tuple(
        mechanisms.moments[site][np.ix_(before + part, before + part)] * weight
        for part, weight in zip(parts, weights, strict=True)
    )
    own_value = fit.score - mechanisms.prices.own
    value = TOO_FEW if few else max(own_value, cut)
    kept = left if not few and cut > own_value else None
    return Group((site,), moments, n / c, fixed, fit.score, value, own_fit, kept)


@dataclass(frozen=True)
class _Scorer:
    regressors: int
    own: int
    spread: bool
    parents: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    exact: bool = False
    prices: Prices = USUAL

    def join(self, *groups: Group) -> Group:
        """Let groups share one mechanism."""
        if len(groups) == 1:
            return groups[0]
        moments = tuple(sum(parts[1:], start=parts[0]) for parts in zip(*(g.moments for g in groups), strict=True))
        rows, fixed = sum(group.rows for group in groups), sum(group.fixed for group in groups)
        if self.spread:
            squares, rank = _residual_squares(moments[0], self.own, CONSTANT * rows)
            fit = -0.5 * rows * float((np.log(np.maximum(squares / rows, 1e-300)) + 1).sum())
        else:
            found = [_residual_squares(part, 1, CONSTANT * part[0, 0]) for part in moments]
            fit, rank = -0.5 * sum(float(squares[0]) for squares, _ in found), found[0][1]
        score = fit + fixed - 0.5 * self.parameters(rank) * np.log(rows)
        members = tuple(k for group in groups for k in group.members)
        joint = Group(members, moments, rows, fixed, score, score - self.prices.own)
        for some in dict.fromkeys(group.cut for group in groups):
            joint = self.cut_to(joint, some)
        return joint

    def cut_to(self, group: Group, parents: tuple[int, ...] | None) -> Group:
        """Cut a group off from all but some parents, if that is better."""
        if parents is None or not self.exact or not self.spread:
            return group
        price = self.prices.some if parents else self.prices.cut
        found = self._score_some(group.moments[0], group.rows, parents) - price
        return replace(group, value=found, cut=parents) if found > group.value else group

    def _score_some(self, moments: Floats, rows: float, parents: tuple[int, ...]) -> float:
        """Score of a group that is left with some of its parents."""
        starts = np.cumsum([1, *self.widths]).tolist()
        kept = [0]
        for parent, start, width in zip(self.parents, starts, self.widths, strict=False):
            kept += range(start, start + width) if parent in parents else []
        kept += range(self.regressors, self.regressors + self.own)
        squares, rank = _residual_squares(moments[np.ix_(kept, kept)], self.own, CONSTANT * rows)
        fit = -0.5 * rows * float((np.log(np.maximum(squares / rows, 1e-300)) + 1).sum())
        return float(fit - 0.5 * self.parameters(rank) * np.log(rows))

    def parameters(self, rank: int) -> float:
        """Parameters that are compared."""
        return _parameters(self.own, rank, self.spread)

    def fit_around(self, site: Group, group: Group) -> float:
        """Fit of a site around the mechanism of a group."""
        total = 0.0
        for j in range(self.own):
            part, column = (0 if self.spread else j), self.regressors + j
            theirs, here = group.moments[part], site.moments[part]
            before = slice(0, column)
            weights = _solve(theirs[before, before], theirs[before, column], CONSTANT * group.moments[part][0, 0])
            v = np.append(-weights, 1.0)
            around = max(float(v @ here[: column + 1, : column + 1] @ v), 0.0)
            left = float(v @ theirs[: column + 1, : column + 1] @ v)
            variance = max(left / group.rows, 1e-300) if self.spread else 1.0
            total -= 0.5 * (site.rows * np.log(variance) + around / variance)
        return total


def _solve(moments: Floats, cross: Floats, least: float) -> Floats:
    """Weights of a regression; those of columns that the columns before determine are zero."""
    kept: list[int] = []
    for at in range(len(moments)):
        inside = [*kept, at]
        if _residual_squares(moments[np.ix_(inside, inside)], 1, least)[0][0] > least:
            kept = inside
    weights = np.zeros(len(moments))
    weights[kept] = np.linalg.solve(moments[np.ix_(kept, kept)], cross[kept])
    return weights


def _find_groups(sites: list[Group], score: _Scorer) -> list[Group]:
    """Split the sites into groups: those that leave the group of all, joined again and moved where it gains."""
    groups = _agglomerate(_peel(sites, score), score)
    return _move_sites(sites, groups, score) if len(groups) > 1 and len(sites) <= MOST_TOGETHER else groups


def _peel(sites: list[Group], score: _Scorer) -> list[Group]:
    """Take sites out of the group of all, the one that gains most by it first, while one gains."""
    inside, outside = list(sites), list[Group]()
    if len(sites) < 2:
        return inside
    whole = score.join(*inside)
    while len(inside) > 1:
        leaver = _most_apart(inside, whole, score)
        if leaver is None:
            break
        rest = [site for site in inside if site is not leaver]
        fewer = score.join(*rest)
        if fewer.score + leaver.value <= whole.score:  # it seemed to gain, and does not
            break
        inside, whole = rest, fewer
        outside.append(leaver)
    return [whole, *outside[::-1]] if len(inside) > 1 else [*inside, *outside[::-1]]


def _most_apart(sites: list[Group], whole: Group, score: _Scorer) -> Group | None:
    """Which site gains most by leaving its group; None if none seems to.

    Without a site of n of N rows the mechanism of the others lies N / (N - n) times as far from it, as a mean does.
    """
    best, leaver = 0.0, None
    for site in sites:
        if site.value == TOO_FEW:
            continue
        farther = whole.rows / (whole.rows - site.rows)
        apart = site.fit - site.fixed - score.fit_around(site, whole)
        gain = site.value - site.fit + farther * apart + 0.5 * score.parameters(score.regressors) * np.log(farther)
        if gain > best:
            best, leaver = gain, site
    return leaver


def _agglomerate(groups: list[Group], score: _Scorer) -> list[Group]:
    """Join groups, those that gain most first, while it gains; many sites in batches first."""
    while len(groups) > MOST_TOGETHER:
        batches = [groups[at : at + MOST_TOGETHER] for at in range(0, len(groups), MOST_TOGETHER)]
        fewer = [group for batch in batches for group in _join_within(batch, score)]
        if len(fewer) == len(groups):
            return groups
        groups = fewer
    return _join_within(groups, score)


def _join_within(groups: list[Group], score: _Scorer) -> list[Group]:
    groups = list(groups)
    while len(groups) > 1:
        pairs = [(score.join(a, b), a, b) for a, b in combinations(groups, 2)]
        joint, a, b = max(pairs, key=lambda pair: pair[0].value - pair[1].value - pair[2].value)
        if joint.value - a.value - b.value <= 0:
            break
        groups = [group for group in groups if group is not a and group is not b] + [joint]
    return groups


def _move_sites(sites: list[Group], groups: list[Group], score: _Scorer) -> list[Group]:
    """Move single sites to another group, or out of theirs, the one that gains most first, while one gains."""
    alone = {site.members[0]: site for site in sites}
    parts = [list(group.members) for group in groups]

    def joined(members: list[int]) -> Group:
        return score.join(*(alone[k] for k in members))

    def value(members: list[int]) -> float:
        return joined(members).value if members else 0.0

    for _ in sites:
        best, move = LEAST_GAIN, None
        fits = [joined(part) for part in parts]
        for k in sorted(alone):
            at = next(at for at, part in enumerate(parts) if k in part)
            own = parts[at]
            rest = [member for member in own if member != k]
            seems = _adds(score, alone[k], fits[at], -1) if rest else alone[k].value
            for there, other in [(-1, []), *((i, part) for i, part in enumerate(parts) if i != at)]:
                if not rest and not other:
                    continue
                added = _adds(score, alone[k], fits[there], 1) if other else alone[k].value
                if added + NEAR < seems:
                    continue
                gain = value([*other, k]) - value(other) - value(own) + value(rest)
                if gain > best:
                    best, move = gain, (k, own, other)
        if move is None:
            break
        k, own, other = move
        parts = [part for part in parts if part is not own and part is not other]
        parts += [part for part in ([member for member in own if member != k], [*other, k]) if part]
    return [joined(sorted(part)) for part in parts]


def _adds(score: _Scorer, site: Group, group: Group, sign: int) -> float:
    """About what a site adds to a group that it would join (1), or is in (-1), with its mechanism as it is.

    Squares around a mean grow by N / (N - n) if n of N rows leave, and fall by N / (N + n) for n that join.
    """
    other = group.rows + sign * site.rows
    apart = site.fit - site.fixed - score.fit_around(site, group)
    price = 0.5 * score.parameters(score.regressors)
    return float(site.fit - apart * group.rows / other - sign * price * np.log(other / group.rows))
