"""Independence tests, answered in batches: Fisher's z and Wilks' lambda, G2 and chi-square, and d-separation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...scores.regression import SINGULAR
from .contingency import Rows, statistics
from .gaussian import log_wilks, partial_correlations

if TYPE_CHECKING:
    from ...tables.statistics import Counts, Statistics

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_CELLS = 1 << 20  # cells of contingency tables, or rows times tests, in memory at once


class IndependenceTest(Protocol):
    """The interface of a test for PC; tests of tables and an oracle have it.

    Examples
    --------
    >>> import numpy as np, fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> from fedperi.discovery.pc.independence import IndependenceTest
    >>> test: IndependenceTest = DSeparation(fp.PDAG.from_edges([("A", "B"), ("B", "C")]))
    >>> test.p_values(np.array([0]), np.array([2]), np.array([[1]])).tolist()  # A and C given B
    [1.0]
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The variables; tests count them from 0 in this order."""

    @property
    def max_given(self) -> int:
        """The largest conditioning set that can be tested, for example with the available number of rows."""

    def p_values(self, x: Indices, y: Indices, given: Indices) -> Floats:
        """Test x[i] against y[i] given the set given[i], for all i; the sets of one call are of one size."""


class FisherZ:
    """Gaussian tests from a correlation matrix.

    Two variables of one column each are tested by Fisher's z: ``sqrt(n - k - 3) atanh(r)`` is standard normal, with r
    the partial correlation given k columns. If one has more columns (a one-hot or basis block), by Wilks' lambda with
    Bartlett's factor: ``-(n - 1 - k - (dx + dy + 1) / 2) log lambda`` is chi-square with dx dy degrees of freedom.

    Sets for which ``n - 1 - k - dx - dy`` is not positive (``n - k - 3`` for single columns) cannot be tested. Up to
    the size `max_given` this does not happen for any variables.

    Parameters
    ----------
    statistics : Statistics
        From `fedperi.tables.summarize`.

    Raises
    ------
    InputError
        If there are too few rows for a test without conditioning, or when a variable is a linear function of others.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi.tables import summarize
    >>> a = np.tile([-1.0, 1.0], 50)
    >>> noise = np.repeat([-0.5, 0.5], 50)
    >>> test = FisherZ(summarize(pd.DataFrame({"a": a, "b": a + noise, "noise": noise})))
    >>> test.p_values(np.array([0, 0]), np.array([1, 2]), np.empty((2, 0), dtype=int)).round(3).tolist()
    [0.0, 1.0]
    """

    def __init__(self, statistics: Statistics) -> None:
        self._names = statistics.names
        self._site = statistics.site
        self._n = statistics.n
        self._correlation: Floats = np.asarray(statistics.correlation, dtype=np.float64)
        self._blocks = [np.array(block, dtype=np.intp) for block in statistics.blocks]
        self._width = np.array([len(block) for block in self._blocks], dtype=np.intp)
        self._padded = np.full((len(self._blocks), int(self._width.max(initial=0))), -1, dtype=np.intp)
        for row, block in zip(self._padded, self._blocks, strict=True):
            row[: len(block)] = block
        # With the widest k + 2 variables, n - 1 - their columns must stay positive.
        columns = np.cumsum(np.sort(self._width)[::-1])
        self._max_given = int((columns < self._n - 1).sum()) - 2
        if self._max_given < 0 and len(columns) > 1:
            raise InputError(
                f"site {self._site!r}: {self._n} rows are too few to test independence; "
                f"at least {columns[1] + 2} are needed"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self._names

    @property
    def max_given(self) -> int:
        """The largest conditioning set that the number of rows allows."""
        return self._max_given

    def p_values(self, x: Indices, y: Indices, given: Indices) -> Floats:
        """Test x[i] against y[i] given the set given[i], for all i."""
        if given.shape[1] > self._max_given:
            raise InputError(
                f"site {self._site!r}: {self._n} rows allow conditioning sets of up to {self._max_given} "
                f"variables, not {given.shape[1]}; reduce max_depth"
            )
        if self._padded.shape[1] == 1:
            column = self._padded[:, 0]
            return self._fisher(column[x], column[y], column[given])
        shapes = np.stack([self._width[x], self._width[y], self._width[given].sum(axis=1)], axis=1)
        out = np.empty(len(x))
        for shape in np.unique(shapes, axis=0):
            some = np.flatnonzero((shapes == shape).all(axis=1))
            cx, cy = self._columns(x[some, None]), self._columns(y[some, None])
            cz = self._columns(given[some])
            single = shape[0] == shape[1] == 1
            out[some] = self._fisher(cx[:, 0], cy[:, 0], cz) if single else self._wilks(cx, cy, cz)
        return out

    def _fisher(self, x: Indices, y: Indices, given: Indices) -> Floats:
        from scipy.special import ndtr

        r, left = partial_correlations(self._correlation, x, y, given)
        self._refuse_collinear(left, x[:, None], y[:, None], given)
        z = np.sqrt(self._n - given.shape[1] - 3) * np.arctanh(np.abs(r))
        return np.asarray(2 * ndtr(-z))

    def _wilks(self, x: Indices, y: Indices, given: Indices) -> Floats:
        from scipy.special import chdtrc

        log_lambda, left = log_wilks(self._correlation, x, y, given)
        self._refuse_collinear(left, x, y, given)
        dx, dy = x.shape[1], y.shape[1]
        factor = self._n - 1 - given.shape[1] - (dx + dy + 1) / 2
        return np.asarray(chdtrc(dx * dy, np.maximum(-factor * log_lambda, 0)))

    def _columns(self, variables: Indices) -> Indices:
        """Columns of the blocks in every row; all rows have the same number of columns."""
        columns = self._padded[variables].reshape(len(variables), -1)
        return columns[columns >= 0].reshape(len(variables), -1) if columns.size else columns

    def _refuse_collinear(self, left: Floats, x: Indices, y: Indices, given: Indices) -> None:
        worst = left.min(axis=0)
        if worst.size == 0 or worst.min() > SINGULAR:
            return
        i = int(worst.argmin())
        at = int(np.argmax(left[:, i] <= SINGULAR))
        owner = {int(c): name for name, block in zip(self._names, self._blocks, strict=True) for c in block}
        columns = [owner[int(c)] for c in (*given[i], *x[i], *y[i])]
        others = dict.fromkeys(name for name in columns[:at] if name != columns[at])
        raise InputError(
            f"site {self._site!r}: {columns[at]} is a linear function of {', '.join(others) or 'itself'}; "
            "drop one of these variables"
        )


class _Contingency:
    """Common part of G2 and chi-square."""

    _kind: Literal["g2", "chi2"]

    def __init__(self, counts: Counts) -> None:
        self._names = counts.names
        levels = np.array([len(level) for level in counts.levels], dtype=np.intp)
        codes = np.ascontiguousarray(counts.codes.T, dtype=np.intp)
        self._rows = Rows(codes, counts.counts.astype(np.float64), levels)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self._names

    @property
    def max_given(self) -> int:
        """The largest conditioning set: all other variables."""
        return max(0, len(self._names) - 2)

    def p_values(self, x: Indices, y: Indices, given: Indices) -> Floats:
        """Test x[i] against y[i] given the set given[i], for all i."""
        from scipy.special import chdtrc

        levels, m = self._rows.levels, self._rows.codes.shape[1]
        value, freedom = np.zeros(len(x)), np.zeros(len(x), dtype=np.int_)
        shapes = levels[x] * (levels.max(initial=0) + 1) + levels[y]
        for shape in np.unique(shapes):
            alike = np.flatnonzero(shapes == shape)
            tables = int(levels[x[alike[0]]] * levels[y[alike[0]]])  # at most m strata of this many cells each
            step = max(1, _CELLS // (max(1, m) * tables))
            for start in range(0, len(alike), step):
                some = alike[start : start + step]
                value[some], freedom[some] = statistics(self._rows, x[some], y[some], given[some], self._kind)
        # With zero degrees of freedom the table cannot contradict independence.
        return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), value), 1.0)


class G2(_Contingency):
    """Likelihood-ratio test on counts.

    Levels that do not occur within a stratum are not counted as degrees of freedom; without any, the p-value is 1.

    Parameters
    ----------
    counts : Counts
        From `fedperi.tables.summarize` of a discrete table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi.tables import summarize
    >>> frame = pd.DataFrame({"a": ["u", "u", "v", "v"] * 10, "b": ["x", "y", "x", "y"] * 10})
    >>> test = G2(summarize(frame))
    >>> test.p_values(np.array([0]), np.array([1]), np.empty((1, 0), dtype=int)).tolist()
    [1.0]
    """

    _kind = "g2"


class ChiSquare(_Contingency):
    """Pearson's chi-square test on counts; degrees of freedom as in `G2`.

    Parameters
    ----------
    counts : Counts
        From `fedperi.tables.summarize` of a discrete table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi.tables import summarize
    >>> frame = pd.DataFrame({"a": ["u", "u", "v", "v"] * 10, "b": ["x", "x", "y", "y"] * 10})
    >>> test = ChiSquare(summarize(frame))
    >>> bool(test.p_values(np.array([0]), np.array([1]), np.empty((1, 0), dtype=int))[0] < 1e-8)
    True
    """

    _kind = "chi2"
