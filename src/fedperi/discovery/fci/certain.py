"""Which sets could separate two variables at all, found without testing every one of them.

An edge that stays has to be tested with every subset of its possible d-separators: thousands, nearly all of them far
from independence. Here sets are built variable by variable, and a branch is left as soon as no set in it can make the
test say "independent".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...scores.regression import SINGULAR

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Pair = tuple[int, int]

CLEAR = 1e-6
"""Margin of the bound, in standard errors: rounding must not decide."""

NEARLY_SINGULAR = 1e-6
"""Share of a column's variance that the others must leave. Below it the bound is not trusted."""

MOST_OPEN = 64
"""Branches of one pair that are followed at a time. A pair with more is tested set by set."""


@dataclass
class Branches:
    """Sets under construction, one per row; in each, some variables are decided (in or out) and the rest are not.

    Attributes
    ----------
    given : ndarray, shape (m, K, r + 2, r + 2)
        At every site, covariances of x, y and the r undecided variables given those that are in.
    precision : ndarray, same shape
        Rows of x, y and the undecided ones in the inverse covariance of all that are not out.
    pair : ndarray of int, shape (m,)
        Which pair a row is about.
    size : ndarray of int, shape (m,)
        How many variables are in.
    inside : ndarray of object, shape (m,)
        Their bit set.
    """

    given: Floats
    precision: Floats
    pair: Indices
    size: Indices
    inside: NDArray[np.object_]

    def take(self, rows: NDArray[np.bool_]) -> Branches:
        """Keep some rows."""
        return Branches(*(getattr(self, f.name)[rows] for f in fields(self)))

    def joined(self, other: Branches) -> Branches:
        """Put the rows of both together."""
        return Branches(*(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))

    def split(self, variable: NDArray[np.object_]) -> Branches:
        """Decide the first undecided variable of every row, given as a bit set, both ways."""
        inside = Branches(
            _without(self.given), _dropped(self.precision), self.pair, self.size + 1, self.inside | variable
        )
        return inside.joined(
            Branches(_dropped(self.given), _without(self.precision), self.pair, self.size, self.inside)
        )


def open_sets(
    correlations: Floats, rows: Floats, threshold: float, pairs: Sequence[Pair], candidates: Sequence[int]
) -> list[list[int] | None]:
    """Find the sets of candidates given which two columns may look independent.

    Parameters
    ----------
    correlations : ndarray, shape (K, q, q)
        Of every site.
    rows : ndarray, shape (K,)
    threshold : float
        What the sites have in common, in standard errors, beyond which the columns depend on each other for sure.
    pairs : sequence of (int, int)
        Columns.
    candidates : sequence of int
        For every pair the bit set of the columns that may be in a set.

    Returns
    -------
    list
        For every pair the bit sets; None if there are too many to tell.

    Examples
    --------
    >>> import numpy as np
    >>> chain = np.array([[[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]])
    >>> open_sets(chain, np.array([1000.0]), 3.0, [(0, 1), (0, 2)], [0b100, 0b010])
    [[], [2]]
    """
    out: list[list[int] | None] = [[] for _ in pairs]
    order: list[list[int]] = [[] for _ in pairs]
    sizes = np.array([inside.bit_count() for inside in candidates], dtype=np.intp)
    live: Branches | None = None
    for left in range(int(sizes.max(initial=0)), -1, -1):
        fresh = np.flatnonzero(sizes == left)
        if len(fresh):
            ends, inside = [pairs[int(n)] for n in fresh], [candidates[int(n)] for n in fresh]
            new = _started(correlations, fresh, ends, inside, order, out)
            live = new if live is None else live.joined(new)
        if live is None:
            continue
        live = live.take(~_depends(live, rows, threshold))
        crowded = np.bincount(live.pair, minlength=len(pairs)) > MOST_OPEN
        for n in np.flatnonzero(crowded).tolist():
            out[n] = None
        live = live.take(~crowded[live.pair])
        if left:
            live = live.split(np.array([1 << order[n][-left] for n in live.pair.tolist()], dtype=object))
    for n, members in zip(live.pair.tolist(), live.inside.tolist(), strict=True) if live is not None else ():
        kept = out[n]
        if kept is not None:
            kept.append(members)
    return out


