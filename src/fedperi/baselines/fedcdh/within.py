"""Tests of FedCDH on the rows of one site: many pairs with the same conditioning set share their computations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .layout import Floats, Ints, TestGroup
from .random_features import QUICK, RIDGE, decomposed, pair_products, rotation, standardised


def within_site(group: TestGroup, z: Floats, x: Sequence[Floats], y: Iterable[Floats]) -> Floats:
    """Statistic, mean and half variance under independence for every test of a group, from these rows alone.

    Parameters
    ----------
    group : TestGroup
        The tests.
    z : array, shape (n, q)
        Features of Z; none (q = 0) if nothing is given.
    x : sequence of array, each of shape (n, w)
        Features of every x of the group.
    y : iterable of array, each of shape (n, w)
        Features of every y of the group, with Z. They are read one by one, so that only one is in memory.

    Returns
    -------
    array, shape (3, m)
        In the order of the group's tests.

    Examples
    --------
    >>> import numpy as np
    >>> from fedperi.baselines.fedcdh.layout import Batch, groups
    >>> none, zero, one = np.zeros((1, 0), dtype=int), np.array([0]), np.array([1])
    >>> rows = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    >>> within_site(groups(Batch(none, zero, zero, one))[0], np.zeros((4, 0)), [rows], [rows]).round(2).tolist()
    [[4.0], [1.33], [1.78]]
    """
    n = len(z)
    given = np.ascontiguousarray(standardised(z).T)
    values, vectors, fitted = decomposed(given @ given.T / n)
    left = vectors / (values + RIDGE)

    def turned(features: Floats) -> Floats:
        """Residuals given Z, a row for each direction in which they vary."""
        rows = standardised(features).T
        rest = rows - (left @ (vectors.T @ (given @ rows.T / n))).T @ given
        out: Floats = rotation(rest @ rest.T / n, QUICK).T @ rest
        return out

    one = _Side([turned(features) for features in x])
    # Degrees of freedom of the fit: the product of two residuals loses them once, that of their variances twice.
    lost = n / (n - 1 - fitted)
    out = np.zeros((3, len(group.tests)))
    for j, features in enumerate(y):
        here = np.flatnonzero(group.pairs[:, 1] == j)
        statistic, trace, norm = one.against(group.pairs[here, 0], turned(features))
        out[:, here] = statistic / n, lost * trace / n, lost**2 * norm / n**2
    return out


class _Side:
    """Residuals of all x of a group, and their products in pairs, in one array each."""

    def __init__(self, blocks: Sequence[Floats]) -> None:
        products = [pair_products(block.T).T for block in blocks]
        self.count = len(blocks)
        self.rows, self.of_row = np.vstack(blocks), _owners(blocks)
        self.products, self.of_product = np.vstack(products), _owners(products)
        self.square = np.array([(block**2).sum(axis=0) for block in blocks])

    def against(self, wanted: Ints, b: Floats) -> tuple[Floats, Floats, Floats]:
        """For some x, and a y with residuals b: sums of squared products of two residuals, and of four in pairs."""
        statistic = self._squared(self.rows, self.of_row, wanted, b)
        norm = self._squared(self.products, self.of_product, wanted, pair_products(b.T).T)
        return statistic, self.square[wanted] @ (b**2).sum(axis=0), norm

    def _squared(self, rows: Floats, owner: Ints, wanted: Ints, b: Floats) -> Floats:
        if len(wanted) < self.count:
            some = np.zeros(self.count, dtype=bool)
            some[wanted] = True
            rows, owner = rows[some[owner]], owner[some[owner]]
        product = rows @ b.T
        by_row = np.einsum("ij,ij->i", product, product)
        out = np.zeros(self.count)
        np.add.at(out, owner, by_row)
        chosen: Floats = out[wanted]
        return chosen


def _owners(blocks: Sequence[Floats]) -> Ints:
    return np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
