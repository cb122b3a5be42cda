"""The score of `fedperi.local.mechanisms`, one family at a time and by definition: where there are no compiled loops.

It says what kernel/mechanisms.c computes, in fewer words and a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .mechanisms import CONSTANT, PRICE_CUT, PRICE_OWN, PRICE_SOME, PRICE_TOLERANCE

if TYPE_CHECKING:
    from .mechanisms import Mechanisms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TOO_FEW = -1e12
"""What a site scores alone if it has too few rows for the family: it must join others."""

MOST_TOGETHER = 12
"""Sites that are compared with each other at a time."""


@dataclass(frozen=True)
class Group:
    """Sites that share a mechanism: their weighted moments, one matrix per part; rows; what joining does not change."""

    members: tuple[int, ...]
    moments: tuple[Floats, ...]
    rows: float
    fixed: float
    score: float
    value: float


@dataclass(frozen=True)
class Alone:
    """What one site says of a family by itself."""

    score: float
    likelihood: float
    parameters: float
    variance: Floats


def score_families(
    mechanisms: Mechanisms, node: int, parents: Ints, fixed: int, wanted: Bools | None = None
) -> tuple[Floats, Ints, Floats]:
    """Score a node for its first `fixed` parents joined with every subset of the others.

    Returns the scores, the group of every site (named by its lowest member) and the tolerance, for each set.
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
    for at in range(shape):
        if wanted is not None and not wanted[at]:
            continue
        full = at << fixed | (1 << fixed) - 1
        here = {k: alone[k][full] for k in sites if alone[k]}
        cuts = {k: _cut([fit.score for fit in alone[k]], full) for k in here}
        for tau in mechanisms.tolerances.tolist():
            score, found = _score(mechanisms, node, chosen[full], here, cuts, tau)
            score -= PRICE_TOLERANCE if tau > 0 else 0.0
            if score > out[at]:
                out[at], groups[at], tolerances[at] = score, found, tau
    return out, groups, tolerances


def group_score(mechanisms: Mechanisms, node: int, parents: Sequence[int], sites: Sequence[int], tau: float) -> float:
    """Score of some sites that share one mechanism, before any price."""
    columns = [0, *_columns(mechanisms, parents)], _columns(mechanisms, [node])
    score = _Scorer(len(columns[0]), len(columns[1]), bool(mechanisms.spread[node]))
    fits = [_alone(mechanisms, node, parents, k) for k in sites]
    groups = [
        _single(mechanisms, k, columns, fit, -np.inf, tau, score.spread) for k, fit in zip(sites, fits, strict=True)
    ]
    joint = groups[0]
    for group in groups[1:]:
        joint = score.join(joint, group)
    return joint.score


def _columns(mechanisms: Mechanisms, variables: Sequence[int]) -> list[int]:
    return [c for v in variables for c in range(int(mechanisms.first[v]), int(mechanisms.first[v + 1]))]


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
    before, own = [0, *_columns(mechanisms, parents)], _columns(mechanisms, [node])
    n = float(mechanisms.n[site])
    moments = mechanisms.moments[site][np.ix_(before + own, before + own)]
    squares, rank = _residual_squares(moments, len(own), CONSTANT * n)
    variance = np.maximum(squares / n, mechanisms.floor[site, own])
    likelihood = -0.5 * n * (float(np.log(variance).sum()) + len(own))
    parameters = _parameters(len(own), rank, bool(mechanisms.spread[node]))
    few = n < 2 * (len(before) + len(own))
    return Alone(TOO_FEW if few else likelihood - 0.5 * parameters * np.log(n), likelihood, parameters, variance)


def _cut(scores: Sequence[float], at: int) -> float:
    """The best that a site can have with fewer parents: none of them, or some."""
    if not at:
        return -np.inf
    some = max(scores[part] for part in range(at) if not part & ~at)
    return max(scores[0] - PRICE_CUT, some - PRICE_SOME)


def _score(
    mechanisms: Mechanisms,
    node: int,
    parents: Sequence[int],
    alone: dict[int, Alone],
    cuts: dict[int, float],
    tau: float,
) -> tuple[float, Ints]:
    columns = [0, *_columns(mechanisms, parents)], _columns(mechanisms, [node])
    spread = bool(mechanisms.spread[node])
    total, groups = 0.0, []
    for k, fit in alone.items():
        if mechanisms.declared[k, node]:
            total += max(fit.score, cuts[k] + PRICE_CUT)
        else:
            groups.append(_single(mechanisms, k, columns, fit, cuts[k], tau, spread))
    score = _Scorer(len(columns[0]), len(columns[1]), spread)
    found = _agglomerate(groups, score) if mechanisms.share else groups
    labels = np.arange(len(mechanisms.n))
    for group in found:
        labels[list(group.members)] = min(group.members)
    total += sum(group.value for group in found)
    return total + max((group.score - group.value for group in found), default=0.0), labels


def _single(
    mechanisms: Mechanisms,
    site: int,
    columns: tuple[list[int], list[int]],
    fit: Alone,
    cut: float,
    tau: float,
    spread: bool,
) -> Group:
    before, own = columns
    n, few = float(mechanisms.n[site]), fit.score == TOO_FEW
    c = 1.0 if few else 1.0 + n * tau**2
    fixed = -0.5 * fit.parameters * np.log(c)
    parts = [own] if spread else [own[: j + 1] for j in range(len(own))]
    weights = [1 / c] if spread else (1 / c / fit.variance).tolist()
    fixed += (1 - 1 / c) * fit.likelihood if spread else fit.likelihood + 0.5 * n / c * len(own)
    moments = tuple(
        mechanisms.moments[site][np.ix_(before + part, before + part)] * weight
        for part, weight in zip(parts, weights, strict=True)
    )
    value = TOO_FEW if few else max(fit.score - PRICE_OWN, cut)
    return Group((site,), moments, n / c, fixed, fit.score, value)


@dataclass(frozen=True)
class _Scorer:
    regressors: int
    own: int
    spread: bool

    def join(self, a: Group, b: Group) -> Group:
        """Let two groups share one mechanism."""
        moments = tuple(x + y for x, y in zip(a.moments, b.moments, strict=True))
        rows, fixed = a.rows + b.rows, a.fixed + b.fixed
        if self.spread:
            squares, rank = _residual_squares(moments[0], self.own, CONSTANT * rows)
            fit = -0.5 * rows * float((np.log(np.maximum(squares / rows, 1e-300)) + 1).sum())
        else:
            found = [_residual_squares(part, 1, CONSTANT * part[0, 0]) for part in moments]
            fit, rank = -0.5 * sum(float(squares[0]) for squares, _ in found), found[0][1]
        score = fit + fixed - 0.5 * _parameters(self.own, rank, self.spread) * np.log(rows)
        return Group(a.members + b.members, moments, rows, fixed, score, score - PRICE_OWN)


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
