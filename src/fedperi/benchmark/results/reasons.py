"""Reasons why another federated method is ahead of M-PERI in some places, and what would change this."""

from __future__ import annotations

from typing import NamedTuple

from ..survey.places import Rival


class Reason(NamedTuple):
    """An explanation, and where it applies.

    Attributes
    ----------
    name, text : str
        Short form for a table, and full text.
    settings, rivals : tuple of str
        Where it applies; empty: everywhere, or for every method.
    least : int
        Smallest number of variables.
    """

    name: str
    text: str
    settings: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    least: int = 0

    def holds(self, setting: str, p: int, rival: str) -> bool:
        """Whether it explains that a method is ahead in a setting."""
        here = not self.settings or setting in self.settings
        return here and (not self.rivals or rival in self.rivals) and p >= self.least


REASONS = (
    Reason(
        "equal noise",
        "NOTEARS-ADMM and FedDAG compare squared errors, and in these simulations all noise has the same variance, "
        "which shows directions that nothing else shows. In standard units they lose them. What would change it: an "
        "option to declare noise levels equal; real columns have units that somebody chose.",
        rivals=("notears-admm", "feddag"),
    ),
    Reason(
        "no policy",
        "All sites are the same, so that there is nothing to compare. What remains are the arrows of the CPDAG; at the "
        "default confidence M-PERI leaves most of them open, and an open edge costs 1 in SHD. What would change it: a "
        "lower confidence.",
        settings=("no policy",),
    ),
    Reason(
        "nothing shared",
        "Every site has its own strengths, noise and means. M-PERI compares mechanisms, and here none is the same; it "
        "warns that little is shared. I-PERI asks only which arrows are missing, which is all that is left. What would "
        "change it: to take I-PERI's arrows where M-PERI warns. A user can do that today.",
        settings=("nothing shared",),
    ),
    Reason(
        "curves untold",
        "Straight lines through curves differ between sites, and look like policies. What would change it: "
        '`data="nonlinear"`. M-PERI warns where directions depend on it.',
        settings=("curved",),
    ),
    Reason(
        "few policies",
        "Four policies are few for so many variables: most directions cannot be told by anybody. The default leaves "
        "them open; I-PERI and PERI use missing arrows alone, and need less evidence for one. What would change it: "
        "more sites with policies, or a lower confidence ([ten sites](mperi.md#accuracy)).",
        rivals=("iperi", "iperi-paper", "peri"),
        least=20,
    ),
)
"""The first reason that applies is used."""


def reason(setting: str, p: int, rival: Rival) -> str:
    """Return why a method is ahead; without a reason, a difference within two standard errors may be chance.

    Examples
    --------
    >>> from fedperi.benchmark.paired import Pair
    >>> reason("no policy", 5, Rival("peri", Pair(9, 2.0, 1.0, 0.2), (1, 1), (1, 1)))
    'no policy'
    >>> reason("cut", 5, Rival("peri", Pair(9, 2.0, 1.9, 0.2), (1, 1), (1, 1)))
    'may be chance'
    >>> reason("cut", 5, Rival("peri", Pair(9, 2.0, 1.0, 0.2), (1, 1), (1, 1)))
    'not explained'
    """
    found = next((one.name for one in REASONS if one.holds(setting, p, rival.name)), None)
    return found or ("not explained" if rival.clear else "may be chance")
