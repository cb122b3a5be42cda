"""Leave out columns and change cells as a schema says, before anything else reads a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..checks.findings import quoted
from ..levels import number_of
from ..table import Cells, Table
from .preparation import Preparation, canonical

if TYPE_CHECKING:
    import pandas as pd

    from ..schema import Schema


def selected(table: Table, names: Sequence[str]) -> Table:
    """Return a table with some of its columns only, in its own order.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> table = selected(open_table(pd.DataFrame({"id": [7, 8], "a": [1.5, 2.5]}), "north"), ["a"])
    >>> table.columns, [list(frame.columns) for frame in table.chunks()]
    (('a',), [['a']])
    """
    kept = tuple(name for name in table.columns if name in set(names))
    if kept == table.columns:
        return table
    if not kept:
        raise InputError(f"site {table.name!r}: no column is left; its columns are {quoted(table.columns)}")
    read, cells = table._read, table._cells

    def fewer(size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        return (frame[list(kept)] for frame in read(size, text & set(kept)))

    def fewer_cells(size: int) -> Iterator[Cells]:
        return (replace(part, columns={name: part.columns[name] for name in kept}) for part in cells(size))

    return replace(table, columns=kept, _read=fewer, _cells=fewer_cells, first_reading=None)


def prepared(table: Table, schema: Schema | None) -> Table:
    """Return a table prepared as a schema says; a table that was prepared so before is returned unchanged.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import Schema, open_table
    >>> table = open_table(pd.DataFrame({"id": [7, 8], "chol": [0, 212]}), "north")
    >>> schema = Schema((), (Preparation("id", ignore=True), Preparation("chol", missing_values=[0])))
    >>> next(prepared(table, schema).chunks()).to_dict("list")
    {'chol': [nan, 212.0]}
    """
    wanted = schema.preparations if schema is not None else ()
    done = table.preparations
    if wanted == done or not wanted:  # the agreed schema of all sites holds no preparations
        return table
    if done:
        raise InputError(
            f"site {table.name!r}: the table was prepared by another schema; open the file or DataFrame again"
        )
    ignored = {one.name for one in wanted if one.ignore}
    fewer = selected(table, [name for name in table.columns if name not in ignored])
    own = [one for one in wanted if one.changes_cells and one.name in fewer.columns]
    changed = _changed(fewer, own) if own else fewer
    return replace(changed, preparations=wanted)


def zeros_missing(table: Table, names: Iterable[str]) -> Table:
    """Return a table in which the zeros of some columns are also taken as missing, after what a schema declared.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> table = zeros_missing(open_table(pd.DataFrame({"chol": [0, 212]}), "north"), ["chol"])
    >>> next(table.chunks()).to_dict("list")
    {'chol': [nan, 212.0]}
    """
    if table.engine is None:
        return _changed(table, [Preparation(name, missing_values=[0]) for name in names])
    done = {one.name: one for one in table.engine.preparations}
    for name in names:
        known = done.get(name, Preparation(name))
        codes = [*known.missing_values, 0]
        done[name] = Preparation(name, missing_values=codes, rename=known.rename, scale=known.scale)
    return _changed(table, tuple(done.values()))


def refuse_under_noise(schema: Schema | None) -> None:
    """Raise if a schema changes cells: with noise, cells are read by the public bounds only.

    Examples
    --------
    >>> from fedperi.tables import Schema
    >>> refuse_under_noise(Schema((), (Preparation("chol", missing_values=[0]),)))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: column 'chol': missing_values, rename and scale are for runs without noise; change ...
    """
    names = [one.name for one in (schema.preparations if schema is not None else ()) if one.changes_cells]
    if names:
        raise InputError(
            f"column {names[0]!r}: missing_values, rename and scale are for runs without noise; change the file "
            "itself, or let the bounds clip codes that lie outside"
        )


def _changed(table: Table, preparations: Sequence[Preparation]) -> Table:
    if table.engine is not None:
        return replace(table, engine=replace(table.engine, preparations=tuple(preparations)), first_reading=None)
    read = table._read
    words = frozenset(one.name for one in preparations if one.rename)

    def change(size: int, text: frozenset[str]) -> Iterator[pd.DataFrame]:
        for frame in read(size, text | words):
            new = {one.name: prepared_column(frame[one.name], one, table.name) for one in preparations}
            yield frame.assign(**new)

    return replace(table, _read=change, first_reading=None)


def prepared_column(series: pd.Series[Any], how: Preparation, site: str) -> pd.Series[Any]:
    """Return the cells of a column as a preparation changes them.

    Examples
    --------
    >>> import pandas as pd
    >>> how = Preparation("sex", missing_values=[9], rename={"male": "M"})
    >>> prepared_column(pd.Series(["male", "9", "F"]), how, "north").tolist()
    ['M', nan, 'F']
    """
    from pandas.api import types

    plain = types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype)
    if how.missing_values:
        if plain:
            known = [code for code in map(number_of, how.missing_values) if code is not None]
        else:
            known = [value for value in series.dropna().unique().tolist() if canonical(value) in how.missing_values]
        series = series.mask(series.isin(known))
        if not plain and not how.rename:
            series = _as_numbers(series)
            plain = types.is_numeric_dtype(series.dtype)
    if how.rename:
        names = dict(how.rename)
        series = series.astype(object).map(lambda cell: names.get(key := canonical(cell), key), na_action="ignore")
    factor = dict(how.scale).get(site)
    if factor is None:
        return series
    if not plain:
        raise InputError(f"site {site!r}, column {how.name!r}: scale is for numbers, and this column holds text")
    return series * factor


def _as_numbers(series: pd.Series[Any]) -> pd.Series[Any]:
    """Turn text into numbers, if all that remains without the codes are numbers."""
    import pandas as pd

    values = series.dropna().unique().tolist()
    numbers = all(isinstance(value, str) and number_of(value) is not None for value in values)
    return pd.to_numeric(series) if values and numbers else series
