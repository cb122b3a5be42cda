"""Effects of one variable on another: at each site, pooled over sites, and over the possible DAGs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...graph import bits
from ...graph.adjustment import causal_nodes, is_adjustment_set, optimal_set
from ...graph.order import descendants
from .dags import Directions, WeighedDag
from .moments import Moments
from .policies import Policies
from .pooling import pool
from .records import COMMON, Effect, Estimate
from .regression import Fit, regress


class _Option(NamedTuple):
    """One way to compute an effect: the adjustment set (None if there is no effect), the DAG, and its probability."""

    given: int | None
    dag: WeighedDag
    weight: float


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of any variable on any other.

    Parameters
    ----------
    moments : Moments
        What the sites said.
    dags : tuple of WeighedDag
        The possible DAGs, the most probable first.
    directions : mapping
        The probability of each arrow.
    policies : Policies
        Sites where a policy removed the influence of a cause.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.methods.effects.dags import probable_dags
    >>> sim = fp.simulate(fp.PDAG.from_edges([("dose", "pain")]), clients=3, samples=1000, intervention="none", seed=1)
    >>> moments = Moments.of([fp.Summary.of(table) for table in sim.sites])
    >>> effects = Effects(moments, probable_dags(sim.dag, sim.dag, {}, moments), {}, Policies.of(moments, []))
    >>> common = effects.of("dose", "pain")[-1]
    >>> bool(common.total.low < sim.weights[0][0, 1] < common.total.high)
    True
    """

    moments: Moments
    dags: tuple[WeighedDag, ...]
    directions: Directions
    policies: Policies
    _fits: dict[tuple[int, int, int], list[Fit]] = field(default_factory=dict, repr=False)

    def of(self, cause: str, effect: str) -> list[Effect]:
        """Compute the effect of one variable on another: a row per site and level, then the pooled ones."""
        x, y = self.index(cause), self.index(effect)
        if x == y:
            raise InputError(f"cause and effect are both {cause!r}: give two variables")
        direct, total = self._direct_options(x, y), self._total_options(x, y)
        left = [self._left_out(direct, x, y, False), self._left_out(total, x, y, True)]
        fits = [[self._fit(x, y, option.given) for option in options] for options in (direct, total)]
        sets = [option.given for option in total if option.given is not None]
        adjustment, *others = [tuple(self.moments.names[i] for i in bits.members(given)) for given in sets or [0]]
        path = sum(option.weight for option in total if option.given is not None)
        places = [*(site.site for site in self.moments.sites), COMMON]
        levels = [self.moments.levels[i] or ("",) * len(self.moments.blocks[i]) for i in (x, y)]
        rows = []
        for k, place in enumerate(places):
            for i, cause_level in enumerate(levels[0]):
                for j, effect_level in enumerate(levels[1]):
                    here = [_over_dags(*both, k, i, j) for both in zip(fits, left, strict=True) if both[0]]
                    rows.append(
                        Effect(
                            cause,
                            cause_level,
                            effect,
                            effect_level,
                            place,
                            self.directions.get((cause, effect), np.nan),
                            here[0] if direct else None,
                            here[-1],
                            path,
                            adjustment,
                            len(total) > 1,
                            self.unit(x, y),
                            self._note(place, k, left, here[-1]),
                            k == len(self.moments.sites),
                            tuple(others),
                        )
                    )
        return rows

    def unit(self, cause: int, effect: int) -> str:
        """Describe the unit of the numbers."""
        moments = self.moments
        cause_name, effect_name = (
            f"{moments.names[i]} = {moments.levels[i][0]}" if len(moments.levels[i]) == 1 else moments.names[i]
            for i in (cause, effect)
        )
        what = f"probability of {effect_name}" if moments.shares[effect] else effect_name
        if moments.levels[cause]:
            return f"{what}, {cause_name} against the first level"
        if moments.shares[cause]:
            return f"{what}, {cause_name} 1 against 0"
        return f"{what} per unit of {cause_name}"

    def pairs(self) -> list[tuple[str, str]]:
        """List pairs with a directed path in at least one DAG, in the order of the variables."""
        names = self.moments.names
        found = []
        for i, a in enumerate(names):
            below = 0
            for dag in self.dags:
                below |= descendants(dag.children, 1 << i)
            found += [(a, b) for j, b in enumerate(names) if i != j and below >> j & 1]
        return found

    def index(self, name: str) -> int:
        """Return the position of a variable; an unknown name is an error that lists the known ones."""
        if name not in self.moments.names:
            raise InputError(f"unknown variable {name!r}; known: {', '.join(self.moments.names)}")
        return self.moments.names.index(name)

    def _direct_options(self, x: int, y: int) -> list[_Option]:
        """List the sets of other parents of the effect, over the DAGs with the arrow."""
        found: dict[int, _Option] = {}
        for dag in self.dags:
            if dag.parents[y] >> x & 1:
                given = dag.parents[y] & ~(1 << x)
                seen = found.get(given)
                found[given] = _Option(given, dag, dag.weight) if seen is None else _more(seen, dag.weight)
        return sorted(found.values(), key=lambda option: -option.weight)

    def _total_options(self, x: int, y: int) -> list[_Option]:
        """Choose adjustment sets so that each DAG has a valid one; a DAG without a directed path implies no effect."""
        found: list[_Option] = []
        for dag in self.dags:
            best = optimal_set(dag.parents, dag.children, x, y)
            for at, option in enumerate(found):
                given = option.given
                if given is None or best is None:
                    serves = given == best
                else:
                    serves = given == best or is_adjustment_set(dag.parents, dag.children, x, y, given)
                if serves:
                    found[at] = _more(option, dag.weight)
                    break
            else:
                found.append(_Option(best, dag, dag.weight))
        return sorted(found, key=lambda option: -option.weight)

    def _left_out(self, options: Sequence[_Option], x: int, y: int, paths: bool) -> list[list[str]]:
        """Say, for every option and site, why the site is left out of the pooled effect; empty if it is not."""
        names = self.moments.names
        out = []
        for option in options:
            causal = causal_nodes(option.dag.parents, option.dag.children, x, y)
            out.append(
                [
                    self.policies.why_on_paths(site.site, names, option.dag, x, causal)
                    if paths
                    else self.policies.why(site.site, names[x], names[y])
                    for site in self.moments.sites
                ]
            )
        return out

    def _fit(self, x: int, y: int, given: int | None) -> list[Fit] | None:
        if given is None:
            return None
        if (x, y, given) not in self._fits:
            blocks = self.moments.blocks
            adjust = [column for i in bits.members(given) for column in blocks[i]]
            self._fits[x, y, given] = [regress(site, blocks[x], adjust, blocks[y]) for site in self.moments.sites]
        return self._fits[x, y, given]

    def _note(self, place: str, k: int, left: Sequence[Sequence[Sequence[str]]], total: Estimate) -> str:
        if k == len(self.moments.sites):
            return ""
        words = [one[0][k] for one in left if one and one[0][k]]
        if words:
            return f"{words[0]} at {place}: not part of the pooled effect"
        return "" if np.isfinite(total.value) else f"{place} gives no estimate: the cause does not vary enough there"


