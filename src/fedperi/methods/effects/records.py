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
        The value for the most probable adjustment set, and its standard error.
    low, high : float
        95 % interval; if directions are open, from the lowest to the highest limit over all possible DAGs.
    least, most : float
        Lowest and highest value over all possible DAGs.
    tau, share : float
        For the pooled effect: standard deviation between sites, and I^2.
    sites : int
        For the pooled effect: number of sites in it. For a site: 1 if it is one of them, 0 if not.
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
        The variables and levels; levels are empty for numbers. A level of a cause is compared with the first one.
    site : str
        The site; "common" for the pooled effect.
    probability : float
        Probability of the arrow from cause to effect; NaN if the result has none.
    direct : Estimate or None
        The effect with all other direct causes held fixed; None if there is no such arrow.
    total : Estimate
        The effect of setting the cause, along all paths.
    path : float
        Weight of the DAGs in which there is a directed path from cause to effect.
    adjustment : tuple of str
        Adjustment set of the total effect, in the most probable DAG that has one.
    open : bool
        Whether the total effect depends on directions that are open.
    unit : str
        The unit of the numbers: which change of the effect for which change of the cause.
    note : str
        Why a site is not part of the pooled effect, or gives no estimate.
    pooled : bool
        Whether this is the pooled effect, not that of a site with the name "common".
    other_sets : tuple of tuple of str
        Adjustment sets if open directions turn out differently, the more probable first.
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
        """Whether the most probable DAG has no directed path (its effect is zero) although others have one."""
        return self.path > 0 and self.total.value == 0.0 and not self.total.error
