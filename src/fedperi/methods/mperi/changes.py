"""How the mechanism of some sites differs from the usual one: the smallest change that explains them."""

from __future__ import annotations

from itertools import chain, combinations, islice, product

import numpy as np
from numpy.typing import NDArray

from ...scores.mechanisms import CONSTANT, USUAL, Mechanisms
from ...scores.mechanisms_numpy import columns_of, own_columns
from ..parts import Kind
from .wording import Change

Floats = NDArray[np.float64]


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
    best: tuple[float, Change] | None = None
    dropped = list(islice(chain.from_iterable(combinations(parents, size) for size in range(len(parents) + 1)), 1024))
    for how, new_level, new_spread in product([*dropped, None], (False, True), (False, True)):
        if new_spread and not mechanisms.spread[node]:
            continue
        if how is None:
            if not parents:
                continue
            used = _regression(moments, before, own)[0]
        else:
            gone = [before.index(c) for c in columns_of(mechanisms, how)]
            used = strengths.copy()
            used[gone] = 0.0
        own_level = _level(moments, before, own, used) if new_level or how else level
        left = _left(moments, before, own, used, own_level) / n
        around = left if new_spread or not mechanisms.spread[node] else spread
        likelihood = -0.5 * n * (float(np.linalg.slogdet(around)[1]) + float(np.trace(np.linalg.solve(around, left))))
        counted = (len(before) * len(own) if how is None else 0) + (len(own) if new_level or how else 0)
        counted += len(own) if new_spread else 0
        cost = 0.5 * counted * np.log(n) + (USUAL.some if how and len(how) < len(parents) else 0.0)
        changed = how is None or how or new_level or new_spread
        if changed and (best is None or likelihood - cost > best[0]):
            best = (
                likelihood - cost,
                _change(
                    mechanisms,
                    node,
                    parents,
                    how,
                    new_level,
                    new_spread,
                    used,
                    strengths,
                    own_level - level,
                    left,
                    spread,
                ),
            )
    assert best is not None
    return best[1]


def _change(
    mechanisms: Mechanisms,
    node: int,
    parents: tuple[int, ...],
    how: tuple[int, ...] | None,
    new_level: bool,
    new_spread: bool,
    used: Floats,
    strengths: Floats,
    step: Floats,
    left: Floats,
    spread: Floats,
) -> Change:
    single = len(own_columns(mechanisms, node)) == 1
    unit = float(mechanisms.unit[int(mechanisms.first[node]) - 1])
    kind: Kind = "strengths" if how is None else "cut" if how else "shifted" if new_level else "spread"
    named = tuple(mechanisms.names[j] for j in (parents if how is None else how))
    slopes = None
    if how is None and single and len(parents) == 1 and len(columns_of(mechanisms, parents)) == 1:
        per = unit / float(mechanisms.unit[int(mechanisms.first[parents[0]]) - 1])
        slopes = float(used[0, 0]) * per, float(strengths[0, 0]) * per
    return Change(
        kind,
        named,
        tuple(mechanisms.names[j] for j in parents),
        float(step[0]) * unit if single and (new_level or how) else None,
        float(np.sqrt(left[0, 0] / spread[0, 0])) if single and new_spread else None,
        slopes,
        not bool(mechanisms.spread[node]),
    )


def _regression(moments: Floats, before: list[int], own: list[int]) -> tuple[Floats, Floats, Floats]:
    """Strengths, level and residual sums of squares of columns given others."""
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
    """Sums of squares around the prediction from given strengths and a given level."""
    weights = np.vstack([level, strengths])
    inside = [0, *before]
    cross = moments[np.ix_(own, inside)] @ weights
    around: Floats = moments[np.ix_(own, own)] - cross - cross.T + weights.T @ moments[np.ix_(inside, inside)] @ weights
    return np.asarray(around + CONSTANT * moments[0, 0] * np.eye(len(own)), dtype=np.float64)
