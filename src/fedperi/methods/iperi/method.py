"""PERI and I-PERI: regret-based federated causal discovery, without and with unknown interventions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from ...coordinator.coordinator import Coordinator
from ...errors import InputError
from ...graph.knowledge import Constraints, Knowledge, as_knowledge, unconstrained
from ...graph.pdag import PDAG
from ...option_values import COMPLETE, DATA, check_between, check_finite, check_one_of, check_whole
from ...privacy import Privacy
from ...protocol.messages import Settings, Welcome
from ...scores.masking import MASKINGS
from ...search.confidence import direction_shares
from ...search.phase1 import Found, Step, best_known_dag, find_common_dag
from ...search.phase2 import Direction, orient_by_differences
from ...search.worst import EDGE_PRICE
from ..federate import Sites, by_indicators, federation
from ..interruption import respecting_interrupts
from ..manifest import described
from ..parameters import Parallel
from ..progress import watching
from ..remarks import against_time, high_regrets
from ..result import Result
from ..stability import with_stability
from .assembly import assemble, common_graph, directed_by
from .leave_out import NotStored, StoredAnswers, changes, sentences
from .oracle import CoordinatorOracle


@dataclass(frozen=True)
class IPERI(Parallel):
    """I-PERI: the causal graph that sites share, when each may have been changed by unknown interventions.

    `IPERI()` is this package's variant. ``IPERI(masking="consensus", aggregate="worst", local="pc")`` is the paper's.

    Parameters
    ----------
    masking : {"adaptive", "consensus", "none"}
        Which members of a candidate parent set count in a site's regret: those that its data support; those that are
        adjacent in its own local graph; or all, which assumes that no site was intervened on, so that phase 2 has
        nothing to add.
    aggregate : {"sum", "worst"}
        Minimise the sum of the sites' regrets, or the largest, then the next largest, and so on.
    local : "ges", "pc" or callable
        How a site learns its own graph, for ``masking="consensus"``. A callable gets the site's statistics (or its
        table, if it has the attribute ``wants_table``) and returns a PDAG.
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        How columns are used, see docs/explanation/site.md.
    privacy : Privacy, optional
        Differential privacy: noise at every site, at a price that its ledger records. If not given, answers are exact.
    knowledge : Knowledge or path, optional
        Edges that must or must not be there, and tiers.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    alpha : float
        Level of the tests of ``local="pc"``.
    penalty : float
        Multiplies the BIC penalty of an edge at each site.
    bootstrap : int
        How many times every site resamples its rows and the search runs again, for `Result.stability`; 0 for none.
    seed : int
        Random seed for the search and the bootstrap.
    progress : bool, optional
        Whether to show progress on standard error; if not given, only in a terminal.
    jobs : int, optional
        How many sites are processed in parallel, in threads, if their tables are here; the result is the same to the
        last bit. If not given, as many as there are cores if there are many variables and sites, or long files;
        otherwise one, since more would gain nothing (docs/results/scale.md).

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("age", "weight"), ("age", "pressure"), ("weight", "pressure")])
    >>> sim = fp.simulate(truth, clients=2, samples=5000, weights=(0.5, 1.0), seed=1)
    >>> sim.targets                                   # unknown to the method
    ((), ('weight',))
    >>> result = fp.IPERI().fit(sim.sites)
    >>> result.cpdag
    PDAG('age -- weight, age -- pressure, weight -- pressure', names=['age', 'weight', 'pressure'])
    >>> result.graph
    PDAG('age -> pressure, weight -> pressure, age -- weight', names=['age', 'weight', 'pressure'])
    """

    masking: Literal["adaptive", "consensus", "none"] = "adaptive"
    aggregate: Literal["sum", "worst"] = "sum"
    local: str | Callable[..., PDAG] = "ges"
    data: Literal["auto", "linear", "nonlinear", "discrete", "mixed"] = "auto"
    privacy: Privacy | None = None
    knowledge: Any = None
    schema: Any = None
    missing: Literal["error", "drop"] = "error"
    alpha: float = 0.01
    penalty: float = 1.0
    bootstrap: int = 0
    seed: int = 0
    progress: bool | None = None
    jobs: int | None = None

    _name: ClassVar[str] = "I-PERI"
    _phases: ClassVar[int] = 2

    def __post_init__(self, random_state: int | None, n_jobs: int | None) -> None:
        super().__post_init__(random_state, n_jobs)
        check_one_of("masking", self.masking, MASKINGS)
        check_one_of("aggregate", self.aggregate, ("sum", "worst"))
        if not callable(self.local):
            check_one_of("local", self.local, ("ges", "pc"))
        check_one_of("data", self.data, DATA)
        check_one_of("missing", self.missing, COMPLETE)
        check_between("alpha", self.alpha, 0, 1)
        check_finite("penalty", self.penalty)
        check_whole("seed", self.seed)
        check_whole("bootstrap", self.bootstrap)
        if self.jobs is not None:
            check_whole("jobs", self.jobs, 1)
        if self.privacy is not None and not isinstance(self.privacy, Privacy):
            raise InputError(f"privacy must be a fedperi.Privacy, not {type(self.privacy).__name__}")
        object.__setattr__(self, "knowledge", as_knowledge(self.knowledge))

    def fit(self, sites: Sites) -> Result:
        """Find the graph that the sites share.

        Parameters
        ----------
        sites : list or mapping
            DataFrames, paths of tables, `Site` or `OracleSite` objects; or a mapping of names to them; or a transport
            of `fedperi.transports`.

        Returns
        -------
        Result
        """
        own = self.local if callable(self.local) else None
        how = {"schema": self.schema, "data": self.data, "missing": self.missing, "privacy": self.privacy}
        learn = self.masking == "consensus"
        with (
            respecting_interrupts() as look,
            federation(sites, jobs=self.jobs, learn=learn, local=own, **how) as transport,
        ):
            coordinator = Coordinator(transport, self._settings(), look)
            names = coordinator.names
            known: Knowledge | None = self.knowledge
            constraints = known.constraints(names) if known is not None else unconstrained(names)
            found, directions, whole = self._search(coordinator, constraints)
            result = self._result(coordinator, constraints, found, directions, whole)
            warnings = by_indicators(transport) if self.data == "auto" else []
            if whole:
                without = partial(self._without, coordinator, constraints, found, result)
                changed = changes([site.site for site in coordinator.sites], without)
                warnings = [
                    *against_time(result.graph, known),
                    *warnings,
                    *high_regrets(result.regrets, self.masking),
                    *sentences(changed, len(result.graph)),
                ]
            result = replace(result, warnings=tuple(warnings))
            if not (self.bootstrap and whole):
                return result
            return with_stability(result, partial(self._again, coordinator, constraints), self.seed, self.bootstrap)

    def _again(self, run: Coordinator, constraints: Constraints, seed: int, title: str) -> PDAG | None:
        """Find the graph from rows that every site resamples; None if the search was interrupted."""
        coordinator = Coordinator(run.transport, replace(self._settings(), resample=seed), run.look)
        found, directions, whole = self._search(coordinator, constraints, title)
        return self._result(coordinator, constraints, found, directions, whole).graph if whole else None

    def _settings(self) -> Settings:
        local = self.local if isinstance(self.local, str) else getattr(self.local, "__name__", "callable")
        return Settings(self.masking, local, self.alpha, self.penalty)

    def _search(
        self, coordinator: Coordinator, constraints: Constraints, title: str = ""
    ) -> tuple[Found, list[Direction], bool]:
        """Run the phases; an interruption keeps the result of phase 1, if there is one."""
        oracle = CoordinatorOracle(coordinator)
        so_far: list[Found] = []
        try:
            with watching(self.progress, title or self._name) as note:
                found = self._phase_1(oracle, constraints, note, so_far.append)
                return found, self._phase_2(oracle, constraints, found), True
        except KeyboardInterrupt:
            if not so_far:
                raise
            return so_far[-1], [], False

    def _phase_1(
        self,
        oracle: CoordinatorOracle,
        constraints: Constraints,
        note: Callable[[Step], None],
        keep: Callable[[Found], None],
    ) -> Found:
        """Phase 1: the DAG whose CPDAG the sites share."""
        return find_common_dag(
            oracle,
            aggregate=self.aggregate,
            edge_price=self._edge_price(oracle.coordinator.sites),
            constraints=constraints,
            seed=self.seed,
            rounds=lambda: oracle.coordinator.rounds,
            note=note,
            keep=keep,
        )

    def _edge_price(self, sites: Sequence[Welcome]) -> float:
        """The penalty of an edge, in addition to those of the sites.

        With the adaptive mask a site may leave out any parent; this penalty prevents edges that are due to chance. With
        the other masks the sites' own scores penalise every edge, and it only breaks ties.
        """
        return float(np.log(sum(site.n for site in sites))) / 2 if self.masking == "adaptive" else EDGE_PRICE

    def _phase_2(
        self, oracle: CoordinatorOracle | StoredAnswers, constraints: Constraints, found: Found
    ) -> list[Direction]:
        """Phase 2: directions that some site's own graph gives."""
        if self._phases < 2 or self.masking == "none":  # no mask, no interventions: all sites have one graph
            return []
        start = common_graph(found.parents, oracle.names, constraints)
        weigh = partial(direction_shares, found.sets, found.parents) if self.masking == "adaptive" else None
        return orient_by_differences(oracle, start, found.parents, aggregate=self.aggregate, weigh=weigh)[1]

    def _result(
        self,
        coordinator: Coordinator,
        constraints: Constraints,
        found: Found,
        directions: Sequence[Direction],
        whole: bool,
    ) -> Result:
        # Without a mask, declared targets are scored like all other variables, so the DAG says nothing about them.
        targets = [site.targets for site in coordinator.sites] if self.masking != "none" else []
        method = described(self, self._name)
        result = assemble(method, coordinator, constraints, found, directions, targets=targets, complete=whole)
        coordinator.transport.close()
        return result

    def _without(
        self, coordinator: Coordinator, constraints: Constraints, found: Found, result: Result, site: int
    ) -> tuple[PDAG, PDAG]:
        """Return two graphs to compare: of all sites, and of all but one, as far as stored answers determine them."""
        others = [welcome for k, welcome in enumerate(coordinator.sites) if k != site]
        stored = StoredAnswers(coordinator.transcript, site)
        sets = found.sets.without(site, self._edge_price(others), stored)
        parents = best_known_dag(sets, found.parents, self.aggregate)
        cpdag = common_graph(parents, coordinator.names, constraints)
        if cpdag != result.cpdag:  # then phase 2 is not known: its questions were about another graph
            return result.cpdag, cpdag
        try:
            directions = self._phase_2(stored, constraints, Found(found.parents, sets, []))
        except NotStored:
            return cpdag, cpdag
        return result.phi_cpdag, directed_by(cpdag, ((d.tail, d.head) for d in directions))


@dataclass(frozen=True)
class PERI(IPERI):
    """PERI: the CPDAG that sites share, when none was intervened on (phase 1 alone, no mask, smallest worst regret).

    Takes the options of `IPERI`; `phi_cpdag` and `graph` of its result are the CPDAG.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(4, clients=3, samples=2000, intervention="none", weights=(0.4, 1.0), seed=1)
    >>> fp.PERI().fit(sim.sites).cpdag == sim.cpdag
    True
    """

    masking: Literal["adaptive", "consensus", "none"] = "none"
    aggregate: Literal["sum", "worst"] = "worst"

    _name: ClassVar[str] = "PERI"
    _phases: ClassVar[int] = 1
