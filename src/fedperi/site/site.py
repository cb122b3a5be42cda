"""Sites with a table, and oracle sites with population moments."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..discovery.ges.ges import ges_fit
from ..errors import InputError
from ..graph.equivalence import consistent_extension
from ..graph.pdag import PDAG
from ..protocol.messages import Settings
from ..scores.discrete import DiscreteScore
from ..scores.gaussian import GaussianScore
from ..scores.score import LatticeScore
from ..tables.reading import Reading
from .respondent import Respondent, checked_targets, digest

if TYPE_CHECKING:
    from ..tables import Counts, Statistics
    from ..tables.summary.summary import Summary
    from ..tables.table import Source, Table


DRAWS = 20
"""How often rows are resampled before a bootstrap gives up: a level of one row is absent from a third of the draws."""


class Site(Respondent):
    """A site with a table.

    Parameters
    ----------
    table : DataFrame, path of a CSV or Parquet file, or Table
        One row per patient, one column per variable. The rows are read when a run opens, and not kept.
    name : str, optional
        The site's name. Default: the name of the file, or "table".
    targets : iterable of str, optional
        Variables that this site is known to have set regardless of their causes; it left all others alone. An empty
        list means that it set none. If not given, its interventions are unknown, as in the paper.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(4, clients=2, samples=200, seed=1)
    >>> sites = [fp.Site(table, name=name) for table, name in zip(sim.sites, ["north", "south"])]
    >>> fp.IPERI().fit(sites).sites
    ('north', 'south')
    """

    def __init__(self, table: Source, *, name: str | None = None, targets: Iterable[str] | None = None) -> None:
        from ..tables import open_table

        self.table = open_table(table, name)
        self.name = self.table.name
        self.targets = checked_targets(targets, self.table.columns, self.name)
        self.reading = Reading()
        self.known: Statistics | None = None  # from an earlier pass over the tables of all sites

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table."""
        return tuple(self.table.columns)

    def _scores(self, settings: Settings, names: tuple[str, ...]) -> tuple[LatticeScore, LatticeScore, float]:
        from ..tables import Counts

        self._statistics = summary = self._summarize(settings.resample)
        if isinstance(summary, Counts):
            if summary.names != names:
                raise InputError(
                    f"site {self.name!r} has the columns {', '.join(summary.names)}, not {', '.join(names)}"
                )
            if settings.penalty != 1:
                raise InputError(
                    f"site {self.name!r} has categories only, and their score has no penalty term that penalty="
                    f"{settings.penalty:g} could multiply; use data='mixed', or leave penalty at 1"
                )
            return DiscreteScore(summary), DiscreteScore(summary, "bic", penalty=0.0), summary.n
        return gaussian_scores(summary, names, settings.penalty)

    def _summarize(self, resample: int | None) -> Statistics | Counts:
        """Read the table, or resample its rows; a sample without some rare level is drawn again."""
        from ..tables import summarize

        def read(seed: int | None) -> Statistics | Counts:
            return enough_rows(summarize(self.table, name=self.name, resample=seed, **self.reading.arguments))

        if resample is None:
            return read(None) if self.known is None else enough_rows(self.known)
        for attempt in range(DRAWS):
            try:
                return read(self._seed(resample, attempt))
            except InputError as error:
                reason = error
        raise InputError(f"{DRAWS} bootstrap draws at site {self.name!r} could not be used; the last one: {reason}")

    def _seed(self, resample: int, attempt: int) -> int:
        """Return the seed of a draw. In one process there is one party, and anybody may repeat its draws."""
        return zlib.crc32(f"{resample} {attempt} {self.name}".encode())

    def _own_graph(self, settings: Settings, table: Table | None = None) -> PDAG:
        return super()._own_graph(settings, self.table)


