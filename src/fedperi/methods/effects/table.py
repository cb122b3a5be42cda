"""All effects of a result in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dags import probable_dags
from .estimates import Effects
from .policies import Policies
from .records import Effect, Estimate

if TYPE_CHECKING:
    import pandas as pd

    from ..result import Result

PARTS = ("", "_se", "_low", "_high", "_least", "_most", "_tau", "_i2", "_sites")
"""Endings of the columns of a direct or total effect, in the order of `Estimate`."""

COLUMNS = (
    *("cause", "cause_level", "effect", "effect_level", "site", "probability"),
    *(f"direct{part}" for part in PARTS),
    *(f"total{part}" for part in PARTS),
    *("path", "adjustment", "open", "unit", "note", "pooled"),
)

ABSENT: tuple[Any, ...] = (None,) * (len(PARTS) - 1) + (0,)


def effects_of(result: Result) -> Effects | None:
    """Prepare the effects of a result; None if it does not hold the sites' summaries."""
    if result.moments is None:
        return None
    directions = {(one.a, one.b): one.forward for one in result.probable}
    directions |= {(one.b, one.a): one.backward for one in result.probable}
    dags = probable_dags(result.graph, result.dag, directions, result.moments)
    return Effects(result.moments, dags, directions, Policies.of(result.moments, result.differences))


def effect_frame(result: Result) -> pd.DataFrame:
    """Collect the effects of all pairs with a directed path in some DAG.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(["a", "b"], clients=4, samples=1000, intervention="shift", seed=2)
    >>> frame = effect_frame(fp.MPERI().fit(sim.sites))
    >>> frame["site"].tolist()
    ['site 1', 'site 2', 'site 3', 'site 4', 'common']
    """
    import pandas as pd

    effects = effects_of(result)
    rows = [] if effects is None else [_row(one) for pair in effects.pairs() for one in effects.of(*pair)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = [
        name
        for name in COLUMNS
        if name in ("probability", "path") or (name.startswith(("direct", "total")) and not name.endswith("_sites"))
    ]
    return frame.astype(dict.fromkeys(numbers, float))


def _row(one: Effect) -> tuple[Any, ...]:
    direct: Estimate | tuple[Any, ...] = ABSENT if one.direct is None else one.direct
    first = (one.cause, one.cause_level, one.effect, one.effect_level, one.site, one.probability)
    return (*first, *direct, *one.total, one.path, ", ".join(one.adjustment), one.open, one.unit, one.note, one.pooled)
