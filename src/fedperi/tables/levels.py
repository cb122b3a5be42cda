"""The names of categories: one spelling per level, in whatever type a file or a DataFrame stores it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

Style = Literal["number", "boolean", "text"]

# float() also accepts "nan", "inf" and "1_000"; as levels of a category these are words, not numbers. There is only one
# way to match the expression, so that long cells are quick.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_TRUTH = {"true": "True", "false": "False"}


def number_of(text: str) -> float | None:
    """Return the finite number that a text stands for, or None.

    Examples
    --------
    >>> number_of(" 1.50 "), number_of("1e3"), number_of("nan"), number_of("<5")
    (1.5, 1000.0, None, None)
    """
    text = text.strip()
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def level_text(value: Any, style: Style = "text") -> str:
    """Return the name of a level: ``1``, ``1.0`` and (where levels are numbers) ``"01"`` are all ``"1"``.

    Examples
    --------
    >>> level_text(1.0), level_text(True), level_text("01"), level_text("01", "number"), level_text("TRUE", "boolean")
    ('1', 'True', '01', '1', 'True')
    """
    if isinstance(value, str):
        text = value.strip()
        if style == "boolean":
            return _TRUTH.get(text.lower(), text)
        number = number_of(text) if style == "number" else None
        return text if number is None else _number_text(number)
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return str(bool(value))
    is_number = isinstance(value, (Real, Decimal))
    if not is_number:
        return str(value)
    try:
        return _number_text(float(value))
    except OverflowError:  # an integer of more than 308 digits
        return "inf" if value > 0 else "-inf"


def _number_text(number: float) -> str:
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)


def style_of(levels: Iterable[str]) -> Style:
    """Say whether levels are all numbers, all truth values, or text.

    Examples
    --------
    >>> style_of(["0", "1"]), style_of(["true", "FALSE"]), style_of(["1", "unknown"])
    ('number', 'boolean', 'text')
    """
    levels = list(levels)
    if all(level.strip().lower() in _TRUTH for level in levels):
        return "boolean"
    return "number" if all(number_of(level) is not None for level in levels) else "text"


def sorted_levels(levels: Iterable[str]) -> tuple[str, ...]:
    """Sort levels: by value if all are numbers, else by text.

    Examples
    --------
    >>> sorted_levels(["10", "9"]), sorted_levels(["b", "a"])
    (('9', '10'), ('a', 'b'))
    """
    levels = list(levels)
    if style_of(levels) == "number":
        return tuple(sorted(levels, key=lambda level: (float(level), level)))
    return tuple(sorted(levels))


CHANCE, RARE = 7.0, 0.1
"""If a site should have this number of rows of a level, it does not lack it by chance: the probability is below 0.001.
And the share of rows at the other sites from which on the levels that a site lacks are not rare."""


def lacking_by_chance(sites: Sequence[Mapping[str, int]]) -> bool:
    """Whether every site may lack levels by chance, because these are rare at the other sites.

    Each site is given by the number of rows of each of its levels.

    Examples
    --------
    >>> lacking_by_chance([{"0": 60, "1": 30, "3": 1}, {"0": 50, "1": 25, "2": 2}])
    True
    >>> lacking_by_chance([{"0": 60, "1": 30}, {"1": 50, "2": 25}])
    False
    """
    rows: Counter[str] = Counter()
    for site in sites:
        rows.update(site)
    for site in sites:
        here, lacking = sum(site.values()), [rows[level] for level in rows if level not in site]
        others = rows.total() - here
        if lacking and (here * max(lacking) >= CHANCE * others or sum(lacking) >= RARE * others):
            return False
    return True
