"""The score of `fedperi.scores.mechanisms` with numpy, one family at a time: used if there are no compiled loops.

It defines what _kernel/mechanisms.c computes, which is a hundred times faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .mechanisms import CONSTANT, Prices
from .mechanisms_groups import TOO_FEW, Group, Scorer, count_parameters, find_groups, residual_squares

if TYPE_CHECKING:
    from .mechanisms import Mechanisms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Alone:
    """The fit of a family at one site alone."""

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
    tolerances_tried: Floats | None = None,
) -> tuple[Floats, Ints, Floats]:
    """Score a node for its first `fixed` parents joined with every subset of the others.

    Returns the scores, the group of every site (named by its lowest member) and the tolerance, for each set. The scores
    without each site are written to `without`, if it is given. Without `tolerances_tried`, those of `mechanisms` are
    tried.
    """
    tried = mechanisms.tolerances if tolerances_tried is None else tolerances_tried
    sites, count, subsets = range(len(mechanisms.n)), len(parents), 1 << len(parents)
    chosen = [[p for t, p in enumerate(parents.tolist()) if at >> t & 1] for at in range(subsets)]
    alone = [
        [] if mechanisms.constant[k, node] else [_alone(mechanisms, node, chosen[at], k) for at in range(subsets)]
        for k in sites
    ]
    for fits in alone:
        for at, fit in enumerate(fits):
            if fit.score == TOO_FEW:  # everything fits: the spread is taken from the fit without parents
                fits[at] = Alone(TOO_FEW, fits[0].likelihood, fit.parameters, fits[0].variance)
    shape = 1 << (count - fixed)
    out, groups, tolerances = np.full(shape, -np.inf), np.zeros((shape, len(sites)), dtype=np.int64), np.zeros(shape)
    if without is not None:
        without[:] = -np.inf
    skipped, best = np.zeros(shape, dtype=bool), np.full(shape, -np.inf)
    for at in range(shape):
        inside = [] if fixed else [at ^ 1 << t for t in range(count) if at >> t & 1]
        best[at] = max((best[one] for one in inside), default=-np.inf)
        if any(skipped[one] for one in inside) or (wanted is not None and not wanted[at]):
            skipped[at] = not fixed
            continue
        full = at << fixed | (1 << fixed) - 1
        here = {k: alone[k][full] for k in sites if alone[k]}
        cuts = {k: _cut([fit.score for fit in alone[k]], full, mechanisms.prices) for k in here}
        left = {k: tuple(chosen[part]) for k, (_, part) in cuts.items()}
        for tau in tried.tolist():
            scores = {k: score for k, (score, _) in cuts.items()}
            score, found, fewer = _score(mechanisms, node, chosen[full], here, scores, left, tau, without is not None)
            price = mechanisms.prices.tolerance if tau > 0 else 0.0
            score -= price * len(sites)
            if score > out[at]:
                out[at], groups[at], tolerances[at] = score, found, tau
                if without is not None:
                    without[:, at] = fewer - price * (len(sites) - 1)
        skipped[at] = out[at] < best[at] - mechanisms.margin
        best[at] = max(best[at], out[at])
    return out, groups, tolerances


class Singles(NamedTuple):
    """The fits of a family at all sites, each alone: weighted moments, one array per part; see `Group`."""

    moments: tuple[Floats, ...]
    rows: Floats
    fixed: Floats
    scores: Floats


MOST_KEPT = 1 << 24
"""Largest number of values that are cached for single sites, over all families."""


def group_score(mechanisms: Mechanisms, node: int, parents: Sequence[int], sites: Sequence[int], tau: float) -> float:
    """Compute the score of some sites that share one mechanism, without any penalty."""
    columns = [0, *columns_of(mechanisms, parents)], own_columns(mechanisms, node)
    family = (node, tuple(parents), tau)
    if family not in mechanisms.single:  # many groups are compared, and each site is in most of them
        size = len(mechanisms.n) * len(columns[1]) * (len(columns[0]) + len(columns[1])) ** 2
        if size * (len(mechanisms.single) + 1) > MOST_KEPT:
            mechanisms.single.clear()
        mechanisms.single[family] = _singles(mechanisms, node, columns, tau)
    every = mechanisms.single[family]
    if len(sites) == 1:
        return float(every.scores[sites[0]])
    some = list(sites)
    score = Scorer(len(columns[0]), len(columns[1]), bool(mechanisms.spread[node]))
    rows, fixed = sum(every.rows[some].tolist()), sum(every.fixed[some].tolist())
    return score.score_of([part[some].sum(axis=0) for part in every.moments], rows, fixed)


def _singles(mechanisms: Mechanisms, node: int, columns: tuple[list[int], list[int]], tau: float) -> Singles:
    """Compute `_alone` and `_single` for all sites at once, without cuts; meaningless where the node is constant."""
    before, own = columns
    n, spread, inside = mechanisms.n, bool(mechanisms.spread[node]), before + own
    moments = mechanisms.moments[:, inside][:, :, inside]
    squares, rank = _residual_squares(moments, len(own), CONSTANT * n)
    variance = np.maximum(squares / n[:, None], mechanisms.floor[:, own])
    likelihood = -0.5 * n * (np.log(variance).sum(axis=1) + len(own))
    parameters = len(own) * rank + len(own) * (len(own) - 1) / 2 + (len(own) if spread else 0)
    few = n < 2 * len(inside)
    scores = np.where(few, TOO_FEW, likelihood - 0.5 * parameters * np.log(n))
    c = np.where(few, 1.0, 1.0 + n * tau**2)
    fixed = -0.5 * parameters * np.log(c)
    fixed = fixed + ((1 - 1 / c) * likelihood if spread else likelihood + 0.5 * n / c * len(own))
    if spread:
        return Singles((moments * (1 / c)[:, None, None],), n / c, fixed, scores)
    sizes = range(len(before) + 1, len(inside) + 1)
    weights = 1 / c[:, None] / variance
    parts = tuple(moments[:, :m, :m] * weights[:, j, None, None] for j, m in enumerate(sizes))
    return Singles(parts, n / c, fixed, scores)


def _residual_squares(moments: Floats, last: int, least: Floats) -> tuple[Floats, Floats]:
    """Compute `residual_squares` for all sites at once."""
    left, rank, size = moments, np.zeros(len(moments)), moments.shape[1]
    squares = np.empty((len(moments), last))
    for at in range(size):
        pivot = left[:, at, at]
        if at >= size - last:
            squares[:, at - (size - last)] = np.maximum(pivot, 0.0)
        kept = pivot > least
        rank += kept & (at < size - last)
        away = left[:, :, at, None] * left[:, None, at, :] / np.where(kept, pivot, 1.0)[:, None, None]
        left = np.where(kept[:, None, None], left - away, left)
    return squares, rank


def columns_of(mechanisms: Mechanisms, variables: Sequence[int]) -> list[int]:
    """List the columns of some variables in the moments, where column 0 is the constant."""
    return [c for v in variables for c in range(int(mechanisms.first[v]), int(mechanisms.first[v + 1]))]


def own_columns(mechanisms: Mechanisms, node: int) -> list[int]:
    """List the columns of a node that its parents explain: of a number only the first, as its powers follow from it."""
    columns = columns_of(mechanisms, [node])
    return columns[:1] if mechanisms.spread[node] else columns


def _alone(mechanisms: Mechanisms, node: int, parents: Sequence[int], site: int) -> Alone:
    before, own = [0, *columns_of(mechanisms, parents)], own_columns(mechanisms, node)
    n = float(mechanisms.n[site])
    moments = mechanisms.moments[site][np.ix_(before + own, before + own)]
    squares, rank = residual_squares(moments, len(own), CONSTANT * n)
    variance = np.maximum(squares / n, mechanisms.floor[site, own])
    likelihood = -0.5 * n * (float(np.log(variance).sum()) + len(own))
    parameters = count_parameters(len(own), rank, bool(mechanisms.spread[node]))
    few = n < 2 * (len(before) + len(own))
    return Alone(TOO_FEW if few else likelihood - 0.5 * parameters * np.log(n), likelihood, parameters, variance)


def _cut(scores: Sequence[float], at: int, prices: Prices) -> tuple[float, int]:
    """Find the best score of a site with fewer parents, none or some of them, and which of them remain."""
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
    """Score one family with one tolerance; return also the group of every site, and the scores without each site."""
    columns = [0, *columns_of(mechanisms, parents)], own_columns(mechanisms, node)
    spread = bool(mechanisms.spread[node])
    at_targets, groups = dict[int, float](), list[Group]()
    for k, fit in alone.items():
        if mechanisms.declared[k, node]:
            at_targets[k] = max(fit.score, cuts[k] + mechanisms.prices.cut)
        else:
            groups.append(_single(mechanisms, k, columns, fit, cuts[k], tau, spread, left[k]))
    shapes = [len(columns_of(mechanisms, [parent])) for parent in parents]
    score = Scorer(len(columns[0]), len(columns[1]), spread, tuple(parents), tuple(shapes), tau == 0, mechanisms.prices)
    found = find_groups(groups, score) if mechanisms.share else groups
    labels, declared = np.arange(len(mechanisms.n)), sum(at_targets.values())
    for group in found:
        labels[list(group.members)] = min(group.members)
    total = declared + _add_up(found)
    fewer = np.full(len(mechanisms.n), total)
    for k, value in at_targets.items():
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
    """Add up groups, one of which has all parents without a penalty."""
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
