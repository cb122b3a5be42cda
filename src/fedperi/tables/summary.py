"""What a site says, once: how many rows it has, and the means and covariances of its columns in common units.

All sites embed their columns alike, so that means, spreads and strengths can be compared between them. Nothing is
standardised per site: that would hide what a site does differently. A column that is constant at one site is no error
here. It is the clearest policy of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..strict import write_json
from .checks.faults import constant_everywhere, faults
from .checks.findings import Finding, raise_errors
from .checks.profile import Missing, TableProfile, scan
from .embedding import Block, Curve, Data, Embedding, OneHot, common_embedding, two_values
from .encode import read_rows
from .frozen import frozen
from .in_threads import spread
from .infer import SchemaLike, as_schema, unify
from .moments import Moments, stream_moments
from .readers.one_pass import PassingMoments, passing_moments
from .schema import Kind, Schema
from .table import CHUNK, Source, Table, open_tables

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]
Item = TypeVar("Item")
Made = TypeVar("Made")

DEGREE = 3
"""Highest degree of the polynomials for ``data="nonlinear"``."""

CURVES = 2
"""The same for ``data="auto"``, where curves are not what scores are made of: they only show what depends on straight
lines (`Summary.straight`)."""


@dataclass(frozen=True, eq=False)
class Summary:
    """The statement of one site: rows, and second moments of its columns in units that all sites share.

    Parameters
    ----------
    site : str
        The site's name.
    names : tuple of str
        The variables.
    blocks : tuple of tuple of int
        For every variable, its columns among the q columns of the embedded table.
    n : float
        The number of rows.
    mean : array, shape (q,)
        Means. Read-only.
    covariance : array, shape (q, q)
        Covariances, divided by n. Variances may be zero. Read-only.
    kinds : tuple of str
        For every variable ``"continuous"`` or ``"categorical"``; continuous if not given. Variables with two values
        count as categorical: their spread follows from their mean.
    units : tuple of str
        How each variable was embedded. Summaries can be compared only if these agree.
    targets : tuple of str, optional
        Variables that the site declares to have set.
    dropped : int
        Rows left out because a value was missing.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedperi as fp
    >>> summary = fp.Summary.of(pd.DataFrame({"age": [41.5, 37.0, 60.25], "sex": ["f", "m", "m"]}), name="north")
    >>> summary.n, summary.names, summary.kinds, summary.exact
    (3, ('age', 'sex'), ('continuous', 'categorical'), True)
    >>> summary.mean.round(2).tolist()
    [46.25, 0.67]
    """

    site: str
    names: tuple[str, ...]
    blocks: tuple[tuple[int, ...], ...]
    n: float
    mean: Floats
    covariance: Floats
    kinds: tuple[Kind, ...] = ()
    units: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None
    dropped: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", frozen(self.mean, np.float64))
        object.__setattr__(self, "covariance", frozen(self.covariance, np.float64))
        object.__setattr__(self, "kinds", tuple(self.kinds) or ("continuous",) * len(self.names))
        object.__setattr__(self, "units", tuple(self.units) or ("column",) * len(self.names))
        q = len(self.mean)
        if [column for block in self.blocks for column in block] != list(range(q)) or not all(self.blocks):
            raise InputError(f"site {self.site!r}: blocks must share out the columns 0 to {q - 1} in order, none empty")
        if self.covariance.shape != (q, q):
            raise InputError(f"site {self.site!r}: {q} means and covariances of shape {self.covariance.shape}")
        finite = np.isfinite(self.mean).all() and np.isfinite(self.covariance).all()
        if not finite or not self.n >= 1 or (np.diag(self.covariance) < 0).any():
            raise InputError(
                f"site {self.site!r}: moments must be finite, with at least one row and no negative variance"
            )

    @property
    def exact(self) -> bool:
        """Whether the numbers are exact, without noise for privacy."""
        return True

    @property
    def curved(self) -> bool:
        """Whether numbers have polynomials beside them."""
        return any(unit.startswith("Curve") for unit in self.units)

    def straight(self) -> Summary:
        """Leave out the polynomials beside numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> summary = summaries([pd.DataFrame({"age": [41.5, 37.0, 60.25], "sex": ["f", "m", "m"]})])[0]
        >>> len(summary.mean), len(summary.straight().mean)
        (3, 2)
        """
        kept = [
            block[:1] if unit.startswith("Curve") else block
            for block, unit in zip(self.blocks, self.units, strict=True)
        ]
        columns = [column for block in kept for column in block]
        ends = np.cumsum([0, *map(len, kept)]).tolist()
        return replace(
            self,
            blocks=tuple(tuple(range(start, end)) for start, end in pairwise(ends)),
            mean=self.mean[columns],
            covariance=self.covariance[np.ix_(columns, columns)],
            units=tuple("Linear" if unit.startswith("Curve") else unit for unit in self.units),
        )

    @property
    def constant(self) -> tuple[str, ...]:
        """Variables that have one value only at this site."""
        variance = np.diag(self.covariance)
        return tuple(
            name for name, block in zip(self.names, self.blocks, strict=True) if not variance[list(block)].any()
        )

    @classmethod
    def of(
        cls,
        table: Source,
        schema: SchemaLike | None = None,
        *,
        data: Data = "auto",
        missing: Missing = "error",
        name: str | None = None,
    ) -> Summary:
        """Summarise one table.

        Parameters
        ----------
        table : DataFrame, path of a CSV or Parquet file, or Table
            See `fedperi.tables.open_table`.
        schema : Schema or path of a schema file, optional
            The schema that the sites share. Levels and, for ``data="nonlinear"``, bounds must be declared there if the
            summaries of several sites are to be compared; `summaries` does without, since it sees all tables.
        data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
            How columns are taken, see docs/site.md.
        missing : {"error", "drop"}
            What to do with rows in which a value is missing.
        name : str, optional
            The site's name.

        Returns
        -------
        Summary
        """
        from .table import open_table

        opened = open_table(table, name)
        # One table does not tell the range of all: polynomials of two summaries could not be compared.
        return summaries({opened.name: opened}, schema, data="mixed" if data == "auto" else data, missing=missing)[0]


def summaries(
    tables: Mapping[str, Source] | Iterable[Source],
    schema: SchemaLike | None = None,
    *,
    data: Data = "auto",
    missing: Missing = "error",
    jobs: int = 1,
) -> list[Summary]:
    """Summarise the tables of all sites, embedded alike. Without curves, tables of plain numbers are read once.

    Raises
    ------
    InputError
        If the tables do not follow one schema, or a column holds the same value at every site. All errors are listed.

    Examples
    --------
    >>> import pandas as pd
    >>> north = pd.DataFrame({"dose": [1.0, 2.0, 4.0], "age": [40.5, 50.0, 61.5]})
    >>> south = north.assign(dose=2.5)
    >>> [summary.constant for summary in summaries({"north": north, "south": south})]
    [(), ('dose',)]
    """
    if data not in ("auto", "linear", "nonlinear", "discrete", "mixed"):
        raise InputError(f"data must be 'auto', 'linear', 'nonlinear', 'discrete' or 'mixed', not {data!r}")
    given, opened = as_schema(schema), open_tables(tables)
    curves = data in ("auto", "nonlinear")
    passing = [passing_moments(table, given, True, data, missing == "drop", lambda rows: rows) for table in opened]

    def look(one: tuple[Table, PassingMoments | None]) -> TableProfile:
        table, moments = one
        tap = None if moments is None else moments.add
        return scan(table, missing, schema=given, tap=tap, spread=curves)

    profiles = _at_once(jobs, opened, look, list(zip(opened, passing, strict=True)))
    agreed, findings = unify(profiles, given)
    found = [finding for profile in profiles for finding in faults(profile, agreed, missing, constants=False)]
    raise_errors([*findings, *found] or constant_everywhere(profiles, agreed))
    if not agreed.columns:
        raise InputError("the tables have no columns that could be analysed")
    kind: Data = "nonlinear" if curves else "mixed" if data == "discrete" else data
    embedding = common_embedding(agreed, profiles, kind, CURVES if data == "auto" else DEGREE)
    numbers = all(column.kind == "continuous" for column in agreed.columns)

    def summarise(one: tuple[Table, PassingMoments | None, TableProfile]) -> Summary:
        table, moments, profile = one
        result = moments.result(agreed.names) if moments is not None and numbers and not curves else None
        if result is None:
            rows = (embedding.embed(frame, table.name) for frame in read_rows(table, agreed, CHUNK, missing))
            result = stream_moments(rows)
        return _summary(table.name, agreed, embedding, result, profile.dropped, _kinds(agreed, profiles))

    return _at_once(jobs, opened, summarise, list(zip(opened, passing, profiles, strict=True)))


def _at_once(jobs: int, tables: Sequence[Table], work: Callable[[Item], Made], entries: list[Item]) -> list[Made]:
    threads = jobs if any(table.is_file for table in tables) else 1
    with ThreadPoolExecutor(threads) as pool:
        return list(spread(pool, threads, work, entries))


def _summary(
    site: str, schema: Schema, embedding: Embedding, moments: Moments, dropped: int, kinds: tuple[Kind, ...]
) -> Summary:
    covariance = moments.scatter / moments.n
    # What varies by rounding only does not vary.
    flat = np.diag(covariance) <= (1e-13 * np.abs(moments.mean)) ** 2
    covariance[flat, :] = covariance[:, flat] = 0.0
    units = tuple(map(_unit, embedding.blocks))
    return Summary(
        site, schema.names, embedding.positions, moments.n, moments.mean, covariance, kinds, units, dropped=dropped
    )


def _unit(block: Block) -> str:
    """How a variable was embedded, in a text that is the same at all sites if and only if columns can be compared."""
    if isinstance(block, Curve):
        return f"Curve {block.basis.origin:g} {block.basis.reach:g}"
    if isinstance(block, OneHot):
        levels = block.column.levels or ()
        return f"OneHot {write_json([levels[at] for at in block.shown])}"
    return type(block).__name__


def _kinds(schema: Schema, profiles: Sequence[TableProfile]) -> tuple[Kind, ...]:
    """Say which variables have a spread of their own: not categories, and not numbers of which there are only two."""

    def kind(name: str) -> Kind:
        return "categorical" if two_values([profile.columns[name] for profile in profiles]) else schema[name].kind

    return tuple(kind(name) for name in schema.names)


def check_alike(parts: Sequence[Summary]) -> None:
    """Raise unless all summaries are of the same variables, embedded alike.

    Examples
    --------
    >>> import pandas as pd
    >>> check_alike([Summary.of(pd.DataFrame({"a": [1.5, 2.0]})), Summary.of(pd.DataFrame({"b": [1.5, 2.5]}))])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'table' has the variables 'b', but 'table' has 'a'; give all sites the same columns
    """
    first = parts[0]
    for other in parts[1:]:
        if other.names != first.names:
            raise InputError(
                f"site {other.site!r} has the variables {', '.join(map(repr, other.names))}, but {first.site!r} has "
                f"{', '.join(map(repr, first.names))}; give all sites the same columns"
            )
        if (other.blocks, other.units, other.kinds) != (first.blocks, first.units, first.kinds):
            name = next(
                name
                for name, *both in zip(
                    first.names,
                    zip(first.blocks, first.units, first.kinds, strict=True),
                    zip(other.blocks, other.units, other.kinds, strict=True),
                    strict=True,
                )
                if both[0] != both[1]
            )
            finding = Finding(
                "error",
                other.site,
                (name,),
                f"the column was summarised differently at {first.site!r}",
                "summarise all sites with one schema that declares its levels and bounds",
            )
            raise_errors([finding])
