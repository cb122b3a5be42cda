"""Independence tests that combine sites from their moments, without a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...scores.regression import SINGULAR
from ..pc.gaussian import log_wilks
from .certain import open_sets
from .changes import Changes
from .correlations import correlations_of_sites

if TYPE_CHECKING:
    from ...tables.summary.summary import Summary

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Pair = tuple[int, int]


COMMON = 0.9
"""Share of the level that goes to what sites have in common, the rest to how they differ. Differences between sites are
seldom small: they are seen at a tenth of the level, too, while sites that are alike lose little power."""


class SiteTests:
    """Tests of x against y given z within each site, combined over the sites; and of whether two sites differ.

    Within a site, two columns are tested by Fisher's z, whose square is about the likelihood ratio. Under independence
    the sum of the squares over K sites is chi-squared with K degrees of freedom. It is the sum of two independent
    parts: what the sites have in common (one degree of freedom, powerful where sites are alike) and how they differ
    (K - 1). The p-value is that of the smaller of the two, corrected for the choice. Blocks of columns, such as
    indicators of a category, are tested by Wilks' lambda, and the K statistics are added up.

    A context is a pair of sites. A variable is independent of it given z if it depends on z in the same way at both
    sites: level, strengths and spread (`changes.py`).

    Parameters
    ----------
    summaries : sequence of Summary
        One per site, of the same variables.
    contexts : bool
        Whether pairs of sites are tested as contexts.

    Examples
    --------
    >>> import numpy as np, fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> chain = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    >>> sim = fp.simulate(chain, clients=3, samples=500, weights=(0.5, 1.0), seed=1)
    >>> test = SiteTests([part.straight() for part in summaries(sim.sites)])
    >>> a, c = np.array([0]), np.array([2])
    >>> bool(test.p_values(a, c, np.array([[1]]))[0] > 0.01)
    True
    """

    def __init__(self, summaries: Sequence[Summary], contexts: bool = True) -> None:
        self._summaries = tuple(summaries)
        first = summaries[0]
        self._pairs = list(combinations(range(len(summaries)), 2)) if contexts else []
        self._variables = len(first.names)
        taken = set(first.names)
        self._names = (*first.names, *(_context_name(summaries, pair, taken) for pair in self._pairs))
        self._sides = np.array(self._pairs, dtype=np.intp).reshape(-1, 2)
        self._rows = np.array([summary.rows for summary in summaries])
        self._changes = Changes(summaries, self._rows)
        self._spread = np.array([kind == "continuous" for kind in first.kinds], dtype=np.intp)
        self._correlations = np.stack([_correlation(summary) for summary in summaries])
        self._varies = np.stack([np.diag(summary.covariance) > 0 for summary in summaries])
        self._blocks = [np.array(block, dtype=np.intp) for block in first.blocks]
        self._width = np.array([len(block) for block in self._blocks], dtype=np.intp)
        self._padded = _table(self._blocks)
        # Polynomials of a number are conditioned on with it, and are not tested themselves.
        curved = [unit.startswith("Curve") for unit in first.units]
        tested = [block[:1] if bent else block for block, bent in zip(self._blocks, curved, strict=True)]
        self._tested, self._tested_width = _table(tested), np.array([len(block) for block in tested], dtype=np.intp)
        columns = np.cumsum(np.sort(self._width)[::-1])
        # A test of two variables has two beside the set, a test of a variable and a context has one.
        self._max_given = max(0, int((columns < self._rows.max() - 1).sum()) - (1 if self._pairs else 2))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, then the contexts."""
        return self._names

    @property
    def contexts(self) -> tuple[tuple[str, str], ...]:
        """The pairs of sites that are tested as contexts."""
        return tuple((self._summaries[k].site, self._summaries[m].site) for k, m in self._pairs)

    @property
    def max_given(self) -> int:
        """The largest conditioning set that the rows of the largest site allow."""
        return self._max_given

    def p_values(self, x: Indices, y: Indices, given: Indices) -> Floats:
        """Test x[i] against y[i] given the set given[i], for all i; if one of the two is a context, it is y."""
        out = np.empty(len(x))
        inside = y < self._variables
        if inside.all():
            return self._within(x, y, given)
        out[inside] = self._within(x[inside], y[inside], given[inside])
        out[~inside] = self._between(x[~inside], y[~inside] - self._variables, given[~inside])
        return out

    def open_sets(self, pairs: Sequence[Pair], candidates: Sequence[int], alpha: float) -> list[list[int] | None]:
        """For every pair, the sets of candidates that need a test: given any other, the two depend on each other.

        None where that is not known. There every set needs one.
        """
        from scipy.special import ndtri

        single = sum(1 << v for v in np.flatnonzero(self._width == 1).tolist())
        some = [n for n, (x, y) in enumerate(pairs) if not (candidates[n] | 1 << x | 1 << y) & ~single]
        first = self._padded[:, 0]
        correlations = self._correlations[:, first[:, None], first]
        # The p-value is l - a l^2 with l the smaller part and a as follows; it is below alpha if l is below its root.
        a = COMMON * (1 - COMMON)
        threshold = float(-ndtri(COMMON * (1 - np.sqrt(1 - 4 * a * alpha)) / (4 * a)))
        found = open_sets(correlations, self._rows, threshold, [pairs[n] for n in some], [candidates[n] for n in some])
        out: list[list[int] | None] = [None] * len(pairs)
        for n, sets in zip(some, found, strict=True):
            out[n] = sets
        return out

    def _within(self, x: Indices, y: Indices, given: Indices) -> Floats:
        if self._padded.shape[1] == 1:
            column = self._padded[:, 0]
            return self._fisher(column[x], column[y], column[given])
        out = np.empty(len(x))
        for wx, wy, some in _alike(self._tested_width[x], self._tested_width[y], self._width[given].sum(axis=1)):
            cx, cy = _columns(self._tested, x[some, None]), _columns(self._tested, y[some, None])
            cz = _columns(self._padded, given[some])
            if wx == wy == 1:
                out[some] = self._fisher(cx[:, 0], cy[:, 0], cz)
            else:
                out[some] = self._wilks(cx, cy, cz)
        return out

    def _fisher(self, x: Indices, y: Indices, given: Indices) -> Floats:
        """Fisher's z at every site; sites where x or y does not vary, or rows are too few, say nothing."""
        from scipy.special import chdtrc, ndtr

        freedom = (self._rows - given.shape[1] - 3)[:, None]
        enough = freedom[:, 0] > 0
        freedom, varies = freedom[enough], self._varies[enough]
        r, left = correlations_of_sites(self._correlations[enough], x, y, given)
        says = varies[:, x] & varies[:, y] & (left > SINGULAR)
        z = np.where(says, np.sqrt(freedom) * np.arctanh(np.clip(r, -1 + SINGULAR, 1 - SINGULAR)), 0.0)
        total, squares = (np.sqrt(freedom) * z).sum(axis=0), (z * z).sum(axis=0)
        weight, sites = (freedom * says).sum(axis=0), says.sum(axis=0)
        common = np.abs(total) / np.sqrt(np.maximum(weight, 1.0))
        shared = 2 * ndtr(-common)
        apart = np.where(sites > 1, chdtrc(np.maximum(sites - 1, 1), np.maximum(squares - common**2, 0.0)), 1.0)
        # The two are independent. Written so that small p-values stay exact.
        least = np.minimum(shared / COMMON, apart / (1 - COMMON))
        one, other = np.minimum(COMMON * least, 1.0), np.minimum((1 - COMMON) * least, 1.0)
        return np.asarray(np.where(sites > 1, one + other - one * other, np.where(sites > 0, shared, 1.0)))

    def _wilks(self, x: Indices, y: Indices, given: Indices) -> Floats:
        from scipy.special import chdtrc

        dx, dy = x.shape[1], y.shape[1]
        value, freedom = np.zeros(len(x)), np.zeros(len(x))
        for rows, correlation, varies in zip(self._rows, self._correlations, self._varies, strict=True):
            factor = rows - 1 - given.shape[1] - (dx + dy + 1) / 2
            if rows - 1 - given.shape[1] - dx - dy <= 0:
                continue
            log_lambda, left = log_wilks(correlation, x, y, given)
            columns = varies[x].sum(axis=1) * varies[y].sum(axis=1)
            says = (columns > 0) & (left.min(axis=0) > SINGULAR)
            value += np.where(says, np.maximum(-factor * log_lambda, 0.0), 0.0)
            freedom += np.where(says, columns, 0)
        return np.asarray(np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), value), 1.0))

    def _between(self, x: Indices, context: Indices, given: Indices) -> Floats:
        from scipy.special import chdtrc

        out = np.empty(len(x))
        for _, spread, some in _alike(self._tested_width[x], self._spread[x], self._width[given].sum(axis=1)):
            target, columns = _columns(self._tested, x[some, None]), _columns(self._padded, given[some])
            value, freedom = self._changes.statistics(self._sides[context[some]], target, columns, spread=bool(spread))
            out[some] = chdtrc(freedom, value)
        return out


