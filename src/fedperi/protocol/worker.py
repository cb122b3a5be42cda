"""A site's half of a method that does not use regrets: what it takes, computes and sends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Payload = dict[str, Any]
"""Names to numpy arrays of numbers, or to plain values (text, numbers, truth values)."""

State = dict[str, NDArray[Any]]
"""What a worker keeps between two steps."""


@dataclass(frozen=True)
class StepKind:
    """The values that a step may bring to a site, and those that may leave it.

    Parameters
    ----------
    takes : str
        Names of the values that its payload may hold, separated by blanks.
    sends : mapping of str to str
        Names of the arrays that an answer may hold, each with a description for the site's log.

    Examples
    --------
    >>> StepKind("centre scale", {"mean": "means of the columns"}).takes.split()
    ['centre', 'scale']
    """

    takes: str
    sends: Mapping[str, str]


class Worker(ABC):
    """A site's half of a method: a function of its rows, a state, and a step.

    Parameters
    ----------
    rows : array, shape (n, p)
        The site's table as numbers, columns in the order of the run.
    site : str
        Its name, for messages.

    Attributes
    ----------
    kinds : mapping of str to StepKind
        The steps that it performs. Only the arrays that they list leave a site.

    Examples
    --------
    >>> class Means(Worker):
    ...     kinds = {"means": StepKind("", {"mean": "means of the columns"})}
    ...
    ...     def perform(self, kind, payload, state):
    ...         return {"mean": self.rows.mean(axis=0)}, state
    >>> Means(np.array([[1.0, 2.0], [3.0, 6.0]]), "north").perform("means", {}, {})[0]["mean"].tolist()
    [2.0, 4.0]
    """

    kinds: ClassVar[Mapping[str, StepKind]]

    def __init__(self, rows: NDArray[np.float64], site: str) -> None:
        self.rows, self.site = rows, site

    @abstractmethod
    def perform(self, kind: str, payload: Payload, state: State) -> tuple[Payload, State]:
        """Answer a step, and return the state for the next one. Raise InputError for an unknown step."""
