"""Phase 1: the DAG with the smallest aggregated regret; its CPDAG is C(G) in the limit."""

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
"""How often phase 1 looks for more candidates; each time costs two rounds, the last time one."""

MANY_WIDENINGS = 4
"""The same with more than `MANY` variables, where the first candidates cover less."""

THOROUGH_FROM, THOROUGH_SHAKES, MOST_SHAKES, THOROUGH_WIDENINGS = 21, 10, 4_000, 6
"""A thorough search, for which rounds cost no messages: the number of variables from which it differs from the usual
one, the factor for the number of shakes, the largest number of shakes, and how often it looks for more candidates. With
50 variables 5 of 9 usual searches with M-PERI's score ended at a graph with a lower score than the true one, and none
of 9 thorough ones; on other data sets 6 of 18 usual and 3 thorough ones (all with one DAG that has a hub). It takes a
third longer. With 20 variables none of 46 usual ones did."""


class Step(NamedTuple):
    """One line of a run's history: what was done, the aggregated objective after it, and the worst site's regret.

    In methods without regrets the latter is None.
    """

    what: str
    rounds: int
    objective: float
    worst_regret: float | None = None


class Found(NamedTuple):
    """The best DAG, as bit sets of parents; all known parent sets; the history of the search."""

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
    """Minimise the aggregated regret over DAGs; exactly with up to `FULL` variables.

    With more, candidates come from a screening or `first`, and rounds add others; a `thorough` search takes longer.
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
        if not order_score(sets, order) > before + RESOLUTION:  # the added candidates did not help
            break
    if aggregate == "worst":
        parents = improve_worst(sets, parents)
        record("worst regrets", parents)
    return Found(parents, sets, history)


def best_known_dag(sets: ParentSets, start: Sequence[int], aggregate: Aggregate) -> list[int]:
    """Find the DAG with the smallest regret among those with known parent sets, without further questions.

    With up to `FULL` variables all are known, and the best one is found. With more, the search continues from `start`.
    """
    exact = len(start) <= FULL
    order = exact_order(sets) if exact else best_order(sets, np.random.default_rng(0), 0, topological_order(start))
    parents = parents_in(sets, order)
    return improve_worst(sets, parents) if aggregate == "worst" else parents


def _widenings(p: int) -> int:
    return 0 if p <= FULL else WIDENINGS if p <= MANY else MANY_WIDENINGS


def rounds_for_subsets(p: int) -> int:
    """Return the largest number of rounds that ask for subsets of candidates and for more candidates.

    Examples
    --------
    >>> rounds_for_subsets(12), rounds_for_subsets(50), rounds_for_subsets(200)
    (1, 4, 8)
    """
    return 1 + max(0, 2 * _widenings(p) - 1)


def most_rounds(p: int) -> int:
    """Return the largest number of rounds of a run: to choose candidates, for their subsets, and two in phase 2.

    If all parent sets are known, phase 2 needs only one round: it knows the weights of all members.

    Examples
    --------
    >>> most_rounds(12), most_rounds(50), most_rounds(200)
    (2, 9, 13)
    """
    return 2 if p <= FULL else SCREENING + rounds_for_subsets(p) + 2


def shakes(p: int) -> int:
    """Return how often an order is shaken and improved again; half as often before new candidates are known.

    With 100 variables and one shake per variable, the score stayed below that of a start at the true order on three of
    twenty data sets; with two shakes per variable on none.

    Examples
    --------
    >>> shakes(20), shakes(50), shakes(200)
    (30, 50, 400)
    """
    return max(30, p if p <= MANY else 2 * p)
