"""A hidden common cause of a few variables: what the tables say about it, row by row, without a row.

In a linear model with Gaussian residuals a hidden cause, given the columns, has a mean that is linear in them and a
variance that is the same in all rows. So the moments of the columns and of the hidden cause follow from the moments of
the columns, and every family with the hidden cause can be scored like any other (structural EM of Friedman, 1998). The
scores of the families plus the entropy of the hidden cause never exceed the score of the model without seeing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....scores import _kernel as kernel
from ....scores.mechanisms import CONSTANT, Mechanisms
from .versions import columns_of

Floats = NDArray[np.float64]

WEAKEST, STRONGEST = 0.2, 0.9
"""Correlations with the hidden cause between which the first guess lies."""

REFINED = 50
"""Steps of the first guess."""


class Cause(NamedTuple):
    """What each site's columns say about the hidden cause.

    Attributes
    ----------
    weights : array, shape (K, q + 1)
        Its mean given the columns, constant first, in the units of `Mechanisms.moments`.
    variance : array, shape (K,)
        Its variance given the columns.
    """

    weights: Floats
    variance: Floats


def first_guess(mechanisms: Mechanisms, effects: Sequence[int], others: Sequence[int]) -> Cause:
    """Guess the hidden cause from what the effects have in common.

    Its strengths are those of one factor of the residuals, given other variables. These may be its causes: then each
    has effects in proportion to the strengths. The median of the ratios is taken, so that one of three effects may
    depend on it directly, too.
    """
    before, own = [0, *columns_of(mechanisms, others)], [int(mechanisms.first[v]) for v in effects]
    pooled, rows = mechanisms.moments.sum(axis=0), float(mechanisms.n.sum())
    slopes = np.linalg.lstsq(pooled[np.ix_(before, before)], pooled[np.ix_(before, own)], rcond=CONSTANT)[0]
    left = (pooled[np.ix_(own, own)] - pooled[np.ix_(own, before)] @ slopes) / rows
    scale = np.sqrt(np.maximum(np.diag(left), CONSTANT))
    loadings = _one_factor(left / np.outer(scale, scale))
    strengths, noise = loadings * scale, (1 - loadings**2) * scale**2
    told = strengths**2 / noise
    of_others = np.array([_weighted_median(ratio, told) for ratio in slopes / strengths])
    of_others[0] = 0.0
    precision = 1 + float(told.sum())
    weights = np.zeros(mechanisms.moments.shape[1])
    weights[own] = strengths / noise / precision
    weights[before] += (of_others - (slopes - np.outer(of_others, strengths)) @ (strengths / noise)) / precision
    sites = len(mechanisms.n)
    return Cause(np.tile(weights, (sites, 1)), np.full(sites, 1 / precision))


def _one_factor(correlation: Floats) -> Floats:
    """Correlations of a few variables with the factor that they share, by EM from a rough start."""
    others = len(correlation) - 1
    signs = np.where(np.linalg.eigh(correlation)[1][:, -1] < 0, -1.0, 1.0)
    shared = np.abs(correlation - np.eye(others + 1)).sum(axis=1) / others
    out = np.sqrt(np.clip(shared, WEAKEST**2, STRONGEST**2)) * signs
    if kernel.loops.one_factor(correlation, STRONGEST, REFINED, out):
        return np.asarray(np.where(np.abs(out) < CONSTANT, CONSTANT, out))
    for _ in range(REFINED):
        noise = 1 - out**2
        precision = 1 + float((out**2 / noise).sum())
        weights = out / noise / precision
        with_it = correlation @ weights
        out = np.clip(with_it / np.sqrt(weights @ with_it + 1 / precision), -STRONGEST, STRONGEST)
    return np.asarray(np.where(np.abs(out) < CONSTANT, CONSTANT, out))


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    up_to = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(up_to, up_to[-1] / 2)])


def completed(mechanisms: Mechanisms, cause: Cause) -> tuple[Mechanisms, float]:
    """Add the hidden cause to the sites, as the last variable; also what its entropy counts, in nats."""
    slopes = cause.weights[:, 1:] / mechanisms.unit
    levels = cause.weights[:, 0] - slopes @ mechanisms.origin
    means = np.stack([part.mean for part in mechanisms.summaries])
    covariances = np.stack([part.covariance for part in mechanisms.summaries])
    across = (covariances @ slopes[:, :, None])[:, :, 0]
    variance = (slopes[:, None, :] @ across[:, :, None])[:, 0, 0] + cause.variance
    mean = levels + (slopes[:, None, :] @ means[:, :, None])[:, 0, 0]
    whole = mechanisms.joined(means, covariances, mean, across, variance)
    return whole, float((whole.n * (1 + np.log(cause.variance / whole.unit[-1] ** 2))).sum()) / 2


def refined(
    mechanisms: Mechanisms,
    cause: Cause,
    families: Mapping[int, tuple[Sequence[int], Sequence[int]]],
    own: Sequence[int],
    steps: int,
) -> Cause:
    """Some steps of EM: `improved` as often as `steps` says."""
    before = [[0, *columns_of(mechanisms, some)] for some in (own, *(others for others, _ in families.values()))]
    groups = np.array([of_sites for _, of_sites in families.values()], dtype=np.int64)
    groups[mechanisms.constant[:, list(families)].T] = -1
    weights, variance = cause.weights.copy(), cause.variance.copy()
    if kernel.loops.latent_steps(
        mechanisms.moments.reshape(-1, mechanisms.moments.shape[2]),
        mechanisms.n,
        np.array(list(chain.from_iterable(before)), dtype=np.int64),
        np.cumsum([0, *map(len, before)]),
        mechanisms.first[list(families)],
        groups,
        weights,
        variance,
        steps,
    ):
        return Cause(weights, variance)
    for _ in range(steps):
        cause = improved(mechanisms, cause, families, own)
    return cause


def improved(
    mechanisms: Mechanisms,
    cause: Cause,
    families: Mapping[int, tuple[Sequence[int], Sequence[int]]],
    own: Sequence[int],
) -> Cause:
    """One step of EM.

    Parameters
    ----------
    mechanisms : Mechanisms
        Without the hidden cause.
    cause : Cause
    families : mapping
        For every effect of the hidden cause, its other causes, and the group of every site.
    own : sequence of int
        Causes of the hidden cause.
    """
    moments, n, last = mechanisms.moments, mechanisms.n, mechanisms.moments.shape[1]
    whole = np.empty((len(n), last + 1, last + 1))
    across = np.einsum("kij,kj->ki", moments, cause.weights)
    whole[:, :last, :last], whole[:, last, :last], whole[:, :last, last] = moments, across, across
    whole[:, last, last] = np.einsum("ki,ki->k", across, cause.weights) + n * cause.variance
    above = [0, *columns_of(mechanisms, own)]
    slopes, spread = _regression(whole.sum(axis=0), above, last, float(n.sum()))
    precision, weights = np.full(len(n), 1 / spread), np.zeros((len(n), last))
    weights[:, above] = slopes / spread
    for effect, (others, groups) in families.items():
        before, column = [0, *columns_of(mechanisms, others)], int(mechanisms.first[effect])
        varies = ~mechanisms.constant[:, effect]
        for group in set(groups):
            some = np.flatnonzero((np.array(groups) == group) & varies)
            if not len(some):
                continue
            fit, noise = _regression(whole[some].sum(axis=0), [*before, last], column, float(n[some].sum()))
            strength = fit[-1] / noise
            precision[some] += strength * fit[-1]
            weights[some, column] += strength
            weights[some[:, None], before] -= strength * fit[:-1]
    # Its unit is free: the standard deviation given its causes.
    return Cause(weights / precision[:, None] / np.sqrt(spread), 1 / precision / spread)


def _regression(moments: Floats, before: list[int], own: int, rows: float) -> tuple[Floats, float]:
    fit = np.asarray(np.linalg.lstsq(moments[np.ix_(before, before)], moments[before, own], rcond=CONSTANT)[0], float)
    return fit, max(float(moments[own, own] - moments[own, before] @ fit) / rows, CONSTANT)
