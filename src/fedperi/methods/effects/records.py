"""Records of one effect."""

from __future__ import annotations

from typing import NamedTuple

COMMON = "common"
"""Name in place of a site for the pooled effect. A site may have this name too: see `Effect.pooled`."""


class Estimate(NamedTuple):
    """A direct or a total effect.

    Attributes
    ----------
    value, error : float
        For the most probable way to compute it, and its standard error.
    low, high : float
        95 % interval; if directions are open, from the lowest to the highest end over all possible DAGs.
    least, most : float
        Lowest and highest value over all possible DAGs.
    tau, share : float
        Of the pooled effect: standard deviation between sites, and I^2.
    sites : int
        Of the pooled effect: how many sites it is from. At a site: 1 if it is one of them, 0 if not.
    """

    value: float
    error: float
    low: float
    high: float
    least: float
    most: float
    tau: float
    share: float
    sites: int


class Effect(NamedTuple):
    """One variable's effect on another at a site, or pooled over sites.

    Attributes
    ----------
    cause, cause_level, effect, effect_level : str
        Which; levels are empty for numbers. A level of a cause is compared with the first one.
    site : str
        Where; "common" for the pooled effect.
    probability : float
        Of the arrow from cause to effect; NaN if the result does not say.
    direct : Estimate or None
        With all other direct causes held fixed; None if there is no such arrow.
    total : Estimate
        Of setting the cause, along all paths.
    path : float
        Weight of the DAGs in which there is a directed path from cause to effect.
    adjustment : tuple of str
        What the total effect is adjusted for, in the most probable DAG where there is one.
    open : bool
        Whether the total effect depends on directions that are open.
    unit : str
        What the numbers mean: which change of the effect for which change of the cause.
    note : str
        Why a site is not part of the pooled effect, or gives no estimate.
    pooled : bool
        Whether this is the pooled effect, and not that of a site which happens to be called "common".
    other_sets : tuple of tuple of str
        What it must be adjusted for if directions that are open turn out differently, the more probable first.
    """

    cause: str
    cause_level: str
    effect: str
    effect_level: str
    site: str
    probability: float
    direct: Estimate | None
    total: Estimate
    path: float
    adjustment: tuple[str, ...]
    open: bool
    unit: str
    note: str
    pooled: bool = False
    other_sets: tuple[tuple[str, ...], ...] = ()

    @property
    def probably_none(self) -> bool:
        """Whether the most probable DAG has no directed path, so that its effect is zero, though others have one."""
        return self.path > 0 and self.total.value == 0.0 and not self.total.error