def _more(option: _Option, weight: float) -> _Option:
    return option._replace(weight=option.weight + weight)


def _one_option(fits: Sequence[Fit] | None, left_out: Sequence[str], k: int, i: int, j: int) -> Estimate:
    """Estimate an effect with one adjustment set, at site k or pooled (after the last site), for levels i and j.

    Without fits there is no effect, which is certain if the DAG is right.
    """
    if fits is None:
        return Estimate(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.nan, np.nan, 0)
    if k < len(fits):
        fit = fits[k]
        value, error, half = float(fit.estimate[i, j]), float(fit.error[i, j]), float(fit.half[i, j])
        tau = share = np.nan
        sites = int(not left_out[k])
    else:
        kept = [fit for fit, why in zip(fits, left_out, strict=True) if not why]
        values = np.array([(fit.estimate[i, j], fit.error[i, j], fit.half[i, j]) for fit in kept]).reshape(-1, 3)
        value, error, half, tau, share, sites = pool(*values.T)
    return Estimate(value, error, value - half, value + half, value, value, tau, share, sites)


def _over_dags(
    fits: Sequence[Sequence[Fit] | None], left_out: Sequence[Sequence[str]], k: int, i: int, j: int
) -> Estimate:
    """Estimate an effect with the first adjustment set, with a range over all of them."""
    options = [_one_option(*both, k, i, j) for both in zip(fits, left_out, strict=True)]
    known = [one for one in options if np.isfinite(one.value)]
    if not known or len(options) == 1:
        return options[0]
    return options[0]._replace(
        low=min(one.low for one in known),
        high=max(one.high for one in known),
        least=min(one.least for one in known),
        most=max(one.most for one in known),
    )
