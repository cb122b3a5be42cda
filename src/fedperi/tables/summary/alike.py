"""Compare the summaries of several sites: which levels occur at any of them, and whether all are embedded alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import InputError
from .summary import Summary
from .units import one_hot_unit, unit_levels


def present_levels(parts: Sequence[Summary]) -> list[Summary]:
    """Leave out the indicators of levels that occur at no site, and of the first level that occurs at any site.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import Column, Schema
    >>> schema = Schema((Column("arm", "categorical", ("t", "u", "v", "w")),))
    >>> parts = [Summary.of(pd.DataFrame({"arm": levels}), schema) for levels in (["u", "v"], ["v", "u", "u"])]
    >>> [part.blocks for part in parts], [part.mean.round(2).tolist() for part in present_levels(parts)]
    ([((0, 1, 2),), ((0, 1, 2),)], [[0.5], [0.33]])
    """
    if not all(part.exact for part in parts):  # with noise nobody can tell which levels occur
        return list(parts)
    first = parts[0]
    shown = np.any([part.mean > 0 for part in parts], axis=0)
    kept, bases = [], []
    for block, unit in zip(first.blocks, first.units, strict=True):
        levels, columns = unit_levels(unit), list(block)
        base = levels[0] if levels else ""
        if levels:
            columns = [column for column in block if shown[column]]
            if columns and not any(part.n * (1 - part.mean[list(block)].sum()) > 0.5 for part in parts):
                base = levels[1 + block.index(columns[0])]
                columns = columns[1:]
        kept.append(columns or list(block[:1]))  # constant everywhere: `constant_everywhere` refuses it
        bases.append(base)
    if kept == [list(block) for block in first.blocks]:
        return list(parts)
    fewer = [part.with_columns(kept) for part in parts]
    units = tuple(
        one_hot_unit([base, *unit_levels(unit)[1:]]) if base else unit
        for base, unit in zip(bases, fewer[0].units, strict=True)
    )
    return [replace(part, units=units) for part in fewer]


def check_alike(parts: Sequence[Summary]) -> None:
    """Raise unless all summaries have the same variables, embedded alike.

    Examples
    --------
    >>> import pandas as pd
    >>> check_alike([Summary.of(pd.DataFrame({"a": [1.5, 2.0]})), Summary.of(pd.DataFrame({"b": [1.5, 2.5]}))])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'table' has the variables 'b', but 'table' has 'a'; give all sites the same columns
    """
    first = parts[0]
    for other in parts[1:]:
        if other.names != first.names:
            raise InputError(
                f"site {other.site!r} has the variables {', '.join(map(repr, other.names))}, but {first.site!r} has "
                f"{', '.join(map(repr, first.names))}; give all sites the same columns"
            )
        usual, own = (zip(one.blocks, one.units, one.kinds, strict=True) for one in (first, other))
        for name, here, there in zip(first.names, usual, own, strict=True):
            if here != there:
                raise InputError(
                    f"site {other.site!r}, column {name!r}: the column was summarised differently at {first.site!r}; "
                    "summarise all sites with one schema that declares its levels and bounds"
                )
