"""The order of the tests in a step: sites and coordinator use the same groups, one per conditioning set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_FEATURES = 1000
"""Most features that a site computes for one set of variables: the answer grows with their square."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Tests of x and y given Z, for many x, y and Z with the same number of variables in Z.

    Parameters
    ----------
    given : int array, shape (g, d)
        The conditioning sets, as positions of variables.
    group : int array, shape (m,)
        For each test, the number of its conditioning set.
    x, y : int array, shape (m,)
        The two variables of each test. x = p (the number of variables) stands for the site itself.
    """

    given: Ints
    group: Ints
    x: Ints
    y: Ints

    def __len__(self) -> int:
        return len(self.x)

    def part(self, start: int, stop: int) -> Batch:
        """The tests of the sets from start to stop. Tests must be in the order of their sets."""
        first, last = np.searchsorted(self.group, (start, stop))
        return Batch(self.given[start:stop], self.group[first:last] - start, self.x[first:last], self.y[first:last])

    def payload(self) -> dict[str, Any]:
        """Return the tests as arrays of a message."""
        return dict(vars(self))

    @classmethod
    def read(cls, payload: Mapping[str, Any], p: int) -> Batch:
        """Read tests from a message, and check them."""
        try:
            given, group, x, y = (np.asarray(payload[name], dtype=np.int64) for name in ("given", "group", "x", "y"))
        except (KeyError, TypeError, ValueError):
            raise InputError("a step of FedCDH holds no tests") from None
        same = group.ndim == 1 and x.shape == y.shape == group.shape and given.ndim == 2
        bounds = ((given, p), (y, p), (x, p + 1), (group, len(given)))
        if not same or not all(_within(*each) for each in bounds):
            raise InputError(f"a step of FedCDH names a variable that is not among the {p} of this run")
        return cls(given, group, x, y)


def site_key(name: str) -> int:
    """Return a number for a site's name, so that messages need not tell sites the names of the others.

    Examples
    --------
    >>> site_key("north") == site_key("north"), site_key("north") == site_key("south")
    (True, False)
    """
    return int.from_bytes(sha256(name.encode()).digest()[:6], "big")


def _within(array: Ints, bound: int) -> bool:
    return not array.size or (int(array.min()) >= 0 and int(array.max()) < bound)


@dataclass(frozen=True, eq=False)
class TestGroup:
    """The tests with one conditioning set.

    Parameters
    ----------
    number : int
        Number of the conditioning set.
    given : int array
        Its variables.
    x, y : int array
        The variables compared, each once.
    tests : int array
        Positions of the tests in the step.
    pairs : int array, shape (len(tests), 2)
        For each test, its positions in `x` and `y`.
    """

    number: int
    given: Ints
    x: Ints
    y: Ints
    tests: Ints
    pairs: Ints


def groups(tests: Batch, merge: bool = False) -> list[TestGroup]:
    """Collect tests by their conditioning sets.

    A conditioning set with many tests has several groups in a message, which bounds the size of each answer. Where
    answers are small, `merge` joins these groups under the first number, so that work for a set is done once.

    Examples
    --------
    >>> import numpy as np
    >>> tests = Batch(np.array([[2], [0]]), np.array([0, 1, 0]), np.array([0, 1, 1]), np.array([1, 2, 0]))
    >>> [(g.given.tolist(), g.x.tolist(), g.y.tolist(), g.pairs.tolist()) for g in groups(tests)]
    [([2], [0, 1], [0, 1], [[0, 1], [1, 0]]), ([0], [1], [2], [[0, 0]])]
    """
    first: dict[tuple[int, ...], int] = {}
    numbers = [first.setdefault(tuple(row), at) if merge else at for at, row in enumerate(tests.given.tolist())]
    of_test = np.array(numbers, dtype=np.int64)[tests.group]
    order = np.argsort(of_test, kind="stable")
    out = []
    for number in sorted(set(numbers)):
        start, stop = np.searchsorted(of_test, (number, number + 1), sorter=order)
        which = order[start:stop]
        x, at_x = np.unique(tests.x[which], return_inverse=True)
        y, at_y = np.unique(tests.y[which], return_inverse=True)
        out.append(TestGroup(number, tests.given[number], x, y, which, np.column_stack([at_x, at_y])))
    return out


@dataclass(frozen=True)
class Widths:
    """How many features x, y (with Z) and Z have."""

    x: int
    y: int
    given: int

    def __post_init__(self) -> None:
        if not all(0 <= width <= MOST_FEATURES for width in (self.x, self.y, self.given)):
            raise InputError(f"a site computes at most {MOST_FEATURES} features of a set of variables")

    def stacked(self, group: TestGroup) -> int:
        """Number of features in a group: Z, then every x, then every y."""
        return self.given + len(group.x) * self.x + len(group.y) * self.y

    def sizes(self, group: TestGroup) -> dict[str, int]:
        """How many numbers each part of a site's sums for a group has."""
        return {
            "sums": self.stacked(group),
            "given": self.given * self.stacked(group),
            "own": len(group.x) * self.x**2 + len(group.y) * self.y**2,
            "cross": len(group.tests) * self.x * self.y,
        }
