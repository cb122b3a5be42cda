"""What each site does differently: groups of sites with the same mechanism, and how the others depart from the largest.

What the summaries identify is, for every variable, which sites share its mechanism. Which group is "the policy" they do
not say: the largest is called the usual way, and all others are described against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...scores.mechanisms import CONSTANT, USUAL, Mechanisms
from ...scores.mechanisms_numpy import own_columns
from ..parts import Difference, Groups, Kind
from .bends import alike_but_for_bends
from .constants import constant_evidence
from .wording import Change, describe

Floats = NDArray[np.float64]

LEAST_EVIDENCE = 2.0
"""Nats that a difference must be worth to be reported."""

MOST_SUBSETS = 10
"""Parents up to which all subsets are tried when a group may be cut off from some of them."""


def find_differences(
    mechanisms: Mechanisms, dag: Sequence[int], curved: Mechanisms | None = None
) -> tuple[list[Groups], list[Difference]]:
    """Describe every variable of a DAG: groups of sites, and how sites outside the largest group differ.

    Parameters
    ----------
    mechanisms : Mechanisms
        The sites.
    dag : sequence of int
        Parents of every variable, as bit sets.
    curved : Mechanisms, optional
        The sites with polynomials beside numbers. A site that is like the others if effects may be curved does not
        differ: straight lines through a curve change with the patients.

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
        some, described = _one_variable(mechanisms, node, tuple(bits.members(into)), curved)
        groups.append(some)
        found += described
    return groups, sorted(found, key=lambda one: (mechanisms.sites.index(one.site), -one.evidence))


@dataclass(frozen=True)
class _Fit:
    """A group of sites that share a mechanism, and the parents that it uses."""

    sites: tuple[int, ...]
    parents: tuple[int, ...]
    score: float


def _one_variable(
    mechanisms: Mechanisms, node: int, parents: tuple[int, ...], curved: Mechanisms | None
) -> tuple[Groups, list[Difference]]:
    names, sites = mechanisms.names, mechanisms.sites
    constant = [k for k in range(len(sites)) if mechanisms.constant[k, node]]
    labels, tau = mechanisms.groups(node, parents)
    start = [
        tuple(k for k in range(len(sites)) if labels[k] == label and k not in constant)
        for label in range(int(labels.max()) + 1)
    ]
    fits = _joined(
        mechanisms, node, [_fit(mechanisms, node, parents, group, tau) for group in start if group], tau, parents
    )
    # The largest group is the usual way; of two as large the one with more rows, which is better known.
    fits.sort(key=lambda fit: (-len(fit.sites), -float(mechanisms.n[list(fit.sites)].sum()), fit.sites))
    if curved is not None and len(fits) > 1:
        fits = _alike_in_curves(mechanisms, node, parents, fits, tau, curved)
    elif len(fits) > 1 and any(summary.private for summary in mechanisms.summaries):
        usual, others = fits[0].sites, [k for fit in fits[1:] for k in fit.sites]
        alike = alike_but_for_bends(mechanisms, node, parents, usual, others, tau, LEAST_EVIDENCE + USUAL.own)
        fits = _with_usual(mechanisms, node, parents, fits, tau, alike)
    found = []
    for k in constant:
        evidence, words = constant_evidence(mechanisms, node, k), f"At {sites[k]}, {names[node]} has one value only."
        if evidence >= LEAST_EVIDENCE:  # else a rare level, which a small site lacks by chance
            found.append(Difference(sites[k], names[node], "constant", evidence, words))
    for other in fits[1:]:
        found += _describe_group(mechanisms, node, parents, fits[0], other, tau)
    groups = tuple(tuple(sites[k] for k in fit.sites) for fit in fits)
    return Groups(names[node], groups, tuple(sites[k] for k in constant)), found


