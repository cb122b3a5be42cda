"""Federated causal discovery from sites that differ by unknown interventions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._moved import tell_where_modules_moved
from ._version import __version__
from .errors import InputError
from .graph import (
    PDAG,
    MeekStep,
    adjustment_distance,
    arrowhead_f1,
    consistent_extension,
    count_members,
    cpdag,
    d_separated,
    f1,
    i_cpdag,
    includes,
    is_cpdag,
    meek_closure,
    meek_steps,
    members,
    mu,
    mutilate,
    nu,
    phi_cpdag,
    phi_equivalent,
    revealed_v_structures,
    shd,
    skeleton_f1,
    v_structures,
)
from .graph.knowledge import Knowledge

if TYPE_CHECKING:
    from .baselines.fedcdh.method import FedCDH
    from .baselines.feddag.method import FedDAG
    from .baselines.notears_admm.method import NotearsADMM
    from .coordinator.record import Replay
    from .discovery.discover import ges, pc
    from .graph.ancestral.pag import PAG
    from .methods import IPERI, MPERI, PERI, EdgeEvidence, Result, load
    from .methods.controls import best_single_site, pooled
    from .methods.fci import FCI
    from .privacy import Privacy
    from .simulation import Clinic, Simulation, clinic, simulate
    from .site.site import OracleSite, Site
    from .tables.summary.summary import Summary

tell_where_modules_moved()

# Names whose rooms import pandas or scipy are loaded when first used, so that `import fedperi` stays quick.
_LAZY = {
    "Clinic": ".simulation",
    "FCI": ".methods.fci",
    "IPERI": ".methods",
    "MPERI": ".methods",
    "PAG": ".graph.ancestral.pag",
    "PERI": ".methods",
    "EdgeEvidence": ".methods",
    "FedCDH": ".baselines.fedcdh.method",
    "FedDAG": ".baselines.feddag.method",
    "NotearsADMM": ".baselines.notears_admm.method",
    "OracleSite": ".site.site",
    "Replay": ".coordinator.record",
    "Privacy": ".privacy",
    "Result": ".methods",
    "Simulation": ".simulation",
    "Site": ".site.site",
    "Summary": ".tables.summary.summary",
    "best_single_site": ".methods.controls",
    "clinic": ".simulation",
    "ges": ".discovery.discover",
    "load": ".methods",
    "pc": ".discovery.discover",
    "pooled": ".methods.controls",
    "simulate": ".simulation",
}

__all__ = [
    "FCI",
    "IPERI",
    "MPERI",
    "PAG",
    "PDAG",
    "PERI",
    "Clinic",
    "EdgeEvidence",
    "FedCDH",
    "FedDAG",
    "InputError",
    "Knowledge",
    "MeekStep",
    "NotearsADMM",
    "OracleSite",
    "Privacy",
    "Replay",
    "Result",
    "Simulation",
    "Site",
    "Summary",
    "__version__",
    "adjustment_distance",
    "arrowhead_f1",
    "best_single_site",
    "clinic",
    "consistent_extension",
    "count_members",
    "cpdag",
    "d_separated",
    "f1",
    "ges",
    "i_cpdag",
    "includes",
    "is_cpdag",
    "load",
    "meek_closure",
    "meek_steps",
    "members",
    "mu",
    "mutilate",
    "nu",
    "pc",
    "phi_cpdag",
    "phi_equivalent",
    "pooled",
    "revealed_v_structures",
    "shd",
    "simulate",
    "skeleton_f1",
    "v_structures",
]


_PACKAGES = ("graph", "privacy", "tables")
"""Packages whose names are public too: `fedperi.tables.infer_schema` works without another import."""


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
