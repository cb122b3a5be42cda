"""The summary that a site gives: its number of rows, and the means and covariances of its columns in common units.

All sites embed their columns alike, so that means, spreads and strengths can be compared between them. Nothing is
standardised per site, because that would hide what a site does differently. A column that is constant at one site is no
error here: it is the clearest sign of a policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..checks.profile import Missing
from ..embedding import Data
from ..encode import positions_of
from ..frozen import frozen
from ..infer import SchemaLike, as_schema
from ..schema import Kind, Schema
from ..table import Source, open_table
from .qualities import Gaps, Noise
from .units import one_hot_unit, unit_levels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of one site: rows, and second moments of its columns in units that all sites share.

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
        Variables on which the site declares to have intervened.
    dropped : int
        Rows left out because a value was missing.
    schema : Schema, optional
        What is declared about the columns. Needed to write the summary to a file.
    scatter : array, shape (q, q), optional
        n times the covariances, as they were summed. A file holds these, so that nothing is rounded twice. Read-only.
    signature : object, optional
        The signature of the file that it was read from.
    release : Release, optional
        The private release that it was computed from.
    noise : Noise, optional
        What is known about the privacy noise; None if the numbers are exact.
    gaps : Gaps, optional
        What is known about missing values; None if all rows are complete. If given, `n` is the smallest number of rows
        in which two variables both have a value.
    left_out : tuple of str
        Columns that were left out at all sites, because some sites lack too many values.
    remarks : tuple of str
        Sentences that say what was left out, and why.

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
    schema: Schema | None = None
    scatter: Floats | None = None
    signature: Any = None
    release: Any = None
    noise: Noise | None = None
    gaps: Gaps | None = None
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("mean", "covariance", "scatter"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name), np.float64))
        object.__setattr__(self, "kinds", tuple(self.kinds) or ("continuous",) * len(self.names))
        object.__setattr__(self, "units", tuple(self.units) or ("column",) * len(self.names))
        q = len(self.mean)
        if [column for block in self.blocks for column in block] != list(range(q)) or not all(self.blocks):
            raise InputError(
                f"site {self.site!r}: blocks must hold the columns 0 to {q - 1} in order, and none may be empty"
            )
        if self.covariance.shape != (q, q):
            raise InputError(f"site {self.site!r}: {q} means and covariances of shape {self.covariance.shape}")
        finite = np.isfinite(self.mean).all() and np.isfinite(self.covariance).all()
        if not finite or not self.n >= 1 or (np.diag(self.covariance) < 0).any():
            raise InputError(
                f"site {self.site!r}: moments must be finite, with at least one row and no negative variance"
            )

    @property
    def private(self) -> bool:
        """Whether the numbers carry noise for privacy."""
        return not self.exact

    @property
    def exact(self) -> bool:
        """Whether the numbers are exact, without noise for privacy."""
        return self.noise is None

    @property
    def rows(self) -> float:
        """How many rows the numbers count for: all rows if they are exact, otherwise what they are worth."""
        return self.n if self.noise is None else self.noise.worth

    @property
    def total(self) -> float:
        """How many rows the table has, including incomplete ones."""
        return self.n if self.gaps is None else self.gaps.rows

    @property
    def curved(self) -> bool:
        """Whether numbers have polynomials beside them."""
        return any(unit.startswith("Curve") for unit in self.units)

    def straight(self) -> Summary:
        """Leave out the polynomials beside numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> from fedperi.tables.summary.summaries import summaries
        >>> summary = summaries([pd.DataFrame({"age": [41.5, 37.0, 60.25], "sex": ["f", "m", "m"]})])[0]
        >>> len(summary.mean), len(summary.straight().mean)
        (3, 2)
        """
        curved = [unit.startswith("Curve") for unit in self.units]
        kept = [block[:1] if curve else block for block, curve in zip(self.blocks, curved, strict=True)]
        units = tuple("Linear" if curve else unit for unit, curve in zip(self.units, curved, strict=True))
        return replace(self.with_columns(kept), units=units)

    def with_columns(self, kept: Sequence[Sequence[int]]) -> Summary:
        """Keep some of the columns of every variable.

        Examples
        --------
        >>> import pandas as pd
        >>> summary = Summary.of(pd.DataFrame({"age": [41.5, 37.0, 60.25], "arm": ["u", "v", "w"]}))
        >>> summary.blocks, summary.with_columns([(0,), (2,)]).blocks
        (((0,), (1, 2)), ((0,), (1,)))
        """
        columns = [column for block in kept for column in block]
        units = []
        for unit, block, some in zip(self.units, self.blocks, kept, strict=True):
            levels = unit_levels(unit)
            shown = [levels[1 + block.index(column)] for column in some] if levels else []
            units.append(one_hot_unit([levels[0], *shown]) if levels else unit)
        return replace(
            self,
            units=tuple(units),
            blocks=positions_of([len(block) for block in kept]),
            mean=self.mean[columns],
            covariance=self.covariance[np.ix_(columns, columns)],
            scatter=None if self.scatter is None else self.scatter[np.ix_(columns, columns)],
            noise=None if self.noise is None else self.noise.of(columns),
        )

    @property
    def constant(self) -> tuple[str, ...]:
        """Variables that have only one value at this site."""
        variance = np.diag(self.covariance)
        return tuple(
            name for name, block in zip(self.names, self.blocks, strict=True) if not variance[list(block)].any()
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the summary to a file: the release if it is private, otherwise the exact numbers.

        An exact summary is **not private**. `fedperi release --exact` also checks it for rare levels, and asks first.

        Examples
        --------
        >>> import tempfile
        >>> import fedperi as fp
        >>> summary = fp.Summary.of(fp.simulate(3, clients=2, samples=200, seed=1).sites[0], name="north")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary.save(f"{folder}/north.fedperi")
        ...     fp.Summary.load(f"{folder}/north.fedperi").n
        200
        """
        from ...privacy.statement import save_statement

        if self.gaps is not None:
            raise InputError(
                f"site {self.site!r}: this summary was estimated from incomplete rows, and a file holds counts of "
                "complete ones; make it with missing='drop'"
            )
        save_statement(self if self.release is None else self.release, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Summary:
        """Read a summary from the file of an exact summary or of a release (`fedperi release`)."""
        from ...privacy.statement import as_summary, load_statement

        return as_summary(load_statement(path))

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
            The schema that the sites share. It must declare levels and, for ``data="nonlinear"``, bounds if the
            summaries of several sites will be compared; `summaries` needs neither, because it sees all tables.
        data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
            How columns are taken, see docs/explanation/site.md.
        missing : {"auto", "em", "error", "drop"}
            What to do with rows in which a value is missing, see docs/guides/missing.md. Auto: estimate moments by EM,
            if no column lacks more than half of its values.
        name : str, optional
            The site's name.

        Returns
        -------
        Summary
        """
        from .summaries import summarise_alone

        return summarise_alone(open_table(table, name), as_schema(schema), data, missing)
