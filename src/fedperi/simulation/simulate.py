"""Simulated sites: one true DAG, interventions that nobody wrote down, and tables drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph.interventions import mutilate
from ..graph.pdag import PDAG
from .arguments import Arguments, check_arguments
from .dags import GraphModel, random_dag, random_order
from .dags import shield_colliders as shielded
from .interventions import Intervention, Removal, SiteIntervention, plan_sites
from .mechanisms import Matrix, Mechanism, MechanismModel, Noise, calibrate, draw_noise, generate
from .parameters import draw_mechanism, redraw, restrict
from .result import Simulation
from .streams import Purpose, stream

if TYPE_CHECKING:
    import pandas as pd

# Rows of the reference sample, which gives non-linear models their input scales and bins their range: the paper's
# sample size, so that bins are about what cutting the range of a site's own data would give.
REFERENCE_ROWS = 1000


def simulate(
    variables: int | Sequence[str] | PDAG,
    clients: int,
    samples: int | Sequence[int],
    *,
    edges: float | None = None,
    shield_colliders: bool = True,
    intervention: Intervention = "structural",
    removal: Removal = "all",
    mechanism: MechanismModel = "linear",
    noise: Noise = "gaussian",
    shared_mechanisms: bool = True,
    discretize: int | None = None,
    graph: GraphModel = "erdos-renyi",
    targets_per_client: int = 1,
    weights: tuple[float, float] = (0.1, 1.0),
    seed: int = 0,
) -> Simulation:
    """Simulate sites whose truth is known, as in the experiments of the paper.

    One seed gives one simulation. The graph depends on nothing but the variables, `edges`, `graph`, `shield_colliders`
    and the seed. The data of a site do not depend on how many sites come after it or on the others' sizes, and fewer
    rows are the beginning of more.

    Parameters
    ----------
    variables : int, list of str, or PDAG
        How many variables (named X0, X1, ...), their names, or a ready DAG, which is taken as it is.
    clients : int
        Number of sites. Site 0 is observational.
    samples : int or sequence of int
        Rows of every site, or one number for each.
    edges : float, optional
        Expected number of edges, before shielding. If not given, one a variable (or all pairs, if there are fewer).
    shield_colliders : bool
        Whether to join the two parents of every v-structure of the random DAG by a further edge. Such colliders
        can be oriented only with the help of interventions.
    intervention : "structural", "parametric", "mixed" or "none"
        What is done at sites 1, 2, ...: edges into the target are removed; or its weights are redrawn and its noise
        scale is changed by a factor of 1.5 to 3, up or down; or alternately one and the other. Structural targets
        that turn a shielded collider into a v-structure come first, then others that have parents, then all
        again. Parametric targets: those with parents first, then those without.
    removal : "all" or "some"
        Whether a structural target loses all incoming edges or a random non-empty subset; where subsets exist that
        create a v-structure, it is one of those.
    mechanism : "linear" or "nonlinear"
        Non-linear: each edge draws tanh, sin or the square, applied to the parent divided by its root mean square
        in a reference sample; the square is cut at three of them. So values stay within nine times the sum of the
        weights, plus noise.
    noise : "gaussian" or "uniform"
        Distribution of the noise; its variance is 1.
    shared_mechanisms : bool
        Whether all sites have the same weights and functions (but for interventions), or each draws its own.
    discretize : int, optional
        Cut every variable into this many bins of equal width and return their numbers, from 0. The range is
        that of the variable in the reference sample of site 0's model, the same for all sites; values outside it
        go to the outer bins.
    graph : "erdos-renyi" or "scale-free"
        How the DAG is drawn, see `fedperi.simulation.dags.random_dag`.
    targets_per_client : int
        Targets at each intervened site; fewer where the DAG has fewer that qualify.
    weights : (low, high)
        Range of the absolute weights; signs are random.
    seed : int
        Not negative.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(8, clients=4, samples=1000, seed=0)
    >>> sim
    Simulation(8 variables, ...
    >>> [site.shape for site in sim.sites]
    [(1000, 8), (1000, 8), (1000, 8), (1000, 8)]
    >>> fp.simulate(["age", "dose"], clients=1, samples=3, discretize=5).sites[0].columns.tolist()
    ['age', 'dose']
    """
    given = check_arguments(locals())
    dag = _true_dag(given)
    plans = plan_sites(
        dag,
        given.clients,
        intervention=given.intervention,
        removal=given.removal,
        targets_per_client=given.targets_per_client,
        seed=given.seed,
    )
    client_dags = [mutilate(dag, plan.removed) if plan.removed else dag for plan in plans]
    reference = draw_noise(stream(given.seed, Purpose.REFERENCE), REFERENCE_ROWS, len(given.names), given.noise)
    mechanisms = [_site_mechanism(given, dag, plan, client_dags[k], reference, k) for k, plan in enumerate(plans)]
    bins = None if given.discretize is None else _bins(generate(mechanisms[0], reference))
    return Simulation(
        sites=[_table(given, site_mechanism, bins, k) for k, site_mechanism in enumerate(mechanisms)],
        dag=dag,
        client_dags=client_dags,
        targets=tuple(plan.targets for plan in plans),
        kinds=tuple(plan.kind for plan in plans),
        mechanisms=tuple(mechanisms),
        bins=bins,
        config=given.config(),
    )


def _true_dag(given: Arguments) -> PDAG:
    if given.dag is not None:
        return given.dag
    rng = stream(given.seed, Purpose.GRAPH)
    order = random_order(given.names, rng)
    dag = random_dag(given.names, order, given.expected_edges, rng, given.graph)
    return shielded(dag, order) if given.shield_colliders else dag


def _site_mechanism(
    given: Arguments, dag: PDAG, plan: SiteIntervention, client_dag: PDAG, reference: Matrix, site: int
) -> Mechanism:
    nonlinear = given.mechanism == "nonlinear"
    rng = stream(given.seed, Purpose.MECHANISM, 0 if given.shared_mechanisms else site)
    mechanism = draw_mechanism(dag, rng, weights=given.weights, nonlinear=nonlinear)
    if nonlinear:
        mechanism = calibrate(mechanism, reference)
    if plan.kind == "structural":
        return restrict(mechanism, client_dag)
    if plan.kind == "parametric":
        targets = [dag.index(name) for name in plan.targets]
        return redraw(mechanism, targets, stream(given.seed, Purpose.PARAMETERS, site), weights=given.weights)
    return mechanism


def _table(
    given: Arguments, mechanism: Mechanism, bins: tuple[tuple[float, float], ...] | None, site: int
) -> pd.DataFrame:
    import pandas as pd

    rng = stream(given.seed, Purpose.NOISE, site)
    values = generate(mechanism, draw_noise(rng, given.samples[site], len(given.names), given.noise))
    if bins is None or given.discretize is None:
        return pd.DataFrame(values, columns=list(given.names))
    return pd.DataFrame(_cut(values, bins, given.discretize), columns=list(given.names))


def _bins(values: Matrix) -> tuple[tuple[float, float], ...]:
    return tuple((float(column.min()), float(column.max())) for column in values.T)


def _cut(values: Matrix, bins: tuple[tuple[float, float], ...], count: int) -> NDArray[np.int64]:
    low, high = np.array(bins).T
    shares = np.clip((values - low) / (high - low), 0.0, 1.0)
    # The upper end of the range belongs to the last bin.
    codes: NDArray[np.int64] = np.minimum(np.floor(shares * count), count - 1).astype(np.int64)
    return codes
