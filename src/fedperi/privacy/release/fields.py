"""The fields of a release file and their types; no others are allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import InputError
from ...names import name_problem
from ...strict import is_number
from ...tables.embedding import MAX_DEGREE
from ..accounting import Price, spent
from ..ledger import Ceiling

LARGEST = 1e15  # of numbers: larger than sums over all people on earth, and squares do not overflow
TOLERANCE = 1e-6  # relative, for rounding in decimal numbers

Kind = tuple[str, Callable[[Any], bool]]
TEXT: Kind = ("a text", lambda value: isinstance(value, str))
LIST: Kind = ("a list", lambda value: isinstance(value, list))
OBJECT: Kind = ("a group of fields", lambda value: isinstance(value, dict))
FINITE: Kind = ("a number of a possible size", lambda value: is_number(value) and abs(value) <= LARGEST)
POSITIVE: Kind = ("a number above 0", lambda value: is_number(value) and 1e-15 <= value <= LARGEST)
ANY: Kind = ("anything", lambda value: True)
UNIT = {"centre": FINITE, "unit": POSITIVE}
TYPES: dict[str, Kind] = {
    "format": TEXT,
    "version": ANY,
    "about": LIST,
    "private": ("true or false", lambda value: isinstance(value, bool)),
    "site": ("the name of a site", lambda value: name_problem(value) is None),
    "targets": ("a list or null", lambda value: value is None or isinstance(value, list)),
    "identifier": TEXT,
    "created": TEXT,
    "fedperi": TEXT,
    "price": OBJECT,
    "columns": LIST,
    "made": OBJECT,
    "moments": OBJECT,
    "ledger": ("a group of fields or null", lambda value: value is None or isinstance(value, dict)),
}
_AMOUNT: Kind = ("a number of 0 or more", lambda value: is_number(value) and 0 <= value <= LARGEST)
_LEDGER: dict[str, Kind] = {
    "site": TEXT,
    "ceiling": OBJECT,
    "ceilings": LIST,
    "releases": LIST,
    "totals": OBJECT,
    "spent": _AMOUNT,
    "remaining": _AMOUNT,
}
_TOTALS: dict[str, Kind] = {
    **dict.fromkeys(("releases", "basic_epsilon", "basic_delta", "rho", "delta", "zcdp_epsilon"), _AMOUNT),
    "pld_epsilon": ("a number of 0 or more, or null", lambda value: value is None or _AMOUNT[1](value)),
}
MADE: dict[str, Kind] = {
    "how": LIST,
    "data": ("linear, nonlinear or mixed", lambda value: value in ("linear", "nonlinear", "mixed")),
    "degree": (f"a whole number from 1 to {MAX_DEGREE}", lambda value: type(value) is int and 1 <= value <= MAX_DEGREE),
    "limit": POSITIVE,
    "constant": ANY,
    "grid": ANY,
    "weights": ANY,
    "sensitivity": FINITE,
    "noise": POSITIVE,
    "noise_beside": FINITE,
}


def check_keys(values: dict[str, Any], place: str, kinds: Mapping[str, Kind]) -> None:
    """Check that there are these fields, of these types, and no other: rows could be hidden in an unknown field."""
    inside = f"{place}." if place else ""
    for key, (kind, fits) in kinds.items():
        if key not in values:
            raise InputError(f"lacks the field {inside + key!r}")
        if not fits(values[key]):
            raise InputError(f"has {values[key]!r:.60} as {inside + key!r}, which must be {kind}")
    for key in values:
        if key not in kinds:
            raise InputError(f"has a field that does not belong there, {inside + key!r:.80}")


def check_ledger(values: dict[str, Any] | None, paid: Price) -> None:
    """Check that the ledger names this release, and adds up."""
    if values is None:
        return
    try:
        check_keys(values, "ledger", _LEDGER)
        for entry in (values["ceiling"], *values["ceilings"]):
            dated = {} if entry is values["ceiling"] else {"when": TEXT}
            check_keys(_group(entry), "ledger.ceiling", {**dated, "epsilon": FINITE, "delta": FINITE})
        for entry in values["releases"]:
            check_keys(_group(entry), "ledger.releases", {"when": TEXT, "what": TEXT, "price": OBJECT})
        check_keys(values["totals"], "ledger.totals", _TOTALS)
        ceiling = Ceiling(values["ceiling"]["epsilon"], values["ceiling"]["delta"])
        prices = [Price.from_dict(entry["price"]) for entry in values["releases"]]
    except InputError:
        raise InputError("has a ledger that cannot be read") from None
    given = spent(prices, ceiling.delta)
    left = max(0.0, ceiling.epsilon - given)
    sums = all(abs(values[key] - sum_) <= TOLERANCE for key, sum_ in (("spent", given), ("remaining", left)))
    if paid not in prices or not sums:
        raise InputError("has a ledger that does not name this release or does not add up")


def _group(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("an entry is not a group of fields")
    return value
