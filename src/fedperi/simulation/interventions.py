"""Which site is intervened on, where and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..graph.pdag import PDAG
from .streams import Purpose, stream

Kind = Literal["none", "structural", "parametric"]
Intervention = Literal["structural", "parametric", "mixed", "none"]
Removal = Literal["all", "some"]


@dataclass(frozen=True)
class SiteIntervention:
    """What happens at one site: the kind, the targets, and for each structural target the parents it loses.

    Examples
    --------
    >>> from fedperi.simulation.interventions import SiteIntervention
    >>> SiteIntervention("structural", ("B",), {"B": ("A",)}).removed["B"]
    ('A',)
    """

    kind: Kind = "none"
    targets: tuple[str, ...] = ()
    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def shielding_parents(dag: PDAG, target: str) -> tuple[str, ...]:
    """List the parents of a target that share a child with it.

    Removing the edge from such a parent, and no other way of removing edges into the target, creates a v-structure
    that the DAG did not have: parent -> child <- target has lost its shield.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.simulation.interventions import shielding_parents
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    >>> shielding_parents(dag, "B"), shielding_parents(dag, "C")
    (('A',), ())
    """
    below = set(dag.children(target))
    return tuple(name for name in dag.parents(target) if below & set(dag.children(name)))


def structural_targets(dag: PDAG, rng: np.random.Generator) -> tuple[str, ...]:
    """Rank the targets of structural interventions.

    First, in random order, those whose intervention turns a shielded collider into a v-structure; then, in random
    order, the others that have parents. A variable without parents has no edge to remove and is no target.

    Examples
    --------
    >>> import fedperi as fp
    >>> import numpy as np
    >>> from fedperi.simulation.interventions import structural_targets
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    >>> structural_targets(dag, np.random.default_rng(0))
    ('B', 'C')
    """
    shuffled = [dag.names[int(i)] for i in rng.permutation(len(dag.names))]
    revealing = [name for name in shuffled if shielding_parents(dag, name)]
    others = [name for name in shuffled if name not in revealing and dag.parents(name)]
    return (*revealing, *others)


def parametric_targets(dag: PDAG, rng: np.random.Generator) -> tuple[str, ...]:
    """Rank the targets of parametric interventions: in random order, those with parents, then those without.

    Examples
    --------
    >>> import fedperi as fp
    >>> import numpy as np
    >>> from fedperi.simulation.interventions import parametric_targets
    >>> parametric_targets(fp.PDAG.from_edges([("A", "B")]), np.random.default_rng(0))
    ('B', 'A')
    """
    shuffled = [dag.names[int(i)] for i in rng.permutation(len(dag.names))]
    return tuple(sorted(shuffled, key=lambda name: not dag.parents(name)))


def removed_parents(dag: PDAG, target: str, removal: Removal, rng: np.random.Generator) -> tuple[str, ...]:
    """Choose the parents that a structural target loses.

    Parameters
    ----------
    dag : PDAG
        The true DAG.
    target : str
        A variable with parents.
    removal : "all" or "some"
        All parents, or a random non-empty subset (possibly all). If some subset creates a new v-structure, the
        choice is among those that do.
    rng : numpy Generator
        Source of randomness.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> import fedperi as fp
    >>> import numpy as np
    >>> from fedperi.simulation.interventions import removed_parents
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


def plan_sites(
    dag: PDAG,
    clients: int,
    *,
    intervention: Intervention = "structural",
    removal: Removal = "all",
    targets_per_client: int = 1,
    seed: int = 0,
) -> list[SiteIntervention]:
    """Decide for every site what is done to it. Site 0 is always observational.

    Intervened sites take the next targets from the ranking of their kind, which starts again when it is used up.
    A site never has a target twice: if the ranking is shorter than `targets_per_client`, it gets all of it, and if
    it is empty the site stays observational.

    Parameters
    ----------
    dag : PDAG
        The true DAG.
    clients : int
        Number of sites.
    intervention : "structural", "parametric", "mixed" or "none"
        Mixed sites alternate, beginning with a structural one.
    removal : "all" or "some"
        How many incoming edges a structural target loses.
    targets_per_client : int
        Targets at each intervened site.
    seed : int
        Seed of the simulation.

    Returns
    -------
    list of SiteIntervention

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.simulation.interventions import plan_sites
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    >>> [site.targets for site in plan_sites(dag, 4)]
    [(), ('B',), ('C',), ('B',)]
    >>> [site.kind for site in plan_sites(dag, 4, intervention="mixed")]
    ['none', 'structural', 'parametric', 'structural']
    """
    rankings: dict[Kind, tuple[str, ...]] = {
        "none": (),
        "structural": structural_targets(dag, stream(seed, Purpose.STRUCTURAL_TARGETS)),
        "parametric": parametric_targets(dag, stream(seed, Purpose.PARAMETRIC_TARGETS)),
    }
    plans = []
    used: dict[Kind, int] = {"none": 0, "structural": 0, "parametric": 0}
    for site in range(clients):
        kind = _kind(intervention, site)
        ranking = rankings[kind]
        count = min(targets_per_client, len(ranking))
        targets = tuple(ranking[(used[kind] + i) % len(ranking)] for i in range(count))
        used[kind] += count
        removed = {}
        if kind == "structural":
            rng = stream(seed, Purpose.REMOVAL, site)
            removed = {target: removed_parents(dag, target, removal, rng) for target in targets}
        plans.append(SiteIntervention(kind if targets else "none", targets, removed))
    return plans


def _kind(intervention: Intervention, site: int) -> Kind:
    if site == 0:
        return "none"
    if intervention == "mixed":
        return "structural" if site % 2 else "parametric"
    return intervention
