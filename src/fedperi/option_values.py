"""Valid values of options, with the same messages in Python and on the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .errors import InputError

DATA = ("auto", "linear", "nonlinear", "discrete", "mixed")
"""How columns are treated; see docs/explanation/site.md."""

COMPLETE = ("error", "drop")
"""What to do with rows in which a value is missing, where complete rows are needed."""

MISSING = ("auto", "em", *COMPLETE)
"""The same where means and covariances are enough, which EM estimates from such rows; see docs/guides/missing.md."""


def check_one_of(option: str, value: object, legal: Sequence[str]) -> None:
    """Raise unless a value is one of a few words.

    Examples
    --------
    >>> check_one_of("missing", "fill", COMPLETE)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: missing must be one of error, drop; not 'fill'
    """
    if not isinstance(value, str) or value not in legal:
        raise InputError(f"{option} must be one of {', '.join(legal)}; not {value!r}")


def check_whole(option: str, value: object, least: int = 0) -> None:
    """Raise unless a value is a whole number, `least` or more.

    Examples
    --------
    >>> check_whole("jobs", 0, 1)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: jobs must be a whole number, 1 or more, not 0
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        size = "zero or positive" if least == 0 else f"{least} or more"
        raise InputError(f"{option} must be a whole number, {size}, not {value!r}")


def check_between(option: str, value: object, low: float, high: float) -> None:
    """Raise unless a value is a number between two limits.

    Examples
    --------
    >>> check_between("alpha", 1, 0, 1)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: alpha must lie between 0 and 1, not 1
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value < high:
        raise InputError(f"{option} must lie between {low:g} and {high:g}, not {value!r}")


def check_flag(option: str, value: object) -> None:
    """Raise unless a value is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{option} must be True or False, not {value!r}")


def check_finite(option: str, value: object, *, positive: bool = False) -> None:
    """Raise unless a value is a finite number, zero or positive, or `positive` only.

    Examples
    --------
    >>> check_finite("penalty", -1.0)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: penalty must be a finite number, zero or positive, not -1.0
    """
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 <= number < math.inf or (positive and number == 0):
        size = "above zero" if positive else "zero or positive"
        raise InputError(f"{option} must be a finite number, {size}, not {value!r}")
