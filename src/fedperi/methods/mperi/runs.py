"""Probabilities of edges in several runs: with all sites, without each of them, and with rows that count less.

All runs use the same summaries. They show which directions depend on one site, or are lost when rows count for a third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.order import topological_order
from ...scores.lattice import best_of_proper_subsets, best_of_subsets
from ...scores.mechanisms import TOLERANCES, USUAL, Mechanisms, Prices
from ...search.families import ParentSets
from ...search.posterior import MOST_EXACT, Lattice, Posterior, exact_posterior, sampled_posterior
from ...tables.in_threads import cores
from ...tables.summary.summary import Summary

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Sharing = Literal["auto", "exact", "none"]
Kind = Literal["all", "without", "third", "tolerance", "prices", "curves"]

THIRD = 1 / 3
"""Weight of a row in one of the runs: rows that deviate from the model have less information than it assumes."""

MARGIN = 12.0
"""Further runs leave out parent sets whose score is this many nats below that of a subset. With 8 the SHD of a dense
graph over 20 variables rose from 2 to 10."""

SWEEPS, FEWER_SWEEPS, FEWEST_SWEEPS = 1500, 300, 30
"""Length of each chain: in the run with all sites, in further runs, and in further runs with many sites."""

MANY_SITES = 12
"""Up to this number of sites, runs without one site have chains of `FEWER_SWEEPS`. With more, one site changes less."""

OTHER_TOLERANCES = (("exactly", 0.0), ("loosely", 0.2))
"""Tolerances of further runs, which only show changes."""


@dataclass(frozen=True, eq=False)
class Run:
    """Probabilities of edges in one run.

    Attributes
    ----------
    name : str
        Description of the run.
    kind : {"all", "without", "third", "tolerance", "prices", "curves"}
        What was changed.
    edges : array
        ``[i, j]``: the probability of i -> j.
    site : str or None
        The site that was left out.
    """

    name: str
    kind: Kind
    edges: Floats
    site: str | None = None


@dataclass(frozen=True, eq=False)
class Runs:
    """All runs, the one with all sites first; whether sums were exact; how far chains differ if not."""

    runs: tuple[Run, ...]
    exact: bool
    chains_differ: float

    @property
    def all(self) -> Run:
        """The run with all sites."""
        return self.runs[0]

    def of(self, kind: str) -> list[Run]:
        """The runs of one kind."""
        return [run for run in self.runs if run.kind == kind]


class MechanismComparison(NamedTuple):
    """How mechanisms are compared.

    Attributes
    ----------
    tolerances : tuple of float
        Allowed differences between sites that share a mechanism; each family uses one of these.
    share : bool
        Whether sites may share mechanisms at all.
    prices : Prices
        The penalties for differences from the usual mechanism.
    """

    tolerances: tuple[float, ...]
    share: bool
    prices: Prices

    @classmethod
    def of(cls, sharing: Sharing) -> MechanismComparison:
        """Return the comparison for the option `sharing`."""
        return cls(TOLERANCES if sharing == "auto" else (0.0,), sharing != "none", USUAL)

    def mechanisms(
        self, parts: Sequence[Summary], *, rows: float = 1.0, margin: float = inf, others: Sequence[float] = ()
    ) -> Mechanisms:
        """Prepare scores of families."""
        return Mechanisms(
            parts,
            tolerances=self.tolerances,
            rows=rows,
            share=self.share,
            prices=self.prices,
            margin=margin,
            others=others,
        )


def posterior_runs(
    parts: Sequence[Summary],
    sets: ParentSets,
    dag: Sequence[int],
    *,
    comparison: MechanismComparison,
    seed: int,
    curved: Sequence[Summary] = (),
    note: Callable[[str], None] = lambda what: None,
) -> Runs:
    """Compute all runs.

    Parameters
    ----------
    parts : sequence of Summary
        One per site.
    sets : ParentSets
        Known parent sets of the run with all sites.
    dag : sequence of int
        The best DAG, as bit sets of parents.
    comparison : MechanismComparison
        How mechanisms are compared.
    seed : int
        Seed for samples, with more than a dozen variables.
    curved : sequence of Summary
        The same with polynomials of numbers, if there are any.
    note : callable
        Called with a description of each step.
    """
    free = [candidates(sets, dag, node) for node in range(len(dag))]
    lattices = [known_lattice(sets, node, some) for node, some in enumerate(free)]
    wanted = [competitive_sets(lattice) for lattice in lattices]
    sample = _Sampler(sets, dag, seed)
    note("probabilities with all sites")
    whole = sample.first(lattices)
    runs = [Run("with all sites", "all", whole.edges)]
    for changed in _one_thing_changed(parts, comparison, lattices, wanted, curved):
        note(f"probabilities {changed.name}")
        some = [
            Lattice(lattice.free, priced(sets, node, lattice.free, own))
            for node, (lattice, own) in enumerate(zip(lattices, changed.scores, strict=True))
        ]
        share = min(1.0, MANY_SITES / len(parts)) if changed.kind == "without" else 1.0
        runs.append(Run(changed.name, changed.kind, sample(some, share).edges, changed.site))
    return Runs(tuple(runs), whole.exact, whole.chains_differ)


class _Changed(NamedTuple):
    """Scores of all lattices with one thing changed."""

    name: str
    kind: Kind
    scores: Sequence[Floats]
    site: str | None = None


def _one_thing_changed(
    parts: Sequence[Summary],
    comparison: MechanismComparison,
    lattices: Sequence[Lattice],
    wanted: Sequence[Bools],
    curved: Sequence[Summary],
) -> Iterator[_Changed]:
    """Score again without each site, with rows that count less, and with other assumptions."""

    def again(mechanisms: Mechanisms) -> list[Floats]:
        return [
            mechanisms.lattice(node, (), lattice.free, looked)
            for node, (lattice, looked) in enumerate(zip(lattices, wanted, strict=True))
        ]

    several = list(OTHER_TOLERANCES) if len(comparison.tolerances) > 1 and len(parts) > 1 else []
    mechanisms = comparison.mechanisms(parts, others=[tolerance for _, tolerance in several])
    changed = [
        mechanisms.lattices_changed(node, lattice.free, looked)
        for node, (lattice, looked) in enumerate(zip(lattices, wanted, strict=True))
        if len(parts) > 2 or several
    ]
    for k, part in enumerate(parts if len(parts) > 2 else ()):
        yield _Changed(f"without {part.site}", "without", [without[k] for without, _ in changed], part.site)
    yield _Changed("if rows count for a third", "third", again(comparison.mechanisms(parts, rows=THIRD)))
    for at, (name, _) in enumerate(several):
        yield _Changed(f"if sites share mechanisms {name}", "tolerance", [others[at] for _, others in changed])
    if comparison.prices != USUAL:
        common = comparison._replace(prices=USUAL)
        yield _Changed("if sharing is common", "prices", again(common.mechanisms(parts)))
    if curved:
        # With curves other sets may be good, so all are scored except those that are far too large.
        mechanisms = comparison.mechanisms(curved, margin=MARGIN)
        scores = [mechanisms.lattice(node, (), lattice.free) for node, lattice in enumerate(lattices)]
        yield _Changed("if effects may be curved", "curves", scores)


def candidates(sets: ParentSets, dag: Sequence[int], node: int, most: int = 11) -> tuple[int, ...]:
    """Choose candidate parents for the sums over subsets: all if they are few, else the most important ones."""
    everyone = (1 << len(dag)) - 1 ^ 1 << node
    if len(dag) <= MOST_EXACT:
        return tuple(bits.members(everyone & ~sets.constraints.forbidden[node]))
    children = bits.transpose(list(dag))[node]
    inside = dag[node] | sets.constraints.required[node]
    strong = [j for other in sets.strong(node, 60) for j in bits.members(other)]
    inside = bits.filled(inside, bits.members(children & ~sets.constraints.forbidden[node]), max(most, 13))
    wanted = bits.filled(inside, strong, most)
    # Sets in one lattice of the search are known already.
    known = max((family.largest & wanted for family in sets.lattices(node)), key=int.bit_count, default=0)
    if not inside & ~known:
        family = next(family for family in sets.lattices(node) if not known & ~family.largest)
        wanted = bits.filled(known, [j for j in strong if family.largest >> j & 1], most)
    return tuple(bits.members(wanted & ~sets.constraints.forbidden[node]))


def known_lattice(sets: ParentSets, node: int, free: tuple[int, ...]) -> Lattice:
    """Return the scores of all subsets of some candidates; unknown ones are computed."""
    whole = sum(1 << v for v in free)
    if not sets.knows(node, whole):
        sets.fetch([(node, 0, whole)])
    family = next(family for family in sets.lattices(node) if family.holds(whole))
    places = np.zeros(1, dtype=np.int64)
    for v in free:
        places = np.concatenate([places, places + family.index_of(1 << v)])
    return Lattice(free, np.where(sets.allowed(node, 0, free), family.scores[places], -np.inf))


def priced(sets: ParentSets, node: int, free: tuple[int, ...], scores: Floats) -> Floats:
    """Subtract the penalty on edges from scores; minus infinity where background knowledge excludes a set."""
    sizes = np.bitwise_count(np.arange(len(scores)))
    return np.where(sets.allowed(node, 0, free), scores - sets.edge_price * sizes, -np.inf)


def competitive_sets(lattice: Lattice) -> Bools:
    """Find the sets that do not score much lower than any of their subsets; all their subsets must be such sets too.

    A DAG with any other set would improve without the superfluous parents.
    """
    found: Bools = lattice.scores >= best_of_proper_subsets(best_of_subsets(lattice.scores)) - MARGIN
    for t in range(len(lattice.free)):
        halves = found.reshape(-1, 2, 1 << t)
        halves[:, 1] &= halves[:, 0]
    return found


class _Sampler:
    """Sums over all DAGs if there are few variables; samples of them otherwise.

    Half of the chains of the first run start from the best DAG, half from an independent order. Every other run has two
    shorter chains from the best DAG: it only has to show changes. With one chain, and a shorter first run, results on
    two of three data sets with 50 variables were worse.
    """

    def __init__(self, sets: ParentSets, dag: Sequence[int], seed: int) -> None:
        self._order = topological_order(list(dag)) or list(range(len(dag)))
        self._rng = np.random.default_rng([seed, len(dag)])
        self._seed = seed

    def first(self, lattices: Sequence[Lattice]) -> Posterior:
        """Probabilities in the run with all sites."""
        more = [self._rng.permutation(len(lattices)).tolist() for _ in range(2)]
        return self._sums(lattices, [self._order, self._order, *more], SWEEPS)

    def __call__(self, lattices: Sequence[Lattice], share: float) -> Posterior:
        """Probabilities in another run; with more than a dozen variables from a share of the usual sweeps."""
        return self._sums(lattices, [self._order] * 2, max(FEWEST_SWEEPS, round(share * FEWER_SWEEPS)))

    def _sums(self, lattices: Sequence[Lattice], starts: list[list[int]], sweeps: int) -> Posterior:
        if len(lattices) <= MOST_EXACT:
            return exact_posterior(lattices)
        return sampled_posterior(lattices, starts, seed=self._seed, sweeps=sweeps, threads=cores())
