"""FedDAG: each site trains its own networks under a mask that all sites share; the mask is the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...coordinator.work import WorkCoordinator
from ...errors import InputError
from ...graph.pdag import PDAG
from ...methods.federate import Sites
from ...methods.manifest import described
from ...methods.parameters import Seeded
from ...methods.progress import watching
from ...methods.result import Result
from ...option_values import check_finite, check_flag, check_one_of, check_whole
from ...protocol.worker import Payload
from ...search.phase1 import Step
from ..baseline import Note, acyclic, baseline_result, coordinate, pairs, total
from .networks import weight_count
from .schedule import LINEAR, MASKED, PUBLISHED, Schedule, for_variables, raise_cycle_penalty
from .worker import acyclicity, sigmoid

Floats = NDArray[np.float64]

VARIANTS = ("graph-shared", "all-shared", "linear")

TEMPERATURE = 0.2
"""Temperature of the sigmoid that turns logits into a mask."""

OPTIONS = ("sparsity", "rate", "passes", "steps", "every", "threshold")
"""The parts of a schedule that a user may choose."""


@dataclass(frozen=True)
class FedDAG(Seeded):
    """FedDAG (Gao et al., 2023): one DAG for all sites, by gradient descent, with networks that may differ.

    Every variable has a small network that predicts it from the other variables, each multiplied by an entry of a
    random mask around logits. Sites train networks and logits by Adam, with a penalty on edges and an increasing
    penalty on cycles. From time to time the logits are replaced by their mean over sites. At the end, positive logits
    are edges.

    **Assumes** continuous columns; the same DAG at all sites (interventions that remove edges contradict this;
    declared targets are not used); no hidden common causes; additive noise. In linear models with Gaussian noise,
    directions can be found only if all variables have noise of about the same variance. The units of columns matter:
    `sparsity` is absolute.

    **Returns** a DAG: `graph`, `phi_cpdag` and `dag` of the result; `cpdag` is its equivalence class. If training left
    cycles, the weakest edges on cycles are dropped until none is left; ``result.method["repair"]`` lists them.

    **What a site sends** at each exchange: ``"graph-shared"`` its p x p logits; ``"all-shared"`` also all weights of
    its networks; ``"linear"`` its p x p weights. There is no noise: this is not private. The coordinator knows the
    start and the end of each site's training. Logits show how much each variable helps this site to predict each other
    one. Linear weights are functions of the site's covariance matrix, which has no more numbers than the weights, so
    that a few exchanges may be enough to compute it: regard the covariances as sent. Networks are a model of the site's
    rows; with few rows, single rows can be guessed. The method needs only means over sites, but here the coordinator
    sees each site's values.

    Differences from the published code, unless ``faithful=True``: numbers such as `sparsity` are those of its authors'
    own script, not those of the experiments that compare with it; with more than 10 variables the penalty on cycles
    begins lower; columns are centred; sites draw different masks, and the networks of a site begin with different
    weights; edges and cycles are judged by the mean of the sites' logits, without noise (the published code uses the
    logits of the first site before the last exchange, with one random mask, in 4-byte numbers); the result is acyclic.

    Parameters
    ----------
    variant : {"graph-shared", "all-shared", "linear"}
        What is averaged: the logits; the networks as well (all sites then have the same mechanisms); or a matrix of
        linear weights, without networks.
    sparsity : float, optional
        Penalty on edges: on the sum of the mask, or on the absolute weights. If not given, 0.01, or 0.002 if
        `faithful`; linear 0.1.
    rate : float, optional
        Adam's step size. If not given, 0.03; linear 0.001.
    passes : int, optional
        Largest number of updates of the multiplier. If not given, 20, or 25 if `faithful`. Training ends when there
        is no cycle, but not before four passes.
    steps : int, optional
        Steps of a site in each sub-problem. If not given, 1000; linear 1500.
    every : int, optional
        Steps between two exchanges. If not given, 100, or 200 if `faithful`; linear 300.
    threshold : float, optional
        There is an edge where the mask without noise is above this (0.5 if not given); linear: where the absolute
        weight is at least this (0.3 if not given).
    faithful : bool
        Reproduce the published code. Edges in both directions are then returned as undirected. A `PDAG` cannot have a
        longer cycle: it is cut at its weakest edge, and ``result.method["published"]`` has all edges.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    seed : int
        Seed of the initial networks and of all masks.
    progress : bool, optional
        Whether to show progress on standard error; if not given, only in a terminal.

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("age", "weight"), ("weight", "pressure")])
    >>> sim = fp.simulate(truth, clients=2, samples=500, intervention="none", weights=(0.7, 1.0), seed=1)
    >>> fp.FedDAG(variant="linear", passes=4).fit(sim.sites).graph
    PDAG('age -> weight, weight -> pressure', names=['age', 'weight', 'pressure'])
    """

    variant: Literal["graph-shared", "all-shared", "linear"] = "graph-shared"
    sparsity: float | None = None
    rate: float | None = None
    passes: int | None = None
    steps: int | None = None
    every: int | None = None
    threshold: float | None = None
    faithful: bool = False
    schema: Any = None
    missing: Literal["error", "drop"] = "error"
    seed: int = 0
    progress: bool | None = None

    def __post_init__(self, random_state: int | None) -> None:
        super().__post_init__(random_state)
        check_one_of("variant", self.variant, VARIANTS)
        check_one_of("missing", self.missing, ("error", "drop"))
        check_flag("faithful", self.faithful)
        check_whole("seed", self.seed)
        plan = self._schedule()
        check_finite("sparsity", plan.sparsity)
        check_finite("rate", plan.rate, positive=True)
        check_finite("threshold", plan.threshold)
        if self.variant != "linear" and not 0 < plan.threshold < 1:
            raise InputError(f"threshold must lie between 0 and 1, not {self.threshold!r}")
        for option in ("passes", "steps", "every"):
            check_whole(option, getattr(plan, option), 1)

    def fit(self, sites: Sites) -> Result:
        """Find the DAG that the sites share.

        Parameters
        ----------
        sites : list or mapping
            DataFrames, paths of tables or `Site` objects; or a mapping of names to them; or a connected transport.

        Returns
        -------
        Result
        """
        coordinator = coordinate(sites, self.schema, self.missing, "FedDAG", "feddag")
        plan = self._schedule()
        if self.variant != "linear" and not self.faithful:
            plan = for_variables(plan, len(coordinator.names))
        training = _Training(self, plan, coordinator)
        try:
            with watching(self.progress, "FedDAG") as training.note:
                ended = raise_cycle_penalty(training.solve, plan)
        except KeyboardInterrupt:
            if not training.history:
                raise
            ended = "interrupted"
        make = _published if self.faithful else _dag
        graph, details = make(training.strength(), coordinator.names)
        used = {option: getattr(plan, option) for option in OPTIONS}
        method = {**described(self, "FedDAG"), **used, "ended": ended, **details}
        return baseline_result(method, coordinator, graph, training.history, complete=ended != "interrupted")

    def _schedule(self) -> Schedule:
        """The published numbers of the variant, replaced by the user's where given."""
        plan = LINEAR if self.variant == "linear" else PUBLISHED if self.faithful else MASKED
        given = {option: getattr(self, option) for option in OPTIONS if getattr(self, option) is not None}
        return replace(plan, **given)


