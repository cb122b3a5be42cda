"""Strict reading and writing of JSON, and reading of TOML: finite numbers, no duplicate fields, limited size.

Python's own reader takes ``NaN``, reads ``1e999`` as infinity, keeps the last of two fields of the same name, and
builds integers that no float can hold. Each of these fails later, far from the file: as a traceback, or as a wrong
number.
"""

from __future__ import annotations

import json
import math
import tomllib
from typing import Any, NoReturn

from .errors import InputError

DEEPEST = 32
"""Largest depth of brackets. Our files have at most seven; Python's stack ends at some hundreds."""

LARGEST = (1 << 63) - 1
"""Largest absolute value of a whole number: every float and every array can hold it."""


class Unreadable(ValueError):
    """Why a text is not read; the words continue a sentence such as "schema file 's.json': ...".

    Examples
    --------
    >>> try:
    ...     read_json("[1, 2")
    ... except Unreadable as error:
    ...     print(error.line, "-", error)
    1 - line 1: Expecting ',' delimiter
    """

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


def read_json(text: str) -> Any:
    """Read JSON.

    Examples
    --------
    >>> read_json('{"bounds": [0, 1.5]}')
    {'bounds': [0, 1.5]}
    >>> read_json('{"bounds": [0, 1e999]}')
    Traceback (most recent call last):
    ...
    fedperi.strict.Unreadable: it holds a number that is not finite, 1e999
    >>> read_json('{"age": 1, "age": 2}')
    Traceback (most recent call last):
    ...
    fedperi.strict.Unreadable: it has the field 'age' twice
    """
    try:
        value = json.loads(
            text, parse_float=_finite, parse_int=_whole, parse_constant=_finite, object_pairs_hook=_distinct
        )
    except json.JSONDecodeError as error:
        raise Unreadable(f"line {error.lineno}: {error.msg}", error.lineno) from None
    except RecursionError:
        _too_deep()
    _check_depth(value)
    return value


def read_toml(text: str) -> dict[str, Any]:
    """Read TOML, under the same rules.

    Examples
    --------
    >>> read_toml("age = [0, 120]")
    {'age': [0, 120]}
    >>> read_toml("age = [0, inf]")
    Traceback (most recent call last):
    ...
    fedperi.strict.Unreadable: it holds a number that is not finite, inf
    """
    try:
        content = tomllib.loads(text, parse_float=_finite)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(str(error)) from None
    except Unreadable:
        raise
    except ValueError:  # Python refuses to build integers of more than 4,300 digits
        _too_large()
    except RecursionError:
        _too_deep()
    _check_depth(content)
    _check_integers(content)
    return content


def write_json(value: Any, *, indent: int | None = None, ascii_only: bool = True) -> str:
    """Write JSON that `read_json` reads, or raise.

    Examples
    --------
    >>> write_json({"epsilon": 1.0})
    '{"epsilon": 1.0}'
    >>> write_json({"epsilon": float("inf")})
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: a number that is not finite cannot be written as JSON
    """
    try:
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    except ValueError:
        raise InputError("a number that is not finite cannot be written as JSON") from None


def pack(form: str, version: int, fields: dict[str, Any]) -> str:
    """Write fields as JSON with the name and the version of their format, which `unpack` checks."""
    return write_json({"format": form, "version": version, **fields})


def unpack(text: str, form: str, version: int) -> dict[str, Any]:
    """Read the fields that `pack` wrote.

    Examples
    --------
    >>> unpack(pack("fedperi.state", 1, {"number": 3}), "fedperi.state", 1)
    {'number': 3}
    >>> unpack(pack("fedperi.state", 2, {"number": 3}), "fedperi.state", 1)
    Traceback (most recent call last):
    ...
    fedperi.strict.Unreadable: it has version 2 of fedperi.state, and this fedperi reads version 1
    """
    values = read_json(text)
    if not isinstance(values, dict) or values.pop("format", None) != form:
        raise Unreadable(f"it is not {form}")
    if (found := values.pop("version", None)) != version:
        raise Unreadable(f"it has version {found!r:.20} of {form}, and this fedperi reads version {version}")
    return values


def is_number(value: object) -> bool:
    """Whether a value is a finite number that a float can hold; True and False are not numbers.

    Examples
    --------
    >>> is_number(1), is_number(10**400), is_number(float("nan")), is_number(True)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST if isinstance(value, int) else math.isfinite(value)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Unreadable(f"it holds a number that is not finite, {text:.40}")
    return value


def _whole(text: str) -> int:
    # Digits are counted first: to build an integer takes the square of their number.
    if len(text) > len(str(-LARGEST)) or abs(value := int(text)) > LARGEST:
        _too_large()
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A field given twice would show a reader one value, and the program another."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Unreadable(f"it has the field {name!r:.60} twice")
        found[name] = value
    return found


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        inside = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inside for item in items if isinstance(item, dict | list)]
        if not level:
            return
    _too_deep()


def _check_integers(value: Any) -> None:
    if isinstance(value, int) and abs(value) > LARGEST:
        _too_large()
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_integers(item)


def _too_large() -> NoReturn:
    raise Unreadable(f"it holds a whole number beyond {LARGEST}")


def _too_deep() -> NoReturn:
    raise Unreadable(f"its brackets are nested deeper than {DEEPEST}")
