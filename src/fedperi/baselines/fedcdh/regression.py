"""Statistics of FedCDH's pooled tests: regressions of random features on those of Z, from sums over all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .layout import Floats, Ints, TestGroup, Widths
from .random_features import EXACT, rotation, solve, triangle

FLAT = 1e-12
"""A feature whose variance is below this share of its mean square varies only by rounding errors."""


@dataclass(frozen=True, eq=False)
class ResidualTests:
    """Results of a group of tests after the regression of x and y on Z.

    Parameters
    ----------
    statistic : array, shape (m,)
        The statistic of each test.
    maps : list of array
        For every x, then every y, the map from features to residuals (first row: what to subtract; rest: a linear map).
    ranks : int array, shape (m, 2)
        For each test, the number of directions in which the residuals of x and y vary.
    """

    statistic: Floats
    maps: list[Floats]
    ranks: Ints

    @property
    def sizes(self) -> Ints:
        """For each test, the number of products of four residuals."""
        out: Ints = triangle(self.ranks).prod(axis=1)
        return out


def regress(
    group: TestGroup, widths: Widths, n: float, sums: Floats, given: Floats, own: Floats, cross: Floats
) -> ResidualTests:
    """Compute the statistics of a group of tests from sums over all rows of the features and of their products."""
    q = widths.given
    mean = sums / n
    wide = [widths.x] * len(group.x) + [widths.y] * len(group.y)
    pieces = np.split(own, np.cumsum([w * w for w in wide])[:-1])
    blocks = [piece.reshape(w, w) for piece, w in zip(pieces, wide, strict=True)]
    second = given.reshape(q, len(sums)) / n
    variance = np.concatenate([np.diag(second), *(np.diag(block) / n for block in blocks)]) - mean**2
    flat = variance <= FLAT * (1 + mean**2)
    unit = np.where(flat, 0.0, 1 / np.sqrt(np.where(flat, 1.0, variance)))  # constant features have weight zero
    bessel = n / (n - 1)
    covariance = bessel * (second - np.outer(mean[:q], mean)) * np.outer(unit[:q], unit)
    coefficients, _ = solve(covariance[:, :q], covariance[:, q:])
    starts = q + np.cumsum([0, *wide])
    maps, explained = [], []
    for at, block in enumerate(blocks):
        here = slice(starts[at], starts[at + 1])
        beta = coefficients[:, starts[at] - q : starts[at + 1] - q]
        full = bessel * (block / n - np.outer(mean[here], mean[here])) * np.outer(unit[here], unit[here])
        shared = covariance[:, here].T @ beta
        # Var(F - Z b): b is a ridge estimate, so the cross terms do not cancel exactly.
        left = full - shared - shared.T + beta.T @ covariance[:, :q] @ beta
        turn = rotation((left + left.T) / 2, EXACT)
        linear = np.vstack([-unit[:q, None] * beta, np.diag(unit[here])]) @ turn
        offset = np.concatenate([mean[:q], mean[here]]) @ linear
        maps.append(np.vstack([offset, linear]))
        explained.append(beta)
    statistic = np.zeros(len(group.tests))
    for test, (i, j) in enumerate(group.pairs):
        j += len(group.x)
        a, b = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        both = cross.reshape(-1, widths.x, widths.y)[test] / n - np.outer(mean[a], mean[b])
        partial = bessel * both * np.outer(unit[a], unit[b]) - covariance[:, a].T @ explained[j]
        statistic[test] = n * (partial**2).sum()
    rank = np.array([each.shape[1] for each in maps], dtype=np.int64)
    return ResidualTests(
        statistic, maps, np.column_stack([rank[group.pairs[:, 0]], rank[len(group.x) + group.pairs[:, 1]]])
    )
