"""The definition of a setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Setting:
    """How sites are simulated.

    Parameters
    ----------
    name, words : str
        Name for commands, and a description.
    options : mapping
        Arguments of `fp.simulate`, or of `fp.clinic`.
    clinic : bool
        Hospital-like tables; the number of variables is that of their graph.
    units : {"as drawn", "common", "own"}
        Whether columns are divided by the standard deviation over all rows, or at each site by its own.
    rows : tuple of int, optional
        The rows of the smallest and of the largest site; the others are evenly spaced on a logarithmic scale.
    told : bool
        Whether methods are told that effects are curved.
    all_differ : bool
        Whether sites differ in more than their policies, so that additional differences are not mistakes.
    ignored : tuple of str
        Variables that are ignored when policies are counted: they differ because of the case mix.
    """

    name: str
    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    clinic: bool = False
    units: str = "as drawn"
    rows: tuple[int, int] | None = None
    told: bool = False
    all_differ: bool = False
    ignored: tuple[str, ...] = ()

    @property
    def curved(self) -> bool:
        """Whether methods that have a form for curved effects should use it."""
        return self.told and self.options.get("mechanism") == "nonlinear"
