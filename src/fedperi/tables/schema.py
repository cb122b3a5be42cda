"""The schema that all sites of a federation share: what the columns of their tables are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Real
from os import PathLike
from typing import Literal

from ..errors import InputError
from ..names import check_name
from .levels import level_text, style_of
from .preparing.preparation import Preparation

Kind = Literal["continuous", "categorical"]


@dataclass(frozen=True)
class Column:
    """One variable: its name, its kind, and the levels or the bounds of its values.

    Parameters
    ----------
    name : str
        The column's name, everywhere.
    kind : {"continuous", "categorical"}
        Truth values and integer codes are categorical.
    levels : tuple of str, optional
        Categorical only: the categories, in order. If not given, those found in the data are taken.
    bounds : tuple of float, optional
        Continuous only: public lower and upper limits. Where a column is rescaled, they replace the range of the data,
        and values outside are clipped.

    Examples
    --------
    >>> Column("sex", "categorical", ("f", "m"))
    Column(name='sex', kind='categorical', levels=('f', 'm'), bounds=None)
    >>> Column("smoker", "categorical", ("true", "false")).levels
    ('False', 'True')
    >>> Column("age", "continuous", bounds=(0, 120)).bounds
    (0.0, 120.0)
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"a column's name must be a non-empty string, not {self.name!r}")
        check_name(self.name, "a column")
        if self.kind not in ("continuous", "categorical"):
            raise InputError(f"column {self.name!r}: kind must be 'continuous' or 'categorical', not {self.kind!r}")
        if self.levels is not None:
            object.__setattr__(self, "levels", self._checked_levels())
        if self.bounds is not None:
            object.__setattr__(self, "bounds", self._checked_bounds())

    def _checked_levels(self) -> tuple[str, ...]:
        if self.kind == "continuous":
            raise InputError(f"column {self.name!r} is continuous and has no levels; drop them, or make it categorical")
        if isinstance(self.levels, str) or not isinstance(self.levels, Iterable):
            raise InputError(f"column {self.name!r}: levels must be a list of strings, not {self.levels!r}")
        given = tuple(self.levels)
        if any(isinstance(level, Real) and level_text(level) in ("inf", "-inf", "nan") for level in given):
            raise InputError(
                f"column {self.name!r}: a level is a number that is not finite or too large; write such a level as text"
            )
        texts = [level_text(level) for level in given]
        style = style_of(texts)
        levels = tuple(level_text(text, style) for text in texts)
        if not levels:
            raise InputError(f"column {self.name!r}: the list of levels is empty; name at least one category")
        for level in levels:
            if levels.count(level) > 1:
                raise InputError(f"column {self.name!r}: level {level!r} is listed twice; list each category once")
        return tuple(sorted(levels)) if style == "boolean" else levels

    def _checked_bounds(self) -> tuple[float, float]:
        if self.kind == "categorical":
            raise InputError(f"column {self.name!r} is categorical and has no bounds; drop them, or make it continuous")
        try:
            low, high = (float(bound) for bound in self.bounds or ())
        except OverflowError:
            raise InputError(f"column {self.name!r}: a bound has more than 308 digits; give a smaller one") from None
        except (TypeError, ValueError):
            raise InputError(f"column {self.name!r}: bounds must be two numbers, not {self.bounds!r:.80}") from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(f"column {self.name!r}: bounds must be finite and increasing, not {low:g}, {high:g}")
        return low, high


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order. All sites of a federation share one schema.

    Parameters
    ----------
    columns : tuple of Column
        The columns whose kind is declared, or all of them.
    preparations : tuple of Preparation
        What is done to columns first: left out, codes for missing, spellings, units. Their kind need not be declared.
    units : tuple of (str, str)
        Columns of numbers with their unit, for people who compare schemas: nothing is computed from it.

    Examples
    --------
    >>> schema = Schema((Column("age", "continuous"), Column("sex", "categorical", ("f", "m"))))
    >>> schema.names
    ('age', 'sex')
    >>> schema["sex"].levels
    ('f', 'm')
    """

    columns: tuple[Column, ...]
    preparations: tuple[Preparation, ...] = field(default=(), repr=False)
    units: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "preparations", tuple(self.preparations))
        by_name: dict[str, Column] = {}
        for column in self.columns:
            if column.name in by_name:
                raise InputError(f"the schema names column {column.name!r} twice; names must be unique")
            by_name[column.name] = column
        for name, unit in self.units:
            check_name(unit, f"the unit of column {name!r}")
            if name not in by_name or by_name[name].kind != "continuous":
                raise InputError(
                    f"column {name!r} has a unit, {unit!r}, and is not a number: give its kind, or omit unit"
                )
        for one in self.preparations:
            if one.ignore and one.name in by_name:
                raise InputError(f"column {one.name!r} is ignored and declared; leave one of the two out")
        object.__setattr__(self, "_by_name", by_name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._by_name)

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The names of all columns that are declared or prepared: the tables must have them."""
        changed = (one.name for one in self.preparations if not one.ignore)
        return tuple(dict.fromkeys([*self.names, *changed]))

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Column:
        column = self._by_name.get(name)
        if column is None:
            raise InputError(f"the schema has no column {name!r}; it has {', '.join(map(repr, self.names))}")
        return column

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema from a ``.toml`` or ``.json`` file; see `fedperi.tables.schema_file` for the format."""
        from .schema_file import read_schema

        return read_schema(path)

    def to_file(self, path: str | PathLike[str]) -> None:
        """Write the schema to a ``.toml`` or ``.json`` file that `from_file` reads back."""
        from .schema_file import write_schema

        write_schema(self, path)


def differences(a: Schema, b: Schema, names: tuple[str, str] = ("the first", "the second")) -> list[str]:
    """List the differences between two schemas as sentences; the order of the columns does not matter.

    Parameters
    ----------
    a, b : Schema
        The schemas to compare.
    names : tuple of str
        What to call them in the sentences.

    Examples
    --------
    >>> a = Schema((Column("age", "continuous"), Column("sex", "categorical", ("f", "m"))))
    >>> b = Schema((Column("sex", "categorical", ("f", "m", "x")),))
    >>> for sentence in differences(a, b, ("north", "south")):
    ...     print(sentence)
    column 'age' is in north but not in south
    column 'sex': level 'x' is in south but not in north
    """
    found = []
    for one, other, here, there in ((a, b, *names), (b, a, *names[::-1])):
        found += [f"column {name!r} is in {here} but not in {there}" for name in one.names if name not in other]
    for name in (name for name in a.names if name in b):
        left, right = a[name], b[name]
        if left.kind != right.kind:
            found.append(f"column {name!r} is {left.kind} in {names[0]} but {right.kind} in {names[1]}")
            continue
        levels = left.levels or (), right.levels or ()
        for one_levels, other_levels, here, there in ((*levels, *names), (*levels[::-1], *names[::-1])):
            for level in one_levels:
                if level not in other_levels:
                    found.append(f"column {name!r}: level {level!r} is in {here} but not in {there}")
        if set(levels[0]) == set(levels[1]) and levels[0] != levels[1]:
            found.append(f"column {name!r}: {names[0]} and {names[1]} list the same levels in a different order")
        if left.bounds != right.bounds:
            found.append(f"column {name!r}: bounds are {left.bounds} in {names[0]} but {right.bounds} in {names[1]}")
    return found
