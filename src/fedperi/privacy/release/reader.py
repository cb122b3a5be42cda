"""Read a release, and refuse everything that a site would not have written, or whose noise breaks the promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...strict import Unreadable, read_json
from ...strict import is_number as is_finite
from ...tables.bounded import CONSTANT, GRID, PublicEmbedding
from ...tables.readers.private import is_number, limits
from ...tables.schema import Column, Schema
from ..accounting import Price
from ..zcdp import zcdp_epsilon
from .fields import LARGEST, LIST, MADE, TEXT, TOLERANCE, TYPES, UNIT, check_keys, check_ledger
from .release import BESIDE, DIAGONAL, MOST_COLUMNS, Release
from .sentences import NEIGHBOURS
from .signature import Signature, is_base64, is_key_text, verify
from .text import FORMAT, VERSIONS, canonical, checksum, content_of

_NUMBER_SIZE = 24  # most characters of a number in the triangle, with separators
_COLUMN_SIZE = 1 << 12  # most characters for the description of a column, with a name of 200 letters
_LEDGER_SIZE = 1 << 22  # characters for the rest: a ledger of some ten thousand releases
AGAIN = "have the site run `fedperi release` again: it writes the same release, at no new price"
_MOST_LISTS = MOST_COLUMNS + _LEDGER_SIZE // 64  # an entry of a ledger has four lists, and more than 256 characters


def read_release(text: str, where: str) -> Release:
    """Read what `write_release` wrote, and refuse everything else.

    Parameters
    ----------
    text : str
    where : str
        Name for error messages: that of the file.

    Raises
    ------
    InputError
        If the text is incomplete, was edited, or promises more than its noise gives.

    Examples
    --------
    >>> read_release('{"format": "fedperi.rele', "h1.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: release file 'h1.fedperi' is cut off or not JSON (line 1: ...); have the site run ...
    """
    refuse = refusal(f"release file {where!r}")
    content = _parsed(text, refuse)
    _refuse_exact(content, refuse)
    check_checksum(content, refuse, AGAIN)
    try:
        signature = _signature(content)
        release = replace(_release(content), signature=signature)
    except InputError as error:
        refuse(f"{error}; {AGAIN}")
    _refuse_broken_promise(release, refuse)
    again = content_of(release)
    for key in again:
        if canonical(again[key]) != canonical(content[key]):
            refuse(f"contradicts itself: {key!r} does not say what follows from the rest; {AGAIN}")
    check_signature(content, signature, refuse)
    return release


def largest_text(lists: int = MOST_COLUMNS + 64) -> int:
    """Return the most characters that a release with this number of lists can have, one list per row of moments.

    Examples
    --------
    >>> largest_text(11) < 1 << 23, largest_text() < 1 << 25
    (True, True)
    """
    rows = min(lists, MOST_COLUMNS + 1)
    return rows * (rows + 1) // 2 * _NUMBER_SIZE + rows * _COLUMN_SIZE + _LEDGER_SIZE


def _signature(content: dict[str, Any]) -> Signature | None:
    """Remove the signature from a content and return it; the signature is of the rest."""
    if not _is_signed(content):
        return None
    value = content.pop("signature", None)
    if not is_base64(value) or not is_key_text(content.get("signer")):
        raise InputError("has no signature that can be read, though its version says that it is signed")
    return Signature(content["signer"], str(value))


def check_checksum(content: dict[str, Any], refuse: Callable[[str], NoReturn], again: str) -> None:
    """Remove the checksum from a content, and refuse one that does not fit the rest."""
    found = content.pop("checksum", None)
    if not isinstance(found, str):
        refuse(f"has no checksum; {again}")
    if found != checksum(content):
        refuse(f"was changed after it was made: its checksum does not fit; {again}")


def check_signature(content: dict[str, Any], signature: Signature | None, refuse: Callable[[str], NoReturn]) -> None:
    """Refuse a signature that does not fit the content."""
    try:
        fits = signature is None or verify(canonical(content), signature)
    except InputError as error:
        refuse(str(error))
    if not fits:
        refuse("was changed after it was signed: its signature does not fit; do not use it, and ask the site for it")


def _release(content: dict[str, Any]) -> Release:
    """Build the release that a content describes; errors continue the sentence "release file ..."."""
    check_keys(content, "", {**TYPES, "signer": TEXT} if _is_signed(content) else TYPES)
    made, price = content["made"], dict(content["price"])
    check_keys(made, "made", MADE)
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
    try:
        paid = Price.from_dict(price)
    except InputError as error:
        raise InputError(f"has a price that does not hold: {error}") from None
    check_ledger(content["ledger"], paid)
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
        units_from=next(source for source, some in VERSIONS.items() if content["version"] in some),
    )


def _is_signed(content: dict[str, Any]) -> bool:
    return any(content["version"] == signed for _, signed in VERSIONS.values())


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
            raise InputError(f"has a column that cannot be one: {error}") from None
        numeric = is_number(column, data)  # type: ignore[arg-type]
        check_keys(entry, place, {"name": TEXT, "kind": TEXT, public: LIST, **(UNIT if numeric else {})})
        if numeric:
            if not all(abs(limit) <= LARGEST for limit in limits(column)):
                raise InputError(f"has no limits for the numbers of column {column.name!r}")
            units[column.name] = float(entry["centre"]), float(entry["unit"])
        elif len(column.levels or ()) < 2:
            raise InputError(f"has one level only for column {column.name!r}")
        columns.append(column)
    if not columns:
        raise InputError("has no column")
    return Schema(tuple(columns)), units


def _matrix(values: dict[str, Any], size: int) -> NDArray[np.float64]:
    check_keys(values, "moments", {"columns": LIST, "lower_triangle": LIST})
    rows = values["lower_triangle"]
    if [len(row) if isinstance(row, list) else -1 for row in rows] != list(range(1, size + 1)):
        raise InputError(
            f"has moments of a wrong shape: its columns need a triangle of {size} rows of 1 to {size} numbers"
        )
    if not all(is_finite(value) and abs(value) <= LARGEST for row in rows for value in row):
        raise InputError("has moments that are not numbers of a possible size")
    moments = np.zeros((size, size))
    for i, row in enumerate(rows):
        moments[i, : i + 1] = moments[: i + 1, i] = row
    return moments


def _refuse_exact(content: dict[str, Any], refuse: Callable[[str], NoReturn]) -> None:
    """Refuse a file without noise from any source: exact moments reveal more than answers do."""
    price, made = content.get("price"), content.get("made")
    epsilon = price.get("epsilon") if isinstance(price, dict) else 0.0
    noise = made.get("noise") if isinstance(made, dict) else 1.0
    if epsilon is None or epsilon == math.inf or noise is None or noise == 0:
        refuse(
            "holds exact statistics: it has no noise or promises no epsilon. Such files are not used, because exact "
            "moments can reveal people's values; have the site make one with `fedperi release --epsilon 1`"
        )


def _refuse_broken_promise(release: Release, refuse: Callable[[str], NoReturn]) -> None:
    """Refuse a file whose noise does not give the promised epsilon, which is computed again here."""
    chosen = 2 * len(release.units)
    if release.price.selections[1] != chosen or release.price.laplace[1]:
        refuse(
            f"has a price that does not fit how it was made, {chosen} choices for units and Gaussian noise; do not "
            f"use it, and {AGAIN}"
        )
    ratio = (CONSTANT**2 + release.limit**2) / release.noise
    gaussian = ratio * ratio / 2
    rho = gaussian + release.price.selections[0] ** 2 / 8 * chosen
    kept = zcdp_epsilon(rho, release.delta) if rho < 1e6 and release.delta else math.inf
    if kept > release.epsilon * (1 + TOLERANCE) or gaussian > release.price.gaussian * (1 + TOLERANCE):
        refuse(
            f"does not keep what it promises: epsilon = {release.epsilon:g} at delta = {release.delta:g} is claimed, "
            f"and its noise of {release.noise:g} gives epsilon = {kept:g}; do not use it, and {AGAIN}"
        )


def _parsed(text: str, refuse: Callable[[str], NoReturn]) -> dict[str, Any]:
    # Before parsing: a text of brackets and commas needs fifty times its size in memory.
    lists = text.count("[") + text.count("{")
    if len(text) > largest_text(lists) or lists > _MOST_LISTS:
        refuse(f"is larger than a release of {MOST_COLUMNS} columns can be; give a file that `fedperi release` wrote")
    try:
        content = read_json(text)
    except Unreadable as error:
        refuse(f"is cut off or not JSON ({error}); {AGAIN}")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        refuse(
            f"is not a release file (format: {found!r:.40}, not {FORMAT!r}); give a file that `fedperi release` wrote"
        )
    version = content.get("version")
    oldest, newest = VERSIONS["quartiles"][0], VERSIONS["deviations"][1]
    if type(version) is not int or version < oldest:
        refuse(f"has version {version!r:.20}, and this fedperi reads {oldest} to {newest}; {AGAIN}")
    if version > newest:
        refuse(f"has version {version!r:.20}, newer than the {newest} that this fedperi reads; update fedperi")
    return content


def refusal(name: str) -> Callable[[str], NoReturn]:
    """Return a function that refuses a file: it takes the reason, and raises."""

    def refuse(why: str) -> NoReturn:
        raise InputError(f"{name} {why}") from None

    return refuse
