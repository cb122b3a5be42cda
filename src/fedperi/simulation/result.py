"""The result of a simulation: the tables and their truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..graph.equivalence import cpdag
from ..graph.pdag import PDAG
from ..graph.phi import phi_cpdag
from ..phrases import with_noun
from .covariance import implied_covariance, implied_mean
from .interventions.groups import site_groups
from .interventions.plan import Change, Kind
from .mechanisms import Matrix, Mechanism
from .recording import Recording, recorded_moments

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """Simulated sites and their truth; made by `simulate`.

    Parameters
    ----------
    sites : list of DataFrame
        One table per site; site 0 is observational unless `observational` was False.
    dag : PDAG
        The true DAG over the columns of the tables. If variables are hidden it is what is left of the whole DAG without
        them: the edges between observed variables. A hidden common cause leaves no edge behind.
    full_dag : PDAG
        The DAG over all variables, hidden ones included; `mechanisms`, `weights` and `noise_scales` follow its order.
    client_dags : list of PDAG
        The DAG of each site: the true one, less what interventions removed.
    targets : tuple of tuples of str
        The targets at each site; empty where there is no intervention.
    kinds : tuple of str
        What was done at each site: "none", "structural", "parametric", "strengths", "shift", "scale" or "varied".
    changes : tuple of mappings
        For each site what happened to each target: "cut", "some cut", "parametric", "strengths", "shift" or "scale".
    mechanisms : tuple of Mechanism
        The structural equations of each site, before errors of measurement and units.
    recording : Recording
        How values became tables: hidden variables, errors of measurement, units, bins.
    bins : tuple of (low, high) or None
        Range that was cut into bins of equal width, for each variable; None without discretisation.
    config : dict
        The arguments of `simulate`, in types that JSON knows.

    Examples
    --------
    >>> import fedperi as fp
    >>> triangle = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
    >>> sim = fp.simulate(triangle, clients=2, samples=100)
    >>> sim
    Simulation(3 variables, 3 edges, 2 sites, 100 rows each, structural interventions, seed 0)
    >>> sim.targets, sim.kinds
    (((), ('B',)), ('none', 'structural'))
    >>> sim.client_dags[1]
    PDAG('A -> C, B -> C', names=['A', 'B', 'C'])
    >>> len(sim.cpdag.directed), len(sim.phi_cpdag.directed)
    (0, 2)
    >>> sim.groups
    {'A': ((0, 1),), 'B': ((0,), (1,)), 'C': ((0, 1),)}
    """

    sites: list[pd.DataFrame]
    dag: PDAG
    full_dag: PDAG
    client_dags: list[PDAG]
    targets: tuple[tuple[str, ...], ...]
    kinds: tuple[Kind, ...]
    changes: tuple[Mapping[str, Change], ...]
    mechanisms: tuple[Mechanism, ...]
    recording: Recording
    bins: tuple[tuple[float, float], ...] | None
    config: dict[str, Any]

    @cached_property
    def cpdag(self) -> PDAG:
        """The CPDAG of the true DAG: what observational data can identify."""
        return cpdag(self.dag)

    @cached_property
    def phi_cpdag(self) -> PDAG:
        """The Phi-CPDAG of the true DAG and the sites' DAGs: what the paper's method can identify."""
        return phi_cpdag(self.dag, self.client_dags)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The variables that are in no table."""
        return tuple(name for name in self.full_dag.names if name not in self.dag.names)

    @cached_property
    def groups(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """For each variable of the tables, the sites in groups that have exactly the same mechanism.

        Compared are the parameters themselves: the parents in use, their weights and functions, mean and noise scale.
        """
        every = site_groups(self.mechanisms, self.full_dag.names)
        return {name: every[name] for name in self.dag.names}

    @property
    def weights(self) -> list[Matrix]:
        """Weights of each site, as read-only arrays: ``[i, j]`` belongs to i -> j and is 0 without an edge."""
        return [mechanism.weights for mechanism in self.mechanisms]

    @property
    def noise_scales(self) -> list[Matrix]:
        """Standard deviations of the noise of each site, as read-only arrays."""
        return [mechanism.noise_scales for mechanism in self.mechanisms]

    @property
    def population(self) -> list[tuple[Matrix, Matrix]]:
        """Population mean and covariance of each site's columns, in their units and with their errors of measurement.

        Only a linear model that was not discretised has them in closed form. They hold for every noise.
        """
        if self.config["mechanism"] != "linear" or self.config["discretize"] is not None:
            what = "discretised" if self.config["mechanism"] == "linear" else "non-linear"
            raise InputError(
                f"a {what} simulation has no population covariance in closed form; "
                "use mechanism='linear' and discretize=None, or the sample covariances of sim.sites"
            )
        return [
            recorded_moments(
                self.recording, implied_mean(m.weights, m.means), implied_covariance(m.weights, m.noise_scales**2)
            )
            for m in self.mechanisms
        ]

    @property
    def covariances(self) -> list[Matrix]:
        """Population covariance of each site; see `population`."""
        return [covariance for _, covariance in self.population]

    def save(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write site_0.csv, site_1.csv, ... and truth.json into a directory.

        Numbers of sites are padded with zeros where there are more than ten. All files appear, or none: they are
        written elsewhere first and then moved. Numbers have all the digits it takes to read them back exactly.

        Parameters
        ----------
        directory : str or Path
            Made if it does not exist. Other files in it are left alone.
        overwrite : bool
            Replace the simulation that the directory holds; without it, that is an error.

        Returns
        -------
        Path
            The directory.

        Examples
        --------
        >>> import fedperi as fp
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     written = fp.simulate(3, clients=2, samples=10).save(pathlib.Path(place) / "data")
        ...     sorted(path.name for path in written.iterdir())
        ['site_0.csv', 'site_1.csv', 'truth.json']
        """
        from .writing import truth, write

        return write(self.sites, truth(self), Path(directory), overwrite=overwrite)

    def __repr__(self) -> str:
        rows = [len(site) for site in self.sites]
        size = f"{rows[0]} rows each" if len(set(rows)) == 1 else f"{min(rows)} to {max(rows)} rows"
        what = self.config["intervention"]
        counts = f"{with_noun(len(self.dag.names), 'variable')}, {with_noun(len(self.dag), 'edge')}"
        sites = f"{with_noun(len(rows), 'site')}, {size}"
        return f"Simulation({counts}, {sites}, {what.replace('none', 'no')} interventions, seed {self.config['seed']})"
