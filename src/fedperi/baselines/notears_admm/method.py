"""NOTEARS-ADMM: one weighted DAG for all sites, by continuous optimisation with consensus."""

from __future__ import annotations

from dataclasses import dataclass
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
from ..baseline import acyclic, baseline_result, coordinate, pairs, total
from .server import ParameterLayout, ServerState

GROWTH = 1.75, 1.25
"""Factors by which the penalties on cycles and on disagreement grow every round, as published."""
MOST = 1e16
"""Limit for both penalties; a run that does not stop early ends when both have reached it."""
APART = 1e-3
"""A run may stop early if every site's parameters differ from the common ones by at most this."""
STARTS = {"linear": 3, "mlp": 1}
SCALE = 16.0
"""Ratio between the scales in which two starts measure squared weights on a cycle."""
START = {"linear": 1e-3, "mlp": 1e-1}
L1 = {"linear": 0.01, "mlp": 0.001}
THRESHOLD = {"linear": 0.1, "mlp": 0.3}
L2 = 0.01


@dataclass(frozen=True)
class NotearsADMM(Seeded):
    """NOTEARS-ADMM (Ng and Zhang, 2022): a baseline that assumes that all sites share one model.

    **Assumes** that all sites have the same DAG and the same weights, no interventions, no hidden causes, and noise of
    equal variance (this makes directions identifiable). Columns are continuous, and their units matter: `l1` and
    `threshold` are absolute. **Returns** a DAG: `graph`, `phi_cpdag` and `dag` of the result; `cpdag` is its
    equivalence class. Declared targets are not used.

    **What a site sends** in every round: its parameters, that is p x p weights, or for networks all weights and biases.
    From the linear weights the coordinator can compute the site's covariance matrix exactly. What networks reveal is
    not known; assume at least as much. The method needs only sums over sites, but here the coordinator sees each
    site's parameters. There is no noise: this is not private.

    Differences from the published code, unless ``faithful=True``:

    - Several starts measure cycles on different scales and run in parallel; the one with the lowest loss is used.
    - The penalty on disagreement grows only in rounds where the sites are further from the common parameters than
      these moved.
    - Loops (i -> i) are excluded from the beginning.
    - The l1 term is split into positive and negative parts, so that it is smooth, and minimised to smaller tolerances.
    - Sites are weighted by their numbers of rows, which may differ.
    - The run stops when the weights are acyclic and the sites agree.
    - If a cycle is left, the weakest edge *on a cycle* is dropped, not the weakest edge of the graph.
    - Networks: the l1 term uses absolute values, there is an l2 term, and columns are centred.

    Parameters
    ----------
    model : {"linear", "mlp"}
        Each variable is a linear function of its parents, or a network with one hidden layer.
    threshold : float, optional
        Edges of at most this strength are dropped: the absolute weight, or for networks the root sum of squares of the
        first-layer weights. If not given, 0.1 (linear, or if `faithful`) or 0.3 (networks).
    l1 : float, optional
        Penalty per unit of weight. If not given, 0.01 (linear) or 0.001 (networks).
    hidden : int
        Units of each network.
    starts : int, optional
        Number of starts; the one with the lowest loss is used. If not given, 3 (linear) or 1 (networks); 1 if
        `faithful`.
    max_rounds : int
        Largest number of rounds.
    tolerance : float
        The run may stop when the measure of cycles is at most this (and the sites agree).
    faithful : bool
        Reproduce the published code. Sites must then have equally many rows.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    seed : int
        Seed of the networks' initial weights; the linear model uses no randomness.
    progress : bool, optional
        Whether to show progress on standard error; if not given, only in a terminal.

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("A", "B"), ("C", "B")])
    >>> sim = fp.simulate(truth, clients=2, samples=1000, intervention="none", weights=(0.5, 1.0), seed=0)
    >>> fp.NotearsADMM().fit(sim.sites)
    Result(NOTEARS-ADMM: 2 edges, 2 directed; 2 sites, ... rounds)
    """

    model: Literal["linear", "mlp"] = "linear"
    threshold: float | None = None
    l1: float | None = None
    hidden: int = 10
    starts: int | None = None
    max_rounds: int = 200
    tolerance: float = 1e-8
    faithful: bool = False
    schema: Any = None
    missing: Literal["error", "drop"] = "error"
    seed: int = 0
    progress: bool | None = None

    def __post_init__(self, random_state: int | None) -> None:
        super().__post_init__(random_state)
        check_one_of("model", self.model, ("linear", "mlp"))
        check_one_of("missing", self.missing, ("error", "drop"))
        check_finite("tolerance", self.tolerance)
        for option in ("threshold", "l1"):
            if getattr(self, option) is not None:
                check_finite(option, getattr(self, option))
        for option in ("hidden", "max_rounds"):
            check_whole(option, getattr(self, option), 1)
        if self.starts is not None:
            check_whole("starts", self.starts, 1)
        check_whole("seed", self.seed)
        check_flag("faithful", self.faithful)

    def fit(self, sites: Sites) -> Result:
        """Find a DAG for all sites.

        Parameters
        ----------
        sites : list or mapping
            As for `IPERI.fit`, but every site needs rows, and every column must be a number; or a connected transport.

        Returns
        -------
        Result
            `method` says why the run `ended` and which edges were removed to break cycles (`repair`). The objective in
            `history` is the largest measure of cycles among all starts after each round.
        """
        worker = "notears-admm" if self.model == "linear" else "notears-admm-mlp"
        coordinator = coordinate(sites, self.schema, self.missing, "NOTEARS-ADMM", worker)
        rows = {site.n for site in coordinator.sites}
        if self.faithful and len(rows) > 1:
            raise InputError(
                f"the published NOTEARS-ADMM needs equally many rows at all sites, not {min(rows):g} to {max(rows):g}; "
                "leave faithful=True out"
            )
        starts, history, ended = self._rounds(coordinator)
        server = starts[0] if ended == "interrupted" else self._best(coordinator, starts)
        strength = server.layout.strength(server.parameters)
        threshold = THRESHOLD["linear" if self.faithful else self.model] if self.threshold is None else self.threshold
        kept, dropped = acyclic(np.where(strength > threshold, strength, 0.0), anywhere=self.faithful)
        details = {"threshold": threshold, "ended": ended, "repair": pairs(dropped, coordinator.names)}
        graph = PDAG(kept, coordinator.names)
        method = {**described(self, "NOTEARS-ADMM"), **details}
        return baseline_result(method, coordinator, graph, history, complete=ended != "interrupted")

    def _rounds(self, coordinator: WorkCoordinator) -> tuple[list[ServerState], list[Step], str]:
        """Exchange parameters until sites agree on acyclic graphs; return the last states, the history, and why."""
        starts = self._starts(len(coordinator.names))
        history: list[Step] = []
        try:
            with watching(self.progress, "NOTEARS-ADMM") as note:
                for _ in range(self.max_rounds):
                    answers = self._ask(coordinator, starts)
                    starts = [
                        # A start that has converged waits for the others.
                        start if self._converged(start) else start.step([own[at] for own in answers], *self._prices())
                        for at, start in enumerate(starts)
                    ]
                    h = max(start.h for start in starts)
                    history.append(Step(f"measure of cycles {h:.1g}", coordinator.rounds, h))
                    note(history[-1])
                    if all(map(self._converged, starts)):
                        return starts, history, "converged"
                    starts = [start if self._converged(start) else self._tightened(start) for start in starts]
                    if min(min(start.rho1, start.rho2) for start in starts) >= MOST:
                        return starts, history, "prices at their limit"
        except KeyboardInterrupt:
            if not history:
                raise
            return starts, history, "interrupted"
        return starts, history, "most rounds"

    def _converged(self, start: ServerState) -> bool:
        return not self.faithful and start.h <= self.tolerance and start.apart <= APART

    def _tightened(self, start: ServerState) -> ServerState:
        """Raise the penalties; that on disagreement only if sites are further apart than W moved, or W stops moving."""
        growth1, growth2 = GROWTH
        return start.tightened(growth1, growth2 if self.faithful or start.apart > start.moved else 1.0, MOST)

    def _best(self, coordinator: WorkCoordinator, starts: list[ServerState]) -> ServerState:
        """Ask the sites for the loss of all starts, and choose: acyclic starts first, then the lowest loss."""
        if len(starts) == 1:
            return starts[0]
        answers = coordinator.perform("loss", self._payload(coordinator, starts), {"loss": (len(starts),)})
        loss = total([answer["loss"] for answer in answers])
        l1, l2, _ = self._prices()
        cost = [(not self._converged(start), loss[at] + start.penalty(l1, l2)) for at, start in enumerate(starts)]
        return starts[min(range(len(starts)), key=cost.__getitem__)]

    def _ask(self, coordinator: WorkCoordinator, starts: list[ServerState]) -> list[NDArray[np.float64]]:
        shape = len(starts), starts[0].layout.size
        payload = self._payload(coordinator, starts) | {"rho": np.array([start.rho2 for start in starts])}
        answers = coordinator.perform("update", payload, {"parameters": shape})
        return [np.asarray(answer["parameters"], float) for answer in answers]

    def _payload(self, coordinator: WorkCoordinator, starts: list[ServerState]) -> Payload:
        payload: Payload = {
            "parameters": np.stack([start.parameters for start in starts]),
            "total": float(sum(site.n for site in coordinator.sites)),
            "loops": self.faithful,
        }
        return payload | ({"hidden": self.hidden, "seed": self.seed} if self.model == "mlp" else {})

    def _prices(self) -> tuple[float, float, bool]:
        """Parameters of the server's step: l1, l2, and whether to minimise as published."""
        l1 = L1[self.model] if self.l1 is None else self.l1
        return l1, L2 if self.model == "mlp" and not self.faithful else 0.0, self.faithful

    def _starts(self, p: int) -> list[ServerState]:
        count = 1 if self.faithful else STARTS[self.model] if self.starts is None else self.starts
        rho, first = START[self.model], np.zeros(p * p)
        if self.model == "mlp":
            from .mlp import first_parameters

            first = first_parameters(p, self.hidden, self.seed, loops=self.faithful)
        units = 1 if self.model == "linear" else self.hidden
        # 1, 16, 1/16, 256, ...
        scales = [SCALE ** ((at + 1) // 2 * (1 if at % 2 else -1)) for at in range(count)]
        return [
            ServerState(ParameterLayout(p, units, len(first), scale), first, np.zeros(len(first)), rho, rho)
            for scale in scales
        ]
