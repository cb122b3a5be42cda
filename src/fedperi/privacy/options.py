"""The privacy that a user requests: how much, by which mechanism, and what is publicly known about the columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from typing import Any, Literal

from ..errors import InputError
from .bounds import as_bounds
from .noise import Noise, SecureNoise, SeededNoise

MECHANISMS = ("statistics", "regret")

LARGEST_DELTA = 1e-6
"""Largest delta without a public bound on the number of rows."""


@dataclass(frozen=True)
class Privacy:
    """Differential privacy for every site of a run: adding or removing one row changes no probability by much.

    The guarantee is per site and per row. It holds for anything that is computed from all messages of a site in this
    run: if one row is added or removed, the probability of any event grows at most to ``exp(epsilon)`` times its value
    plus ``delta``. For a person with rows at several sites the guarantee is the sum. The number of rows is protected as
    well.

    Parameters
    ----------
    epsilon, delta : float
        The price of the whole run at every site: all rounds, all questions. Below 1 the protection is strong, above 10
        it is weak. Delta must be far below one over the number of rows: 1e-6 or less, or below one over `most_rows`.
    mechanism : {"statistics", "regret"}
        "statistics": noise is added once to the moments of each table; all answers are computed from these, so that the
        number of questions does not matter. "regret": the paper's mechanism, noise on every answer, for comparison; at
        the same total price it is far less exact.
    bounds : mapping, Schema or path
        For every column the smallest and largest possible value, or the levels of a category, as they are known without
        looking at the table: ``{"age": (0, 120), "sex": ["f", "m"]}``. A schema with bounds may be given as well.
    most_rows : int, optional
        For a delta above 1e-6: an upper bound of the number of rows at any site, known without counting them (the beds
        of a hospital, the size of a register). Delta is compared with it and never with the table, since a refusal
        would reveal something, too.
    decimal : {".", ","}, optional
        The decimal mark of numbers that are text. If not given: a point; in files whose header is separated by
        semicolons or tabs, a point or a comma, decided for each cell.
    ceiling : float, optional
        The largest total epsilon that a site allows over all runs on the same table; its ledger refuses before anything
        is released. If not given, the default of `fedperi.privacy.ledger.Ceiling`.
    store : path, optional
        Folder in which sites keep their ledger and their noise, with one folder per site. If not given, a folder of the
        user, with one folder per table.
    sensitivity : float, optional
        For "regret": how much one row can change a regret. If not given, a proven bound for clipped rows; see also
        `fedperi.privacy.lemma_sensitivity`.
    answers : int, optional
        For "regret" and more than 12 variables: number of answers among which the budget is divided.
    test_seed : int, optional
        For tests only: noise from a seed. Nothing is private then, and the results say so.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.Privacy(epsilon=1.0, delta=1e-6, bounds={"age": (0, 120), "dose": (0, 50)}).epsilon
    1.0
    >>> fp.Privacy(epsilon=0)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: epsilon must be a positive, finite number, not 0; 1 is usual
    """

    epsilon: float = 2.0
    delta: float = 1e-6
    mechanism: Literal["statistics", "regret"] = "statistics"
    bounds: Any = None
    ceiling: float | None = None
    store: str | PathLike[str] | None = None
    sensitivity: float | None = None
    answers: int | None = None
    test_seed: int | None = None
    most_rows: int | None = None
    decimal: Literal[".", ","] | None = None

    def __post_init__(self) -> None:
        if not _positive(self.epsilon):
            raise InputError(f"epsilon must be a positive, finite number, not {self.epsilon!r}; 1 is usual")
        if not _positive(self.delta) or self.delta >= 1:
            raise InputError(
                f"delta must be a number above 0 and far below 1 over the number of rows, not {self.delta!r}; 1e-6 is "
                "usual"
            )
        if self.mechanism not in MECHANISMS:
            raise InputError(f"mechanism must be one of {', '.join(MECHANISMS)}; not {self.mechanism!r}")
        for name in ("ceiling", "sensitivity"):
            if getattr(self, name) is not None and not _positive(getattr(self, name)):
                raise InputError(f"{name} must be a positive, finite number, not {getattr(self, name)!r}")
        for name in ("answers", "test_seed", "most_rows"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InputError(f"{name} must be a whole number, not {value!r}")
        for name in ("sensitivity", "answers"):
            if getattr(self, name) is not None and self.mechanism != "regret":
                raise InputError(f"{name} belongs to mechanism='regret', not to {self.mechanism!r}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal is the mark in numbers such as 1.5, a point or a comma; not {self.decimal!r}")
        check_delta(float(self.delta), self.most_rows)
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, float(getattr(self, name)))  # 1 and 1.0 are one price, and one release
        object.__setattr__(self, "bounds", as_bounds(self.bounds))

    def noise(self, site: str) -> Noise:
        """Return the source of noise: OpenDP, unless this is a test."""
        if self.test_seed is None:
            return SecureNoise()
        return SeededNoise([self.test_seed, *site.encode(errors="surrogatepass")])


def check_delta(delta: float, most_rows: int | None = None) -> None:
    """Raise unless delta is far enough below one over the publicly known number of rows.

    Examples
    --------
    >>> check_delta(1e-6)
    >>> check_delta(1e-4, most_rows=5000)
    >>> check_delta(1e-3, most_rows=5000)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: delta = 0.001 is not below one over the number of rows (at most 5000); ...
    """
    if most_rows is None and delta > LARGEST_DELTA:
        raise InputError(
            f"delta = {delta:g} must be below one over the number of rows, and comparing it with the table would "
            "reveal this number: give a number of rows that no table exceeds and that is known without counting, such "
            f"as most_rows=5000 (--most-rows 5000), or choose a delta of {LARGEST_DELTA:g} or less"
        )
    if most_rows is not None and delta * most_rows >= 1:
        raise InputError(
            f"delta = {delta:g} is not below one over the number of rows (at most {most_rows}); with such a delta, "
            "even publishing a person's whole row would count as private. Choose a smaller delta; 1e-6 is usual"
        )


def _positive(value: object) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return 0 < float(value) < math.inf
    except OverflowError:  # a whole number with hundreds of digits
        return False
