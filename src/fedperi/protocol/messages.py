"""What coordinator and sites say to each other: plain values and arrays, checked on both sides.

A question about parent sets is a *family*: a node, its fixed parents, and variables of which every subset may join
them. The answer is a lattice of regrets, one per subset of the free variables (`fedperi.scores.lattice` gives the
order). A family without free variables asks about a single set; one without fixed parents, about all subsets.
"""

from __future__ import annotations

import hashlib
import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph import bits
from ..graph.order import topological_order
from ..search.phase2 import CHILD, LINE, NOT_ADJACENT, PARENT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_SET = 16
"""Most variables of a family, fixed and free together: its answer has up to 2^16 numbers."""

_RUN = re.compile(r"[A-Za-z0-9._-]{1,40}")


def is_run(name: object) -> bool:
    """Whether a value is a valid name of a run: 1 to 40 letters, digits, dots, underscores and hyphens.

    People approve messages by this name and read it in a log, so it must not look like a part of the message.

    Examples
    --------
    >>> is_run("1c67398c10e8.0"), is_run("r asks to send nothing. Price: none")
    (True, False)
    """
    return isinstance(name, str) and _RUN.fullmatch(name) is not None


@dataclass(frozen=True)
class Settings:
    """Settings that all sites get when a run opens; with `resample`, they resample their rows.

    In one process `resample` is the seed. Over a network each site mixes it with its own secret.
    """

    masking: str
    local: str = "ges"
    alpha: float = 0.01
    penalty: float = 1.0
    resample: int | None = None


@dataclass(frozen=True)
class Welcome:
    """A site's reply when a run opens: its name, variables, number of rows, declared targets and privacy.

    Under differential privacy, `n` is the number of rows that the noisy moments are worth, and `privacy` holds the
    promise, its price and the state of the site's ledger (plain values only).
    """

    site: str
    names: tuple[str, ...]
    n: int | float
    targets: tuple[str, ...] | None = None
    privacy: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """A block of questions of one kind: arrays, which everyone who answers checks."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""

    @property
    def answers(self) -> int:
        """Numbers in the answer."""
        return math.prod(self.shape)

    def check(self, p: int) -> None:
        """Raise unless this is a question about p variables that a site may answer.

        Sites in one process get the same object, and it is checked only once.
        """
        if vars(self).get("_sound") != p:
            self._check(p)
            object.__setattr__(self, "_sound", p)

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        return self.arrays()  # without `_sound`: another process checks for itself

    @abstractmethod
    def _check(self, p: int) -> None: ...


@dataclass(frozen=True, eq=False)
class Families(Block):
    """A block of families with the same numbers of fixed and free variables.

    Parameters
    ----------
    nodes : int array, shape (b,)
    fixed : int array, shape (b, f)
    free : int array, shape (b, m)
        Positions of variables. The answer has shape (b, 2^m).
    """

    nodes: Ints
    fixed: Ints
    free: Ints

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return len(self.nodes), 1 << int(self.free.shape[1])

    def _check(self, p: int) -> None:
        if (self.nodes.ndim, self.fixed.ndim, self.free.ndim) != (1, 2, 2):
            raise InputError("a question must have one row per node")
        _check_variables(p, self.nodes, self.fixed, self.free)
        if not len(self.fixed) == len(self.free) == len(self.nodes):
            raise InputError("the arrays of a question have different lengths")
        size = self.fixed.shape[1] + self.free.shape[1]
        if size > MAX_SET:
            raise InputError(f"a question is about {size} variables; at most {MAX_SET} are allowed")
        ordered = np.sort(np.column_stack([self.nodes[:, None], self.fixed, self.free]), axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            raise InputError("a question names a variable twice")


@dataclass(frozen=True, eq=False)
class Orientations(Block):
    """Questions of phase 2: how far a site's own directions are from those of candidate graphs, node by node.

    Parameters
    ----------
    dag : bool array, shape (p, p)
        The coordinator's DAG. A site without a graph of its own restricts it to the edges that its data support.
    nodes : int array, shape (b,)
    marks : int array, shape (b, p)
        How each variable is joined to the node in a candidate graph: `PARENT`, `LINE`, `CHILD` or `NOT_ADJACENT`.
    """

    dag: NDArray[np.bool_]
    nodes: Ints
    marks: Ints

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return (len(self.nodes),)

    def _check(self, p: int) -> None:
        if self.nodes.ndim != 1 or self.dag.shape != (p, p) or self.marks.shape != (len(self.nodes), p):
            raise InputError(f"the arrays of a question do not fit the {p} variables of this run")
        _check_variables(p, self.nodes)
        known = np.isin(self.marks, (NOT_ADJACENT, PARENT, LINE, CHILD)).all()
        if not known or self.marks[np.arange(len(self.nodes)), self.nodes].any():
            raise InputError("a question has an unknown mark (four are known), or joins a node to itself")
        if self.dag.dtype != bool or topological_order(bits.columns(self.dag)) is None:
            raise InputError("a question holds a graph that is not a DAG")
        if self.dag.sum(axis=0).max(initial=0) > MAX_SET:
            raise InputError(f"a question holds a DAG with a node of more than {MAX_SET} parents")


Question = Families | Orientations


def _check_variables(p: int, *arrays: Ints) -> None:
    for array in arrays:
        if array.dtype.kind != "i" or (array.size and not (array.min() >= 0 and array.max() < p)):
            raise InputError(f"a question names a variable that is not among the {p} of this run")


def question_key(question: Question) -> str:
    """Return a hash of what a question asks: equal questions have equal keys.

    Examples
    --------
    >>> question_key(Families(np.array([0]), np.empty((1, 0), int), np.array([[1]])))[:8]
    '...'
    """
    digest = hashlib.sha256(type(question).__name__.encode())
    for array in question.arrays().values():
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, np.int64).tobytes())
    return digest.hexdigest()
