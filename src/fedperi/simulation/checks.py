"""Checks of single arguments: each gives the value in its own type, or an error that names it."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np

from ..errors import InputError


def row_counts(value: Any, sites: int, name: str = "samples") -> tuple[int, ...]:
    """Check a number of rows for all sites, or one for each."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple):
        return (whole(name, value, 1),) * sites
    if len(value) != sites:
        raise InputError(
            f"{name} has {len(value)} entries for {sites} sites; give one number for all sites or one for each"
        )
    return tuple(whole(f"{name}[{k}]", n, 1) for k, n in enumerate(value))


def bounds(name: str, value: Any, remark: str = "") -> tuple[float, float]:
    """Check a pair of positive numbers, the smaller first."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InputError(f"{name} must be a pair (low, high), not {value!r}")
    low, high = (number(name, bound) for bound in value)
    if not 0 < low <= high:
        raise InputError(f"{name} must satisfy 0 < low <= high, not ({low:g}, {high:g}){remark}")
    return low, high


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number that is not too small."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, not {value!r}")
    if value < least:
        raise InputError(f"{name} must be at least {least}, not {value}")
    return int(value)


def number(name: str, value: Any) -> float:
    """Check a finite number."""
    try:
        numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        checked = float(value) if numeric else math.nan
    except OverflowError:  # a whole number beyond the floats
        checked = math.inf
    if not math.isfinite(checked):
        raise InputError(f"{name} must be a finite number, not {value!r}")
    return checked


def positive(name: str, value: Any) -> float:
    """Check a number greater than 0."""
    checked = number(name, value)
    if checked <= 0:
        raise InputError(f"{name} must be greater than 0, not {value!r}")
    return checked


def not_negative(name: str, value: Any) -> float:
    """Check a number that is not less than 0."""
    checked = number(name, value)
    if checked < 0:
        raise InputError(f"{name} must be at least 0, not {value!r}")
    return checked


def flag(name: str, value: Any) -> bool:
    """Check True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def one_of(name: str, value: Any, options: Any) -> Any:
    """Check one of a few words."""
    legal = get_args(options)
    if not isinstance(value, str) or value not in legal:
        raise InputError(f"{name} must be one of {', '.join(map(repr, legal))}, not {value!r}")
    return value
