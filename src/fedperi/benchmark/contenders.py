"""Who is compared: every method under one name, one label and one colour, in all tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..graph.pdag import PDAG
    from ..simulation import Simulation


@dataclass(frozen=True)
class Problem:
    """Sites, and what is known about them; `simulation` is the truth, for oracles and the best site alone.

    `curved` lets methods that have a non-linear form use it.
    """

    sites: Any
    curved: bool = False
    simulation: Simulation | None = None

    @property
    def truth(self) -> Simulation:
        """The truth."""
        if self.simulation is None:
            raise InputError("this can be computed for simulated sites only: the truth must be known")
        return self.simulation


Fit = Callable[[Problem], tuple["PDAG", int]]
"""From a problem to a graph and the number of rounds."""


@dataclass(frozen=True)
class Contender:
    """A row of a table.

    Parameters
    ----------
    label : str
        What people read.
    colour : str
        The same everywhere.
    kind : {"federated", "control", "oracle"}
        Whether it is a federated method, a control that a federation should beat, or a limit.
    fit : callable
        From a problem to a graph and the number of rounds.
    """

    label: str
    colour: str
    kind: str
    fit: Fit


def contender(name: str) -> Contender:
    """Find a contender by its name.

    Examples
    --------
    >>> contender("peri").label
    'PERI'
    >>> contender("magic")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: there is no method 'magic'; there are: iperi, iperi-paper, ...
    """
    if name not in CONTENDERS:
        raise InputError(f"there is no method {name!r}; there are: {', '.join(CONTENDERS)}")
    return CONTENDERS[name]


def _method(name: str, **options: Any) -> Fit:
    """A method of the package, made when it is needed; curved data get its non-linear form if it has one."""

    def fit(problem: Problem) -> tuple[PDAG, int]:
        import fedperi as fp

        more: dict[str, Any] = {}
        if problem.curved and name == "NotearsADMM":
            more = {"model": "mlp"}
        elif problem.curved and name in ("IPERI", "PERI"):
            more = {"data": "nonlinear"}
        result = getattr(fp, name)(progress=False, **options, **more).fit(problem.sites)
        return result.graph, result.rounds

    return fit


def _best_alone(local: str) -> Fit:
    def fit(problem: Problem) -> tuple[PDAG, int]:
        import fedperi as fp

        dag = problem.truth.dag
        graphs = [getattr(fp, local)(table) for table in problem.sites]
        return min(graphs, key=lambda graph: (fp.shd(graph, dag), -fp.f1(graph, dag))), 0

    return fit


def _pooled_ges(problem: Problem) -> tuple[PDAG, int]:
    import fedperi as fp

    from ..methods.controls import pooled_table

    return fp.ges(pooled_table(problem.sites)), 0


def _oracle_cpdag(problem: Problem) -> tuple[PDAG, int]:
    return problem.truth.cpdag, 0


def _oracle_phi(problem: Problem) -> tuple[PDAG, int]:
    import fedperi as fp

    return fp.meek_closure(problem.truth.phi_cpdag), 0


_PAPER = {"masking": "consensus", "aggregate": "worst"}

CONTENDERS: dict[str, Contender] = {
    "iperi": Contender("I-PERI (ours)", "#0b5394", "federated", _method("IPERI")),
    "iperi-paper": Contender("I-PERI (paper)", "#45a7d8", "federated", _method("IPERI", local="pc", **_PAPER)),
    "peri": Contender("PERI", "#1b9e77", "federated", _method("PERI")),
    "notears-admm": Contender("NOTEARS-ADMM", "#d98e04", "federated", _method("NotearsADMM")),
    "feddag": Contender("FedDAG", "#c0392b", "federated", _method("FedDAG")),
    "fedcdh": Contender("FedCDH", "#b3589a", "federated", _method("FedCDH")),
    "alone": Contender("best single site (GES)", "#8a8a8a", "control", _best_alone("ges")),
    "pooled": Contender("pooled GES", "#5b4a9e", "control", _pooled_ges),
    "oracle-cpdag": Contender("oracle CPDAG", "#777777", "oracle", _oracle_cpdag),
    "oracle-phi": Contender("oracle Φ-CPDAG", "#111111", "oracle", _oracle_phi),
    "iperi-paper-ges": Contender(
        "I-PERI (paper), GES", "#7fc6a4", "federated", _method("IPERI", local="ges", **_PAPER)
    ),
    "alone-pc": Contender("best single site (PC)", "#c9c9c9", "control", _best_alone("pc")),
    "notears-admm-published": Contender(
        "NOTEARS-ADMM, as published", "#f2c879", "federated", _method("NotearsADMM", faithful=True)
    ),
    "feddag-published": Contender("FedDAG, as published", "#e59a91", "federated", _method("FedDAG", faithful=True)),
    "fedcdh-published": Contender("FedCDH, as published", "#dcaccd", "federated", _method("FedCDH", faithful=True)),
}

ROWS = tuple(CONTENDERS)[:10]
"""The rows of every table, in order."""

SLOW = ("feddag", "feddag-published")
"""Methods that take minutes: they run last."""
