"""Groups of sites that share a mechanism: their scores, and how sites are split into groups.

The part of `fedperi.scores.mechanisms_numpy` that needs only the moments of a family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .mechanisms import CONSTANT, USUAL, Prices

Floats = NDArray[np.float64]

TOO_FEW = -1e9
"""Score of a single site that has too few rows for the family, so that it must join others."""

MOST_TOGETHER = 12
"""Largest number of groups that are compared with each other at once."""

MANY, AT_ONCE = 128, 16
"""If a group has at least `MANY` sites, several may leave it at once: one in `AT_ONCE`."""

LEAST_GAIN = 1e-7
"""Smallest gain, in nats, for which a site is moved."""

NEAR = 3.0
"""A move is computed exactly unless its approximate loss exceeds this, in nats."""


@dataclass(frozen=True)
class Group:
    """Sites that share a mechanism: their weighted moments, one matrix per part, and their rows.

    `fixed` is the part of the score that joining does not change. `score` is with all parents; `value` is the better of
    this and fewer parents, minus penalties; `cut` are the parents that remain then; `fit` is the fit of a site alone.
    """

    members: tuple[int, ...]
    moments: tuple[Floats, ...]
    rows: float
    fixed: float
    score: float
    value: float
    fit: float = 0.0
    cut: tuple[int, ...] | None = None


def residual_squares(moments: Floats, last: int, least: float) -> tuple[Floats, int]:
    """Compute residual sums of squares of the last columns, each given all before it, and the rank of the others."""
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


def count_parameters(own: int, rank: int, spread: bool) -> float:
    """Count the parameters of a mechanism: strengths, means, regressions between the node's own columns, spread."""
    return own * rank + own * (own - 1) / 2 + (own if spread else 0)


@dataclass(frozen=True)
class Scorer:
    """The score of groups of sites, for one family with given numbers of columns."""

    regressors: int
    own: int
    spread: bool
    parents: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    exact: bool = False
    prices: Prices = USUAL

    def join(self, *groups: Group) -> Group:
        """Join groups into one that shares a mechanism."""
        if len(groups) == 1:
            return groups[0]
        moments = tuple(sum(parts[1:], start=parts[0]) for parts in zip(*(g.moments for g in groups), strict=True))
        rows, fixed = sum(group.rows for group in groups), sum(group.fixed for group in groups)
        score = self.score_of(moments, rows, fixed)
        members = tuple(k for group in groups for k in group.members)
        joint = Group(members, moments, rows, fixed, score, score - self.prices.own)
        for some in dict.fromkeys(group.cut for group in groups):
            joint = self.cut_to(joint, some)
        return joint

    def score_of(self, moments: Sequence[Floats], rows: float, fixed: float) -> float:
        """Compute the score of several sites with one mechanism, from their moments."""
        if self.spread:
            squares, rank = residual_squares(moments[0], self.own, CONSTANT * rows)
            fit = -0.5 * rows * float((np.log(np.maximum(squares / rows, 1e-300)) + 1).sum())
        else:
            found = [residual_squares(part, 1, CONSTANT * part[0, 0]) for part in moments]
            fit, rank = -0.5 * sum(float(squares[0]) for squares, _ in found), found[0][1]
        return float(fit + fixed - 0.5 * self.parameters(rank) * np.log(rows))

    def cut_to(self, group: Group, parents: tuple[int, ...] | None) -> Group:
        """Keep only some parents of a group, if this is better."""
        if parents is None or not self.exact or not self.spread:
            return group
        price = self.prices.some if parents else self.prices.cut
        found = self._score_some(group.moments[0], group.rows, parents) - price
        return replace(group, value=found, cut=parents) if found > group.value else group

    def _score_some(self, moments: Floats, rows: float, parents: tuple[int, ...]) -> float:
        """Compute the score of a group with some of its parents."""
        starts = np.cumsum([1, *self.widths]).tolist()
        kept = [0]
        for parent, start, width in zip(self.parents, starts, self.widths, strict=False):
            kept += range(start, start + width) if parent in parents else []
        kept += range(self.regressors, self.regressors + self.own)
        return self.score_of((moments[np.ix_(kept, kept)],), rows, 0.0)

    def parameters(self, rank: int) -> float:
        """Count the parameters of a mechanism."""
        return count_parameters(self.own, rank, self.spread)

    def fit_around(self, site: Group, group: Group) -> float:
        """Compute the fit of a site around the mechanism of a group."""
        total = 0.0
        for j in range(self.own):
            part, column = (0 if self.spread else j), self.regressors + j
            theirs, here = group.moments[part], site.moments[part]
            before = slice(0, column)
            weights = _solve(theirs[before, before], theirs[before, column], CONSTANT * theirs[0, 0])
            v = np.append(-weights, 1.0)
            around = max(float(v @ here[: column + 1, : column + 1] @ v), 0.0)
            left = float(v @ theirs[: column + 1, : column + 1] @ v)
            variance = max(left / group.rows, 1e-300) if self.spread else 1.0
            total -= 0.5 * (site.rows * np.log(variance) + around / variance)
        return total