class _Training:
    """The server's side: the common parameters, and the history of the training."""

    def __init__(self, method: FedDAG, plan: Schedule, coordinator: WorkCoordinator) -> None:
        self.plan, self.coordinator = plan, coordinator
        self.history: list[Step] = []
        self.note: Note = lambda step: None
        self._method, self._p = method, len(coordinator.names)
        self._linear, self._faithful = method.variant == "linear", method.faithful
        self._matrix = "weights" if self._linear else "logits"
        start = np.zeros((self._p, self._p))
        if not self._linear:
            start = np.random.default_rng([method.seed, 0]).uniform(-1e-10, 1e-10, start.shape)
        self._common: Payload = {self._matrix: start}
        self._final: Floats = start
        self._sampled = np.inf

    def solve(self, alpha: float, price: float) -> tuple[float, float]:
        """Train at all sites; average their parameters after every `plan.every` steps."""
        left = self.plan.steps
        while left > 0:
            self._exchange(alpha, price, min(self.plan.every, left))
            left -= self.plan.every
        size = self._final if self._linear else sigmoid(self._final / TEMPERATURE) * (1 - np.eye(self._p))
        certain = acyclicity(size * size)[0]
        what = f"sub-problem {len(self.history) + 1}, price {price:.1e}: {np.count_nonzero(self.strength())} edges"
        self.history.append(Step(what, self.coordinator.rounds, certain))
        self.note(self.history[-1])
        # Published: the acyclicity of the first site's last random mask.
        return (self._sampled if self._faithful and not self._linear else certain), certain

    def _exchange(self, alpha: float, price: float, steps: int) -> None:
        """One round: sites get the common parameters, train for some steps, and return theirs, which are averaged."""
        shapes: dict[str, tuple[int, ...]] = {self._matrix: (self._p, self._p)}
        if self._method.variant == "all-shared":
            shapes["networks"] = (weight_count(self._p),)
        if self._faithful and not self._linear:
            shapes["acyclicity"] = ()
        payload: Payload = {
            **self._common,
            "alpha": alpha,
            "rho": price,
            "steps": steps,
            "sparsity": self.plan.sparsity,
            "rate": self.plan.rate,
            "temperature": TEMPERATURE,
            "seed": self._method.seed,
            "faithful": self._faithful,
            "send": " ".join(shapes),
        }
        answers = self.coordinator.perform("linear" if self._linear else "masked", payload, shapes)
        means = {name: total([answer[name] for answer in answers]) / len(answers) for name in shapes}
        self._common = {name: means[name] for name in shapes if name != "acyclicity"}
        # Published: what the first site had before the last exchange, not what all agreed on.
        self._final = np.asarray(answers[0][self._matrix]) if self._faithful else means[self._matrix]
        self._sampled = float(answers[0].get("acyclicity", np.inf))

    def strength(self) -> Floats:
        """By how much each entry exceeds the threshold; zero where there is no edge."""
        if self._linear:
            size = np.abs(self._final)
            out = np.where(size >= self.plan.threshold, size, 0.0)
        else:
            even = TEMPERATURE * np.log(self.plan.threshold / (1 - self.plan.threshold))
            out = np.maximum(self._final - even, 0.0)
        np.fill_diagonal(out, 0.0)
        return out


def _dag(strength: Floats, names: tuple[str, ...]) -> tuple[PDAG, dict[str, Any]]:
    kept, dropped = acyclic(strength)
    return PDAG(kept, names), {"repair": pairs(dropped, names)}


def _published(strength: Floats, names: tuple[str, ...]) -> tuple[PDAG, dict[str, Any]]:
    """All edges, with edges in both directions as undirected. Only longer cycles lose their weakest edges."""
    edges = strength > 0
    both = edges & edges.T
    kept, dropped = acyclic(np.where(both, 0.0, strength))
    every = [(int(i), int(j)) for i, j in np.argwhere(edges)]
    return PDAG(kept | both, names), {"repair": pairs(dropped, names), "published": pairs(every, names)}
