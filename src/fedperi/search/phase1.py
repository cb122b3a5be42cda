"""Phase 1: the DAG that all sites regret least; its CPDAG is what they have in common, C(G) in the limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..graph.knowledge import Constraints
from ..graph.order import topological_order
from ..scores.score import RESOLUTION
from .families import ParentSets, RegretOracle
from .orders import best_order, exact_order, order_score, parents_in
from .screening import FULL, MANY, SCREENING, candidate_parents
from .widening import MOST_NEIGHBOURS, more_candidates
from .worst import improve_worst, site_regrets

Aggregate = Literal["sum", "worst"]

WIDENINGS = 2
"""How often phase 1 looks for more candidates: two rounds, and one for the last time, which asks no gains."""

MANY_WIDENINGS = 4
"""The same with more than `MANY` variables, where the first search sees less."""

THOROUGH_FROM, THOROUGH_SHAKES, MOST_SHAKES, THOROUGH_WIDENINGS = 21, 10, 4_000, 6
"""A thorough search, which saves no rounds: from how many variables it differs, how many times as often it shakes
orders (for a thousand variables only up to a number), and how often it looks for more candidates. With 50 variables 5
of 9 usual searches by M-PERI's score ended at a graph that scores less than the true one, and none of 9 thorough ones;
on other data sets 6 of 18, and 3 thorough ones (all of one DAG with a hub). It takes the search a third longer. With 20
variables none of 46 usual ones did."""


class Step(NamedTuple):
    """One line of a run's history: what was done, the aggregated objective after it, and the worst site's regret.

    Methods without regrets have no worst one: it is None.
    """

    what: str
    rounds: int
    objective: float
    worst_regret: float | None = None


class Found(NamedTuple):
    """The best DAG, as bit sets of parents; all parent sets asked; how the search went."""

    parents: list[int]
    sets: ParentSets
    history: list[Step]


def find_common_dag(
    oracle: RegretOracle,
    *,
    aggregate: Aggregate,
    edge_price: float,
    constraints: Constraints,
    seed: int,
    rounds: Callable[[], int],
    note: Callable[[Step], None],
    keep: Callable[[Found], None],
    most_neighbours: int = MOST_NEIGHBOURS,
    first: Sequence[int] | None = None,
    thorough: bool = False,
) -> Found:
    """Minimise the aggregated regret over DAGs.

    Up to `FULL` variables all parent sets are asked and the best order is found exactly. Beyond, candidates come from a
    first look, unless the `first` ones are given; then the search runs on their subsets, and every round that follows
    asks whether a variable outside could still improve the DAG found. A `thorough` search goes on for longer: rounds
    cost it no message.
    """
    p = len(oracle.names)
    thorough = thorough and p >= THOROUGH_FROM
    often = max(shakes(p), min(THOROUGH_SHAKES * shakes(p), MOST_SHAKES)) if thorough else shakes(p)
    rng = np.random.default_rng(seed)
    sets = ParentSets(oracle, edge_price, constraints)
    history: list[Step] = []

    def record(what: str, parents: list[int]) -> None:
        objective = -sum(sets.score(i, s) or 0.0 for i, s in enumerate(parents))
        step = Step(what, rounds(), objective, float(site_regrets(sets, parents).max()))
        history.append(step)
        keep(Found(parents, sets, history))
        note(step)

    candidates = [
        (c | need) & ~never
        for c, need, never in zip(
            candidate_parents(sets) if first is None else first,
            constraints.required,
            constraints.forbidden,
            strict=True,
        )
    ]
    sets.fetch((node, 0, free) for node, free in enumerate(candidates) if not sets.knows(node, free))
    order = exact_order(sets) if p <= FULL else best_order(sets, rng, often // 2, constraints.order)
    parents = parents_in(sets, order)
    record("first search", parents)
    times = max(_widenings(p), THOROUGH_WIDENINGS if thorough else 0)
    for time in range(times):
        wider = more_candidates(sets, parents, constraints, ask=time < times - 1, most=most_neighbours)
        if not wider:
            break
        before = order_score(sets, order)
        sets.fetch((node, 0, free) for node, free in wider.items())
        order = best_order(sets, rng, often, order)
        parents = parents_in(sets, order)
        record("more candidates", parents)
        if not order_score(sets, order) > before + RESOLUTION:  # what could be added was, and is of no use
            break
    if aggregate == "worst":
        parents = improve_worst(sets, parents)
        record("worst regrets", parents)
    return Found(parents, sets, history)


def best_known_dag(sets: ParentSets, start: Sequence[int], aggregate: Aggregate) -> list[int]:
    """Find the DAG that is regretted least among those whose parent sets are known; nobody is asked.

    Up to `FULL` variables all are known, and the best one is found. Beyond, the search continues from `start`.
    """
    exact = len(start) <= FULL
    order = exact_order(sets) if exact else best_order(sets, np.random.default_rng(0), 0, topological_order(start))
    parents = parents_in(sets, order)
    return improve_worst(sets, parents) if aggregate == "worst" else parents


def _widenings(p: int) -> int:
    return 0 if p <= FULL else WIDENINGS if p <= MANY else MANY_WIDENINGS


def rounds_for_subsets(p: int) -> int:
    """Most rounds that ask for subsets of candidates and for more of them.

    Examples
    --------
    >>> rounds_for_subsets(12), rounds_for_subsets(50), rounds_for_subsets(200)
    (1, 4, 8)
    """
    return 1 + max(0, 2 * _widenings(p) - 1)


def most_rounds(p: int) -> int:
    """Most rounds of a run: those to choose candidates and for their subsets, and two in phase 2.

    Where all parent sets are asked at once, phase 2 has one round only: it knows the weights of all members.

    Examples
    --------
    >>> most_rounds(12), most_rounds(50), most_rounds(200)
    (2, 9, 13)
    """
    return 2 if p <= FULL else SCREENING + rounds_for_subsets(p) + 2


def shakes(p: int) -> int:
    """How often an order is shaken and improved again. The first one, which more candidates will change, half as often.

    With 100 variables as many shakes as variables ended below what a start at the true order reaches on three data sets
    of twenty, twice as many on none.

    Examples
    --------
    >>> shakes(20), shakes(50), shakes(200)
    (30, 50, 400)
    """
    return max(30, p if p <= MANY else 2 * p)
