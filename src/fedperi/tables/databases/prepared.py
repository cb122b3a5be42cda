"""Changes that a schema makes to the cells of a database's table: codes for missing, spellings, units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...errors import InputError
from ..levels import number_of
from ..preparing.preparation import Preparation
from .columns import Stored, stored_columns


def prepared_rows(rows: Any, preparations: Sequence[Preparation], site: str) -> Any:
    """Return an expression of the rows, changed as `fedperi.tables.preparing.prepared` changes those of a file."""
    own = [one for one in preparations if one.changes_cells and one.name in rows.columns]
    return rows.mutate(**{one.name: _changed(rows, one, site) for one in own}) if own else rows


def _changed(rows: Any, how: Preparation, site: str) -> Any:
    (stored,) = stored_columns(rows, [how.name])
    column, number = rows[how.name], stored.storage in ("integer", "number")
    if how.missing_values:
        if number:
            codes = [code for code in map(number_of, how.missing_values) if code is not None]
            gone = column.cast("float64").isin(codes) if codes else None
        else:
            gone = _spelled(_text(column, stored), how.missing_values)
        column = column if gone is None else gone.ifelse(None, column)
    if how.rename:
        if stored.storage == "number":
            raise InputError(
                f"site {site!r}, column {how.name!r}: rename is for text and whole numbers, and in this database the "
                "column holds decimal numbers; write a CASE in a query"
            )
        column = text = _text(column, stored)
        for old, new in how.rename:
            column = _spelled(text, [old]).ifelse(new, column)
    factor = dict(how.scale).get(site)
    if factor is None:
        return column
    if not number:
        raise InputError(f"site {site!r}, column {how.name!r}: scale is for numbers, and this column holds text")
    return column.cast("float64") * factor


def _text(column: Any, stored: Stored) -> Any:
    """Return cells as text, spelled as levels are."""
    if stored.storage == "boolean":
        return column.notnull().ifelse(column.ifelse("True", "False"), None)
    return (column.cast("int64") if stored.numeric else column).cast("string").strip()


def _spelled(text: Any, codes: Sequence[str]) -> Any:
    """Return a condition: the text is one of these codes; a whole number may also be written as ``9.0`` or ``09``."""
    return text.re_search(f"^({'|'.join(map(_pattern, codes))})$")


def _pattern(code: str) -> str:
    sign, digits = ("-", code[1:]) if code.startswith("-") else ("[+]?", code)
    return rf"{sign}0*{digits}([.]0*)?" if digits.isdecimal() and digits.isascii() else re.escape(code)
