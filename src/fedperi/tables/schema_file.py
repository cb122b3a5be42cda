"""Read and write schema files in TOML or JSON, with the same structure in both.

.. code-block:: toml

    [columns.age]
    kind = "continuous"
    bounds = [0, 120]      # optional
    unit = "years"         # optional, for people who compare schemas

    [columns.sex]
    kind = "categorical"
    levels = ["f", "m"]    # optional: if not given, those found in the data
    rename = { male = "m", Male = "m" }      # other spellings of a level

    [columns.chol]                           # without a kind: it is inferred
    missing_values = [0, -999]               # codes that stand for "not known"

    [columns.weight]
    scale = { lyon = 0.4536 }                # lyon measures in pounds: its numbers are multiplied

    [columns.patient]
    kind = "ignore"                          # not part of the analysis

Where a schema may be partial, columns that it does not name are inferred from the data.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..strict import Unreadable, read_json, read_toml, write_json
from .levels import number_of
from .preparing.preparation import KEYS, Preparation
from .schema import Column, Schema


def read_schema(path: str | PathLike[str]) -> Schema:
    r"""Read a schema file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "schema.toml"
    >>> _ = file.write_text('[columns.sex]\nkind = "categorical"\nlevels = ["f", "m"]')
    >>> read_schema(file).columns
    (Column(name='sex', kind='categorical', levels=('f', 'm'), bounds=None),)
    """
    file = checked_path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = read_toml(text) if file.suffix.lower() == ".toml" else read_json(text)
    except OSError as error:
        raise InputError(f"cannot read schema file {str(file)!r}: {error.strerror or error}") from None
    except (Unreadable, UnicodeDecodeError) as error:
        raise InputError(f"schema file {str(file)!r} is not valid {file.suffix[1:].upper()}: {error}") from None
    columns = content.get("columns") if isinstance(content, dict) else None
    if not isinstance(columns, dict) or not columns:
        raise InputError(f"schema file {str(file)!r} names no columns; give each a table such as [columns.age]")
    try:
        read = [(_column(name, entry), _preparation(name, entry)) for name, entry in columns.items()]
        return Schema(
            tuple(column for column, _ in read if column is not None),
            tuple(preparation for _, preparation in read if preparation is not None),
            tuple((name, _unit(name, entry["unit"])) for name, entry in columns.items() if "unit" in entry),
        )
    except InputError as error:
        raise InputError(f"schema file {str(file)!r}: {error}") from None


def write_schema(schema: Schema, path: str | PathLike[str]) -> None:
    """Write a schema file that `read_schema` reads back unchanged.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "schema.toml"
    >>> write_schema(Schema((Column("age", "continuous", bounds=(0, 120)),)), file)
    >>> print(file.read_text())
    [columns."age"]
    kind = "continuous"
    bounds = [0.0, 120.0]
    """
    file = checked_path(path)
    prepared = {one.name: one for one in schema.preparations}
    declared = {column.name: column for column in schema.columns}
    entries = {name: _entry(declared.get(name), prepared.get(name)) for name in dict.fromkeys([*declared, *prepared])}
    for name, unit in schema.units:
        entries[name]["unit"] = unit
    if file.suffix.lower() == ".json":
        text = write_json({"columns": entries}, indent=2, ascii_only=False) + "\n"
    else:
        tables = [
            "\n".join(
                [f"[columns.{toml_value(name)}]", *(f"{key} = {toml_value(value)}" for key, value in entry.items())]
            )
            for name, entry in entries.items()
        ]
        text = "\n\n".join(tables) + "\n"
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write schema file {str(file)!r}: {error.strerror or error}") from None


def checked_path(path: str | PathLike[str]) -> Path:
    """Refuse a file whose name ends neither in .toml nor in .json.

    Examples
    --------
    >>> checked_path("schema.json").suffix
    '.json'
    """
    file = Path(path)
    if file.suffix.lower() not in (".toml", ".json"):
        raise InputError(f"schema file {str(file)!r}: the name must end in .toml or .json")
    return file


def _column(name: str, entry: Any) -> Column | None:
    """Return the declared column; None if its kind must be inferred or the column is ignored."""
    if not isinstance(entry, dict) or not entry:
        raise InputError(f"column {name!r} needs a kind, 'continuous', 'categorical' or 'ignore'")
    for key in entry:
        if key not in ("kind", "levels", "bounds", "unit", *KEYS):
            raise InputError(
                f"column {name!r}: unknown key {key!r}; the keys are kind, levels, bounds, unit, {', '.join(KEYS)}"
            )
    levels, bounds, kind = entry.get("levels"), entry.get("bounds"), entry.get("kind")
    if kind is None and (levels is not None or bounds is not None):
        raise InputError(f"column {name!r} with levels or bounds needs a kind, 'continuous' or 'categorical'")
    if kind is None:
        return None
    if kind == "ignore":
        if len(entry) > 1:
            raise InputError(f"column {name!r} is ignored; leave out everything but its kind")
        return None
    # Lists become tuples; Column refuses anything else with its own message.
    levels = tuple(levels) if isinstance(levels, list) else levels
    bounds = tuple(bounds) if isinstance(bounds, list) else bounds
    return Column(name, kind, levels, bounds)


def _unit(name: str, unit: Any) -> str:
    if not isinstance(unit, str):
        raise InputError(f'column {name!r}: the unit must be a text, such as "kg", not {unit!r}')
    return unit.strip()


def _preparation(name: str, entry: dict[str, Any]) -> Preparation | None:
    given = {key: entry[key] for key in KEYS if key in entry}
    if entry.get("kind") == "ignore":
        return Preparation(name, ignore=True)
    return Preparation(name, **given) if given else None


def _entry(column: Column | None, preparation: Preparation | None) -> dict[str, Any]:
    if preparation is not None and preparation.ignore:
        return {"kind": "ignore"}
    entry: dict[str, Any] = {}
    if column is not None:
        fields = {"kind": column.kind, "levels": column.levels, "bounds": column.bounds}
        entry = {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items() if value}
    if preparation is not None:
        entry["missing_values"] = [_code(code) for code in preparation.missing_values]
        entry |= {"rename": dict(preparation.rename), "scale": dict(preparation.scale)}
    return {key: value for key, value in entry.items() if value}


def _code(text: str) -> str | float:
    number = number_of(text)
    return text if number is None else int(number) if number == int(number) else number


def toml_value(value: Any) -> str:
    """Write a text, a number, a list or a dict as a value of a TOML file."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_value(key)} = {toml_value(one)}" for key, one in value.items()) + " }"
    # A JSON string is a TOML basic string, except for one control character that JSON does not escape.
    return write_json(value, ascii_only=False).replace("\x7f", "\\u007f")
