"""The input and output of a method, and its appearance in tables and figures."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ...graph.pdag import PDAG
    from ...methods.result import Result
    from ..settings import World


@dataclass(frozen=True)
class Problem:
    """Sites and what is known about them; `world` is the truth, only for oracles and for the best single site.

    With `curved`, methods use their non-linear form if they have one.
    """

    sites: Sequence[Any] | Mapping[str, Any]
    curved: bool = False
    world: World | None = None

    @property
    def truth(self) -> World:
        """The truth."""
        if self.world is None:
            raise InputError("this can be computed for simulated sites only: the truth must be known")
        return self.world

    @property
    def named(self) -> dict[str, Any]:
        """The sites by name; those of a list are called site 0, site 1, ..."""
        if isinstance(self.sites, Mapping):
            return dict(self.sites)
        return {f"site {k}": site for k, site in enumerate(self.sites)}

    def tables(self) -> list[pd.DataFrame]:
        """Return the rows of each site, as numbers: what other packages take."""
        import pandas as pd

        from ...methods.controls import pooled_table

        read = [
            site if isinstance(site, pd.DataFrame) else pooled_table({name: site}) for name, site in self.named.items()
        ]
        return [table.apply(pd.to_numeric).astype(float) for table in read]


@dataclass(frozen=True)
class Found:
    """The output of a method.

    Parameters
    ----------
    graph : PDAG
        The graph.
    rounds : int
        Rounds of messages between sites and coordinator; 0 for methods that need all rows in one place.
    named : frozenset of (int, str), optional
        Which site (its position in the list) differs in which variable; None if the method does not say.
    changing : frozenset of str, optional
        Which variables differ between sites, for methods that do not say where.
    result : Result, optional
        The whole result, if the method is one of this package.
    before : float
        CPU seconds of what the method needed and had computed already, for an earlier fit of the same tables.
    """

    graph: PDAG
    rounds: int = 0
    named: frozenset[tuple[int, str]] | None = None
    changing: frozenset[str] | None = None
    result: Result | None = None
    before: float = 0.0


Fit = Callable[[Problem], Found]


@dataclass(frozen=True)
class Contender:
    """A row of a table.

    Parameters
    ----------
    label : str
        Label for people.
    colour : str
        Its colour in all figures.
    kind : {"federated", "pooled", "control", "oracle"}
        Whether it is a federated method, a package that needs all rows in one place, a control that a federation
        should beat, or a limit.
    fit : callable
        A function from a problem to the output.
    needs : tuple of str
        Modules of other packages.
    most : int, optional
        With more variables it is too slow for a grid, and is left out unless requested by name.
    """

    label: str
    colour: str
    kind: str
    fit: Fit
    needs: tuple[str, ...] = ()
    most: int | None = None

    def missing(self) -> str:
        """Say why it cannot run here; empty if it can run."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in self.needs:
                try:
                    importlib.import_module(module)
                except Exception as error:  # a package may fail in its own ways when it is imported
                    return f"{type(error).__name__}: {error}"
        return ""
