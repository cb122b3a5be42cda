"""Sums over all DAGs, exactly, for a dozen variables.

The sources of a DAG are its first layer. After removing them, the sources of the rest are the second layer, and so on.
Every DAG has exactly one such sequence of layers, so a sum over sequences counts every DAG once (Kuipers and Moffa,
2017); a sum over orders would count a DAG once for each of its orders. All parents of a node are in earlier layers, and
at least one is in the layer just before. So the weight of the following layers depends only on the state: the set S of
the variables placed so far, and the last layer L. Let A_i(S) be the sum of the weights of the parent sets of i within
S. Then node i of the next layer contributes the factor A_i(S) - A_i(S without L).

There are 3^p states, and 4^p pairs of a state and a next layer. A difference of two sums may lose digits. But the error
is only in the last digits of A_i(S), which is part of the weights of other DAGs: so it is in the last digits of the
total.

Log scores may differ by millions. So a weight is stored as a number near one and an integer power of two. Sums for a
set S are relative to the best DAG on S: nothing overflows, and terms that underflow are negligible.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..scores import _kernel as kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_POWER = -(2**55)
"""Power of two of a weight that is zero. Sums of a few dozen of them do not overflow, and stay far below all others."""

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42fp-1"), float.fromhex("0x1.df473de6af279p-26")
"""The logarithm of two in two parts. A product of the first with an integer below 2^28 is exact."""


class Weights(NamedTuple):
    """Numbers of the form ``value * 2**power``; those that are zero have the power `NO_POWER`."""

    value: Floats
    power: Ints


def weights(log_scores: Floats) -> Weights:
    """Return the exponentials of log scores: values from 1 to 2, or zero for minus infinity.

    Examples
    --------
    >>> value, power = weights(np.array([0.0, np.log(12.0), -np.inf]))
    >>> value.round(12).tolist(), power.tolist() == [0, 3, NO_POWER]
    ([1.0, 1.5, 0.0], True)
    """
    finite = np.isfinite(log_scores)
    safe = np.where(finite, log_scores, 0.0)
    whole = np.floor(safe / log(2.0))
    value = np.exp((safe - whole * LN2_HIGH) - whole * LN2_LOW)
    return Weights(np.where(finite, value, 0.0), np.where(finite, whole.astype(np.int64), NO_POWER))


def two_to(power: Ints) -> Floats:
    """Return two to the power of integers that are not positive; zero where that is too small for a float."""
    return np.where(power < -1022, 0.0, np.ldexp(1.0, np.maximum(power, -1022)))


def add_subsets(part: Weights) -> Weights:
    """Replace the weight of each set by the sum over its subsets, itself included (last axis).

    Examples
    --------
    >>> add_subsets(weights(np.zeros(4))).value.tolist()
    [1.0, 2.0, 2.0, 4.0]
    """
    value, power = part.value.copy(), part.power.copy()
    if value.ndim == 1 and kernel.loops.subset_sums(value, power):
        return Weights(value, power)
    for t in range(value.shape[-1].bit_length() - 1):
        halves = (*value.shape[:-1], -1, 2, 1 << t)
        values, powers = value.reshape(halves), power.reshape(halves)
        most = powers.max(axis=-2)
        values[..., 1, :] = (values * two_to(powers - most[..., None, :])).sum(axis=-2)
        powers[..., 1, :] = most
    return Weights(value, power)


def add_supersets(value: Floats, power: Ints) -> Floats:
    """Sum over the supersets of each set, itself included (last axis); sums are relative to two to the given powers.

    The powers grow with the sets. A set's sum is relative to its own power, so larger sets count less.
    """
    out = value.copy()
    for t in range(value.shape[-1].bit_length() - 1):
        halves = (*value.shape[:-1], -1, 2, 1 << t)
        values, powers = out.reshape(halves), power.reshape(halves)
        values[..., 0, :] += values[..., 1, :] * two_to(powers[..., 0, :] - powers[..., 1, :])
    return out


def best_powers(power: Ints) -> Ints:
    """Return the power of the best DAG on each set of variables, from those of the best parent sets within each set.

    Parameters
    ----------
    power : array
        ``[node, set]``; entries where the set contains the node are not used.
    """
    p, sets = power.shape
    best = np.zeros(sets, dtype=np.int64)
    for v in range(p):
        best[1 << v : 2 << v] = NO_POWER
    size = np.bitwise_count(np.arange(sets))
    for level in range(1, p + 1):
        here = np.flatnonzero(size == level)
        for v in range(p):
            last = here[here >> v & 1 == 1]
            without = last ^ (1 << v)
            best[last] = np.maximum(best[last], best[without] + power[v, without])
        best[here[best[here] < NO_POWER // 2]] = NO_POWER
    return best


def edge_sums(log_scores: Floats) -> tuple[Floats, float]:
    """Return the weighted share of all DAGs with i -> j, as ``[i, j]``, and the logarithm of the total weight.

    Parameters
    ----------
    log_scores : array
        ``[node, set]``, for all sets of variables; minus infinity for sets that are not allowed.

    Returns
    -------
    edges : array
    log_total : float
        Minus infinity if no DAG is allowed.

    Examples
    --------
    >>> edges, log_total = edge_sums(np.array([[0.0, -np.inf, np.log(2.0), -np.inf], [0.0, 0.0, -np.inf, -np.inf]]))
    >>> edges.round(12).tolist(), round(float(np.exp(log_total)), 12)  # none weighs 1, A <- B 2, A -> B 1
    ([[0.0, 0.25], [0.5, 0.0]], 4.0)
    """
    p, sets = log_scores.shape
    top = log_scores.max(axis=1)
    if not np.isfinite(top).all():
        return np.zeros((p, p)), -np.inf
    own = weights(log_scores - top[:, None])
    value, power = add_subsets(own)
    best = best_powers(power)
    if best[-1] == NO_POWER:
        return np.zeros((p, p)), -np.inf
    within, earlier, total = _sums(np.ascontiguousarray(value.T), np.ascontiguousarray(power.T), best)
    around = add_supersets(within.T, power) - add_supersets(earlier.T, power)
    share = own.value * two_to(own.power - power) * around / total
    members = np.arange(sets) >> np.arange(p)[:, None] & 1
    log_total = log(total) + float(best[-1]) * LN2_HIGH + float(best[-1]) * LN2_LOW + float(top.sum())
    return np.clip(members @ share.T, 0.0, 1.0), log_total


def _sums(value: Floats, power: Ints, best: Ints) -> tuple[Floats, Floats, float]:
    """Return, for every set and node, the weight of everything except the node's parents; last, the total.

    `within`: all layers so far form the set. `earlier`: the layers before the last one form the set.
    """
    within, earlier, total = np.zeros_like(value), np.zeros_like(value), np.zeros(1)
    if kernel.loops.layers(value, power, best, within, earlier, total):
        return within, earlier, float(total[0])
    before, after = np.zeros(3 ** value.shape[1]), np.zeros(3 ** value.shape[1])
    for placed in range(len(best) - 1):
        step = _step(value, power, best, placed)
        products = step.products()
        states = before[step.states] if placed else np.ones(1)
        before[step.following] = (states @ products * step.factor)[1:]
    all_placed = _step(value, power, best, len(best) - 1).states
    after[all_placed] = 1.0
    for placed in range(len(best) - 2, 0, -1):
        step = _step(value, power, best, placed)
        products = step.products()
        coming = np.concatenate([[0.0], step.factor[1:] * after[step.following]])
        after[step.states] = products @ coming
        subset = np.arange(len(coming))
        for t, v in enumerate(step.left):
            has = subset[subset >> t & 1 == 1]
            weight = before[step.states] * (products[:, has ^ (1 << t)] @ coming[has])
            within[placed, v] += weight.sum()
            np.add.at(earlier[:, v], step.sooner, weight * two_to(power[step.sooner, v] - power[placed, v]))
    return within, earlier, float(before[all_placed].sum())


class _Step(NamedTuple):
    """Possible next layers after a set of variables: rows are last layers, columns are next layers."""

    left: list[int]  # variables not placed
    sooner: Ints  # by last layer: the variables placed before it
    states: Ints  # by last layer: the number of the state
    following: Ints  # by (non-empty) next layer: the number of the state that follows
    factor: Floats  # by next layer: changes the scale
    own: Floats  # [last layer, variable not placed]: weight of the parent sets with a member in the last layer

    def products(self) -> Floats:
        """Return the product of the weights of each next layer."""
        out = np.ones((len(self.own), 1))
        for column in self.own.T:
            out = np.hstack([out, out * column[:, None]])
        return out


def _step(value: Floats, power: Ints, best: Ints, placed: int) -> _Step:
    p = value.shape[1]
    inside, left = list(bits.members(placed)), list(bits.members(len(best) - 1 ^ placed))
    some = slice(1 if placed else 0, None)  # layers are not empty, but before the first layer there is none
    last, next_ = _subsets([1 << v for v in inside])[some], _subsets([1 << v for v in left])
    code = sum(3**v for v in inside)  # a state has one digit per variable: 1 if it is placed, 2 in the last layer
    powers = best[placed] + _subsets([int(power[placed, v]) for v in left])
    factor = np.where(powers < NO_POWER // 2, 0.0, two_to(np.minimum(powers - best[placed | next_], 0)))
    sooner = placed ^ last
    without = value[sooner] * two_to(power[sooner] - power[placed]) if placed else np.zeros((1, p))
    return _Step(
        left,
        sooner,
        code + _subsets([3**v for v in inside])[some],
        code + 2 * _subsets([3**v for v in left])[1:],
        factor,
        np.maximum(value[placed] - without, 0.0)[:, left],
    )


def _subsets(values: Sequence[int]) -> Ints:
    """Return the sum of the values of each subset, in the order of a lattice."""
    out = np.zeros(1, dtype=np.int64)
    for value in values:
        out = np.concatenate([out, out + value])
    return out
