"""The coordinator of methods without regrets: rounds of steps, with the same step for every site.

Such a method has two halves. Its *worker* runs at every site, sees the rows of that site, and keeps a state of arrays
between steps, which a site can store on its disk. Its coordinator sends a step (a kind, and a payload of plain values
and arrays) to all sites, and gets one payload from each. Only the answers of a worker leave its site; the docstring of
each worker says what they are, and what can be computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..errors import InputError
from ..protocol.messages import Welcome
from ..protocol.steps import normal
from ..protocol.worker import Payload
from .coordinator import Connection, check_together


class WorkTransport(Connection, Protocol):
    """How steps reach the workers of all sites."""

    def begin(self, worker: str) -> list[Welcome]:
        """Begin a run of a method at every site."""

    def perform(self, kind: str, payload: Payload) -> list[Payload]:
        """Send a step to all sites: one answer each, in the order of the welcomes."""


@dataclass
class WorkCoordinator:
    """Sends steps to all sites, checks their answers, and counts rounds and the bytes of one site's answers.

    `worker` is the name of the method.
    """

    transport: WorkTransport
    worker: str
    rounds: int = 0
    bytes: int = 0
    sites: tuple[Welcome, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.sites = tuple(self.transport.begin(self.worker))
        check_together(self.sites)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.sites[0].names

    def perform(self, kind: str, payload: Payload, shapes: Mapping[str, tuple[int, ...]]) -> list[Payload]:
        """Send a step. Every answer must have exactly these arrays, in these shapes; () is the shape of a number."""
        answers = self.transport.perform(kind, normal(payload))
        self.rounds += 1
        if len(answers) != len(self.sites):
            raise InputError(f"{len(answers)} of {len(self.sites)} sites answered")
        for welcome, answer in zip(self.sites, answers, strict=True):
            if set(answer) != set(shapes) or not all(_fits(answer[name], shape) for name, shape in shapes.items()):
                raise InputError(f"site {welcome.site!r} gave an answer that does not fit the step {kind!r}")
        self.bytes += sum(8 * int(np.prod(shape)) for shape in shapes.values())
        return answers


def _fits(value: object, shape: Sequence[int]) -> bool:
    array = np.asarray(value)
    return array.dtype.kind in "fiub" and array.shape == tuple(shape) and bool(np.isfinite(array).all())
