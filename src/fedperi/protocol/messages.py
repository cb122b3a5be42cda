"""What coordinator and sites say to each other: plain values and arrays, checked at both ends.

A question about parent sets is a *family*: a node, the variables that are in the set, and those that are free to be.
Its answer is a lattice of regrets, one for each choice of the free variables (`fedperi.scores.lattice` gives the
order). A single set is a family without free variables; all subsets of some candidates are one without fixed variables.
"""

from __future__ import annotations

import hashlib
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
"""Variables a family may hold, fixed and free together: its answer has up to 2^16 numbers."""

_RUN = re.compile(r"[A-Za-z0-9._-]{1,40}")


def is_run(name: object) -> bool:
    """Whether a text may be the name of a run: 1 to 40 letters, digits, dots, underscores and hyphens.

    People approve messages by this name and read it in a log, so it must not be able to look like anything else.

    Examples
    --------
    >>> is_run("1c67398c10e8.0"), is_run("r asks to send nothing. Price: none")
    (True, False)
    """
    return isinstance(name, str) and _RUN.fullmatch(name) is not None


@dataclass(frozen=True)
class Settings:
    """What all sites are told when a run opens; with `resample`, they resample their rows.

    In one process that number is the seed. Over a network a site mixes it with a secret of its own.
    """

    masking: str
    local: str = "ges"
    alpha: float = 0.01
    penalty: float = 1.0
    resample: int | None = None


@dataclass(frozen=True)
class Welcome:
    """What a site tells when a run opens: its name, variables, number of rows, declared targets, privacy.

    Under differential privacy the number of rows is the one that the noisy moments are worth, and `privacy` tells what
    was promised, at which price, and what the site's ledger says (plain values only).
    """

    site: str
    names: tuple[str, ...]
    n: int | float
    targets: tuple[str, ...] | None = None
    privacy: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """What questions have in common: arrays, and a check of them by everyone who answers."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self, p: int) -> None:
        """Raise unless this is a question about p variables that a site may answer.

        Sites in one process are handed the same question, of which the first one's check is enough.
        """
        if vars(self).get("_sound") != p:
            self._check(p)
            object.__setattr__(self, "_sound", p)

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        return self.arrays()  # another process checks for itself

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
    def answers(self) -> int:
        """Numbers in the answer."""
        return len(self.nodes) << int(self.free.shape[1])

    def _check(self, p: int) -> None:
        b = len(self.nodes)
        if self.nodes.ndim != 1 or self.fixed.ndim != 2 or self.free.ndim != 2:
            raise InputError("a question must have one row per node")
        for array in (self.nodes, self.fixed, self.free):
            if array.dtype.kind != "i" or (array.size and not (array.min() >= 0 and array.max() < p)):
                raise InputError(f"a question names a variable that is not among the {p} of this run")
        if not len(self.fixed) == len(self.free) == b:
            raise InputError("the arrays of a question have different lengths")
        inside = np.column_stack([self.nodes[:, None], self.fixed, self.free])
        if inside.shape[1] - 1 > MAX_SET:
            raise InputError(f"a question is about {inside.shape[1] - 1} variables; at most {MAX_SET} are allowed")
        ordered = np.sort(inside, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            raise InputError("a question names a variable twice")


@dataclass(frozen=True, eq=False)
class Orientations(Block):
    """Phase 2: how far a site's own directions are from those of candidate graphs, node by node.

    Parameters
    ----------
    dag : bool array, shape (p, p)
        The coordinator's DAG, which a site that keeps no graph of its own restricts to what its data support.
    nodes : int array, shape (b,)
    marks : int array, shape (b, p)
        What each variable is to the node in a candidate graph (`PARENT`, `LINE`, `CHILD`, or none).
    """

    dag: NDArray[np.bool_]
    nodes: Ints
    marks: Ints

    @property
    def answers(self) -> int:
        """Numbers in the answer."""
        return len(self.nodes)

    def _check(self, p: int) -> None:
        if self.dag.shape != (p, p) or self.marks.shape != (len(self.nodes), p):
            raise InputError(f"the arrays of a question do not fit the {p} variables of this run")
        if self.nodes.dtype.kind != "i" or (self.nodes.size and not (self.nodes.min() >= 0 and self.nodes.max() < p)):
            raise InputError(f"a question names a variable that is not among the {p} of this run")
        known = np.isin(self.marks, (NOT_ADJACENT, PARENT, LINE, CHILD)).all()
        if not known or self.marks[np.arange(len(self.nodes)), self.nodes].any():
            raise InputError("a question has an unknown mark (four are known), or marks a node for itself")
        if self.dag.dtype != bool or topological_order(bits.columns(self.dag)) is None:
            raise InputError("a question holds a graph that is not a DAG")
        if self.dag.sum(axis=0).max(initial=0) > MAX_SET:
            raise InputError(f"a question holds a DAG with a node of more than {MAX_SET} parents")


Question = Families | Orientations


def question_key(question: Question) -> str:
    """Name a question by what it asks.

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
