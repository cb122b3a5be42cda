"""Simulations on disk: one CSV file per site, and the truth as JSON."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .._version import __version__
from ..errors import InputError
from ..graph.pdag import PDAG
from .interventions.groups import Groups
from .mechanisms import FUNCTIONS, Mechanism

if TYPE_CHECKING:
    import pandas as pd

    from .clinic.clinic import Clinic
    from .clinic.mechanisms import Variable
    from .result import Simulation

_OURS = re.compile(r"site_\d+\.csv|truth\.json")


def write(sites: Sequence[pd.DataFrame], known: Mapping[str, Any], directory: Path, *, overwrite: bool) -> Path:
    """Write tables and their truth into a directory, completely or not at all; see `Simulation.save`."""
    try:
        old = sorted(path for path in directory.iterdir() if _OURS.fullmatch(path.name)) if directory.exists() else []
        if old and not overwrite:
            names = ", ".join(path.name for path in old[:3]) + (", ..." if len(old) > 3 else "")
            raise InputError(
                f"{directory} already holds a simulation ({names}); choose another directory, or replace it with "
                "overwrite=True (--overwrite)"
            )
        _write_and_move(sites, known, directory, old)
    except OSError as error:
        raise InputError(f"cannot write the simulation to {directory}: {error.strerror or error}") from None
    return directory


def truth(simulation: Simulation) -> dict[str, Any]:
    """Collect the content of truth.json.

    Examples
    --------
    >>> import fedperi as fp
    >>> known = truth(fp.simulate(fp.PDAG.from_edges([("A", "B")]), clients=2, samples=10))
    >>> known["dag"], known["cpdag"], known["targets"]
    ({'directed': [['A', 'B']], 'undirected': []}, {'directed': [], 'undirected': [['A', 'B']]}, [[], ['B']])
    >>> fp.PDAG.from_edges(**known["dag"], names=known["names"])
    PDAG('A -> B', names=['A', 'B'])
    """
    names = simulation.dag.names
    return {
        "fedperi": __version__,
        "seed": simulation.config["seed"],
        "config": simulation.config,
        "names": list(names),
        "dag": _edges(simulation.dag),
        "cpdag": _edges(simulation.cpdag),
        "phi_cpdag": _edges(simulation.phi_cpdag),
        "client_dags": [_edges(dag) for dag in simulation.client_dags],
        "kinds": list(simulation.kinds),
        "targets": [list(targets) for targets in simulation.targets],
        "changes": [dict(changes) for changes in simulation.changes],
        "groups": _groups(simulation.groups),
        "hidden": list(simulation.hidden),
        "full_names": list(simulation.full_dag.names),
        "full_dag": _edges(simulation.full_dag),
        "weights": [mechanism.weights.tolist() for mechanism in simulation.mechanisms],
        "noise_scales": [mechanism.noise_scales.tolist() for mechanism in simulation.mechanisms],
        "means": [mechanism.means.tolist() for mechanism in simulation.mechanisms],
        "input_scales": [mechanism.input_scales.tolist() for mechanism in simulation.mechanisms],
        "functions": [_functions(mechanism, simulation.full_dag.names) for mechanism in simulation.mechanisms],
        "units": simulation.recording.units.tolist(),
        "offsets": simulation.recording.offsets.tolist(),
        "error_scales": simulation.recording.errors.tolist(),
        "bins": None if simulation.bins is None else [list(pair) for pair in simulation.bins],
    }


def clinic_truth(clinic: Clinic) -> dict[str, Any]:
    """Collect the content of truth.json for a clinic.

    Examples
    --------
    >>> import fedperi as fp
    >>> known = clinic_truth(fp.clinic(sites=2, rows=10, policies=1, case_mix=False))
    >>> sum(len(groups) == 2 for groups in known["groups"].values())
    1
    """
    return {
        "fedperi": __version__,
        "seed": clinic.config["seed"],
        "config": clinic.config,
        "names": list(clinic.names),
        "roles": clinic.roles,
        "units": clinic.units,
        "dag": _edges(clinic.dag),
        "cpdag": _edges(clinic.cpdag),
        "client_dags": [_edges(dag) for dag in clinic.client_dags],
        "kinds": list(clinic.kinds),
        "targets": [list(targets) for targets in clinic.targets],
        "policies": [asdict(policy) for site in clinic.policies for policy in site],
        "groups": _groups(clinic.groups),
        "mechanisms": [[_mechanism(variable) for variable in model] for model in clinic.models],
    }


def _write_and_move(sites: Sequence[pd.DataFrame], known: Mapping[str, Any], directory: Path, old: list[Path]) -> None:
    # Within the directory if it is there, beside it if not: on the same file system either way, so moves are renames.
    existed = directory.exists()
    stage = (directory if existed else directory.parent) / f".fedperi-{uuid4().hex}"
    new, kept = stage / "new", stage / "old"
    new.mkdir(parents=True)
    kept.mkdir()
    try:
        width = len(str(len(sites) - 1))
        for k, table in enumerate(sites):
            table.to_csv(new / f"site_{k:0{width}}.csv", index=False, lineterminator="\n")
        text = json.dumps(known, indent=1, ensure_ascii=False, allow_nan=False)
        (new / "truth.json").write_text(text + "\n", encoding="utf-8")
        if not existed:
            new.rename(directory)
        else:
            _swap(old, kept, sorted(new.iterdir()), directory)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _swap(old: list[Path], kept: Path, new: list[Path], directory: Path) -> None:
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in [(p, kept / p.name) for p in old] + [(p, directory / p.name) for p in new]:
            source.rename(target)
            done.append((source, target))
    except BaseException:
        for source, target in reversed(done):
            target.rename(source)
        raise


def _groups(groups: Groups) -> dict[str, list[list[int]]]:
    return {name: [list(group) for group in every] for name, every in groups.items()}


def _mechanism(variable: Variable) -> dict[str, Any]:
    # JSON has no infinity: an infinite bound is left out. Possible policies elsewhere are not part of the truth.
    fields = {name: value for name, value in asdict(variable).items() if name != "policies"}
    return {name: value for name, value in fields.items() if not (isinstance(value, float) and math.isinf(value))}


def _edges(graph: PDAG) -> dict[str, list[list[str]]]:
    def ranked(pairs: frozenset[tuple[str, str]]) -> list[list[str]]:
        return [list(pair) for pair in sorted(pairs, key=lambda pair: (graph.index(pair[0]), graph.index(pair[1])))]

    return {"directed": ranked(graph.directed), "undirected": ranked(graph.undirected)}


def _functions(mechanism: Mechanism, names: tuple[str, ...]) -> list[list[str]]:
    p = len(names)
    edges = [(i, j) for i in range(p) for j in range(p) if mechanism.weights[i, j] != 0]
    return [[names[i], names[j], FUNCTIONS[mechanism.functions[i, j]]] for i, j in edges]
