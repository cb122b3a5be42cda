"""Schema files, TOML or JSON, the same shape in both.

.. code-block:: toml

    [columns.age]
    kind = "continuous"
    bounds = [0, 120]      # optional

    [columns.sex]
    kind = "categorical"
    levels = ["f", "m"]    # optional in an override: those found in the data

As an override a file may name only the columns whose inferred type is not wanted.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..strict import Unreadable, read_json, read_toml, write_json
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
        return Schema(tuple(_column(name, entry) for name, entry in columns.items()))
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
    entries = {column.name: _entry(column) for column in schema.columns}
    if file.suffix.lower() == ".json":
        text = write_json({"columns": entries}, indent=2, ascii_only=False) + "\n"
    else:
        tables = [
            "\n".join([f"[columns.{_toml(name)}]", *(f"{key} = {_toml(value)}" for key, value in entry.items())])
            for name, entry in entries.items()
        ]
        text = "\n\n".join(tables) + "\n"
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write schema file {str(file)!r}: {error.strerror or error}") from None


def checked_path(path: str | PathLike[str]) -> Path:
    """Refuse a name that says neither TOML nor JSON.

    Examples
    --------
    >>> checked_path("schema.json").suffix
    '.json'
    """
    file = Path(path)
    if file.suffix.lower() not in (".toml", ".json"):
        raise InputError(f"schema file {str(file)!r}: the name must end in .toml or .json")
    return file


def _column(name: str, entry: Any) -> Column:
    if not isinstance(entry, dict) or "kind" not in entry:
        raise InputError(f"column {name!r} needs a kind, 'continuous' or 'categorical'")
    for key in entry:
        if key not in ("kind", "levels", "bounds"):
            raise InputError(f"column {name!r}: unknown key {key!r}; the keys are kind, levels and bounds")
    levels, bounds = entry.get("levels"), entry.get("bounds")
    # Lists become tuples; anything else is passed on for Column to refuse with its own message.
    levels = tuple(levels) if isinstance(levels, list) else levels
    bounds = tuple(bounds) if isinstance(bounds, list) else bounds
    return Column(name, entry["kind"], levels, bounds)


def _entry(column: Column) -> dict[str, Any]:
    fields = {"kind": column.kind, "levels": column.levels, "bounds": column.bounds}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items() if value}


def _toml(value: Any) -> str:
    # A JSON string is a TOML basic string, but for the one control character JSON leaves bare.
    return write_json(value, ascii_only=False).replace("\x7f", "\\u007f")
