"""Hospital-like tables whose truth is known: yes or no, counts, skewed laboratory values, curves, policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.equivalence import cpdag
from ...graph.pdag import PDAG
from ...graph.phi import phi_cpdag
from ..interventions.groups import Groups, grouped
from ..streams import Purpose, stream
from .arguments import ClinicArguments, check_clinic
from .diabetes import DIABETES
from .mechanisms import Model, Variable, draw_rows, graph_of
from .policies import Policy, draw_policies, with_case_mix, with_drift
from .random import random_model
from .sepsis import SEPSIS
from .stroke import STROKE

if TYPE_CHECKING:
    import pandas as pd

# Their numbers are invented, with the order of magnitude of textbooks; they say nothing about medicine.
GRAPHS = {"stroke": STROKE, "diabetes": DIABETES, "sepsis": SEPSIS}


@dataclass(frozen=True, eq=False, repr=False)
class Clinic:
    """Hospital-like tables and their truth; made by `clinic`.

    Parameters
    ----------
    sites : list of DataFrame
        One table per hospital.
    dag : PDAG
        The true DAG.
    client_dags : list of PDAG
        The DAG of each site: the true one, less what policies removed.
    policies : tuple of tuples of Policy
        For each site its policies: `site`, `variable`, `kind`, and `words` to read.
    models : tuple of tuples of Variable
        The mechanisms of each site, causes first.
    config : dict
        The arguments of `clinic`, in types that JSON knows.

    Examples
    --------
    >>> import fedperi as fp
    >>> ward = fp.clinic(sites=3, rows=100, graph="sepsis", policies=1)
    >>> ward
    Clinic('sepsis', 12 variables, 21 edges, 3 sites, 100 rows each, 1 with a policy, seed 0)
    >>> [policy.words for site in ward.policies for policy in site]
    ['...']
    """

    sites: list[pd.DataFrame]
    dag: PDAG
    client_dags: list[PDAG]
    policies: tuple[tuple[Policy, ...], ...]
    models: tuple[Model, ...]
    config: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.dag.names

    @property
    def targets(self) -> tuple[tuple[str, ...], ...]:
        """For each site, the variables that a policy concerns."""
        return tuple(tuple(policy.variable for policy in site) for site in self.policies)

    @property
    def kinds(self) -> tuple[str, ...]:
        """For each site, the kind of its policy, or "none"."""
        return tuple(site[0].kind if site else "none" for site in self.policies)

    @property
    def roles(self) -> dict[str, str]:
        """For each column: "measured", "skewed", "yes/no" or "count"."""
        found = {variable.name: variable.role for variable in self.models[0]}
        return {name: found[name] for name in self.names}

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column, in words."""
        found = {variable.name: variable.unit for variable in self.models[0]}
        return {name: found[name] for name in self.names}

    @cached_property
    def cpdag(self) -> PDAG:
        """The CPDAG of the true DAG: what observational data can identify."""
        return cpdag(self.dag)

    @cached_property
    def phi_cpdag(self) -> PDAG:
        """The Phi-CPDAG of the true DAG and the sites' DAGs: what missing edges can identify."""
        return phi_cpdag(self.dag, self.client_dags)

    @cached_property
    def groups(self) -> Groups:
        """For each column, the sites in groups that have exactly the same mechanism.

        Where the case mix differs, every site is a group of its own for age and sex; with drift, for all columns.
        """
        own = [{variable.name: variable for variable in model} for model in self.models]
        return {name: grouped([site[name] for site in own]) for name in self.names}

    def save(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write site_0.csv, site_1.csv, ... and truth.json into a directory, as `Simulation.save` does.

        Examples
        --------
        >>> import fedperi as fp
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     written = fp.clinic(sites=2, rows=10, policies=1).save(pathlib.Path(place) / "data")
        ...     sorted(path.name for path in written.iterdir())
        ['site_0.csv', 'site_1.csv', 'truth.json']
        """
        from ..writing import clinic_truth, write

        return write(self.sites, clinic_truth(self), Path(directory), overwrite=overwrite)

    def __repr__(self) -> str:
        rows = [len(site) for site in self.sites]
        size = f"{rows[0]} rows each" if len(set(rows)) == 1 else f"{min(rows)} to {max(rows)} rows"
        given = self.config
        with_policy = sum(map(bool, self.policies))
        counts = f"{len(self.names)} variables, {len(self.dag)} edges, {len(rows)} sites, {size}"
        return f"Clinic({given['graph']!r}, {counts}, {with_policy} with a policy, seed {given['seed']})"


def clinic(
    sites: int = 6,
    rows: int | Sequence[int] = 1000,
    *,
    graph: str = "stroke",
    drift: float = 0.0,
    policies: int = 4,
    case_mix: bool = True,
    log: bool = False,
    seed: int = 0,
) -> Clinic:
    """Make hospital-like tables whose truth is known.

    Ten or twelve variables, among them yes/no (0 and 1), a count and skewed laboratory values. Curved effects, log odds
    and products of two causes make linear models as wrong as with real tables. All numbers are invented.

    Parameters
    ----------
    sites : int
        Number of hospitals.
    rows : int or sequence of int
        Patients of every hospital, or one number for each. A smaller table is the beginning of a larger one.
    graph : "stroke", "diabetes", "sepsis" or "random"
        The variables and their causes. "random" draws roles, causes, curves and policies from the seed, with ten
        variables; age and sex are roots everywhere.
    drift : float
        How much every coefficient differs by site: sizes and spreads are multiplied by exp(drift N), levels move by
        drift N units of noise, with standard normal draws N.
    policies : int
        Number of hospitals with a policy (`fedperi.simulation.clinic.policies`), one each, at different variables as
        long as there are enough. Hospitals, variables and kinds are random; age, sex and outcomes have no policies.
    case_mix, log : bool
        Whether ages and the share of men differ by hospital; whether skewed laboratory values come as their logarithms.
    seed : int
        The same seed gives the same clinic. Not negative.

    Returns
    -------
    Clinic
        Columns are in alphabetical order, which says nothing about causes.

    Examples
    --------
    >>> import fedperi as fp
    >>> ward = fp.clinic(sites=6, rows=500, graph="stroke", policies=2, seed=1)
    >>> ward.sites[0].columns.tolist()[:5]
    ['age', 'antihypertensive', 'bmi', 'creatinine', 'death']
    """
    given = check_clinic(locals())
    model = random_model(stream(given.seed, Purpose.CLINIC_GRAPH)) if given.graph == "random" else GRAPHS[given.graph]
    names = sorted(variable.name for variable in model)
    drawn = draw_policies(model, given.sites, given.policies, stream(given.seed, Purpose.CLINIC_POLICIES))
    models = [_site_model(given, model, drawn, site) for site in range(given.sites)]
    return Clinic(
        sites=[_table(given, own, names, site) for site, own in enumerate(models)],
        dag=graph_of(model, names),
        client_dags=[graph_of(own, names) for own in models],
        policies=tuple(tuple(record for record, _ in drawn if record.site == site) for site in range(given.sites)),
        models=tuple(models),
        config=given.config(),
    )


def _site_model(given: ClinicArguments, model: Model, policies: Sequence[tuple[Policy, Variable]], site: int) -> Model:
    changed = {variable.name: variable for record, variable in policies if record.site == site}
    own: Model = tuple(changed.get(variable.name, variable) for variable in model)
    if given.case_mix:
        own = with_case_mix(own, stream(given.seed, Purpose.CLINIC_MIX, site))
    return with_drift(own, stream(given.seed, Purpose.CLINIC_DRIFT, site), given.drift) if given.drift else own


def _table(given: ClinicArguments, model: Model, names: Sequence[str], site: int) -> pd.DataFrame:
    import pandas as pd

    rng = stream(given.seed, Purpose.CLINIC_ROWS, site)
    columns = pd.DataFrame(draw_rows(model, rng.random((given.rows[site], len(model)))))
    for variable in model:
        if variable.role in ("yes/no", "count"):
            columns[variable.name] = columns[variable.name].astype("int64")
        if variable.role == "skewed" and given.log:
            columns[variable.name] = np.log(columns[variable.name])
    return columns[list(names)]
