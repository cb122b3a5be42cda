"""How the mechanism of some sites differs from the usual one: the smallest change that explains them."""

from __future__ import annotations

from itertools import chain, combinations, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scores.mechanisms import CONSTANT, USUAL, Mechanisms
from ...scores.mechanisms_numpy import columns_of, own_columns
from ..parts import Kind
from .wording import Change

Floats = NDArray[np.float64]


class _Candidate(NamedTuple):
    """One way in which the mechanism may have changed, with the other sites' strengths, level and residuals."""

    gone: tuple[int, ...] | None  # parents without influence; None if strengths change
    new_level: bool
    new_spread: bool
    strengths: Floats
    level: Floats
    left: Floats  # residual covariance


def simplest_change(
    mechanisms: Mechanisms, node: int, parents: tuple[int, ...], usual: tuple[int, ...], others: tuple[int, ...]
) -> Change:
    """Find the smallest change of the usual mechanism that explains other sites, by BIC.

    Coefficients stay, become zero for some parents, or change; level and spread stay or change. The usual mechanism is
    treated as known.
    """
    before, own = columns_of(mechanisms, parents), own_columns(mechanisms, node)
    usual_moments, rows = mechanisms.moments[list(usual)].sum(axis=0), float(mechanisms.n[list(usual)].sum())
    moments, n = mechanisms.moments[list(others)].sum(axis=0), float(mechanisms.n[list(others)].sum())
    strengths, level, spread = _regression(usual_moments, before, own)
    spread /= rows
    has_spread = bool(mechanisms.spread[node])
    dropped = list(islice(chain.from_iterable(combinations(parents, size) for size in range(len(parents) + 1)), 1024))
    best, best_score = None, -np.inf
    for gone, new_level, new_spread in product([*dropped, None], (False, True), (False, True)):
        unchanged = gone == () and not new_level and not new_spread
        # Without some parents the level always changes, so that this is counted once.
        if unchanged or (gone and not new_level) or (gone is None and not parents) or (new_spread and not has_spread):
            continue
        if gone is None:
            used = _regression(moments, before, own)[0]
        else:
            used = strengths.copy()
            used[[before.index(column) for column in columns_of(mechanisms, gone)]] = 0.0
        own_level = _level(moments, before, own, used) if new_level else level
        left = _left(moments, before, own, used, own_level) / n
        around = spread if has_spread and not new_spread else left
        likelihood = -0.5 * n * (float(np.linalg.slogdet(around)[1]) + float(np.trace(np.linalg.solve(around, left))))
        counted = (len(before) if gone is None else 0) * len(own) + (new_level + new_spread) * len(own)
        cost = 0.5 * counted * np.log(n) + (USUAL.some if gone and len(gone) < len(parents) else 0.0)
        if likelihood - cost > best_score:
            best = _Candidate(gone, new_level, new_spread, used, own_level, left)
            best_score = likelihood - cost
    assert best is not None
    return _change(mechanisms, node, parents, best, strengths, level, spread)


def _change(
    mechanisms: Mechanisms,
    node: int,
    parents: tuple[int, ...],
    best: _Candidate,
    strengths: Floats,
    level: Floats,
    spread: Floats,
) -> Change:
    """Describe a candidate, compared with the usual strengths, level and spread."""
    gone = best.gone
    single = len(own_columns(mechanisms, node)) == 1
    unit = float(mechanisms.unit[int(mechanisms.first[node]) - 1])
    kind: Kind = "strengths" if gone is None else "cut" if gone else "shifted" if best.new_level else "spread"
    slopes = None
    if gone is None and single and len(parents) == 1 and len(columns_of(mechanisms, parents)) == 1:
        per = unit / float(mechanisms.unit[int(mechanisms.first[parents[0]]) - 1])
        slopes = float(best.strengths[0, 0]) * per, float(strengths[0, 0]) * per
    return Change(
        kind,
        tuple(mechanisms.names[j] for j in (parents if gone is None else gone)),
        tuple(mechanisms.names[j] for j in parents),
        float((best.level - level)[0]) * unit if single and best.new_level else None,
        float(np.sqrt(best.left[0, 0] / spread[0, 0])) if single and best.new_spread else None,
        slopes,
        not bool(mechanisms.spread[node]),
    )


def _regression(moments: Floats, before: list[int], own: list[int]) -> tuple[Floats, Floats, Floats]:
    """Regress columns on others: strengths, level and residual sums of squares."""
    inside = [0, *before]
    weights = np.linalg.lstsq(moments[np.ix_(inside, inside)], moments[np.ix_(inside, own)], rcond=CONSTANT)[0]
    left = moments[np.ix_(own, own)] - moments[np.ix_(own, inside)] @ weights
    return (
        np.asarray(weights[1:], dtype=np.float64),
        np.asarray(weights[0], dtype=np.float64),
        left + CONSTANT * moments[0, 0] * np.eye(len(own)),
    )


def _level(moments: Floats, before: list[int], own: list[int], strengths: Floats) -> Floats:
    level: Floats = (moments[0, own] - moments[0, before] @ strengths) / moments[0, 0]
    return level


def _left(moments: Floats, before: list[int], own: list[int], strengths: Floats, level: Floats) -> Floats:
    """Compute sums of squares around the prediction from given strengths and a given level."""
    weights = np.vstack([level, strengths])
    inside = [0, *before]
    cross = moments[np.ix_(own, inside)] @ weights
    around: Floats = moments[np.ix_(own, own)] - cross - cross.T + weights.T @ moments[np.ix_(inside, inside)] @ weights
    return np.asarray(around + CONSTANT * moments[0, 0] * np.eye(len(own)), dtype=np.float64)
