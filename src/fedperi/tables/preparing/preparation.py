"""What is done to a column before its type is inferred: left out, codes for missing, spellings, units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ...errors import InputError
from ...names import check_name
from ..levels import level_text, number_of

KEYS = ("missing_values", "rename", "scale")
"""The keys of a schema file that prepare a column, beside ``kind = "ignore"``."""


@dataclass(frozen=True)
class Preparation:
    """What is done to the cells of one column, at every site, before its type is inferred.

    Parameters
    ----------
    name : str
        The column.
    ignore : bool
        Whether the column is left out.
    missing_values : iterable of numbers and str
        Codes for "not known": cells that hold one of them count as missing.
    rename : mapping of str to str
        Other spellings of levels, and the spelling to use.
    scale : mapping of str to float
        For sites that measure in another unit, the factor by which their numbers are multiplied.

    Examples
    --------
    >>> Preparation("chol", missing_values=[0, -999]).missing_values
    ('0', '-999')
    >>> Preparation("sex", rename={"male": "M"}).rename
    (('male', 'M'),)
    """

    name: str
    ignore: bool = False
    missing_values: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    scale: tuple[tuple[str, float], ...] = ()

    def __init__(
        self,
        name: str,
        ignore: bool = False,
        missing_values: Iterable[Any] = (),
        rename: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        scale: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
    ) -> None:
        check_name(name, "a column")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "ignore", bool(ignore))
        object.__setattr__(self, "missing_values", _codes(name, missing_values))
        object.__setattr__(self, "rename", _spellings(name, rename))
        object.__setattr__(self, "scale", _factors(name, scale))
        if self.rename and self.scale:
            raise InputError(f"column {name!r}: rename is for categories and scale for numbers; give one of them")
        if ignore and (self.missing_values or self.rename or self.scale):
            raise InputError(f"column {name!r} is ignored; leave out missing_values, rename and scale")

    @property
    def changes_cells(self) -> bool:
        """Whether cells are changed, and the column is not left out."""
        return bool(self.missing_values or self.rename or self.scale)


def _codes(name: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable) or isinstance(values, Mapping):
        raise InputError(f"column {name!r}: missing_values must be a list, such as [-999, 9999]")
    codes = [canonical(value) for value in values]
    if any(code in ("inf", "-inf", "nan", "") for code in codes):
        raise InputError(f"column {name!r}: missing_values holds an empty or infinite value; name finite codes or text")
    return tuple(dict.fromkeys(codes))


def _spellings(name: str, rename: Any) -> tuple[tuple[str, str], ...]:
    pairs = _pairs(name, "rename", rename, '{ male = "M" }')
    texts = [(canonical(old), level_text(new)) for old, new in pairs]
    if any(not new.strip() for _, new in texts):
        raise InputError(f"column {name!r}: rename gives a level an empty name; for missing use missing_values")
    olds = [old for old, _ in texts]
    twice = next((old for old in olds if olds.count(old) > 1), None)
    if twice is not None:
        raise InputError(f"column {name!r}: rename names {twice!r} twice; name each spelling once")
    return tuple(texts)


def _factors(name: str, scale: Any) -> tuple[tuple[str, float], ...]:
    pairs = _pairs(name, "scale", scale, "{ lyon = 0.4536 }")
    for site, factor in pairs:
        number = isinstance(factor, Real) and not isinstance(factor, bool)
        if not number or not math.isfinite(factor) or factor <= 0:
            raise InputError(f"column {name!r}: the factor for site {site!r} must be a positive number, not {factor!r}")
    return tuple((site, float(factor)) for site, factor in pairs)


def _pairs(name: str, key: str, value: Any, example: str) -> list[tuple[str, Any]]:
    entries = value.items() if isinstance(value, Mapping) else value
    pairs = list(entries) if isinstance(entries, Iterable) and not isinstance(entries, str) else [entries]
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise InputError(f"column {name!r}: {key} must be a table, such as {example}")
    return [(pair[0], pair[1]) for pair in pairs]


def canonical(value: Any) -> str:
    """Return the text by which a cell is compared with codes and spellings: ``0``, ``0.0`` and ``"0"`` are the same.

    Examples
    --------
    >>> canonical(0.0), canonical(" -999.0 "), canonical("Male")
    ('0', '-999', 'Male')
    """
    text = level_text(value)
    number = number_of(text)
    return text if number is None else level_text(number)