def _solve(moments: Floats, cross: Floats, least: float) -> Floats:
    """Compute the weights of a regression; those of columns that are determined by the columns before are zero."""
    kept: list[int] = []
    for at in range(len(moments)):
        inside = [*kept, at]
        if residual_squares(moments[np.ix_(inside, inside)], 1, least)[0][0] > least:
            kept = inside
    weights = np.zeros(len(moments))
    weights[kept] = np.linalg.solve(moments[np.ix_(kept, kept)], cross[kept])
    return weights


def find_groups(sites: list[Group], score: Scorer) -> list[Group]:
    """Split the sites into groups: sites leave the group of all, are joined again, and move if this gains."""
    groups = _agglomerate(_peel(sites, score), score)
    return _move_sites(sites, groups, score) if len(groups) > 1 and len(sites) <= MOST_TOGETHER else groups


def _peel(sites: list[Group], score: Scorer) -> list[Group]:
    """Remove sites from the group of all, those that gain most by it first, while one gains.

    They leave one by one, or several at once if there are many.
    """
    inside, outside, single = list(sites), list[Group](), False
    if len(sites) < 2:
        return inside
    whole = score.join(*inside)
    while len(inside) > 1:
        most = 1 if single or len(inside) < MANY else len(inside) // AT_ONCE
        leavers = _most_apart(inside, whole, score, most)
        if not leavers:
            break
        out = {site.members for site in leavers}
        rest = [site for site in inside if site.members not in out]
        fewer = score.join(*rest)
        if fewer.score + sum(site.value for site in leavers) <= whole.score:  # the approximate gain was wrong
            if len(leavers) == 1:
                break
            single = True
            continue
        inside, whole = rest, fewer
        outside += leavers
    return [whole, *outside[::-1]] if len(inside) > 1 else [*inside, *outside[::-1]]


def _most_apart(sites: list[Group], whole: Group, score: Scorer, most: int) -> list[Group]:
    """Find the sites, up to `most`, that gain most by leaving their group, approximately.

    Without a site that has n of N rows, the mechanism of the others is N / (N - n) times as far from it, as a mean is.
    """
    gains: list[tuple[float, Group]] = []
    for site in sites:
        if site.value == TOO_FEW:
            continue
        farther = whole.rows / (whole.rows - site.rows)
        apart = site.fit - site.fixed - score.fit_around(site, whole)
        gain = site.value - site.fit + farther * apart + 0.5 * score.parameters(score.regressors) * np.log(farther)
        if gain > 0.0:
            gains.append((gain, site))
    return [site for _, site in sorted(gains, key=lambda pair: -pair[0])[:most]]


def _agglomerate(groups: list[Group], score: Scorer) -> list[Group]:
    """Join groups, the pair that gains most first, while one gains; many groups are joined in batches first."""
    while len(groups) > MOST_TOGETHER:
        batches = [groups[at : at + MOST_TOGETHER] for at in range(0, len(groups), MOST_TOGETHER)]
        fewer = [group for batch in batches for group in _join_within(batch, score)]
        if len(fewer) == len(groups):
            return groups
        groups = fewer
    return _join_within(groups, score)


def _join_within(groups: list[Group], score: Scorer) -> list[Group]:
    groups = list(groups)
    while len(groups) > 1:
        pairs = [(score.join(a, b), a, b) for a, b in combinations(groups, 2)]
        joint, a, b = max(pairs, key=lambda pair: pair[0].value - pair[1].value - pair[2].value)
        if joint.value - a.value - b.value <= 0:
            break
        groups = [group for group in groups if group is not a and group is not b] + [joint]
    return groups


def _move_sites(sites: list[Group], groups: list[Group], score: Scorer) -> list[Group]:
    """Move single sites to another group, or out of theirs, the move that gains most first, while one gains."""
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


def _adds(score: Scorer, site: Group, group: Group, sign: int) -> float:
    """Approximate what a site adds to a group that it would join (1), or is in (-1), if the mechanism stays.

    Squares around a mean grow by N / (N - n) if n of N rows leave, and fall by N / (N + n) for n that join.
    """
    other = group.rows + sign * site.rows
    apart = site.fit - site.fixed - score.fit_around(site, group)
    price = 0.5 * score.parameters(score.regressors)
    return float(site.fit - apart * group.rows / other - sign * price * np.log(other / group.rows))