def _started(
    correlations: Floats,
    numbers: Indices,
    pairs: Sequence[Pair],
    candidates: Sequence[int],
    order: list[list[int]],
    out: list[list[int] | None],
) -> Branches:
    """Begin with nothing decided: the variables that matter most to x and y, given all, are decided first."""
    columns = np.array([[*pair, *bits.members(inside)] for pair, inside in zip(pairs, candidates, strict=True)])
    given = correlations[:, columns[:, :, None], columns[:, None, :]].swapaxes(0, 1)
    try:
        precision = np.asarray(np.linalg.inv(given), dtype=np.float64)
    except np.linalg.LinAlgError:
        precision = np.zeros_like(given)
    own = np.diagonal(precision, axis1=2, axis2=3)
    sound = ((own > 0) & (own < 1 / NEARLY_SINGULAR)).all(axis=(1, 2))
    for n in numbers[~sound].tolist():
        out[n] = None
    columns, given, precision, own, numbers = columns[sound], given[sound], precision[sound], own[sound], numbers[sound]
    partial = precision[:, :, :2, 2:] ** 2 / (own[:, :, :2, None] * own[:, :, None, 2:])
    ranks = np.argsort(-partial.sum(axis=(1, 2)), axis=1, kind="stable") + 2
    ranks = np.concatenate([np.broadcast_to([0, 1], (len(ranks), 2)), ranks], axis=1)
    for n, row in zip(numbers.tolist(), np.take_along_axis(columns, ranks, axis=1)[:, 2:].tolist(), strict=True):
        order[n] = row
    at = np.arange(len(ranks))[:, None, None]
    given, precision = (
        np.asarray(np.moveaxis(some[at, :, ranks[:, :, None], ranks[:, None, :]], 3, 1)) for some in (given, precision)
    )
    return Branches(given, precision, numbers, np.zeros_like(numbers), np.zeros(len(numbers), dtype=object))


def _depends(live: Branches, rows: Floats, threshold: float) -> NDArray[np.bool_]:
    """Rows for which x and y depend on each other whatever the undecided variables are.

    Let a and b be what the undecided variables R explain of x and of y, given those that are in. A subset of R explains
    their projections. So the covariance given the subset is that given none, less <Pa, b>, with P a projection, and
    <Pa, b> lies within (<a, b> -+ |a| |b|) / 2. Here <a, b> is the difference of the covariances given none and all of
    R, and |a|^2 and |b|^2 are the differences of the variances.
    """
    none, full = live.given[:, :, :2, :2], live.precision[:, :, :2, :2]
    vx, vy, covariance = none[:, :, 0, 0], none[:, :, 1, 1], none[:, :, 0, 1]
    inverse = 1 / (full[:, :, 0, 0] * full[:, :, 1, 1] - full[:, :, 0, 1] ** 2)
    explained = (vx - full[:, :, 1, 1] * inverse, vy - full[:, :, 0, 0] * inverse)
    reach = np.sqrt(np.maximum(explained[0], 0.0) * np.maximum(explained[1], 0.0)) / 2
    middle = (covariance - full[:, :, 0, 1] * inverse) / 2
    scale = np.sqrt(vx * vy)
    most = rows - live.size[:, None] - 3
    least = most - (live.given.shape[2] - 2)
    out = np.zeros(len(vx), dtype=bool)
    for sign in (1, -1):
        low = np.arctanh(np.clip((sign * middle - reach) / scale, -1 + SINGULAR, 1 - NEARLY_SINGULAR))
        total = (np.where(low > 0, least, most) * low).sum(axis=1)
        out |= total > (threshold + CLEAR) * np.sqrt(most.sum(axis=1))
    return np.asarray(out & (least > 0).all(axis=1))


def _dropped(stack: Floats) -> Floats:
    """Leave out the third row and column of every matrix."""
    keep = np.r_[:2, 3 : stack.shape[-1]]
    return stack[:, :, keep[:, None], keep]


def _without(stack: Floats) -> Floats:
    """Eliminate the third row and column of every matrix."""
    keep = np.r_[:2, 3 : stack.shape[-1]]
    column = stack[:, :, keep, 2]
    scaled = column / stack[:, :, 2, 2, None]
    return np.asarray(stack[:, :, keep[:, None], keep] - column[:, :, :, None] * scaled[:, :, None, :])
