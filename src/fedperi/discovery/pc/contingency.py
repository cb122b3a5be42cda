"""Arithmetic of the discrete tests: many stratified contingency tables at once."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Rows(NamedTuple):
    """The distinct rows of a discrete table.

    Attributes
    ----------
    codes : ndarray of int, shape (p, m)
        The level of each variable in each distinct row.
    counts : ndarray of float, shape (m,)
        Number of times that the row occurs.
    levels : ndarray of int, shape (p,)
        How many levels each variable has.
    """

    codes: Indices
    counts: Floats
    levels: Indices


def strata(rows: Rows, given: Indices) -> tuple[Indices, int]:
    """Give a number to every combination of levels of some variables, row by row.

    Parameters
    ----------
    rows : Rows
    given : ndarray of int, shape (k,)

    Returns
    -------
    stratum : ndarray of int, shape (m,)
    count : int
        Strata are numbered below it; some may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), np.ones(4), np.array([2, 2]))
    >>> strata(rows, np.array([0, 1]))
    (array([0, 1, 2, 3]), 4)
    """
    m = rows.codes.shape[1]
    stratum, count = np.zeros(m, dtype=np.intp), 1
    for v in given:
        stratum = stratum * rows.levels[v] + rows.codes[v]
        count *= int(rows.levels[v])
        if count > m:  # number only combinations that occur, so that tables are never larger than the data
            seen, stratum = np.unique(stratum, return_inverse=True)
            count = len(seen)
    return stratum, count


def statistics(
    rows: Rows, x: Indices, y: Indices, given: Indices, kind: Literal["g2", "chi2"]
) -> tuple[Floats, NDArray[np.int_]]:
    """Return test statistics of x against y within the strata of `given`, and their degrees of freedom.

    A stratum in which x takes r levels and y takes c levels adds (r - 1)(c - 1) degrees of freedom: levels that do not
    occur there are not counted.

    Parameters
    ----------
    rows : Rows
    x, y : ndarray of int, shape (m,)
        All x must have the same number of levels, and all y.
    given : ndarray of int, shape (m, k)
    kind : "g2" or "chi2"
        Likelihood ratio, or Pearson's.

    Returns
    -------
    statistic : ndarray, shape (m,)
    freedom : ndarray of int, shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), np.array([30.0, 10, 10, 30]), np.array([2, 2]))
    >>> one = np.array([0]), np.array([1]), np.empty((1, 0), dtype=np.intp)
    >>> statistics(rows, *one, "chi2")  # four cells with 20 expected, each off by 10
    (array([20.]), array([1]))
    """
    rx, ry = int(rows.levels[x[0]]), int(rows.levels[y[0]])
    cells = np.empty((len(x), rows.codes.shape[1]), dtype=np.intp)
    starts = np.empty(len(x), dtype=np.intp)
    known: dict[tuple[int, ...], tuple[Indices, int]] = {}
    total = 0
    for i, key in enumerate(map(tuple, given.tolist())):
        if key not in known:
            known[key] = strata(rows, given[i])
        stratum, count = known[key]
        starts[i] = total
        np.add(stratum, total, out=cells[i])
        total += count
    cells *= rx * ry
    cells += rows.codes[x] * ry
    cells += rows.codes[y]
    weights = np.broadcast_to(rows.counts, cells.shape).ravel()
    counted = np.bincount(cells.ravel(), weights, total * rx * ry)
    table = np.asarray(counted, dtype=np.float64).reshape(total, rx, ry)
    by_x, by_y = table.sum(axis=2), table.sum(axis=1)
    size = by_x.sum(axis=1)
    expected = by_x[:, :, None] * by_y[:, None, :] / np.maximum(size, 1)[:, None, None]
    terms = _g2_terms(table, expected) if kind == "g2" else _chi2_terms(table, expected)
    freedom = np.maximum((by_x > 0).sum(axis=1) - 1, 0) * np.maximum((by_y > 0).sum(axis=1) - 1, 0)
    return np.add.reduceat(terms.sum(axis=(1, 2)), starts), np.add.reduceat(freedom, starts)


def _g2_terms(table: Floats, expected: Floats) -> Floats:
    ratio = np.ones_like(table)
    np.divide(table, expected, out=ratio, where=table > 0)
    terms: Floats = 2 * table * np.log(ratio)
    return terms


def _chi2_terms(table: Floats, expected: Floats) -> Floats:
    terms: Floats = np.square(table - expected)
    return np.divide(terms, expected, out=terms, where=expected > 0)