def _alike_in_curves(
    mechanisms: Mechanisms,
    node: int,
    parents: tuple[int, ...],
    fits: list[_Fit],
    tau: float,
    curved: Mechanisms,
) -> list[_Fit]:
    """Take sites into the usual group that share its mechanism if effects may be curved."""
    labels = curved.groups(node, parents)[0].tolist()
    usual = Counter(labels[k] for k in fits[0].sites).most_common(1)[0][0]
    alike = {k for fit in fits[1:] for k in fit.sites if labels[k] == usual}
    return _with_usual(mechanisms, node, parents, fits, tau, alike)


def _with_usual(
    mechanisms: Mechanisms, node: int, parents: tuple[int, ...], fits: list[_Fit], tau: float, alike: set[int]
) -> list[_Fit]:
    """Take some sites into the usual group."""
    if not alike:
        return fits
    rest = [tuple(k for k in fit.sites if k not in alike) for fit in fits[1:]]
    whole = tuple(sorted({*fits[0].sites, *alike}))
    return [_fit(mechanisms, node, parents, sites, tau) for sites in [whole, *rest] if sites]


def _fit(mechanisms: Mechanisms, node: int, parents: tuple[int, ...], sites: tuple[int, ...], tau: float) -> _Fit:
    """Fit a group with all parents, with some of them, or with none: whichever is best."""
    some = (
        [t for size in range(1, len(parents)) for t in combinations(parents, size)]
        if len(parents) <= MOST_SUBSETS
        else []
    )
    options = [(parents, USUAL.own)] + ([((), USUAL.cut)] if parents else []) + [(t, USUAL.some) for t in some]
    scored = [(_pooled_score(mechanisms, node, used, sites, tau) - price, used) for used, price in options]
    score, used = max(scored, key=lambda one: one[0])
    return _Fit(sites, used, score)


def _joined(mechanisms: Mechanisms, node: int, fits: list[_Fit], tau: float, parents: tuple[int, ...]) -> list[_Fit]:
    """Join groups that are better explained together: those that are cut off from the same parents, for example."""
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


def _pooled_score(
    mechanisms: Mechanisms, node: int, parents: tuple[int, ...], sites: tuple[int, ...], tau: float
) -> float:
    """Score a group by definition, as `fedperi.scores.mechanisms` does."""
    from ...scores.mechanisms_numpy import group_score

    return group_score(mechanisms, node, parents, sites, tau)


def _describe_group(
    mechanisms: Mechanisms, node: int, parents: tuple[int, ...], usual: _Fit, other: _Fit, tau: float
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
            describe(mechanisms.sites[k], mechanisms.names[node], change),
            change.parents,
        )
        for k in other.sites
    ]


def simplest_change(
    mechanisms: Mechanisms, node: int, parents: tuple[int, ...], usual: tuple[int, ...], others: tuple[int, ...]
) -> Change:
    """Find the smallest change of the usual mechanism that explains other sites, by BIC.

    Strengths stay, vanish for some parents, or are others; the level stays or is another one; so does the spread. The
    usual mechanism is taken as known.
    """
    before, own = _columns(mechanisms, parents), own_columns(mechanisms, node)
    usual_moments, rows = mechanisms.moments[list(usual)].sum(axis=0), float(mechanisms.n[list(usual)].sum())
    moments, n = mechanisms.moments[list(others)].sum(axis=0), float(mechanisms.n[list(others)].sum())
    strengths, level, spread = _regression(usual_moments, before, own)
    spread /= rows
    best: tuple[float, Change] | None = None
    dropped = list(islice(chain.from_iterable(combinations(parents, size) for size in range(len(parents) + 1)), 1024))
    for how, new_level, new_spread in product([*dropped, None], (False, True), (False, True)):
        if new_spread and not mechanisms.spread[node]:
            continue
        if how is None:
            if not parents:
                continue
            used = _regression(moments, before, own)[0]
        else:
            gone = [before.index(c) for c in _columns(mechanisms, how)]
            used = strengths.copy()
            used[gone] = 0.0
        there = _level(moments, before, own, used) if new_level or how else level
        left = _left(moments, before, own, used, there) / n
        around = left if new_spread or not mechanisms.spread[node] else spread
        likelihood = -0.5 * n * (_log_det(around) + float(np.trace(np.linalg.solve(around, left))))
        counted = (len(before) * len(own) if how is None else 0) + (len(own) if new_level or how else 0)
        counted += len(own) if new_spread else 0
        cost = 0.5 * counted * np.log(n) + (USUAL.some if how and len(how) < len(parents) else 0.0)
        changed = how is None or how or new_level or new_spread
        if changed and (best is None or likelihood - cost > best[0]):
            best = (
                likelihood - cost,
                _change(
                    mechanisms, node, parents, how, new_level, new_spread, used, strengths, there - level, left, spread
                ),
            )
    assert best is not None
    return best[1]


