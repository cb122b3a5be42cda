"""M-PERI: the method, phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graph import bits
from ...graph.equivalence import cpdag
from ...graph.knowledge import Constraints, Knowledge, as_knowledge, unconstrained
from ...graph.pdag import PDAG
from ...option_values import DATA, MISSING, check_between, check_finite, check_one_of, check_whole
from ...privacy import Privacy
from ...scores.mechanisms import SKEPTICAL, Mechanisms
from ...search.phase1 import Found, Step, find_common_dag
from ...search.posterior import MOST_EXACT
from ...tables.reading import Reading
from ...tables.summary.summary import Summary
from ..effects.moments import Moments
from ..federate import Sites
from ..interruption import respecting_interrupts
from ..manifest import described, manifest_of_summaries
from ..parameters import Seeded
from ..progress import watching
from ..remarks import against_time, many_yes_no
from ..result import Result
from ..stability import with_stability
from .cautions import cautions, shares_little
from .differences import find_differences
from .directions import find_graph, known_directions, member_of, stated
from .edges import Scored, Stages, edge_evidence, probable_pairs
from .hidden import hidden_causes
from .oracle import MOST_CANDIDATES, ScoreOracle, best_dag, edge_price
from .redraw import redrawn_summary
from .runs import MARGIN, MechanismComparison, posterior_runs
from .statements import named_entries, privacy_of, statements
from .weak import undirected, very_weak

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class MPERI(Seeded):
    """M-PERI: the causal graph that sites share, how certain each arrow is, and what each site does differently.

    Sites with different policies differ in a few mechanisms and share the others. M-PERI compares the mechanisms: a
    graph in which few of them differ explains the sites best. It needs one summary per site (rows, means and
    covariances in common units) and no further questions.

    Parameters
    ----------
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        How columns are used, see docs/explanation/site.md. Categories become indicators.
    knowledge : Knowledge or path, optional
        Edges that must or must not be there, and tiers.
    privacy : Privacy, optional
        Every site releases its summary with noise, at a price in its ledger. If not given, only releases have noise.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"auto", "em", "error", "drop"}
        What to do with rows that lack a value, see docs/guides/missing.md. Auto: estimate moments from incomplete rows
        by EM, and leave out columns (or sites) that lack more than half of their values. With privacy: as "error".
    sharing : {"auto", "exact", "none"}
        How similar two sites must be to share a mechanism. Auto: within a tolerance that is chosen from the data.
        Exact: equal. None: no two sites share any, so that only arrows that are missing at a site give directions, as
        in the paper.
    confidence : float
        The graph shows a direction only if its probability in the run with all sites is at least this (between 0.5 and
        1), and if it holds in further runs. The probabilities in a result are more cautious: they include these runs,
        and allow for rows that do not quite follow the model (docs/explanation/method.md).
    weakest : float
        The graph shows no direction, unless it is known, for an edge that explains less than this share of the variance
        of its effect: with many rows, a small departure from the model is enough for such an edge. 0 trusts the model.
    seed : int
        Random seed for the search, for samples beyond 12 variables, and for the bootstrap.
    progress : bool, optional
        Whether to show progress on standard error; if not given, only in a terminal.
    bootstrap : int
        Number of bootstrap runs, from summaries drawn around those of the sites (`result.stability`); no rows needed.

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("age", "weight"), ("age", "pressure"), ("weight", "pressure")])
    >>> sim = fp.simulate(truth, clients=4, samples=2000, weights=(0.5, 1.0), intervention="shift", seed=3)
    >>> sim.targets                                   # unknown to the method
    ((), ('age',), ('pressure',), ('weight',))
    >>> result = fp.MPERI().fit(dict(zip(["Brest", "Lyon", "Metz", "Nice"], sim.sites)))
    >>> result.graph == truth
    True
    >>> for difference in result.differences:
    ...     print(difference.words)
    At Lyon, age is ... by ... than elsewhere.
    At Metz, pressure is ... by ... than elsewhere, for the same age and weight.
    At Nice, weight is ... by ... than elsewhere, for the same age.
    """

    data: Literal["auto", "linear", "nonlinear", "discrete", "mixed"] = "auto"
    knowledge: Any = None
    privacy: Privacy | None = None
    schema: Any = None
    missing: Literal["auto", "em", "error", "drop"] = "auto"
    sharing: Literal["auto", "exact", "none"] = "auto"
    confidence: float = 0.95
    weakest: float = 1e-3
    seed: int = 0
    progress: bool | None = None
    bootstrap: int = 0

    _name: ClassVar[str] = "M-PERI"

    def __post_init__(self, random_state: int | None) -> None:
        super().__post_init__(random_state)
        check_one_of("data", self.data, DATA)
        check_one_of("missing", self.missing, MISSING)
        check_one_of("sharing", self.sharing, ("auto", "exact", "none"))
        check_between("confidence", self.confidence, 0.5, 1)
        check_finite("weakest", self.weakest)
        check_whole("seed", self.seed)
        check_whole("bootstrap", self.bootstrap)
        if self.privacy is not None and not isinstance(self.privacy, Privacy):
            raise InputError(f"privacy must be a fedperi.Privacy, not {type(self.privacy).__name__}")
        if self.privacy is not None and self.privacy.mechanism != "statistics":
            raise InputError(
                f"M-PERI needs one noisy summary per site: use mechanism='statistics', not {self.privacy.mechanism!r}"
            )
        object.__setattr__(self, "knowledge", as_knowledge(self.knowledge))

    def fit(self, sites: Sites) -> Result:
        """Find the graph that the sites share.

        Parameters
        ----------
        sites : list or mapping
            DataFrames, paths of tables or release files, `Release`, `Site`, `Summary` or `OracleSite` objects; or a
            mapping of names to them.

        Returns
        -------
        Result
        """
        with respecting_interrupts():
            reading = Reading.of(self.schema, self.data, self.missing)
            entries = named_entries(sites, self.privacy, reading)
            said = statements(entries, reading)
            names = said[0].names
            known: Knowledge | None = self.knowledge and self.knowledge.without(said[0].left_out)
            constraints = known.constraints(names) if known is not None else unconstrained(names)
            with watching(self.progress, self._name) as show:
                stages = self._stages(said, constraints, show)
                result = replace(self._result(said, stages), privacy=privacy_of(entries, said))
                again = partial(self._again, said, constraints, show)
                return with_stability(result, again, self.seed, self.bootstrap) if self.bootstrap else result

    def _stages(self, said: Sequence[Summary], constraints: Constraints, show: Callable[[Step], None]) -> Stages:
        """Do all steps after the summaries."""
        mechanisms, curved, found, runs = self._score(said, constraints, show)
        chances = stated(runs)
        weak = very_weak(mechanisms, found.parents, runs.all.edges, chances + chances.T >= 0.5, self.weakest)
        chances = undirected(chances, weak, known_directions(constraints))
        graph, robust = find_graph(constraints, runs, chances, self.confidence, weak)
        dag = member_of(graph, found.parents)
        groups, differences = find_differences(mechanisms, bits.columns(dag.adjacency), curved, graph)
        return Stages(found, runs, chances, weak, graph, dag, robust, groups, differences)

    def _score(self, said: Sequence[Summary], constraints: Constraints, show: Callable[[Step], None]) -> Scored:
        """Score, search, and compute all probabilities; the confidence is not used."""
        # Scores are of straight lines, and one run checks them with curves; if curves were requested, only of curves.
        parts = said if self.data == "nonlinear" else [part.straight() for part in said]
        with_curves = said if said[0].curved and self.data != "nonlinear" else []
        comparison = MechanismComparison.of(self.sharing)
        mechanisms, curved, found = self._search(comparison, parts, with_curves, constraints, show)
        groups, _ = find_differences(mechanisms, found.parents, curved)
        if comparison.share and shares_little(groups, len(parts)):
            comparison = comparison._replace(prices=SKEPTICAL)
            mechanisms, curved, found = self._search(comparison, parts, with_curves, constraints, show)
        runs = posterior_runs(
            parts,
            found.sets,
            found.parents,
            comparison=comparison,
            seed=self.seed,
            curved=with_curves,
            note=lambda what: show(Step(what, 1, 0.0)),
        )
        return Scored(mechanisms, curved, found, runs)

    def _again(
        self, said: Sequence[Summary], constraints: Constraints, show: Callable[[Step], None], seed: int, title: str
    ) -> PDAG:
        """Find the graph from bootstrap draws of the summaries."""
        show(Step(title, 1, 0.0))
        return self._stages([redrawn_summary(part, seed) for part in said], constraints, lambda step: None).graph

    def _search(
        self,
        comparison: MechanismComparison,
        parts: Sequence[Summary],
        with_curves: Sequence[Summary],
        constraints: Constraints,
        show: Callable[[Step], None],
    ) -> tuple[Mechanisms, Mechanisms | None, Found]:
        """Prepare scores (also with curves, if there are any), and find the best DAG."""
        everything = len(constraints.names) <= MOST_EXACT or any(constraints.required)
        margin = inf if everything else MARGIN
        mechanisms, found = best_dag(
            lambda some: comparison.mechanisms(some, margin=margin),
            parts,
            lambda scores, first: self._best_dag(scores, constraints, show, first),
        )
        return mechanisms, comparison.mechanisms(with_curves, margin=margin) if with_curves else None, found

    def _best_dag(
        self,
        mechanisms: Mechanisms,
        constraints: Constraints,
        show: Callable[[Step], None],
        first: Sequence[int] | None,
    ) -> Found:
        """The DAG with the best score: the search of phase 1, on a score of all sites together."""
        return find_common_dag(
            ScoreOracle(mechanisms),
            aggregate="sum",
            edge_price=edge_price(len(mechanisms.names)),
            constraints=constraints,
            seed=self.seed,
            rounds=lambda: 1,
            note=lambda step: show(step._replace(worst_regret=None)),
            keep=lambda found: None,
            most_neighbours=MOST_CANDIDATES,
            first=first,
            thorough=True,  # rounds cost nothing here: no site is asked
        )

    def _result(self, parts: Sequence[Summary], stages: Stages) -> Result:
        options, moments = described(self, self._name), Moments.of(parts)
        found, runs, chances, weak, graph, dag, robust, groups, differences = stages
        known: Knowledge | None = self.knowledge
        return Result(
            graph=graph,
            phi_cpdag=graph,
            cpdag=cpdag(dag),
            dag=dag,
            regrets={},
            rounds=1,
            queries=sum(len(part.mean) * (len(part.mean) + 3) // 2 + 1 for part in parts[:1]),
            bytes=0,
            history=tuple(step._replace(worst_regret=None) for step in found.history),
            edges=tuple(edge_evidence(graph, dag, found, robust, differences, len(parts))),
            method=options,
            manifest=manifest_of_summaries(options, parts),
            probable=tuple(probable_pairs(graph.names, chances)),
            differences=tuple(differences),
            groups=tuple(groups),
            robustness=tuple(robust),
            warnings=(
                *against_time(graph, known),
                *cautions(parts, groups, runs, robust, weak),
                *many_yes_no(moments, known),
                *hidden_causes(parts, dag, groups),
            ),
            sampling={"exact": runs.exact, "chains_differ": runs.chains_differ},
            moments=moments,
        )
