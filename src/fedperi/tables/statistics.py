"""Sufficient statistics: what a site keeps of its rows. The result of `summarize` holds no row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..option_values import COMPLETE, DATA, check_one_of
from .checks.faults import faults
from .checks.findings import Finding, raise_errors
from .checks.profile import Missing, TableProfile, scan
from .counts import Counts, stream_counts
from .embedding import Basis, Data, Embedding, OneHot, fit_embedding
from .encode import codes, positions_of, read_rows
from .frozen import frozen
from .infer import SchemaLike, as_schema, unify
from .moments import Moments, correlation_of, stream_moments
from .preparing.prepared import prepared
from .readers.one_pass import passing_moments
from .schema import Kind, Schema
from .table import CHUNK, Source, Table, open_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Counts", "Statistics", "summarize"]

Floats = NDArray[np.float64]
Draw = Callable[[NDArray[Any]], NDArray[Any]]
"""Returns each of some rows as often as it counts."""

# A column of a basis adds nothing if its residual variance, given the lower degrees, is a smaller share than this.
_REDUNDANT = 1e-9


@dataclass(frozen=True, eq=False)
class Statistics:
    """The second moments of a table whose variables are blocks of columns.

    Parameters
    ----------
    names : tuple of str
        The variables.
    blocks : tuple of tuple of int
        For every variable, its columns among the q columns of the embedded table.
    n : int
        The number of rows.
    mean, scale : array, shape (q,)
        Means and standard deviations (divided by n, not n - 1). Read-only.
    correlation : array, shape (q, q)
        Correlations, with a diagonal of ones. Read-only. It may be singular.
    kinds : tuple of str
        For every variable, ``"continuous"`` or ``"categorical"``, as it was embedded; continuous if not given.
    dropped : int
        Rows that were left out because a value was missing.
    site : str
        The site's name.

    Examples
    --------
    >>> import pandas as pd
    >>> statistics = summarize(pd.DataFrame({"a": [0.0, 2.0, 4.0], "b": [1.0, 3.5, 5.0]}))
    >>> statistics.n, statistics.blocks, statistics.mean.tolist()
    (3, ((0,), (1,)), [2.0, 3.1666666666666665])
    >>> statistics.covariance.round(3).tolist()
    [[2.667, 2.667], [2.667, 2.722]]
    """

    names: tuple[str, ...]
    blocks: tuple[tuple[int, ...], ...]
    n: int
    mean: Floats
    scale: Floats
    correlation: Floats
    kinds: tuple[Kind, ...] = ()
    dropped: int = 0
    site: str = "table"

    def __post_init__(self) -> None:
        values = {
            "names": tuple(self.names),
            "blocks": tuple(tuple(map(int, block)) for block in self.blocks),
            "n": int(self.n),
            "kinds": tuple(self.kinds) or ("continuous",) * len(self.names),
            **{name: frozen(getattr(self, name), np.float64) for name in ("mean", "scale", "correlation")},
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        q = len(self.mean)
        if sorted(column for block in self.blocks for column in block) != list(range(q)) or not all(self.blocks):
            raise InputError(f"blocks must hold each of the columns 0 to {q - 1} once, and none may be empty")
        names, blocks, kinds = len(self.names), len(self.blocks), len(self.kinds)
        if not names == blocks == kinds:
            raise InputError(f"{names} names, {blocks} blocks and {kinds} kinds do not fit")
        shapes = self.scale.shape, self.correlation.shape
        if shapes != ((q,), (q, q)):
            raise InputError(f"{q} means, scales of shape {shapes[0]} and correlations of {shapes[1]}")
        finite = all(np.isfinite(array).all() for array in (self.mean, self.scale, self.correlation))
        if not finite or self.n < 1 or (self.scale <= 0).any() or (np.diag(self.correlation) != 1).any():
            raise InputError("statistics must be finite, with n and scales above 0 and a diagonal of ones")

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of the embedded columns, divided by n."""
        return self.correlation * np.outer(self.scale, self.scale)


