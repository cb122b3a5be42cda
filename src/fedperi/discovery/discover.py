"""Discovery from one table: PC and GES on the data of a site, and checks of users' own methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError
from ..graph.equivalence import consistent_extension
from ..graph.pdag import PDAG
from ..scores.discrete import DiscreteScore
from ..scores.gaussian import GaussianScore
from ..scores.score import Score
from ..tables.checks.findings import quoted
from ..tables.checks.profile import Missing
from ..tables.embedding import Data
from ..tables.infer import SchemaLike
from ..tables.statistics import Counts, Statistics, summarize
from ..tables.table import Source, open_table
from .ges.ges import ges_fit
from .pc.independence import G2, ChiSquare, FisherZ, IndependenceTest
from .pc.pc import pc_fit

if TYPE_CHECKING:
    import pandas as pd

Summary = Statistics | Counts
Test = Literal["auto", "fisherz", "g2", "chi2"]
Method = str | Callable[[Any], PDAG]


def pc(
    table: Source | Summary,
    alpha: float = 0.01,
    *,
    max_depth: int | None = None,
    test: Test = "auto",
    data: Data = "auto",
    schema: SchemaLike | None = None,
    missing: Missing = "error",
) -> PDAG:
    """Find the causal graph of one table with PC.

    Parameters
    ----------
    table : DataFrame, path of a CSV or Parquet file, Statistics or Counts
        One column per variable; or the result of `fedperi.tables.summarize` for such a table.
    alpha : float
        Level of the tests: a p-value above it means independent.
    max_depth : int, optional
        Size of the largest conditioning set. If not given, as large as neighbourhoods and the number of rows allow.
    test : {"auto", "fisherz", "g2", "chi2"}
        Fisher's z (Wilks' lambda for categories and bases), the likelihood-ratio test or Pearson's test of counts.
        Auto: g2 if all columns are categories, else fisherz.
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        How columns are used; see `fedperi.tables.summarize`.
    schema : Schema or path of a schema file, optional
        Types of columns that should not be inferred; not all columns need to be listed.
    missing : {"error", "drop"}
        What to do with rows in which a value is missing.

    Returns
    -------
    PDAG
        A CPDAG. `fedperi.discovery.pc.pc.pc_fit` also reports which findings contradicted each other.

    Raises
    ------
    InputError
        If the table cannot be used as it is, or an option does not fit it.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi import pc
    >>> a, b, noise = np.random.default_rng(0).normal(size=(3, 1000))
    >>> pc(pd.DataFrame({"a": a, "b": b, "c": a + b + noise}))
    PDAG('a -> c, b -> c', names=['a', 'b', 'c'])
    >>> pc(pd.DataFrame({"a": a, "b": b}), test="g2")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'table', columns 'a', 'b': test='g2' needs categories, and these are continuous; ...
    """
    if test not in ("auto", "fisherz", "g2", "chi2"):
        raise InputError(f"test must be 'auto', 'fisherz', 'g2' or 'chi2', not {test!r}")
    return pc_fit(_test(_summary(table, data, schema, missing), test), alpha, max_depth).graph


def ges(
    table: Source | Summary,
    *,
    score: str = "auto",
    penalty: float = 1.0,
    data: Data = "auto",
    schema: SchemaLike | None = None,
    missing: Missing = "error",
) -> PDAG:
    """Find the causal graph of one table with GES.

    Parameters
    ----------
    table, data, schema, missing
        As in `fedperi.pc`.
    score : {"auto", "bic", "bdeu"}
        BIC (block-Gaussian, or multinomial for a discrete table), or the Bayesian score of a discrete table. Auto: bdeu
        if all columns are categories, else bic.
    penalty : float
        Factor for BIC's penalty per parameter: above 1 for fewer edges. Not used by BDeu.

    Returns
    -------
    PDAG
        A CPDAG.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi import ges
    >>> a, b, noise = np.random.default_rng(0).normal(size=(3, 1000))
    >>> ges(pd.DataFrame({"a": a, "b": a + b, "c": a + b + noise}))
    PDAG('a -- b, b -- c', names=['a', 'b', 'c'])
    """
    if score not in ("auto", *SCORES):
        raise InputError(f"score must be one of 'auto', {', '.join(map(repr, SCORES))}; not {score!r}")
    # An infinite penalty times zero parameters is not a number, so it is refused here.
    if isinstance(penalty, bool) or not isinstance(penalty, Real) or not 0 <= penalty < math.inf:
        raise InputError(f"penalty must be a finite number of 0 or more, not {penalty!r}; 1 is usual")
    summary = _summary(table, data, schema, missing)
    make = SCORES[score if score != "auto" else "bdeu" if isinstance(summary, Counts) else "bic"]
    return ges_fit(make(summary, float(penalty))).graph


def local_graph(
    method: Method,
    statistics: Summary,
    table: Source | None = None,
    *,
    alpha: float = 0.01,
    penalty: float = 1.0,
) -> PDAG:
    """Find a site's own graph with PC, GES or the user's method; check what the user's method returns.

    Parameters
    ----------
    method : {"pc", "ges"} or callable
        A callable takes the statistics and returns a PDAG. One with an attribute ``wants_table = True`` takes the rows
        instead, as a DataFrame (see `fedperi.discovery.adapters`).
    statistics : Statistics or Counts
        The statistics of the site's table.
    table : DataFrame, or path of a CSV or Parquet file, optional
        The rows, for a callable with `wants_table`. It gets the columns in the order of the statistics; rows that lack
        a value are removed if they were dropped from the statistics.
    alpha : float
        For ``"pc"``.
    penalty : float
        For ``"ges"`` with BIC.

    Returns
    -------
    PDAG
        Over the statistics' variables in their order, with a consistent extension to a DAG.

    Examples
    --------
    >>> import fedperi as fp, pandas as pd
    >>> from fedperi.tables import summarize
    >>> from fedperi.discovery.discover import local_graph
    >>> statistics = summarize(pd.DataFrame({"a": [0.5, 1.5, 3.5], "b": [2.5, 2.0, 1.0]}), name="north")
    >>> local_graph(lambda s: fp.PDAG.from_edges([("b", "a")]), statistics)
    PDAG('b -> a', names=['a', 'b'])
    >>> def nothing(statistics): ...
    >>> local_graph(nothing, statistics)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north': local method 'nothing' returned NoneType; it must return a fedperi.PDAG
    """
    if method == "pc":
        return pc(statistics, alpha)
    if method == "ges":
        return ges(statistics, penalty=1.0 if isinstance(statistics, Counts) else penalty)
    if not callable(method):
        raise InputError(f"a local method is 'pc', 'ges' or a callable that returns a PDAG, not {method!r}")
    who = f"site {statistics.site!r}: local method {getattr(method, '__name__', type(method).__name__)!r}"
    argument: object = statistics
    if getattr(method, "wants_table", False):
        if table is None:
            raise InputError(f"{who} needs the rows, and only their statistics are kept; use 'pc' or 'ges' here")
        argument = _frame(table, statistics)
    try:
        found = method(argument)
    except InputError as error:
        raise InputError(f"{who}: {error}") from error
    return _checked(found, statistics.names, who)


def _summary(table: Source | Summary, data: Data, schema: SchemaLike | None, missing: Missing) -> Summary:
    if not isinstance(table, (Statistics, Counts)):
        return summarize(table, schema, data=data, missing=missing, partial=True)
    given = {"data": data != "auto", "schema": schema is not None, "missing": missing != "error"}
    late = [name for name in given if given[name]]
    if late:
        raise InputError(
            f"site {table.site!r}: the rows are already summarised, so {quoted(late)} can change nothing; "
            "give the table, or leave the option out"
        )
    return table


def _test(summary: Summary, test: Test) -> IndependenceTest:
    if isinstance(summary, Counts):
        if test == "fisherz":
            raise InputError(
                f"site {summary.site!r}: test='fisherz' needs numbers, and all columns are categories; use test='g2', "
                "or data='mixed' to take them as indicators"
            )
        return ChiSquare(summary) if test == "chi2" else G2(summary)
    if test in ("g2", "chi2"):
        raise _needs_categories(summary, f"test={test!r}", "test='fisherz'")
    return FisherZ(summary)


def _bic(summary: Summary, penalty: float) -> Score:
    if isinstance(summary, Counts):
        return DiscreteScore(summary, "bic", penalty=penalty)
    return GaussianScore.of(summary, penalty)


def _bdeu(summary: Summary, penalty: float) -> Score:
    if not isinstance(summary, Counts):
        raise _needs_categories(summary, "score='bdeu'", "score='bic'")
    if penalty != 1:
        raise InputError(f"penalty={penalty:g} multiplies BIC's price, and BDeu has none; use score='bic'")
    return DiscreteScore(summary, "bdeu")


SCORES: dict[str, Callable[[Summary, float], Score]] = {"bic": _bic, "bdeu": _bdeu}
"""The scores of `ges`: functions from a table's statistics and the penalty to a score."""


