"""Reading a release: everything that is not exactly what a site wrote, or does not keep its promise, is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import CONSTANT, GRID, PublicEmbedding
from ..data.embedding import MAX_DEGREE
from ..data.private import is_number, limits
from ..data.schema import Column, Schema
from ..errors import InputError
from ..names import name_problem
from .accounting import Price, spent, zcdp_epsilon
from .explain import NEIGHBOURS
from .ledger import Ceiling
from .release import BESIDE, DIAGONAL, Release
from .release_text import FORMAT, VERSION, canonical, checksum, content_of, infinite_in

_LARGEST = 1e15  # of numbers: sums of fewer rows than there are people, and their squares do not overflow
AGAIN = "have the site run `fedperi release` again: it writes the same release, at no new price"
_TOLERANCE = 1e-6  # relative, for what was rounded on its way through decimal numbers


def read_release(text: str, where: str) -> Release:
    """Read what `write_release` wrote, and refuse everything else.

    Parameters
    ----------
    text : str
    where : str
        What to call it in an error: the file's name.

    Raises
    ------
    InputError
        If the text is not a whole release, was edited, or promises more than its noise keeps.

    Examples
    --------
    >>> read_release('{"format": "fedperi.rele', "h1.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: release file 'h1.fedperi' is cut off or not JSON (line 1: ...); have the site run ...
    """
    refuse = refusal(where)
    content = _parsed(text, refuse)
    _refuse_exact(content, refuse)
    infinite = infinite_in(content, "")
    if infinite is not None:
        refuse(f"holds a number that is not finite, {infinite}; {AGAIN}")
    sealed = content.pop("checksum", None)
    if not isinstance(sealed, str):
        refuse(f"has no checksum; {AGAIN}")
    if sealed != checksum(content):
        refuse(f"was changed after it was made: its checksum does not fit; {AGAIN}")
    try:
        release = _release(content)
    except InputError as error:
        refuse(f"{error}; {AGAIN}")
    _refuse_broken_promise(release, refuse)
    again = content_of(release)
    for key in again:
        if canonical(again[key]) != canonical(content[key]):
            refuse(f"contradicts itself: {key!r} does not say what follows from the rest; {AGAIN}")
    return release


def _release(content: dict[str, Any]) -> Release:
    """Build the release that a content tells of; errors continue the sentence "release file ..."."""
    _keys(content, "", _TYPES)
    made, price = content["made"], dict(content["price"])
    _keys(made, "made", _MADE)
    constants = {"constant": CONSTANT, "grid": GRID, "weights": [DIAGONAL, BESIDE]}
    for key, ours in constants.items():
        if made[key] != ours:
            raise InputError(f"was made with {key} = {made[key]!r:.40}, and this fedperi computes with {ours}")
    if price.pop("neighbours", None) != NEIGHBOURS:
        raise InputError(f"does not promise for neighbours that are {NEIGHBOURS}")
    schema, units = _columns(content["columns"], made["data"])
    embedding = PublicEmbedding(schema, made["data"], made["degree"], units)
    moments = _matrix(content["moments"], sum(embedding.widths) + 1)
    targets = content["targets"]
    if targets is not None and not all(isinstance(name, str) for name in targets):
        raise InputError("has targets that are not names")
    paid = _price(price)
    _check_ledger(content["ledger"], paid)
    return Release(
        content["site"],
        schema,
        made["data"],
        paid.epsilon,
        paid.delta,
        paid,
        units,
        float(made["limit"]),
        float(made["noise"]),
        moments,
        None if targets is None else tuple(targets),
        content["private"],
        content["identifier"],
        content["created"],
        content["fedperi"],
        made["degree"],
        content["ledger"],
    )


def _price(values: dict[str, Any]) -> Price:
    try:
        return Price.from_dict(values)
    except InputError as error:
        raise InputError(f"has a price that does not hold: {error}") from None


def _check_ledger(values: dict[str, Any] | None, paid: Price) -> None:
    """Check that the ledger names this release, and adds up."""
    if values is None:
        return
    try:
        ceiling = Ceiling(**values["ceiling"])
        prices = [Price.from_dict(entry["price"]) for entry in values["releases"]]
        words = [entry[key] for entry in values["releases"] for key in ("when", "what")]
        given = spent(prices, ceiling.delta)
        left = max(0.0, ceiling.epsilon - given)
        sums = all(abs(values[key] - sum_) <= _TOLERANCE for key, sum_ in (("spent", given), ("remaining", left)))
    except (InputError, KeyError, TypeError):
        raise InputError("has a ledger that cannot be read") from None
    if paid not in prices or not sums or not all(isinstance(word, str) for word in words):
        raise InputError("has a ledger that does not name this release or does not add up")


def _columns(entries: list[Any], data: str) -> tuple[Schema, dict[str, tuple[float, float]]]:
    columns, units = [], {}
    for at, entry in enumerate(entries):
        place = f"columns[{at}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise InputError(f"has no name of a column in {place!r}")
        public = "levels" if entry.get("kind") == "categorical" else "bounds"
        if not isinstance(entry.get(public), list):
            raise InputError(f"has no {public} in {place!r}")
        try:
            column = Column(entry["name"], entry.get("kind", ""), **{public: tuple(entry[public])})
        except InputError as error:
            raise InputError(f"has a column that is none: {error}") from None
        numeric = is_number(column, data)  # type: ignore[arg-type]
        _keys(entry, place, {"name": _TEXT, "kind": _TEXT, public: _LIST, **(_UNIT if numeric else {})})
        if numeric:
            if not all(abs(limit) <= _LARGEST for limit in limits(column)):
                raise InputError(f"has no limits for the numbers of column {column.name!r}")
            units[column.name] = float(entry["centre"]), float(entry["unit"])
        elif len(column.levels or ()) < 2:
            raise InputError(f"has one level only for column {column.name!r}")
        columns.append(column)
    if not columns:
        raise InputError("has no column")
    return Schema(tuple(columns)), units


def _matrix(values: dict[str, Any], size: int) -> NDArray[np.float64]:
    _keys(values, "moments", {"columns": _LIST, "lower_triangle": _LIST})
    rows = values["lower_triangle"]
    if [len(row) if isinstance(row, list) else -1 for row in rows] != list(range(1, size + 1)):
        raise InputError(
            f"has moments of a wrong shape: its columns need a triangle of {size} rows of 1 to {size} numbers"
        )
    if not all(_is_number(value) and abs(value) <= _LARGEST for row in rows for value in row):
        raise InputError("has moments that are not numbers of a possible size")
    moments = np.zeros((size, size))
    for i, row in enumerate(rows):
        moments[i, : i + 1] = moments[: i + 1, i] = row
    return moments


def _refuse_exact(content: dict[str, Any], refuse: Callable[[str], NoReturn]) -> None:
    """A file without noise is not offered, whoever made it: exact moments tell more than answers do."""
    price, made = content.get("price"), content.get("made")
    epsilon = price.get("epsilon") if isinstance(price, dict) else 0.0
    noise = made.get("noise") if isinstance(made, dict) else 1.0
    if epsilon is None or epsilon == math.inf or noise is None or noise == 0:
        refuse(
            "holds exact statistics: it has no noise or promises no epsilon. Such files are not used, because exact "
            "moments can give people away; have the site make one with `fedperi release --epsilon 1`"
        )


def _refuse_broken_promise(release: Release, refuse: Callable[[str], NoReturn]) -> None:
    """Calculate again, from the noise itself, what the file keeps."""
    chosen = 2 * len(release.units)
    if release.price.selections[1] != chosen or release.price.laplace[1]:
        refuse(
            f"has a price that does not fit how it was made, {chosen} choices of quartiles and Gaussian noise; do not "
            f"use it, and {AGAIN}"
        )
    ratio = (CONSTANT**2 + release.limit**2) / release.noise
    gaussian = ratio * ratio / 2
    rho = gaussian + release.price.selections[0] ** 2 / 8 * chosen
    kept = zcdp_epsilon(rho, release.delta) if rho < 1e6 and release.delta else math.inf
    if kept > release.epsilon * (1 + _TOLERANCE) or gaussian > release.price.gaussian * (1 + _TOLERANCE):
        refuse(
            f"does not keep what it promises: epsilon = {release.epsilon:g} at delta = {release.delta:g} is claimed, "
            f"and its noise of {release.noise:g} gives epsilon = {kept:g}; do not use it, and {AGAIN}"
        )


def _parsed(text: str, refuse: Callable[[str], NoReturn]) -> dict[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        refuse(f"is cut off or not JSON (line {error.lineno}: {error.msg}); {AGAIN}")
    except InputError as error:
        refuse(f"{error}; {AGAIN}")
    except (ValueError, RecursionError):
        # Not from the grammar: numbers of thousands of digits, or thousands of nested brackets.
        refuse(f"is not JSON that fedperi wrote; {AGAIN}")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        refuse(f"is none: its format is {found!r:.40}, not {FORMAT!r}; give a file that `fedperi release` wrote")
    version = content.get("version")
    if type(version) is not int or version < VERSION:
        refuse(f"has version {version!r:.20}, and this fedperi reads {VERSION}; {AGAIN}")
    if version > VERSION:
        refuse(f"has version {version!r:.20}, newer than the {VERSION} that this fedperi reads; update fedperi")
    return content


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A field given twice would show a reader one value, and the program another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("has a field twice")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_Kind = tuple[str, Callable[[Any], bool]]
_TEXT: _Kind = ("a text", lambda value: isinstance(value, str))
_LIST: _Kind = ("a list", lambda value: isinstance(value, list))
_OBJECT: _Kind = ("a group of fields", lambda value: isinstance(value, dict))
_FINITE: _Kind = ("a number of a possible size", lambda value: _is_number(value) and abs(value) <= _LARGEST)
_POSITIVE: _Kind = ("a number above 0", lambda value: _is_number(value) and 1e-15 <= value <= _LARGEST)
_ANY: _Kind = ("anything", lambda value: True)
_UNIT = {"centre": _FINITE, "unit": _POSITIVE}
_TYPES: dict[str, _Kind] = {
    "format": _TEXT,
    "version": _ANY,
    "about": _LIST,
    "private": ("true or false", lambda value: isinstance(value, bool)),
    "site": ("the name of a site", lambda value: name_problem(value) is None),
    "targets": ("a list or null", lambda value: value is None or isinstance(value, list)),
    "identifier": _TEXT,
    "created": _TEXT,
    "fedperi": _TEXT,
    "price": _OBJECT,
    "columns": _LIST,
    "made": _OBJECT,
    "moments": _OBJECT,
    "ledger": ("a group of fields or null", lambda value: value is None or isinstance(value, dict)),
}
_MADE: dict[str, _Kind] = {
    "how": _LIST,
    "data": ("linear, nonlinear or mixed", lambda value: value in ("linear", "nonlinear", "mixed")),
    "degree": (f"a whole number from 1 to {MAX_DEGREE}", lambda value: type(value) is int and 1 <= value <= MAX_DEGREE),
    "limit": _POSITIVE,
    "constant": _ANY,
    "grid": _ANY,
    "weights": _ANY,
    "sensitivity": _FINITE,
    "noise": _POSITIVE,
    "noise_beside": _FINITE,
}


def _keys(values: dict[str, Any], place: str, kinds: Mapping[str, _Kind]) -> None:
    """Check that there are these fields, of these types, and no other: rows could hide in a field that nobody reads."""
    inside = f"{place}." if place else ""
    for key, (kind, fits) in kinds.items():
        if key not in values:
            raise InputError(f"lacks the field {inside + key!r}")
        if not fits(values[key]):
            raise InputError(f"has {values[key]!r:.60} as {inside + key!r}, which must be {kind}")
    for key in values:
        if key not in kinds:
            raise InputError(f"has a field that does not belong there, {inside + key!r:.80}")


def refusal(where: str, joint: str = " ") -> Callable[[str], NoReturn]:
    """Return a function that refuses the file: it takes why, and raises."""

    def refuse(why: str) -> NoReturn:
        raise InputError(f"release file {where!r}{joint}{why}")

    return refuse