def summarize(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    data: Data = "auto",
    missing: Missing = "error",
    name: str | None = None,
    chunk: int = CHUNK,
    degree: int = 3,
    partial: bool = False,
    resample: int | None = None,
) -> Statistics | Counts:
    """Read a site's table in chunks, once or twice, and return its sufficient statistics.

    Parameters
    ----------
    source : DataFrame, path of a CSV or Parquet file, or Table
        The table, which may be larger than memory.
    schema : Schema or path of a schema file, optional
        The schema that the sites share, with exactly the table's columns, in its order (but see `partial`). Inferred
        from this table if not given.
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        Auto: linear if all columns are continuous, discrete if all are categorical, mixed otherwise. Discrete gives
        `Counts`, the others `Statistics`; see `fedperi.tables.embedding`.
    missing : {"error", "drop"}
        What to do with rows in which a value is missing. The result has the number of dropped rows.
    name, chunk, degree
        The site's name; rows in memory at a time; highest degree of the polynomials for ``data="nonlinear"``.
    partial : bool
        Whether a single table may have columns that the schema leaves out; they are inferred, in the table's order.
    resample : int, optional
        Seed of a bootstrap that takes each row as often as a Poisson variable of mean 1 says, so that tables can be
        read in chunks. Types, levels and scales stay those of the table itself.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"dose": [0.5, 1.5, 2.5, 3.0], "arm": ["u", "v", "w", "v"]})
    >>> statistics = summarize(frame, name="north")
    >>> statistics.blocks, statistics.kinds
    (((0,), (1, 2)), ('continuous', 'categorical'))
    """
    check_one_of("data", data, DATA)
    check_one_of("missing", missing, COMPLETE)
    table = prepared(open_table(source, name), given := as_schema(schema))
    passing = passing_moments(table, given, partial, data, missing == "drop", _draws(resample))
    tap = None if passing is None else passing.add
    profile = scan(table, missing, chunk, given, tap, spread=data == "nonlinear")
    agreed = _agreed(table, profile, given, missing, partial)
    kinds = {column.kind for column in agreed.columns}
    if data == "auto":
        data = "mixed" if len(kinds) > 1 else "discrete" if kinds == {"categorical"} else "linear"
    if data == "discrete":
        return _count(table, agreed, profile, chunk, missing, _draws(resample))
    embedding = fit_embedding(agreed, profile, data, degree)
    moments = passing.result(agreed.names) if passing is not None and kinds == {"continuous"} else None
    if moments is None and table.engine is not None and resample is None:
        moments = table.engine.moments(table, embedding, profile, missing)
    if moments is None:
        moments = _streamed(read_rows(table, agreed, chunk, missing), embedding, table.name, _draws(resample))
    return embedded_statistics(moments, embedding, profile)


def _streamed(frames: Iterable[pd.DataFrame], embedding: Embedding, site: str, draw: Draw) -> Moments:
    rows = (draw(embedding.embed(frame, site)) for frame in frames)
    return stream_moments(part for part in rows if len(part))


def _agreed(table: Table, profile: TableProfile, given: Schema | None, missing: Missing, partial: bool) -> Schema:
    """Return the schema of a table, or raise all errors in the table."""
    agreed, findings = unify([profile], given)
    if given is not None and not partial:
        extra = tuple(name for name in table.columns if name not in given)
        remedy = "add it to the schema, or drop it from the table"
        findings += [Finding("error", table.name, extra, "not in the schema", remedy)] if extra else []
        found = {column.name: column for column in agreed.columns}
        agreed = Schema(tuple(found[column] for column in given.names if column in found))
    raise_errors([*findings, *faults(profile, agreed, missing)])
    return agreed


def _draws(resample: int | None) -> Draw:
    """Return a function that draws each row as often as a Poisson variable says, or once if there is no seed."""
    if resample is None:
        return lambda rows: rows
    rng = np.random.default_rng(resample)
    return lambda rows: np.repeat(rows, rng.poisson(1.0, len(rows)), axis=0)


def _count(table: Table, schema: Schema, profile: TableProfile, chunk: int, missing: Missing, draw: Draw) -> Counts:
    continuous = tuple(column.name for column in schema.columns if column.kind == "continuous")
    if continuous:
        message = "data='discrete' needs categories, and this is continuous"
        raise_errors([Finding("error", table.name, continuous, message, "bin it first, or use data='mixed'")])
    levels = tuple(column.levels or () for column in schema.columns)
    rows = (
        draw(np.column_stack([codes(frame[column.name], column, table.name) for column in schema.columns]))
        for frame in read_rows(table, schema, chunk, missing)
    )
    distinct, counts = stream_counts(rows, tuple(map(len, levels)))
    return Counts(schema.names, levels, distinct, counts, int(counts.sum()), table.name, profile.dropped)


def embedded_statistics(moments: Moments, embedding: Embedding, profile: TableProfile) -> Statistics:
    """Return the statistics of one site from the moments of its embedded rows."""
    variance = np.diag(moments.scatter) / moments.n
    scale = np.sqrt(variance)
    correlation = correlation_of(moments.scatter)
    kept = []
    for block, columns in zip(embedding.blocks, embedding.positions, strict=True):
        if isinstance(block, Basis):
            columns = _independent([c for c in columns if variance[c] > _REDUNDANT**2], correlation)
            if not columns:
                raise InputError(
                    f"site {profile.site!r}, column {block.column.name!r}: all values lie beyond the declared bounds "
                    f"{block.column.bounds}; correct the bounds in the schema"
                )
        kept.append(columns)
    order = [column for columns in kept for column in columns]
    return Statistics(
        tuple(block.column.name for block in embedding.blocks),
        positions_of([len(columns) for columns in kept]),
        moments.n,
        moments.mean[order],
        scale[order],
        correlation[np.ix_(order, order)],
        tuple("categorical" if isinstance(block, OneHot) else "continuous" for block in embedding.blocks),
        profile.dropped,
        profile.site,
    )


def _independent(columns: list[int], correlation: Floats) -> tuple[int, ...]:
    """Keep the columns of a basis that those kept before do not determine: with two values there is no square."""
    kept: list[int] = []
    for column in columns:
        among, with_it = correlation[np.ix_(kept, kept)], correlation[kept, column]
        if not kept or 1 - with_it @ np.linalg.solve(among, with_it) > _REDUNDANT:
            kept.append(column)
    return tuple(kept)
