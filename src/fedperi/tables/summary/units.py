"""Describe how a variable was embedded: summaries can be compared only if these texts are equal."""

from __future__ import annotations

import json
from collections.abc import Sequence


def one_hot_unit(levels: Sequence[str]) -> str:
    """Describe a category by its levels; the first level has no column.

    Examples
    --------
    >>> one_hot_unit(["f", "m"]), unit_levels(one_hot_unit(["f", "m"])), unit_levels("Linear")
    ('OneHot ["f","m"]', ('f', 'm'), ())
    """
    return "OneHot " + json.dumps(list(levels), ensure_ascii=False, separators=(",", ":"))


def unit_levels(unit: str) -> tuple[str, ...]:
    """Return the levels of a category from its unit; none for numbers."""
    return tuple(json.loads(unit.removeprefix("OneHot "))) if unit.startswith("OneHot [") else ()
