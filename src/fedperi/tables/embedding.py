"""Turn each variable into a block of columns, so that one matrix of second moments serves all kinds of data.

- `Linear`: the column itself; codes and truth values as numbers.
- `OneHot`: one indicator per level that occurs at the site, except the first. A level that never occurs would be a
  constant column. Leaving it out changes no likelihood, and the scores of a site count only its own levels.
- `Basis`: Legendre polynomials of degree 1 to d of the column, rescaled to [-1, 1] and clipped there. Each site
  rescales by its own mean plus or minus `REACH` standard deviations. So its answer does not depend on its units or on
  other sites, and no constant has to be exchanged. If the schema declares bounds, these are used instead: then the
  embedding does not depend on the data.
- `Curve`: the column itself, followed by polynomials of degree 2 to d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .checks.column_scan import two_values
from .checks.findings import quoted
from .checks.profile import TableProfile
from .encode import codes, numbers, positions_of, side_by_side
from .levels import number_of, style_of
from .schema import Column, Schema

if TYPE_CHECKING:
    import pandas as pd

REACH = 3.0  # standard deviations that fill [-1, 1]: 99.7 % of a normal variable, and outliers cannot dominate
CURVES = 2  # degree of the curves of numbers for ``data="auto"``: they show which results need straight lines
MAX_DEGREE = 10  # polynomials of a higher degree fit noise, and their moments lose digits

Data = Literal["auto", "linear", "nonlinear", "discrete", "mixed"]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Linear:
    """A column as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> Linear(Column("a", "categorical", ("0", "2"))).embed(pd.Series([2, 0]), "north").tolist()
    [[2.0], [0.0]]
    """

    column: Column
    width: int = 1

    def embed(self, series: pd.Series[Any], site: str) -> Values:
        """Return one column."""
        if self.column.levels is None:
            return numbers(series, self.column, site)[:, None]
        values = np.array([number_of(level) if level not in _TRUTH else _TRUTH[level] for level in self.column.levels])
        return values.astype(np.float64)[codes(series, self.column, site), None]


_TRUTH = {"False": 0.0, "True": 1.0}


@dataclass(frozen=True)
class OneHot:
    """A category as indicators of the levels in `shown`.

    Examples
    --------
    >>> import pandas as pd
    >>> block = OneHot(Column("a", "categorical", ("u", "v", "w")), shown=(1, 2))
    >>> block.embed(pd.Series(["w", "u", "v"]), "north").tolist()
    [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    """

    column: Column
    shown: tuple[int, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.shown)

    def embed(self, series: pd.Series[Any], site: str) -> Values:
        """Return one column per level shown."""
        return np.equal(codes(series, self.column, site)[:, None], self.shown).astype(np.float64)


@dataclass(frozen=True)
class Basis:
    """A number as Legendre polynomials of degree 1 to `width` of ``(x - origin - offset) / reach``, clipped to [-1, 1].

    Examples
    --------
    >>> import pandas as pd
    >>> block = Basis(Column("a", "continuous"), origin=10.0, offset=0.0, reach=2.0, width=2)
    >>> block.embed(pd.Series([10.0, 12.0, 99.0]), "north").tolist()
    [[0.0, -0.5], [1.0, 1.0], [1.0, 1.0]]
    """

    column: Column
    origin: float
    offset: float
    reach: float
    width: int

    def embed(self, series: pd.Series[Any], site: str) -> Values:
        """Return one column per degree."""
        # Two steps, so that a column around 1e8 loses no digits.
        centred = (numbers(series, self.column, site) - self.origin) - self.offset
        inside = np.clip(centred / self.reach, -1, 1)
        powers: Values = np.empty((self.width, len(inside))).T  # column by column in memory
        powers[:, 0] = inside
        for k in range(1, self.width):
            before = powers[:, k - 2] if k > 1 else 1.0
            powers[:, k] = (powers[:, k - 1] * inside * (2 * k + 1) - before * k) / (k + 1)
        return powers


@dataclass(frozen=True)
class Curve:
    """A number as it is, followed by the Legendre polynomials of degree 2 to `width` of a `Basis`.

    As an effect the variable is the number itself, not clipped; as a cause it may have a curved effect.

    Examples
    --------
    >>> import pandas as pd
    >>> block = Curve(Basis(Column("a", "continuous"), origin=10.0, offset=0.0, reach=2.0, width=2))
    >>> block.embed(pd.Series([10.0, 12.0, 99.0]), "north").tolist()
    [[10.0, -0.5], [12.0, 1.0], [99.0, 1.0]]
    """

    basis: Basis

    @property
    def column(self) -> Column:
        """The column."""
        return self.basis.column

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.basis.width

    def embed(self, series: pd.Series[Any], site: str) -> Values:
        """Return the column, and one more per degree from the second on."""
        powers = self.basis.embed(series, site)
        powers[:, 0] = numbers(series, self.column, site)
        return powers


Block = Linear | OneHot | Basis | Curve


@dataclass(frozen=True)
class Embedding:
    """The blocks of all variables, side by side.

    Examples
    --------
    >>> import pandas as pd
    >>> embedding = Embedding((Linear(Column("a", "continuous")), OneHot(Column("b", "categorical", ("u", "v")), (1,))))
    >>> embedding.positions
    ((0,), (1,))
    >>> embedding.embed(pd.DataFrame({"a": [0.5, 1.5], "b": ["u", "v"]}), "north").tolist()
    [[0.5, 0.0], [1.5, 1.0]]
    """

    blocks: tuple[Block, ...]

    @property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """For every variable, its columns in the embedded table."""
        return positions_of([block.width for block in self.blocks])

    def embed(self, rows: pd.DataFrame, site: str) -> Values:
        """Return the embedded rows, one column per position."""
        return side_by_side([block.embed(rows[block.column.name], site) for block in self.blocks])

    def embed_incomplete(self, rows: pd.DataFrame, site: str) -> Values:
        """Return the embedded rows, with NaN in all columns of a variable whose value is missing.

        Examples
        --------
        >>> import pandas as pd
        >>> embedding = Embedding((OneHot(Column("b", "categorical", ("u", "v", "w")), (1, 2)),))
        >>> embedding.embed_incomplete(pd.DataFrame({"b": ["u", None, "w"]}), "north").tolist()
        [[0.0, 0.0], [nan, nan], [0.0, 1.0]]
        """
        parts = []
        for block in self.blocks:
            series = rows[block.column.name]
            there = series.notna().to_numpy(dtype=bool)
            part = np.full((len(rows), block.width), np.nan)
            if there.any():
                part[there] = block.embed(series[there], site)
            parts.append(part)
        return side_by_side(parts)


def common_embedding(schema: Schema, profiles: Sequence[TableProfile], data: Data, degree: int) -> Embedding:
    """Choose the block of every column, the same for all sites.

    A category has indicators of all levels in the schema, except the first. The range of a curve covers all sites; a
    number with only two values has no curve.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> tables = [open_table(pd.DataFrame({"b": levels})) for levels in (["u", "v"], ["v", "w"])]
    >>> schema = Schema((Column("b", "categorical", ("u", "v", "w")),))
    >>> common_embedding(schema, [scan(table) for table in tables], "mixed", 3).blocks[0].shown
    (1, 2)
    """
    _check_words(schema, data, "all sites")

    def block(column: Column) -> Block:
        parts = [profile.columns[column.name] for profile in profiles]
        if column.levels is not None and data != "linear":
            return OneHot(column, tuple(range(1, len(column.levels))))
        if data != "nonlinear" or two_values(parts):
            return Linear(column)
        if column.bounds is not None:
            low, high = column.bounds
        else:
            shares = np.array([profile.rows for profile in profiles]) / sum(profile.rows for profile in profiles)
            means = np.array([part.origin + part.offset for part in parts])
            scales = np.array([part.scale for part in parts])
            middle = float(shares @ means)
            reach = REACH * float(np.sqrt(shares @ (scales**2 + (means - middle) ** 2)))
            low, high = middle - reach, middle + reach
        return Curve(Basis(column, (low + high) / 2, 0.0, (high - low) / 2, degree))

    return Embedding(tuple(block(column) for column in schema.columns))


def fit_embedding(schema: Schema, profile: TableProfile, data: Data, degree: int) -> Embedding:
    """Choose the block of every column of one site, from the levels that occur, the means and standard deviations.

    Linear data take codes and truth values as numbers and refuse text; otherwise they are categories. Nonlinear data
    turn numbers into a basis up to `degree`; otherwise numbers stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> table = open_table(pd.DataFrame({"a": [0.0, 2.0], "b": ["u", "v"]}))
    >>> schema = Schema((Column("a", "continuous"), Column("b", "categorical", ("t", "u", "v"))))
    >>> for block in fit_embedding(schema, scan(table), "nonlinear", 2).blocks:
    ...     print(type(block).__name__, block.width)
    Basis 2
    OneHot 1
    """
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= MAX_DEGREE:
        raise InputError(f"degree must be a whole number from 1 to {MAX_DEGREE}, not {degree!r}")
    _check_words(schema, data, f"site {profile.site!r}")
    return Embedding(tuple(_block(column, profile, data, degree) for column in schema.columns))


def _check_words(schema: Schema, data: Data, where: str) -> None:
    words = [c.name for c in schema.columns if c.levels is not None and style_of(c.levels) == "text"]
    if data == "linear" and words:
        raise InputError(
            f"{where}, column{'s' if len(words) > 1 else ''} {quoted(words)}: "
            "data='linear' needs numbers, and this is text; use data='mixed', or code it as numbers"
        )


def _block(column: Column, profile: TableProfile, data: Data, degree: int) -> Block:
    found = profile.columns[column.name]
    if column.levels is not None and data != "linear":
        present = [position for position, count in enumerate(found.counts(column.levels)) if count]
        return OneHot(column, tuple(present[1:]))
    if data != "nonlinear":
        return Linear(column)
    if column.bounds is None:
        return Basis(column, found.origin, found.offset, REACH * found.scale, degree)
    low, high = column.bounds
    return Basis(column, (low + high) / 2, 0.0, (high - low) / 2, degree)
