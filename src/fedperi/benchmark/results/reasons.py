"""Reasons why another federated method is ahead of M-PERI in some places, and what would change this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..paired import OURS
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


LEFT_OPEN = Reason(
    "left open",
    "Only the default is behind; M-PERI .75 is not. The default leaves a direction open unless it is nearly sure, and "
    "an open edge costs 1 in SHD. What would change it: `confidence=0.75`, at the price of more wrong directions.",
)
GUESSED = Reason(
    "wrong at .75",
    "Only M-PERI .75 is behind: it directs more, and is wrong more often. What would change it: the default "
    "confidence.",
)
UNEXPLAINED = Reason("not explained", "We do not know why. What would change it: we do not know that either.")
CHANCE = Reason(
    "may be chance",
    "The difference is within two standard errors, or there are fewer than five runs. What would change it: more "
    "seeds.",
)

REASONS = (
    Reason(
        "local optimum",
        "With 50 variables the search for the best graph may end in a local optimum, and the probabilities, sampled "
        "around it, do not show it: 3 of 27 searches ended at a graph with a lower score than the true one (11 before "
        "the search was made longer; `python benchmarks/mperi_optimum.py`). What would change it: room for more "
        "candidate parents of variables with many neighbours. A user can compare several values of `seed`.",
        least=50,
    ),
    Reason(
        "equal noise",
        "NOTEARS-ADMM and FedDAG compare squared errors, and in these simulations all noise has the same variance, "
        "which shows directions that nothing else shows. In standard units they lose them. What would change it: an "
        "option to declare noise levels equal; real columns have units that somebody chose.",
        rivals=("notears-admm", "feddag"),
    ),
    Reason(
        "no policy",
        "All sites are the same, so that there is nothing to compare. What remains are the arrows of the CPDAG, which "
        "I-PERI and PERI state with less evidence. What would change it: a still lower confidence.",
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
        "own strengths",
        "Strengths differ everywhere, and policies cut arrows. I-PERI uses missing arrows alone, states less, and is "
        "hardly ever wrong; M-PERI also compares levels and noise, and is wrong in 1 to 2 of 100 directions. What "
        'would change it: `sharing="none"`, with which M-PERI uses missing arrows alone too.',
        settings=("own strengths",),
        rivals=("iperi",),
    ),
    Reason(
        "curves untold",
        "Straight lines through curves differ between sites, and look like policies. What would change it: "
        '`data="nonlinear"`. M-PERI warns where directions depend on it.',
        settings=("curved",),
    ),
)
"""The first reason that applies is used."""


EVERY = (LEFT_OPEN, *REASONS, GUESSED, UNEXPLAINED, CHANCE)
"""All reasons that a page may give, in the order in which it does."""


def reason(setting: str, p: int, rivals: Mapping[str, Rival], *, ratio: bool = False) -> Reason | None:
    """Say why a method is ahead of M-PERI in SHD (or in the ratio of directions); None if it is not.

    `rivals` has the method against M-PERI at each of its confidences. A difference within two standard errors that no
    reason explains may be chance.

    Examples
    --------
    >>> from fedperi.benchmark.paired import Pair
    >>> far, near, not_ahead = (Rival("peri", Pair(9, 2.0, x, 0.2), (9, 1), (9, 1)) for x in (1.0, 1.9, 3.0))
    >>> [reason("no policy", 5, {"mperi": a, "mperi-75": b}).name for a, b in ((far, far), (far, not_ahead))]
    ['no policy', 'left open']
    >>> [reason("cut", 5, {"mperi": one, "mperi-75": one}).name for one in (near, far)]
    ['may be chance', 'not explained']
    """
    ahead = {first: one for first, one in rivals.items() if (one.better_ratio if ratio else one.behind)}
    if not ahead:
        return None
    clear = any(one.clear_ratio if ratio else one.clear for one in ahead.values())
    if len(rivals) == len(OURS) > len(ahead):
        return LEFT_OPEN if OURS[0] in ahead else GUESSED if clear else CHANCE
    name = next(iter(ahead.values())).name
    known = next((one for one in REASONS if one.holds(setting, p, name)), None)
    return known or (UNEXPLAINED if clear else CHANCE)
