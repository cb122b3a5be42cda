"""The arguments of `simulate`: checked once, then passed on as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import InputError
from ..graph.equivalence import parents_of
from ..graph.pdag import PDAG
from ..graph.validate import checked_names
from ..names import check_name
from .checks import bounds, flag, not_negative, number, one_of, positive, row_counts, whole
from .dags import GraphModel, most_edges
from .interventions.plan import Intervention
from .interventions.targets import Removal
from .mechanisms import MechanismModel, Noise

Sharing = bool | Literal["nothing"]
# Their targets lose no edge.
_KEEP_EDGES = ("parametric", "strengths", "shift", "scale", "none")


@dataclass(frozen=True)
class Arguments:
    """Checked arguments of `simulate`; `names` and `dag` come from `variables`.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.simulate(3, clients=2, samples=[10])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: samples has 1 entries for 2 sites; give one number for all sites or one for each
    """

    names: tuple[str, ...]
    dag: PDAG | None
    clients: int
    samples: tuple[int, ...]
    edges: float | None
    shield_colliders: bool
    intervention: Intervention
    removal: Removal
    mechanism: MechanismModel
    noise: Noise
    shared_mechanisms: Sharing
    discretize: int | None
    graph: GraphModel
    targets_per_client: int
    weights: tuple[float, float]
    shift: float
    scale: float | None
    noise_levels: tuple[float, float]
    units: tuple[float, float] | None
    drift: float
    policies: int | None
    observational: bool
    hidden: int
    measurement_error: float
    seed: int

    @property
    def expected_edges(self) -> float:
        """Expected number of edges before shielding: as given, or one per variable, but at most all pairs."""
        p = len(self.names)
        return min(p, most_edges(p)) if self.edges is None else self.edges

    def config(self) -> dict[str, Any]:
        """Write the arguments in JSON's types; unless a ready graph was given, `simulate` takes them back."""
        variables: Any = len(self.names) if self.names == checked_names(None, len(self.names)) else list(self.names)
        if self.dag is not None:
            edges = sorted(self.dag.directed, key=lambda pair: [self.names.index(name) for name in pair])
            variables = {"names": list(self.names), "directed": [list(pair) for pair in edges]}
        rest = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("names", "dag")}
        rest = {name: list(value) if isinstance(value, tuple) else value for name, value in rest.items()}
        if len(set(self.samples)) == 1:
            rest["samples"] = self.samples[0]
        return {"variables": variables, **rest}


def check_arguments(given: Mapping[str, Any]) -> Arguments:
    """Check the arguments of `simulate`, all of them, before anything is drawn."""
    names, dag = _variables(given["variables"])
    for position, name in enumerate(names, start=1):
        check_name(name, f"variable {position}")
    clients = whole("clients", given["clients"], 1)
    checked = Arguments(
        names=names,
        dag=dag,
        clients=clients,
        samples=row_counts(given["samples"], clients),
        edges=_edges(given["edges"], len(names)),
        shield_colliders=flag("shield_colliders", given["shield_colliders"]),
        intervention=one_of("intervention", given["intervention"], Intervention),
        removal=one_of("removal", given["removal"], Removal),
        mechanism=one_of("mechanism", given["mechanism"], MechanismModel),
        noise=one_of("noise", given["noise"], Noise),
        shared_mechanisms=_sharing(given["shared_mechanisms"]),
        discretize=None if given["discretize"] is None else whole("discretize", given["discretize"], 2),
        graph=one_of("graph", given["graph"], GraphModel),
        targets_per_client=whole("targets_per_client", given["targets_per_client"], 1),
        weights=bounds("weights", given["weights"], "; signs are drawn at random"),
        shift=positive("shift", given["shift"]),
        scale=None if given["scale"] is None else positive("scale", given["scale"]),
        noise_levels=bounds("noise_levels", given["noise_levels"]),
        units=None if given["units"] is None else bounds("units", given["units"]),
        drift=not_negative("drift", given["drift"]),
        policies=None if given["policies"] is None else whole("policies", given["policies"], 1),
        observational=flag("observational", given["observational"]),
        hidden=whole("hidden", given["hidden"], 0),
        measurement_error=not_negative("measurement_error", given["measurement_error"]),
        seed=whole("seed", given["seed"], 0),
    )
    _check_together(checked)
    return checked


def _check_together(given: Arguments) -> None:
    if given.dag is not None and given.edges is not None:
        raise InputError("edges has no meaning when variables is a ready graph; leave one of them out")
    if given.removal == "some" and given.intervention in _KEEP_EDGES:
        raise InputError(
            f"removal='some' needs edges to remove, but intervention={given.intervention!r} removes none; "
            "use intervention='structural' or 'mixed', or leave removal out"
        )
    if given.removal == "some" and given.intervention == "varied":
        raise InputError("removal='some' has no meaning with intervention='varied', which draws it; leave removal out")
    if given.scale == 1:
        raise InputError("scale must not be 1, which changes nothing; 2 doubles the noise's standard deviation")
    if given.units is not None and given.discretize is not None:
        raise InputError("units has no meaning where discretize turns values into numbers of bins; leave one out")
    count, p = given.targets_per_client, len(given.names)
    if count > p:
        raise InputError(f"targets_per_client must be at most the number of variables, {p}, not {count}")


def _variables(value: Any) -> tuple[tuple[str, ...], PDAG | None]:
    if isinstance(value, PDAG):
        parents_of(value)  # an error that names an undirected edge, if there is one
        if not value.names:
            raise InputError("variables must be at least 1, but the graph has none")
        return value.names, value
    value = value.tolist() if isinstance(value, np.ndarray) else value
    # A set has no order, and a mapping is not a list of names.
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | set | frozenset | Mapping):
        names = tuple(value)
        if not names:
            raise InputError("variables must be at least 1, but the list of names is empty")
        return checked_names(names, len(names)), None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"variables must be a whole number, a list of names or a DAG, not {value!r}")
    return checked_names(None, whole("variables", value, 1)), None


def _edges(value: Any, p: int) -> float | None:
    if value is None:
        return None
    expected, most = number("edges", value), most_edges(p)
    if not 0 <= expected <= most:
        raise InputError(f"edges must be from 0 to {most} for {p} variables, not {value}")
    return int(expected) if expected == int(expected) else expected


def _sharing(value: Any) -> Sharing:
    if isinstance(value, str) and value == "nothing":
        return "nothing"
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"shared_mechanisms must be True, False or 'nothing', not {value!r}")
    return bool(value)
