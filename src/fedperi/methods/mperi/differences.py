"""What each site does differently: groups of sites with the same mechanism, compared with the largest group.

The summaries show, for every variable, which sites share its mechanism. They do not show which group has "the policy":
the largest group is called the usual one, and all others are compared with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from ...graph import PDAG, bits
from ...scores.mechanisms import USUAL, Mechanisms
from ...scores.mechanisms_numpy import group_score
from ..parts import Difference, Groups
from .bends import explained_by_curves
from .changes import simplest_change
from .constants import constant_evidence
from .wording import describe

MOST_SUBSETS = 10
"""Largest number of parents for which all subsets are tried, to find on which of them a group does not depend."""

LEAST_EVIDENCE = 2.0
"""Smallest evidence of a reported difference, in nats."""


def find_differences(
    mechanisms: Mechanisms, dag: Sequence[int], curved: Mechanisms | None = None, graph: PDAG | None = None
) -> tuple[list[Groups], list[Difference]]:
    """Describe every variable of a DAG: groups of sites, and how sites outside the largest group differ.

    Parameters
    ----------
    mechanisms : Mechanisms
        The sites.
    dag : sequence of int
        Parents of every variable, as bit sets.
    curved : Mechanisms, optional
        The sites with polynomials of numbers. A site does not count as different if it is like the others when effects
        may be curved: a straight line fitted to a curve changes with the patients.
    graph : PDAG, optional
        The reported graph. The text of a difference says which of its causes have an open edge in it.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> truth = fp.PDAG.from_edges([("age", "weight")])
    >>> sim = fp.simulate(truth, clients=3, samples=1000, weights=(0.5, 1.0), seed=1)
    >>> hospitals = dict(zip(["Brest", "Lyon", "Metz"], sim.sites))
    >>> groups, differences = find_differences(Mechanisms(summaries(hospitals)), [0b00, 0b01])
    >>> groups[1].groups
    (('Lyon', 'Metz'), ('Brest',))
    >>> differences[0].kind
    'strengths'
    """
    groups, found = [], []
    for node, into in enumerate(dag):
        undecided = graph.neighbors(mechanisms.names[node]) if graph is not None else ()
        some, described = _one_variable(mechanisms, node, tuple(bits.members(into)), curved, undecided)
        groups.append(some)
        found += described
    return groups, sorted(found, key=lambda one: (mechanisms.sites.index(one.site), -one.evidence))


@dataclass(frozen=True)
class _Fit:
    """A group of sites that share a mechanism, and the parents on which this mechanism depends."""

    sites: tuple[int, ...]
    parents: tuple[int, ...]
    score: float


def _one_variable(
    mechanisms: Mechanisms,
    node: int,
    parents: tuple[int, ...],
    curved: Mechanisms | None,
    undecided: Collection[str],
) -> tuple[Groups, list[Difference]]:
    names, sites = mechanisms.names, mechanisms.sites
    constant = [k for k in range(len(sites)) if mechanisms.constant[k, node]]
    labels, tau = mechanisms.groups(node, parents)
    start = [
        tuple(k for k in range(len(sites)) if labels[k] == label and k not in constant)
        for label in range(int(labels.max()) + 1)
    ]
    fits = [_fit(mechanisms, node, parents, group, tau) for group in start if group]
    fits = _joined(mechanisms, node, fits, tau, parents)
    # The largest group is the usual one; of two equally large ones, that with more rows, which is known more precisely.
    fits.sort(key=lambda fit: (-len(fit.sites), -float(mechanisms.n[list(fit.sites)].sum()), fit.sites))
    if alike := _alike_if_curved(mechanisms, node, parents, fits, tau, curved):
        rest = [tuple(k for k in fit.sites if k not in alike) for fit in fits[1:]]
        usual = tuple(sorted({*fits[0].sites, *alike}))
        fits = [_fit(mechanisms, node, parents, group, tau) for group in [usual, *rest] if group]
    found = []
    for k in constant:
        evidence, words = constant_evidence(mechanisms, node, k), f"At {sites[k]}, {names[node]} has one value only."
        if evidence >= LEAST_EVIDENCE:  # otherwise a rare level, which a small site may lack by chance
            found.append(Difference(sites[k], names[node], "constant", evidence, words))
    for other in fits[1:]:
        found += _describe_group(mechanisms, node, parents, fits[0], other, tau, undecided)
    groups = tuple(tuple(sites[k] for k in fit.sites) for fit in fits)
    return Groups(names[node], groups, tuple(sites[k] for k in constant)), found


def _alike_if_curved(
    mechanisms: Mechanisms,
    node: int,
    parents: tuple[int, ...],
    fits: Sequence[_Fit],
    tau: float,
    curved: Mechanisms | None,
) -> set[int]:
    """Find sites outside the usual group that share its mechanism if effects may be curved."""
    if len(fits) < 2:
        return set()
    usual, others = fits[0].sites, [k for fit in fits[1:] for k in fit.sites]
    if curved is not None:
        labels = curved.groups(node, parents)[0].tolist()
        common = Counter(labels[k] for k in usual).most_common(1)[0][0]
        return {k for k in others if labels[k] == common}
    if any(summary.private for summary in mechanisms.summaries):
        return explained_by_curves(mechanisms, node, parents, usual, others, tau, LEAST_EVIDENCE + USUAL.own)
    return set()


def _fit(mechanisms: Mechanisms, node: int, parents: tuple[int, ...], sites: tuple[int, ...], tau: float) -> _Fit:
    """Fit a group with all parents, some, or none: the best of these."""
    options = [(parents, USUAL.own)] + ([((), USUAL.cut)] if parents else [])
    if len(parents) <= MOST_SUBSETS:
        options += [(some, USUAL.some) for size in range(1, len(parents)) for some in combinations(parents, size)]
    scored = [(group_score(mechanisms, node, used, sites, tau) - price, used) for used, price in options]
    score, used = max(scored, key=lambda one: one[0])
    return _Fit(sites, used, score)


def _joined(mechanisms: Mechanisms, node: int, fits: list[_Fit], tau: float, parents: tuple[int, ...]) -> list[_Fit]:
    """Join groups that are better explained together, such as those that do not depend on the same parents."""
    fits = list(fits)
    while len(fits) > 1:
        pairs = [
            (_fit(mechanisms, node, parents, tuple(sorted(a.sites + b.sites)), tau), a, b)
            for a, b in combinations(fits, 2)
        ]
        joint, a, b = max(pairs, key=lambda pair: pair[0].score - pair[1].score - pair[2].score)
        if joint.score - a.score - b.score <= -LEAST_EVIDENCE:
            break
        fits = [fit for fit in fits if fit is not a and fit is not b] + [joint]
    return fits


def _describe_group(
    mechanisms: Mechanisms,
    node: int,
    parents: tuple[int, ...],
    usual: _Fit,
    other: _Fit,
    tau: float,
    undecided: Collection[str],
) -> list[Difference]:
    together = _fit(mechanisms, node, parents, tuple(sorted(usual.sites + other.sites)), tau)
    evidence = usual.score + other.score - together.score
    change = simplest_change(mechanisms, node, parents, usual.sites, other.sites)
    share = evidence / len(other.sites)
    return [
        Difference(
            mechanisms.sites[k],
            mechanisms.names[node],
            change.kind,
            float(share),
            describe(mechanisms.sites[k], mechanisms.names[node], change, undecided),
            change.parents,
        )
        for k in other.sites
    ]