def _change(
    mechanisms: Mechanisms,
    node: int,
    parents: tuple[int, ...],
    how: tuple[int, ...] | None,
    new_level: bool,
    new_spread: bool,
    used: Floats,
    strengths: Floats,
    step: Floats,
    left: Floats,
    spread: Floats,
) -> Change:
    single = len(own_columns(mechanisms, node)) == 1
    unit = float(mechanisms.unit[int(mechanisms.first[node]) - 1])
    kind: Kind = "strengths" if how is None else "cut" if how else "shifted" if new_level else "spread"
    named = tuple(mechanisms.names[j] for j in (parents if how is None else how))
    slopes = None
    if how is None and single and len(parents) == 1 and len(_columns(mechanisms, parents)) == 1:
        per = unit / float(mechanisms.unit[int(mechanisms.first[parents[0]]) - 1])
        slopes = float(used[0, 0]) * per, float(strengths[0, 0]) * per
    return Change(
        kind,
        named,
        tuple(mechanisms.names[j] for j in parents),
        float(step[0]) * unit if single and (new_level or how) else None,
        float(np.sqrt(left[0, 0] / spread[0, 0])) if single and new_spread else None,
        slopes,
        not bool(mechanisms.spread[node]),
    )


def _columns(mechanisms: Mechanisms, variables: Sequence[int]) -> list[int]:
    return [c for v in variables for c in range(int(mechanisms.first[v]), int(mechanisms.first[v + 1]))]


def _regression(moments: Floats, before: list[int], own: list[int]) -> tuple[Floats, Floats, Floats]:
    """Strengths, level and residual sums of squares of columns given others."""
    inside = [0, *before]
    weights = np.linalg.lstsq(moments[np.ix_(inside, inside)], moments[np.ix_(inside, own)], rcond=CONSTANT)[0]
    left = moments[np.ix_(own, own)] - moments[np.ix_(own, inside)] @ weights
    return (
        np.asarray(weights[1:], dtype=np.float64),
        np.asarray(weights[0], dtype=np.float64),
        left + CONSTANT * moments[0, 0] * np.eye(len(own)),
    )


def _level(moments: Floats, before: list[int], own: list[int], strengths: Floats) -> Floats:
    level: Floats = (moments[0, own] - moments[0, before] @ strengths) / moments[0, 0]
    return level


def _left(moments: Floats, before: list[int], own: list[int], strengths: Floats, level: Floats) -> Floats:
    """Sums of squares around what given strengths and a given level predict."""
    weights = np.vstack([level, strengths])
    inside = [0, *before]
    cross = moments[np.ix_(own, inside)] @ weights
    around: Floats = moments[np.ix_(own, own)] - cross - cross.T + weights.T @ moments[np.ix_(inside, inside)] @ weights
    return np.asarray(around + CONSTANT * moments[0, 0] * np.eye(len(own)), dtype=np.float64)


def _log_det(matrix: Floats) -> float:
    return float(np.linalg.slogdet(matrix)[1])
