"""NOTEARS-ADMM: one weighted DAG for all sites, by continuous optimisation with consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..federation.work import Payload, WorkCoordinator
from ..graph.pdag import PDAG
from ..search.phase1 import Step
from .baseline import (
    acyclic,
    baseline_result,
    check_choice,
    check_count,
    check_flag,
    check_number,
    described,
    pairs,
    work_transport,
)
from .notears_server import Layout, Server
from .progress import watching
from .result import Result

GROWTH = 1.75, 1.25
"""Factors by which the prices of cycles and of disagreement grow every round, as published."""
MOST = 1e16
"""Where they stop growing; a run without early stop ends when both are there."""
APART = 1e-3
"""Largest difference between a site's parameters and the common ones at which a run may stop early."""
START = {"linear": 1e-3, "mlp": 1e-1}
L1 = {"linear": 0.01, "mlp": 0.001}
L2 = 0.01


@dataclass(frozen=True)
class NotearsADMM:
    """NOTEARS-ADMM (Ng and Zhang, 2022): a baseline that takes it that all sites share one model.

    **Assumes** that all sites have the same DAG and the same weights, that nobody intervened, no hidden causes, and
    noise of equal variance (which is what makes directions identifiable). Columns are continuous, and their units
    matter: `l1` and `threshold` are absolute. **Returns** a DAG: `graph`, `phi_cpdag` and `dag` of its result; `cpdag`
    is its class. Targets that sites declare are not used.

    **What a site sends**, every round: its parameters, that is p x p weights, or for networks all weights and biases.
    From the linear ones the coordinator can compute the site's covariance matrix exactly. What networks give away is
    not known; take it to be no less. The coordinator needs only sums over sites, but here it sees each. There is no
    noise: this is not private.

    Unless ``faithful=True``, it differs from the published code in this: loops (i -> i) are excluded from the start;
    the l1 term is split into positive and negative parts, which makes it smooth, and minimised to smaller
    tolerances; sites count by their rows, which may be unequal; the run stops once the weights are acyclic and the
    sites agree; if a cycle is left, the weakest edge *on a cycle* goes, not the weakest of all. For networks also: the
    l1 term has absolute values, the l2 term is used, columns are centred.

    Parameters
    ----------
    model : {"linear", "mlp"}
        Each variable is a linear function of its parents, or a network with one hidden layer.
    threshold : float
        Edges at most this strong are dropped. Weights, or root sums of squares of first-layer weights.
    l1 : float, optional
        Price of a unit of weight; if not given, 0.01 (linear) or 0.001 (networks).
    hidden : int
        Units of each network.
    max_rounds : int
        Rounds after which the run ends in any case.
    tolerance : float
        The run may stop when the measure of cycles is at most this (and the sites agree).
    faithful : bool
        Reproduce the published code. Sites must then have equally many rows.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    seed : int
        Of the networks' first weights; the linear model uses no randomness.
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
    threshold: float = 0.1
    l1: float | None = None
    hidden: int = 10
    max_rounds: int = 200
    tolerance: float = 1e-8
    faithful: bool = False
    schema: Any = None
    missing: Literal["error", "drop"] = "error"
    seed: int = 0
    progress: bool | None = None

    def __post_init__(self) -> None:
        check_choice("model", self.model, ("linear", "mlp"))
        check_choice("missing", self.missing, ("error", "drop"))
        for option in ("threshold", "tolerance"):
            check_number(option, getattr(self, option))
        if self.l1 is not None:
            check_number("l1", self.l1)
        for option in ("hidden", "max_rounds"):
            check_count(option, getattr(self, option), 1)
        check_count("seed", self.seed)
        check_flag("faithful", self.faithful)

    def fit(self, sites: Any) -> Result:
        """Find a DAG for all sites.

        Parameters
        ----------
        sites : list or mapping
            As for `IPERI.fit`, but every site needs rows, and every column must be a number; or a connected transport.

        Returns
        -------
        Result
            `method` tells why the run `ended` and which edges went to leave no cycle (`repair`). `history` has the
            measure of cycles after each round as its objective.
        """
        worker = "notears-admm" if self.model == "linear" else "notears-admm-mlp"
        coordinator = WorkCoordinator(work_transport(sites, self.schema, self.missing, "NOTEARS-ADMM"), worker)
        if len(coordinator.names) < 2:
            raise InputError(f"NOTEARS-ADMM needs two variables at least; there is only {coordinator.names[0]!r}")
        rows = {site.n for site in coordinator.sites}
        if self.faithful and len(rows) > 1:
            raise InputError(
                f"the published NOTEARS-ADMM needs equally many rows at all sites, not {min(rows):g} to {max(rows):g}; "
                "leave faithful=True out"
            )
        server, history, ended = self._rounds(coordinator)
        strength = server.layout.strength(server.parameters)
        kept, dropped = acyclic(np.where(strength > self.threshold, strength, 0.0), anywhere=self.faithful)
        told = {"ended": ended, "repair": pairs(dropped, coordinator.names)}
        graph = PDAG(kept, coordinator.names)
        method = {**described(self, "NOTEARS-ADMM"), **told}
        return baseline_result(method, coordinator, graph, history, complete=ended != "interrupted")

    def _rounds(self, coordinator: WorkCoordinator) -> tuple[Server, list[Step], str]:
        """Exchange parameters until sites agree on an acyclic graph; return the last state, and why it ended."""
        server = self._start(len(coordinator.names))
        l1 = L1[self.model] if self.l1 is None else self.l1
        l2 = L2 if self.model == "mlp" and not self.faithful else 0.0
        history: list[Step] = []
        try:
            with watching(self.progress, "NOTEARS-ADMM") as note:
                for _ in range(self.max_rounds):
                    answers = self._ask(coordinator, server)
                    server = server.step(answers, l1, l2, self.faithful)
                    history.append(Step(f"measure of cycles {server.h:.1g}", coordinator.rounds, server.h))
                    note(history[-1])
                    apart = max(float(np.abs(own - server.parameters).max()) for own in answers)
                    if not self.faithful and server.h <= self.tolerance and apart <= APART:
                        return server, history, "converged"
                    server = server.tightened(*GROWTH, MOST)
                    if min(server.rho1, server.rho2) >= MOST:
                        return server, history, "prices at their limit"
        except KeyboardInterrupt:
            if not history:
                raise
            return server, history, "interrupted"
        return server, history, "most rounds"

    def _ask(self, coordinator: WorkCoordinator, server: Server) -> list[NDArray[np.float64]]:
        payload: Payload = {
            "parameters": server.parameters,
            "rho": server.rho2,
            "total": float(sum(site.n for site in coordinator.sites)),
            "loops": self.faithful,
        }
        if self.model == "mlp":
            payload |= {"hidden": self.hidden, "seed": self.seed}
        answers = coordinator.perform("update", payload, {"parameters": (server.layout.size,)})
        return [np.asarray(answer["parameters"], float) for answer in answers]

    def _start(self, p: int) -> Server:
        rho = START[self.model]
        if self.model == "linear":
            layout = Layout(p, size=p * p)
            return Server(layout, np.zeros(layout.size), np.zeros(layout.size), rho, rho)
        from ..local.notears_mlp import first_parameters

        start = first_parameters(p, self.hidden, self.seed, loops=self.faithful)
        return Server(Layout(p, self.hidden, len(start)), start, np.zeros(len(start)), rho, rho)
