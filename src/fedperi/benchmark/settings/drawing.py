"""From a setting and a seed to tables whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from .catalogue import GRAPHS
from .setting import Setting

if TYPE_CHECKING:
    import pandas as pd

    from ...simulation import Clinic, Simulation

    World: TypeAlias = Simulation | Clinic
else:
    World = object

MIXED = "mixed"
"""Sites of unequal size, as in the paper: each has 500, 1000 or 2000 rows, at random."""


def draw(setting: Setting, p: int, clients: int, samples: int | str, seed: int) -> World:
    """Draw the tables of a setting; those of a clinic have the number of variables that its graph has.

    Examples
    --------
    >>> from fedperi.benchmark.settings import SETTINGS
    >>> draw(SETTINGS["hidden cause"], 5, 3, 10, 0).sites[0].shape
    (10, 5)
    >>> [len(table) for table in draw(SETTINGS["unequal sites"], 3, 4, 1000, 0).sites]
    [100, 1000, 10000, 100000]
    """
    import fedperi as fp

    world: World
    if setting.clinic:
        options = {"graph": GRAPHS[seed % len(GRAPHS)], **setting.options}
        world = fp.clinic(sites=clients, rows=_rows(setting, clients, samples, seed), seed=seed, **options)
    else:
        variables = p + setting.options.get("hidden", 0)
        world = fp.simulate(variables, clients, _rows(setting, clients, samples, seed), seed=seed, **setting.options)
    if setting.units == "as drawn":
        return world
    return replace(world, sites=_scaled(world.sites, setting.units == "common"))


def _rows(setting: Setting, clients: int, samples: int | str, seed: int) -> int | list[int]:
    import numpy as np

    if setting.rows is not None:
        return [round(float(n)) for n in np.geomspace(*setting.rows, clients)]
    if samples == MIXED:
        return [int(n) for n in np.random.default_rng([seed, 500]).choice([500, 1000, 2000], clients)]
    return int(samples)


def _scaled(sites: Sequence[pd.DataFrame], common: bool) -> list[pd.DataFrame]:
    import pandas as pd

    if not common:
        return [(table - table.mean()) / table.std() for table in sites]
    every = pd.concat(list(sites))
    return [(table - every.mean()) / every.std() for table in sites]
