"""All contenders by name."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import InputError
from . import peers
from .contender import Contender
from .ours import best_alone, method, mperi, oracle_cpdag, oracle_phi, oracle_targets, pooled_ges

_PAPER = {"masking": "consensus", "aggregate": "worst"}
_CAUSAL_LEARN = "causallearn.search"

CONTENDERS: dict[str, Contender] = {
    "mperi": Contender("M-PERI", "#0b5394", "federated", mperi()),
    "mperi-75": Contender("M-PERI .75", "#45a7d8", "federated", mperi(confidence=0.75)),
    "iperi": Contender("I-PERI (ours)", "#1b9e77", "federated", method("IPERI")),
    "iperi-paper": Contender("I-PERI (paper)", "#7fc6a4", "federated", method("IPERI", local="pc", **_PAPER)),
    "peri": Contender("PERI", "#a3b83c", "federated", method("PERI")),
    "notears-admm": Contender("NOTEARS-ADMM", "#d98e04", "federated", method("NotearsADMM"), most=20),
    "feddag": Contender("FedDAG", "#c0392b", "federated", method("FedDAG"), most=20),
    "fedcdh": Contender("FedCDH", "#b3589a", "federated", method("FedCDH"), most=20),
    "ut-igsp": Contender(
        "UT-IGSP",
        "#6b4c2f",
        "pooled",
        peers.ut_igsp,
        needs=("graphical_model_learning", "conditional_independence"),
        most=20,
    ),
    "gnies": Contender("GnIES", "#b08d6a", "pooled", peers.gnies, needs=("gnies",), most=10),
    "cd-nod": Contender(
        "CD-NOD", "#5b4a9e", "pooled", peers.cd_nod, needs=(f"{_CAUSAL_LEARN}.ConstraintBased.CDNOD",), most=20
    ),
    "pc": Contender("PC, pooled", "#6a8caf", "pooled", peers.pc, needs=(f"{_CAUSAL_LEARN}.ConstraintBased.PC",)),
    "ges": Contender(
        "GES, pooled", "#9b8ac4", "pooled", peers.ges, needs=(f"{_CAUSAL_LEARN}.ScoreBased.GES",), most=20
    ),
    "fci": Contender(
        "FCI, pooled", "#c79fb0", "pooled", peers.fci, needs=(f"{_CAUSAL_LEARN}.ConstraintBased.FCI",), most=20
    ),
    "alone": Contender("best single site (GES)", "#8a8a8a", "control", best_alone("ges")),
    "pooled": Contender("our GES, pooled", "#b5b5b5", "control", pooled_ges),
    "oracle-cpdag": Contender("oracle CPDAG", "#777777", "oracle", oracle_cpdag),
    "oracle-phi": Contender("oracle Φ-CPDAG", "#111111", "oracle", oracle_phi),
    "oracle-targets": Contender("oracle, targets known", "#444444", "oracle", oracle_targets),
    "iperi-paper-ges": Contender("I-PERI (paper), GES", "#c5e0b4", "federated", method("IPERI", local="ges", **_PAPER)),
    "alone-pc": Contender("best single site (PC)", "#c9c9c9", "control", best_alone("pc")),
    "notears-admm-published": Contender(
        "NOTEARS-ADMM, as published", "#f2c879", "federated", method("NotearsADMM", faithful=True)
    ),
    "feddag-published": Contender("FedDAG, as published", "#e59a91", "federated", method("FedDAG", faithful=True)),
    "fedcdh-published": Contender("FedCDH, as published", "#dcaccd", "federated", method("FedCDH", faithful=True)),
}

PEERS = tuple(name for name, one in CONTENDERS.items() if one.kind == "pooled")
"""Other packages."""

ROWS = (
    *("mperi", "mperi-75", "iperi", "iperi-paper", "peri", "notears-admm", "feddag", "fedcdh"),
    *PEERS,
    *("alone", "oracle-cpdag", "oracle-phi"),
)
"""The rows of the paper's tables, in order."""

SLOW = ("notears-admm", "notears-admm-published", "gnies", "feddag", "feddag-published")
"""Methods that take minutes: they run last, in this order."""


def contender(name: str) -> Contender:
    """Find a contender by its name.

    Examples
    --------
    >>> contender("peri").label
    'PERI'
    >>> contender("magic")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: there is no method 'magic'; there are: mperi, mperi-75, ...
    """
    if name not in CONTENDERS:
        raise InputError(f"there is no method {name!r}; there are: {', '.join(CONTENDERS)}")
    return CONTENDERS[name]


def left_out(names: Iterable[str]) -> dict[str, str]:
    """Say which of some methods cannot run here, and why.

    Examples
    --------
    >>> left_out(["mperi", "oracle-cpdag"])
    {}
    """
    why = {name: contender(name).missing() for name in names}
    return {name: reason for name, reason in why.items() if reason}
