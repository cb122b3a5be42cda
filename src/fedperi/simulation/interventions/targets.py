"""Choose the targets of interventions, in order, and the parents that a target loses."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...graph.pdag import PDAG
from ..dags import random_order

Removal = Literal["all", "some"]


def shielding_parents(dag: PDAG, target: str) -> tuple[str, ...]:
    """List the parents of a target that share a child with it.

    Only if the edge from such a parent is removed, there is a v-structure that the DAG did not have: parent -> child <-
    target has lost its shield.

    Examples
    --------
    >>> import fedperi as fp
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    >>> shielding_parents(dag, "B"), shielding_parents(dag, "C")
    (('A',), ())
    """
    below = set(dag.children(target))
    return tuple(name for name in dag.parents(target) if below & set(dag.children(name)))


def structural_targets(dag: PDAG, rng: np.random.Generator) -> tuple[str, ...]:
    """Rank the targets of structural interventions.

    First, in random order, those whose intervention turns a shielded collider into a v-structure; then, in random
    order, the others that have parents. A variable without parents has no edge to remove and is not a target.

    Examples
    --------
    >>> import fedperi as fp
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    >>> structural_targets(dag, np.random.default_rng(0))
    ('B', 'C')
    """
    shuffled = random_order(dag.names, rng)
    revealing = [name for name in shuffled if shielding_parents(dag, name)]
    others = [name for name in shuffled if name not in revealing and dag.parents(name)]
    return (*revealing, *others)


def parametric_targets(dag: PDAG, rng: np.random.Generator) -> tuple[str, ...]:
    """Rank the targets of parametric interventions: in random order, those with parents, then those without.

    Examples
    --------
    >>> import fedperi as fp
    >>> parametric_targets(fp.PDAG.from_edges([("A", "B")]), np.random.default_rng(0))
    ('B', 'A')
    """
    return tuple(sorted(random_order(dag.names, rng), key=lambda name: not dag.parents(name)))


def any_targets(dag: PDAG, rng: np.random.Generator, *, with_parents: bool) -> tuple[str, ...]:
    """Rank the targets of the other interventions: all variables in random order, or only those that have parents.

    Examples
    --------
    >>> import fedperi as fp
    >>> any_targets(fp.PDAG.from_edges([("A", "B")]), np.random.default_rng(0), with_parents=True)
    ('B',)
    """
    return tuple(name for name in random_order(dag.names, rng) if dag.parents(name) or not with_parents)


def removed_parents(dag: PDAG, target: str, removal: Removal, rng: np.random.Generator) -> tuple[str, ...]:
    """Choose the parents that a structural target loses: all, or "some", a random non-empty subset (possibly all).

    If some subset creates a new v-structure, the choice is among those that do.

    Examples
    --------
    >>> import fedperi as fp
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("C", "B"), ("A", "D"), ("B", "D")])
    >>> all("A" in removed_parents(dag, "B", "some", np.random.default_rng(seed)) for seed in range(20))
    True
    """
    parents = dag.parents(target)
    if removal == "all":
        return parents
    needed = set(shielding_parents(dag, target)) or set(parents)
    # Coin flips, repeated until they qualify, are uniform over the subsets that qualify: at least half of all.
    while True:
        chosen = tuple(name for name, lost in zip(parents, rng.random(len(parents)) < 0.5, strict=True) if lost)
        if needed & set(chosen):
            return chosen