def _alike(first: Indices, second: Indices, columns: Indices) -> Iterator[tuple[int, int, Indices]]:
    """Group tests by three small numbers: yield the first two, and which tests have them."""
    top = [int(numbers.max(initial=0)) + 1 for numbers in (second, columns)]
    key = (first * top[0] + second) * top[1] + columns
    for value in np.unique(key).tolist():
        yield value // top[1] // top[0], value // top[1] % top[0], np.flatnonzero(key == value)


def _table(blocks: Sequence[Indices]) -> Indices:
    """The columns of every variable, one variable per row, filled up with -1."""
    out = np.full((len(blocks), max(map(len, blocks), default=0)), -1, dtype=np.intp)
    for row, block in zip(out, blocks, strict=True):
        row[: len(block)] = block
    return out


def _columns(table: Indices, variables: Indices) -> Indices:
    """Columns of the variables in every row; all rows have the same number of columns."""
    columns = table[variables].reshape(len(variables), -1)
    return columns[columns >= 0].reshape(len(variables), -1) if columns.size else columns


def _context_name(summaries: Sequence[Summary], pair: tuple[int, int], taken: set[str]) -> str:
    name = f"{summaries[pair[0]].site} or {summaries[pair[1]].site}"
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _correlation(summary: Summary) -> Floats:
    """Correlations; a column that does not vary is independent of all others."""
    scale = np.sqrt(np.diag(summary.covariance))
    safe = np.where(scale > 0, scale, 1.0)
    correlation = np.asarray(summary.covariance / np.outer(safe, safe))
    np.fill_diagonal(correlation, 1.0)
    return correlation
