"""Simulated sites: one true DAG, unknown interventions, and tables drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..graph.interventions import mutilate
from ..graph.pdag import PDAG
from .arguments import Arguments, Sharing, check_arguments
from .dags import GraphModel
from .interventions.plan import Intervention, plan_sites
from .interventions.targets import Removal
from .mechanisms import Mechanism, MechanismModel, Noise, draw_noise, generate
from .models import hidden_variables, induced, make_recording, site_mechanism, true_dag
from .recording import Recording, table
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
    shared_mechanisms: Sharing = True,
    discretize: int | None = None,
    graph: GraphModel = "erdos-renyi",
    targets_per_client: int = 1,
    weights: tuple[float, float] = (0.1, 1.0),
    shift: float = 1.0,
    scale: float | None = None,
    noise_levels: tuple[float, float] = (1.0, 1.0),
    units: tuple[float, float] | None = None,
    drift: float = 0.0,
    policies: int | None = None,
    observational: bool = True,
    hidden: int = 0,
    measurement_error: float = 0.0,
    seed: int = 0,
) -> Simulation:
    """Simulate sites whose truth is known, as in the experiments of the paper.

    The same seed gives the same simulation. The graph depends only on the variables, `edges`, `graph`,
    `shield_colliders` and the seed. The data of a site do not depend on the number of sites after it or on the others'
    sizes, and a smaller table is the beginning of a larger one.

    Parameters
    ----------
    variables : int, list of str, or PDAG
        How many variables (named X0, X1, ...), their names, or a ready DAG, which is taken as it is.
    clients : int
        Number of sites. Site 0 is observational, unless `observational` is False.
    samples : int or sequence of int
        Rows of every site, or one number for each.
    edges : float, optional
        Expected number of edges, before shielding. If not given, one per variable (or all pairs, if there are fewer).
    shield_colliders : bool
        Whether to join the two parents of every v-structure of the random DAG by a further edge. Such colliders
        can be oriented only with the help of interventions.
    intervention : str
        What is done at sites 1, 2, ...

        - ``"structural"``: edges into the target are removed. Targets that turn a shielded collider into a v-structure
          come first, then others that have parents, then all again.
        - ``"parametric"``: the target's weights are redrawn and its noise scale changes by a factor of 1.5 to 3, up or
          down. Targets with parents come first, then those without.
        - ``"mixed"``: structural and parametric sites in turn.
        - ``"strengths"``: the weights of all edges into the target are redrawn, each at least half of the largest
          weight away from the old one; the noise stays. Targets have parents.
        - ``"shift"``: the target's mean moves, see `shift`. Any variable.
        - ``"scale"``: the target's noise scale changes, see `scale`. Any variable.
        - ``"varied"``: each target draws one of: all edges removed, some but not all removed, strengths, shift, scale;
          what its number of parents allows. Any variable.
        - ``"none"``: nothing.
    removal : "all" or "some"
        Whether a structural target loses all incoming edges or a random non-empty subset; where subsets exist that
        create a v-structure, it is one of those.
    mechanism : "linear" or "nonlinear"
        Non-linear: each edge draws tanh, sin or the square, applied to the parent divided by its root mean square
        in a reference sample; the square is cut at three of them. So values stay within nine times the sum of the
        weights, plus noise.
    noise : "gaussian", "uniform" or "student"
        Distribution of the noise; its variance is 1. Student's has 4 degrees of freedom: heavy tails.
    shared_mechanisms : bool or "nothing"
        True: all sites have the same mechanisms, except for interventions. False: each draws its own weights and
        functions. "nothing": each draws its own weights, functions, noise levels and means; the levels from
        `noise_levels` (from half to twice the level, if that is a single one), the means with a standard deviation of
        one noise level.
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
    shift : float
        How far a mean moves where an intervention shifts it, in standard deviations of the variable's noise; up or
        down, at random.
    scale : float, optional
        Factor of the noise's standard deviation where an intervention changes it. If not given, 2 or 1/2, at random.
    noise_levels : (low, high)
        Every variable has its own standard deviation of the noise, log-uniform in this range, the same at all sites.
    units : (low, high), optional
        Every column is multiplied by its own constant, log-uniform in this range, and gets its own offset, of at most
        five times that constant; the same at all sites. Weights, means and noise scales of the result are those before
        the change of units.
    drift : float
        How much sites differ without any intervention: at every site each weight and each noise scale is multiplied by
        exp(drift N), and each mean moves by drift N noise scales, with standard normal draws N.
    policies : int, optional
        How many different interventions there are. Sites take them in turn, with the same targets and the same
        parameters. If not given, every site has its own.
    observational : bool
        Whether site 0 is left as it is; if not, it is intervened on as the others are.
    hidden : int
        How many variables are left out of the tables, chosen at random among those with two children or more: hidden
        common causes. Fewer where the DAG has fewer. They are not targets. `Simulation.full_dag` still has them;
        `Simulation.dag` is the rest of the DAG without them, edges between observed variables only.
    measurement_error : float
        Independent Gaussian noise is added to every column: this share of the column's standard deviation in the
        reference sample of site 0's model, the same at all sites.
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
    >>> shifted = fp.simulate(4, clients=4, samples=10, intervention="shift", policies=1)
    >>> shifted.groups[shifted.targets[1][0]]
    ((0,), (1, 2, 3))
    """
    return _simulated(check_arguments(locals()))


def _simulated(given: Arguments) -> Simulation:
    dag = true_dag(given)
    unseen = hidden_variables(dag, given.hidden, given.seed)
    plans = plan_sites(
        dag,
        given.clients,
        intervention=given.intervention,
        removal=given.removal,
        targets_per_client=given.targets_per_client,
        policies=given.policies,
        observational=given.observational,
        hidden=unseen,
        seed=given.seed,
    )
    site_dags = [mutilate(dag, plan.removed) if plan.removed else dag for plan in plans]
    reference = draw_noise(stream(given.seed, Purpose.REFERENCE), REFERENCE_ROWS, len(given.names), given.noise)
    mechanisms = [site_mechanism(given, dag, plan, site_dags[k], reference, k) for k, plan in enumerate(plans)]
    recording = make_recording(given, unseen, generate(mechanisms[0], reference))
    seen = induced(dag, unseen)
    return Simulation(
        sites=[_table(given, mechanism, recording, k) for k, mechanism in enumerate(mechanisms)],
        dag=seen,
        full_dag=dag,
        client_dags=[seen if site_dag is dag else induced(site_dag, unseen) for site_dag in site_dags],
        targets=tuple(plan.targets for plan in plans),
        kinds=tuple(plan.kind for plan in plans),
        changes=tuple(plan.changes for plan in plans),
        mechanisms=tuple(mechanisms),
        recording=recording,
        bins=recording.bins,
        config=given.config(),
    )


def _table(given: Arguments, mechanism: Mechanism, recording: Recording, site: int) -> pd.DataFrame:
    noise = draw_noise(stream(given.seed, Purpose.NOISE, site), given.samples[site], len(given.names), given.noise)
    return table(recording, generate(mechanism, noise), stream(given.seed, Purpose.MEASUREMENT, site))
