"""Plan the interventions: which sites, which targets, which changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...graph.pdag import PDAG
from ..streams import Purpose, stream
from .targets import Removal, any_targets, parametric_targets, removed_parents, structural_targets

Kind = Literal["none", "structural", "parametric", "strengths", "shift", "scale", "varied"]
Intervention = Literal["structural", "parametric", "mixed", "strengths", "shift", "scale", "varied", "none"]
Change = Literal["cut", "some cut", "parametric", "strengths", "shift", "scale"]


@dataclass(frozen=True)
class SiteIntervention:
    """The intervention at one site.

    Parameters
    ----------
    kind : str
        The kind of intervention at this site; "varied" if each target has its own change.
    targets : tuple of str
        The variables whose mechanism is changed.
    removed : mapping of str to tuple of str
        The parents that each target loses, if any.
    changes : mapping of str to str
        The change of each target.
    policy : int
        Number of the intervention, 0 for none. Sites with the same number have the same intervention.

    Examples
    --------
    >>> SiteIntervention("structural", ("B",), {"B": ("A",)}).removed["B"]
    ('A',)
    """

    kind: Kind = "none"
    targets: tuple[str, ...] = ()
    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changes: Mapping[str, Change] = field(default_factory=dict)
    policy: int = 0


def plan_sites(
    dag: PDAG,
    clients: int,
    *,
    intervention: Intervention = "structural",
    removal: Removal = "all",
    targets_per_client: int = 1,
    policies: int | None = None,
    observational: bool = True,
    hidden: Collection[str] = (),
    seed: int = 0,
) -> list[SiteIntervention]:
    """Choose the intervention of every site.

    Intervened sites take the next targets from the ranking of their kind, which starts again when it is used up.
    A site never has a target twice: if the ranking is shorter than `targets_per_client`, it gets all of it, and if
    it is empty the site stays observational.

    Parameters
    ----------
    dag : PDAG
        The true DAG.
    clients : int
        Number of sites.
    hidden : collection of str
        Variables that cannot be targets.
    intervention, removal, targets_per_client, policies, observational, seed
        See `fedperi.simulate`. Mixed sites alternate, beginning with a structural one.

    Examples
    --------
    >>> import fedperi as fp
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    >>> [site.targets for site in plan_sites(dag, 4)]
    [(), ('B',), ('C',), ('B',)]
    >>> [site.kind for site in plan_sites(dag, 4, intervention="mixed")]
    ['none', 'structural', 'parametric', 'structural']
    >>> [site.policy for site in plan_sites(dag, 5, policies=2)]
    [0, 1, 2, 1, 2]
    """
    numbers = [_policy(site, policies, observational) for site in range(clients)]
    kinds = [_kind(intervention, policy) for policy in range(max(numbers) + 1)]
    rankings = {
        kind: tuple(name for name in _ranking(dag, kind, seed) if name not in hidden) for kind in sorted(set(kinds))
    }
    used = dict.fromkeys(rankings, 0)
    plans = []
    for policy, kind in enumerate(kinds):
        ranking = rankings[kind]
        count = min(targets_per_client, len(ranking))
        targets = tuple(ranking[(used[kind] + i) % len(ranking)] for i in range(count))
        used[kind] += count
        plans.append(_plan(dag, kind, targets, removal, policy, seed) if targets else SiteIntervention())
    return [plans[number] for number in numbers]


def _policy(site: int, policies: int | None, observational: bool) -> int:
    number = site if observational else site + 1
    return number if policies is None or number == 0 else 1 + (number - 1) % policies


def _kind(intervention: Intervention, policy: int) -> Kind:
    if policy == 0:
        return "none"
    if intervention == "mixed":
        return "structural" if policy % 2 else "parametric"
    return intervention


def _ranking(dag: PDAG, kind: Kind, seed: int) -> tuple[str, ...]:
    if kind == "none":
        return ()
    if kind == "structural":
        return structural_targets(dag, stream(seed, Purpose.STRUCTURAL_TARGETS))
    if kind == "parametric":
        return parametric_targets(dag, stream(seed, Purpose.PARAMETRIC_TARGETS))
    return any_targets(dag, stream(seed, Purpose.TARGETS), with_parents=kind == "strengths")


def _plan(
    dag: PDAG, kind: Kind, targets: tuple[str, ...], removal: Removal, policy: int, seed: int
) -> SiteIntervention:
    rng = stream(seed, Purpose.REMOVAL, policy)
    removed: dict[str, tuple[str, ...]] = {}
    if kind == "structural":
        removed = {target: removed_parents(dag, target, removal, rng) for target in targets}
        changes: dict[str, Change] = {
            target: "cut" if lost == dag.parents(target) else "some cut" for target, lost in removed.items()
        }
    elif kind == "varied":
        draws = stream(seed, Purpose.CHANGES, policy)
        changes = {target: _any_change(dag, target, draws) for target in targets}
        removed = {target: dag.parents(target) for target in targets if changes[target] == "cut"}
        removed |= {target: _some_parents(dag, target, rng) for target in targets if changes[target] == "some cut"}
    else:
        same: Change = "parametric" if kind == "none" else kind  # a site without intervention has no targets
        changes = dict.fromkeys(targets, same)
    return SiteIntervention(kind, targets, removed, changes, policy)


def _any_change(dag: PDAG, target: str, rng: np.random.Generator) -> Change:
    """Draw one of the changes that the target's number of parents allows, each with the same probability."""
    possible: tuple[Change, ...] = ("shift", "scale", "cut", "strengths", "some cut")
    return possible[int(rng.integers((2, 4, 5)[min(len(dag.parents(target)), 2)]))]


def _some_parents(dag: PDAG, target: str, rng: np.random.Generator) -> tuple[str, ...]:
    """Draw some of the parents, but not all."""
    parents = dag.parents(target)
    while True:
        lost = removed_parents(dag, target, "some", rng)
        if lost != parents:
            return lost
