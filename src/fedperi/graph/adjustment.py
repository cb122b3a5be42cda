"""Adjustment sets of a DAG: with them a regression coefficient is a causal effect."""

from __future__ import annotations

from collections.abc import Sequence

from . import bits
from .order import descendants
from .separation import reachable


def optimal_set(parents: Sequence[int], children: Sequence[int], cause: int, effect: int) -> int | None:
    """Find the optimal adjustment set for the total effect of one variable on another in a DAG, as a bit set.

    Of all valid adjustment sets it has the smallest asymptotic variance in linear models (Henckel, Perković and
    Maathuis, 2022): the parents of the variables on directed paths from cause to effect, without these variables and
    their descendants. A set that is valid in a DAG is also valid after arrows are removed, so one set is valid at all
    sites, whatever edges their policies remove. Without a directed path the effect is zero, and the result is None.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.equivalence import parents_of
    >>> dag = fp.PDAG.from_edges([("age", "dose"), ("age", "pain"), ("dose", "pain"), ("sex", "pain")])
    >>> dag.names, bin(optimal_set(parents_of(dag), bits.rows(dag.adjacency), 1, 2))
    (('age', 'dose', 'pain', 'sex'), '0b1001')
    """
    causal = causal_nodes(parents, children, cause, effect)
    if not causal:
        return None
    below = descendants(children, causal)
    return bits.union(parents, causal) & ~below & ~(1 << cause)


def causal_nodes(parents: Sequence[int], children: Sequence[int], cause: int, effect: int) -> int:
    """Find the variables on directed paths from cause to effect, the effect included and the cause not.

    Examples
    --------
    >>> chain = [0b000, 0b001, 0b010]
    >>> bin(causal_nodes(chain, bits.transpose(chain), 0, 2))
    '0b110'
    """
    if cause == effect:
        return 0
    below = descendants(children, 1 << cause) & ~(1 << cause)
    return below & descendants(parents, 1 << effect)


def is_adjustment_set(parents: Sequence[int], children: Sequence[int], cause: int, effect: int, given: int) -> bool:
    """Whether adjusting for a set gives the total effect in a DAG (adjustment criterion of Shpitser and others, 2010).

    The set must contain no variable on a directed path from cause to effect, nor a descendant of one, and must block
    every other path.

    Examples
    --------
    >>> parents = [0b000, 0b001, 0b011]                     # 0 -> 1 -> 2 and 0 -> 2
    >>> children = bits.transpose(parents)
    >>> [is_adjustment_set(parents, children, 1, 2, given) for given in (0b000, 0b001)]
    [False, True]
    """
    causal = causal_nodes(parents, children, cause, effect)
    if not causal or given & (descendants(children, causal) | 1 << cause):
        return False
    # Without the first arrows of the directed paths, cause and effect must be separated.
    below, above = list(children), list(parents)
    below[cause] &= ~causal
    for node in bits.members(causal):
        above[node] &= ~(1 << cause)
    return not reachable(above, below, 1 << cause, given) >> effect & 1