def _needs_categories(statistics: Statistics, option: str, instead: str) -> InputError:
    wrong = [name for name, kind in zip(statistics.names, statistics.kinds, strict=True) if kind == "continuous"]
    if not wrong:  # categories, embedded as indicators because data='mixed' was asked for
        return InputError(f"site {statistics.site!r}: {option} needs counts; use data='discrete', or {instead}")
    columns, these = ("columns", "these are") if len(wrong) > 1 else ("column", "this is")
    return InputError(
        f"site {statistics.site!r}, {columns} {quoted(wrong)}: {option} needs categories, and {these} continuous; "
        f"use {instead}, or declare categories in a schema"
    )


def _frame(table: Source, statistics: Summary) -> pd.DataFrame:
    import pandas as pd

    opened = open_table(table, statistics.site)
    absent = [name for name in statistics.names if name not in opened.columns]
    if absent:
        raise InputError(f"site {statistics.site!r}: the table has no column {quoted(absent)}; give the one summarised")
    frame = pd.concat(list(opened.chunks()), ignore_index=True)
    frame = frame.dropna(ignore_index=True) if statistics.dropped else frame
    return frame[list(statistics.names)]


def _checked(found: object, names: tuple[str, ...], who: str) -> PDAG:
    if not isinstance(found, PDAG):
        raise InputError(f"{who} returned {type(found).__name__}; it must return a fedperi.PDAG")
    if set(found.names) != set(names):
        absent, extra = set(names) - set(found.names), set(found.names) - set(names)
        parts = [f"without {quoted(sorted(absent))}"] if absent else []
        parts += [f"with {quoted(sorted(extra))} that the table has not"] if extra else []
        raise InputError(f"{who} returned a graph {' and '.join(parts)}; its variables must be the table's columns")
    try:
        consistent_extension(found)
    except InputError as error:
        raise InputError(f"{who}: {error}; it must return a CPDAG, or a DAG") from None
    return found.reordered(names)