class OracleSite(Respondent):
    """A site that answers from population moments: no sampling, for tests and theory.

    Parameters
    ----------
    covariance : array_like, shape (p, p)
        Population covariance of the site.
    n : float
        Nominal number of rows, for the price of an edge. Use a large one (10^10): with 10^6, one random draw of weights
        in twenty has a dependence that is too weak for an edge.
    names : sequence of str, optional
        The variables.
    cpdag : PDAG, optional
        The site's CPDAG (for ``masking="consensus"``). If not given, the site learns it by GES, whatever `local` is:
        other methods may need rows.
    name : str
    targets : iterable of str, optional
        Declared targets, as for `Site`.
    mean : array_like, shape (p,), optional
        Population means, for methods that compare mechanisms; zero if not given.

    Examples
    --------
    >>> import numpy as np
    >>> import fedperi as fp
    >>> collider = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    >>> fp.IPERI().fit([fp.OracleSite(collider, n=1e10, names=["A", "B", "C"])]).cpdag
    PDAG('A -> C, B -> C', names=['A', 'B', 'C'])
    """

    def __init__(
        self,
        covariance: ArrayLike,
        n: float,
        names: Sequence[str] | None = None,
        cpdag: PDAG | None = None,
        *,
        name: str = "oracle",
        targets: Iterable[str] | None = None,
        mean: ArrayLike | None = None,
    ) -> None:
        try:
            self._covariance, self._n = np.array(covariance, dtype=float), float(n)
            self._mean = np.zeros(self._covariance.shape[:1]) if mean is None else np.array(mean, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                f"the covariance and n at site {name!r} must be numbers, in rows of equal length"
            ) from None
        if np.isinf(self._n):
            raise InputError(f"n at site {name!r} must be finite, not {n!r}; 1e10 is large enough for an oracle")
        score = GaussianScore(self._covariance, self._n, names, site=name)  # raises if the moments are not moments
        root = np.sqrt(np.diag(self._covariance))
        if np.linalg.eigvalsh(self._covariance / np.outer(root, root))[0] <= 0:
            raise InputError(f"the covariance at site {name!r} is not positive definite: no distribution has it")
        self._own_names = score.names
        if cpdag is not None and not isinstance(cpdag, PDAG):
            raise InputError(f"the cpdag at site {name!r} must be a fedperi.PDAG, not {type(cpdag).__name__}")
        if cpdag is not None:
            consistent_extension(cpdag.reordered(self._own_names))
        if self._mean.shape != (len(self._covariance),) or not np.isfinite(self._mean).all():
            raise InputError(f"the mean at site {name!r} must be {len(self._covariance)} finite numbers")
        self._cpdag = cpdag
        self._population = True
        self.name = name
        self.targets = checked_targets(targets, self._own_names, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self._own_names

    def summary(self) -> Summary:
        """Return rows, means and covariances, for methods that compare mechanisms."""
        from ..tables.summary.summary import Summary

        blocks = tuple((i,) for i in range(len(self._own_names)))
        return Summary(self.name, self._own_names, blocks, self._n, self._mean, self._covariance, targets=self.targets)

    def _scores(self, settings: Settings, names: tuple[str, ...]) -> tuple[LatticeScore, LatticeScore, float]:
        at = [self._own_names.index(name) for name in names]
        moments = self._covariance[np.ix_(at, at)]
        make = [GaussianScore(moments, self._n, names, penalty=p, site=self.name) for p in (settings.penalty, 0.0)]
        return make[0], make[1], self._n

    def fingerprint(self) -> str:
        """Return the SHA-256 of the moments."""
        return digest(self._own_names, self._n, self._covariance)

    def _own_graph(self, settings: Settings, table: Table | None = None) -> PDAG:
        return self._cpdag if self._cpdag is not None else ges_fit(self._score).graph


Kept = TypeVar("Kept", "Statistics", "Counts", "Statistics | Counts")


def enough_rows(summary: Kept) -> Kept:
    """Return the statistics of a table; raise if it has too few rows for its variables."""
    widest = max((len(block) for block in getattr(summary, "blocks", ())), default=1)
    if summary.n < max(len(summary.names), 2 * widest):
        what = f"{len(summary.names)} variables" + (f" of up to {widest} columns each" if widest > 1 else "")
        raise InputError(
            f"site {summary.site!r} has {summary.n} rows for {what}, too few to learn from: give it more rows, or "
            "leave the site or some variables out"
        )
    return summary


def gaussian_scores(
    statistics: Statistics, names: tuple[str, ...], penalty: float
) -> tuple[GaussianScore, GaussianScore, float]:
    """Return the score with a penalty, the one without, and the number of rows; variables in the order of a run."""
    blocks = [statistics.blocks[statistics.names.index(name)] for name in names]
    score, fit = (
        GaussianScore(statistics.correlation, statistics.n, names, blocks=blocks, penalty=each, site=statistics.site)
        for each in (penalty, 0.0)
    )
    return score, fit, statistics.n
