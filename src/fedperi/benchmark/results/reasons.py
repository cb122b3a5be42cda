"""Why another federated method is ahead of M-PERI somewhere, and what would change it."""

from __future__ import annotations

from typing import NamedTuple

from ..survey.places import Rival


class Reason(NamedTuple):
    """An explanation, and where it holds.

    Attributes
    ----------
    name, text : str
        For a table, and in full.
    settings, rivals : tuple of str
        Where it holds; empty: everywhere, or for every method.
    least : int
        From how many variables on.
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


UNEXPLAINED, CHANCE = "not explained", "may be chance"

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
"""The first that holds explains a place."""


def reason(setting: str, p: int, rival: Rival) -> str:
    """Name why a method is ahead; a difference within two standard errors without a reason may be chance.

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
    return _known(setting, p, rival) or (UNEXPLAINED if rival.clear else CHANCE)


def ratio_reason(setting: str, p: int, rival: Rival) -> str:
    """Name why a method has the better ratio of directions, in the same way.

    Examples
    --------
    >>> from fedperi.benchmark.paired import Pair
    >>> ratio_reason("cut", 5, Rival("peri", Pair(9, 2.0, 3.0, 0.2), (100, 1), (77, 0), 0.6))
    'may be chance'
    """
    return _known(setting, p, rival) or (UNEXPLAINED if rival.clear_ratio else CHANCE)


def _known(setting: str, p: int, rival: Rival) -> str | None:
    return next((one.name for one in REASONS if one.holds(setting, p, rival.name)), None)
