"""The score of a family when sites share mechanisms, from one summary per site.

A family is a variable and a set of parents; its mechanism is how the variable depends on them: strengths, mean, spread.
The paper's definition of general interventions says that a mechanism is the same at all sites but those where the
variable is a target. So sites are put into groups. A group has one mechanism, which is fitted to its pooled moments,
and whose parameters count once. For a small penalty, other groups or single sites have another mechanism, or one
without some of the parents. The score is that of the best groups found:

    score(i, S) = max over groups of  sum of [fit of the group - (q / 2) log(rows of the group)] - penalties

Two sites never have exactly the same mechanism. With a tolerance tau the mechanisms of a group scatter around a common
one, by tau in units of one row's information: site k's n rows then count as n / c for the common fit, c = 1 + n tau^2,
and the rest for its own. Every family uses the tolerance that explains it best; one above zero has a penalty.

A variable with two values, or with categories, has no spread of its own: it follows from the mean. There the groups
compare means and strengths only, each site with its own residual variance.

Equivalent DAGs have different scores, which shows directions: in the wrong direction, one change by a policy looks like
two changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _kernel as kernel

if TYPE_CHECKING:
    from ..tables.summary.summary import Summary
    from .mechanisms_numpy import Singles

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TOLERANCES = (0.0, 0.03, 0.1)
"""Tolerances to choose from. docs/explanation/method.md has the experiment."""


class Prices(NamedTuple):
    """Penalties for mechanisms that differ from the usual one, in nats.

    Attributes
    ----------
    own : float
        Another mechanism.
    cut : float
        One without parents.
    some : float
        One without some of the parents; it is larger because there are many choices of them.
    tolerance : float
        A tolerance above zero, per site.

    Examples
    --------
    >>> USUAL.own, SKEPTICAL.own
    (1.0, -2.0)
    """

    own: float
    cut: float
    some: float
    tolerance: float


USUAL = Prices(1.0, 1.0, 3.0, 1.0)
"""Penalties if most mechanisms are shared."""

SKEPTICAL = Prices(-2.0, -2.0, 0.0, 1.0)
"""Penalties if little is shared: a site that joins a group costs 3 nats more than usual. If few mechanisms are shared,
most of those that look alike do so by chance (docs/explanation/method.md has the experiment)."""

CONSTANT = 1e-10
"""A column is constant at a site if its variance there is at most this share of its variance over all sites."""


class Mechanisms:
    """Moments of several sites in common units, and the scores of families that follow from them.

    Parameters
    ----------
    summaries : sequence of Summary
        One per site, of the same variables.
    tolerances : sequence of float
        How much sites may differ and still share a mechanism.
    rows : float
        Weight of a row: below one, scores are as if rows had less information than the model assumes.
    share : bool
        Whether sites may share mechanisms at all. If not, only arrows that are missing at a site give directions.
    prices : Prices
        Penalties for mechanisms that differ from the usual one.
    margin : float
        If the score of a parent set is this many nats below that of a subset, its supersets are not computed, and
        score minus infinity.
    others : sequence of float
        Further tolerances: `lattices_changed` also returns the scores with each of them alone.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> truth = fp.PDAG.from_edges([("age", "weight")])
    >>> sim = fp.simulate(truth, clients=3, samples=1000, weights=(0.5, 1.0), seed=1)
    >>> sim.targets
    ((), ('weight',), ('weight',))
    >>> mechanisms = Mechanisms(summaries(sim.sites))
    >>> age, weight = (mechanisms.lattice(i, (), (1 - i,)) for i in (0, 1))
    >>> bool(weight[1] + age[0] > weight[0] + age[1] + 5)     # age -> weight is far ahead of weight -> age
    True
    >>> mechanisms.groups(1, (0,))[0].tolist()                # weight is cut off from age at two sites
    [0, 1, 1]
    """

    def __init__(
        self,
        summaries: Sequence[Summary],
        *,
        tolerances: Sequence[float] = TOLERANCES,
        rows: float = 1.0,
        share: bool = True,
        prices: Prices = USUAL,
        margin: float = np.inf,
        others: Sequence[float] = (),
    ) -> None:
        self.summaries = tuple(summaries)
        self.names = self.summaries[0].names
        self.sites = tuple(summary.site for summary in summaries)
        self.n = np.array([float(summary.rows) for summary in summaries]) * rows
        self.share = share
        self.prices = prices
        self.margin = float(margin)
        self.tolerances = np.array(tolerances, dtype=np.float64)
        self.others = np.array(others, dtype=np.float64)
        self.first = np.cumsum([1, *(len(block) for block in self.summaries[0].blocks)]).astype(np.int64)
        self.spread = np.array([kind == "continuous" for kind in self.summaries[0].kinds])
        self.declared = np.array([[name in (s.targets or ()) for name in self.names] for s in summaries])
        self._set_moments(np.stack([s.mean for s in summaries]), [s.covariance for s in summaries])

    def joined(self, means: Floats, covariances: Floats, mean: Floats, across: Floats, variance: Floats) -> Mechanisms:
        """Return a copy with one more number, the last variable, which no site declares as a target.

        The moments of all sites are in the units of the summaries: means and covariances of the present columns; the
        mean of the new one, its covariances with them, and its variance.
        """
        out = copy(self)
        out.names = (*self.names, "another")
        out.first = np.append(self.first, self.first[-1] + 1)
        out.spread = np.append(self.spread, True)
        out.declared = np.column_stack([self.declared, np.zeros(len(self.n), dtype=bool)])
        q = means.shape[1]
        whole = np.empty((len(means), q + 1, q + 1))
        whole[:, :q, :q], whole[:, q, :q], whole[:, :q, q], whole[:, q, q] = covariances, across, across, variance
        out._set_moments(np.column_stack([means, mean]), whole)
        return out

    def _set_moments(self, means: Floats, covariances: Floats | Sequence[Floats]) -> None:
        """Set the moments, and compute everything that depends on them."""
        variances = np.stack([np.diag(own) for own in covariances])
        self.origin, self.unit = _common_units(self.summaries, means, variances)
        self.moments = _moments(means, covariances, self.origin, self.unit, self.n)
        self.constant = self._constant(variances)
        self.floor = self._least_variance()
        self.single: dict[tuple[int, tuple[int, ...], float], Singles] = {}  # the cache of `group_score`
        self._in_loops = self._for_loops()

    def lattice(
        self,
        node: int,
        fixed: Sequence[int],
        free: Sequence[int],
        wanted: Bools | None = None,
        known: Floats | None = None,
    ) -> Floats:
        """Score a node for `fixed` joined with every subset of `free`; minus infinity for sets that are not wanted.

        If nothing is fixed, the supersets of a set that is not wanted are not wanted either. `known` has scores that
        need not be computed again, and NaN for the others.
        """
        return self._scores(node, fixed, free, wanted, known=known, labels=False)[0]

    def lattices_changed(self, node: int, free: Sequence[int], wanted: Bools | None = None) -> tuple[Floats, Floats]:
        """Score a node for every subset of `free` without each of the sites in turn, one row per site.

        The other sites stay in the groups that they are in with all sites, and so does the tolerance: one group changes
        at a time, which is a tenth of the work of searching for groups again. The second array has the scores with each
        of the `others` as the only tolerance, one row per tolerance.
        """
        without, others = np.empty((len(self.n), 1 << len(free))), np.empty((len(self.others), 1 << len(free)))
        self._scores(node, (), free, wanted, without, labels=False, others=others)
        return without, others

    def groups(self, node: int, parents: Sequence[int]) -> tuple[Ints, float]:
        """Number the groups of sites that share the mechanism of a family; return also the tolerance that it uses."""
        _, groups, tolerances = self._scores(node, parents, ())
        number: dict[int, int] = {}
        labels = [number.setdefault(label, len(number)) for label in groups[0].tolist()]
        return np.array(labels, dtype=np.int64), float(tolerances[0])

    def _scores(
        self,
        node: int,
        fixed: Sequence[int],
        free: Sequence[int],
        wanted: Bools | None = None,
        without: Floats | None = None,
        known: Floats | None = None,
        labels: bool = True,
        others: Floats | None = None,
    ) -> tuple[Floats, Ints, Floats]:
        """Compute scores, groups and tolerances; write the scores of `lattices_changed` to `without` and `others`.

        Groups are only computed with `labels`: with a thousand sites they need most of the memory.
        """
        subsets = 1 << len(free)
        out, tolerances = np.empty(subsets), np.empty(subsets)
        groups = np.empty((subsets if labels else 0, len(self.n)), dtype=np.int64)
        parents, named = np.array([*fixed, *free], dtype=np.int64), groups if labels else None
        if not kernel.loops.mechanism_scores(
            self._in_loops, node, parents, len(fixed), wanted, known, out, named, tolerances, without, others
        ):
            from .mechanisms_numpy import score_families

            out, groups, tolerances = score_families(self, node, parents, len(fixed), wanted, without)
            for row, tolerance in zip(others if others is not None else (), self.others, strict=False):
                row[:] = score_families(self, node, parents, len(fixed), wanted, None, np.array([tolerance]))[0]
        return out, groups, tolerances

    def _constant(self, variances: Floats) -> Bools:
        """Find the variables that are constant at each site."""
        return np.logical_and.reduceat(variances / self.unit**2 <= CONSTANT, self.first[:-1] - 1, axis=1)

    def _least_variance(self) -> Floats:
        """Compute the smallest residual variances; for an indicator, as if half a row more had another value."""
        floor = np.full((len(self.n), len(self.origin) + 1), CONSTANT)
        for variable in np.flatnonzero(~self.spread):
            columns = slice(int(self.first[variable]), int(self.first[variable + 1]))
            floor[:, columns] = 0.5 / self.n[:, None] / self.unit[columns.start - 1 : columns.stop - 1] ** 2
        return floor

    def _for_loops(self) -> Any:
        """Hand the moments and options to the compiled loops."""
        return kernel.loops.mechanisms(
            np.ascontiguousarray(self.moments.reshape(-1, self.moments.shape[2])),
            self.first,
            self.n,
            self.floor,
            self.spread,
            self.constant,
            self.declared,
            np.concatenate([self.tolerances, self.others]),
            len(self.others),
            *self.prices,
            self.margin,
            self.share,
        )


def _common_units(summaries: Sequence[Summary], means: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """Compute the mean and the standard deviation of every column over all sites, as common units."""
    weights = np.array([float(summary.rows) for summary in summaries])
    weights /= weights.sum()
    origin = weights @ means
    variance = weights @ (variances + (means - origin) ** 2)
    return origin, np.sqrt(np.where(variance > 0, variance, 1.0))


def _moments(means: Floats, covariances: Floats | Sequence[Floats], origin: Floats, unit: Floats, n: Floats) -> Floats:
    """Compute the sums of products of (1, columns) at every site, in common units."""
    q = means.shape[1]
    moments, areas = np.empty((len(n), q + 1, q + 1)), np.outer(unit, unit)
    for own, mean, covariance in zip(moments, (means - origin) / unit, covariances, strict=True):
        own[0, 0] = 1.0
        own[0, 1:] = own[1:, 0] = mean
        own[1:, 1:] = covariance / areas + np.outer(mean, mean)
    moments *= n[:, None, None]
    return moments
