"""The true DAG of a simulation, its hidden variables, and the structural equations of each site."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..graph.pdag import PDAG
from .arguments import Arguments
from .dags import random_dag, random_order, shield_colliders
from .interventions.changes import change, drifted, log_uniform
from .interventions.plan import SiteIntervention
from .mechanisms import Matrix, Mechanism, calibrate
from .parameters import draw_mechanism, restrict
from .recording import Recording
from .streams import Purpose, stream

# Where sites share nothing and no range of noise levels is given, levels are drawn from half to twice the common one.
OWN_LEVELS = 2.0
# Largest offset of a column with its own unit, in these units: about as large as means of laboratory values.
LARGEST_OFFSET = 5.0


def true_dag(given: Arguments) -> PDAG:
    """Return the given DAG, or draw one."""
    if given.dag is not None:
        return given.dag
    rng = stream(given.seed, Purpose.GRAPH)
    order = random_order(given.names, rng)
    dag = random_dag(given.names, order, given.expected_edges, rng, given.graph)
    return shield_colliders(dag, order) if given.shield_colliders else dag


def hidden_variables(dag: PDAG, count: int, seed: int) -> tuple[str, ...]:
    """Choose common causes to hide: variables with two children or more, as many as there are.

    Examples
    --------
    >>> import fedperi as fp
    >>> hidden_variables(fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")]), 2, seed=0)
    ('A',)
    """
    shuffled = random_order(dag.names, stream(seed, Purpose.HIDDEN))
    chosen = [name for name in shuffled if len(dag.children(name)) >= 2][:count]
    return tuple(name for name in dag.names if name in chosen)


def induced(dag: PDAG, hidden: Collection[str]) -> PDAG:
    """Keep the variables that are not hidden and the edges between them.

    Examples
    --------
    >>> import fedperi as fp
    >>> induced(fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")]), ["A"])
    PDAG('B -> C', names=['B', 'C'])
    """
    if not hidden:
        return dag
    at = [i for i, name in enumerate(dag.names) if name not in hidden]
    return PDAG(dag.adjacency[np.ix_(at, at)], [dag.names[i] for i in at])


def site_mechanism(
    given: Arguments, dag: PDAG, plan: SiteIntervention, client_dag: PDAG, reference: Matrix, site: int
) -> Mechanism:
    """Draw the structural equations of a site: the common ones or its own, then its intervention, then its drift."""
    mechanism = restrict(_without_intervention(given, dag, reference, site), client_dag)
    rng = stream(given.seed, Purpose.PARAMETERS, plan.policy)
    for name in plan.targets:
        mechanism = change(
            mechanism,
            dag.index(name),
            plan.changes[name],
            rng,
            weights=given.weights,
            shift=given.shift,
            scale=given.scale,
        )
    return drifted(mechanism, stream(given.seed, Purpose.DRIFT, site), given.drift) if given.drift else mechanism


def make_recording(given: Arguments, hidden: Collection[str], sample: Matrix) -> Recording:
    """Decide how values become tables; the sample of site 0's model gives bins and errors their scale."""
    observed = tuple(i for i, name in enumerate(given.names) if name not in hidden)
    p = len(given.names)
    units, offsets = np.ones(p), np.zeros(p)
    if given.units is not None:
        rng = stream(given.seed, Purpose.UNITS)
        units = log_uniform(rng, p, given.units)
        offsets = units * rng.uniform(-LARGEST_OFFSET, LARGEST_OFFSET, p)
    seen = sample[:, observed]
    bins = None if given.discretize is None else tuple((float(x.min()), float(x.max())) for x in seen.T)
    return Recording(
        names=tuple(given.names[i] for i in observed),
        observed=observed,
        errors=given.measurement_error * seen.std(axis=0),
        units=units[list(observed)],
        offsets=offsets[list(observed)],
        bins=bins,
        count=given.discretize,
    )


def _without_intervention(given: Arguments, dag: PDAG, reference: Matrix, site: int) -> Mechanism:
    nonlinear = given.mechanism == "nonlinear"
    own = 0 if given.shared_mechanisms is True else site
    mechanism = draw_mechanism(
        dag, stream(given.seed, Purpose.MECHANISM, own), weights=given.weights, nonlinear=nonlinear
    )
    mechanism = _with_noise(given, mechanism, site)
    return calibrate(mechanism, reference) if nonlinear else mechanism


def _with_noise(given: Arguments, mechanism: Mechanism, site: int) -> Mechanism:
    p, (low, high) = len(given.names), given.noise_levels
    if given.shared_mechanisms != "nothing":
        return replace(mechanism, noise_scales=log_uniform(stream(given.seed, Purpose.LEVELS), p, (low, high)))
    bounds = (low, high) if low < high else (low / OWN_LEVELS, high * OWN_LEVELS)
    scales = log_uniform(stream(given.seed, Purpose.LEVELS, site), p, bounds)
    means = stream(given.seed, Purpose.MEANS, site).standard_normal(p) * scales
    return replace(mechanism, noise_scales=scales, means=means)
