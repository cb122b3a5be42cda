"""Read the values of a message one by one, and check the type and the size of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..errors import InputError
from ..names import MAX_NAME, name_problem, plain, shortened
from ..strict import Unreadable, is_number, read_json
from ..tables.schema import Column

PROTOCOL = 4

MAX_NUMBERS = 1 << 23
"""Most numbers in one message: 64 MiB. All pairs of parents among 200 variables need half of it."""

MAX_VARIABLES = 2000
MAX_TEXT = 1 << 22
"""Most characters of a text that holds a list, such as the columns."""

T = TypeVar("T")


class Refused(InputError):
    """Why a message is not answered, in words that may leave the site: no value of a table is in them."""


class Pending(Refused):
    """The owner of a site has not decided yet: nothing was sent, and the site may be asked again later."""


class Fields:
    """Takes the values out of a message one by one and checks each; a message with other values is refused.

    Parameters
    ----------
    record : mapping
        The message.
    sender : str
        Who sent it, for errors.
    kind : str
        The kind of message, for errors.

    Examples
    --------
    >>> fields = Fields({"protocol": 4, "run": "r1"}, "the coordinator", "close")
    >>> fields.done(fields.text("run", MAX_NAME))
    'r1'
    """

    def __init__(self, record: Mapping[str, Any], sender: str, kind: str) -> None:
        self._sender, self._kind = sender, kind
        if not isinstance(record, Mapping) or not all(isinstance(key, str) for key in record):
            self.wrong("is not a list of named values")
        self._left = dict(record)
        protocol = self.integer("protocol", 0, 1 << 31)
        if protocol != PROTOCOL:
            raise Refused(
                f"{sender} uses version {protocol} of the protocol, and this side version {PROTOCOL}: install the "
                f"same fedperi on both (here {__version__})"
            )
        if "refused" in self._left:
            raise Refused(f"{sender} refused: {self.text('refused', 2000)}")
        if "pending" in self._left:
            raise Pending(f"{sender} waits: {self.text('pending', 2000)}")

    def wrong(self, what: str) -> NoReturn:
        """Raise, with the sender and what is wrong with the message."""
        raise Refused(f"the {self._kind!r} message of {self._sender} {what}")

    def done(self, message: T) -> T:
        """Return the message that was built from the values; raise if the record has other values."""
        if self._left:
            self.wrong(f"holds the unknown value {shown(next(iter(self._left)))}")
        return message

    def _take(self, key: str) -> Any:
        if key not in self._left:
            self.wrong(f"lacks the value {key!r}")
        return self._left.pop(key)

    def text(self, key: str, limit: int) -> str:
        """Take a short text without characters that a terminal or a log would interpret."""
        value = self._take(key)
        if not isinstance(value, str) or not 0 < len(value) <= limit or not all(map(plain, value)):
            self.wrong(f"has a {key!r} that is not plain text of at most {limit} characters")
        return value

    def document(self, key: str, limit: int) -> str:
        """Take a long text. Only its length is checked here."""
        value = self._take(key)
        if not isinstance(value, str) or not 0 < len(value) <= limit:
            self.wrong(f"has a {key!r} that is not text of at most {limit} characters")
        return value

    def name(self, key: str) -> str:
        """Take a valid name (`fedperi.names`)."""
        value = self._take(key)
        if not isinstance(value, str) or not _is_name(value):
            self.wrong(f"has a {key!r} that is not a name of at most {MAX_NAME} characters that show")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """Take a whole number."""
        value = self._take(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.wrong(f"has a {key!r} that is not a whole number between {low} and {high}")
        return value

    def number(self, key: str) -> float:
        """Take a finite number."""
        value = self._take(key)
        if not is_number(value):
            self.wrong(f"has a {key!r} that is not a finite number")
        return float(value)

    def choice(self, key: str, legal: Sequence[str]) -> str:
        """Take one of the legal words."""
        value = self._take(key)
        if not isinstance(value, str) or value not in legal:
            self.wrong(f"has the {key} {shown(value)}; known: {', '.join(legal)}")
        return value

    def array(self, key: str, kind: str) -> NDArray[Any]:
        """Take an array of whole numbers (i), numbers (f) or bytes (u)."""
        value = self._take(key)
        wanted = {"i": np.int64, "f": np.float64, "u": np.uint8}[kind]
        if not isinstance(value, np.ndarray) or value.dtype != wanted or value.size > MAX_NUMBERS:
            self.wrong(f"has a {key!r} that is not an array of {np.dtype(wanted).name}, at most {MAX_NUMBERS} long")
        return value

    def named(self, prefix: str) -> list[str]:
        """List the names that begin with a prefix and were not taken yet; the prefix is cut off."""
        return [key.removeprefix(prefix) for key in self._left if key.startswith(prefix)]

    def value(self, key: str) -> NDArray[Any] | str | int | float | bool:
        """Take a value of any kind: finite numbers (one or an array), a truth value or a short plain text."""
        value = self._left.get(key)
        if isinstance(value, np.ndarray):
            array = self.array(key, "i" if value.dtype.kind == "i" else "f")
            if not np.isfinite(array).all():
                self.wrong(f"has a {shown(key)} that is not finite")
            return array
        if isinstance(value, str):
            return self.text(key, MAX_NAME)
        if isinstance(value, float):
            return self.number(key)
        return bool(self._take(key)) if isinstance(value, bool) else self.integer(key, -(1 << 63), (1 << 63) - 1)

    def _parsed(self, key: str) -> Any:
        try:
            return read_json(self.document(key, MAX_TEXT))
        except Unreadable as error:
            self.wrong(f"has a {key!r} that is not valid JSON: {shown(str(error))}")

    def mapping(self, key: str) -> dict[str, Any] | None:
        """Take named values, or null, from JSON text."""
        value = self._parsed(key)
        if value is not None and not isinstance(value, dict):
            self.wrong(f"has a {key!r} that is not a list of named values")
        return value

    def privacy(self, key: str) -> dict[str, Any] | None:
        """Take what a site says about its privacy, or null; check the types of the values that reports use.

        Examples
        --------
        >>> Fields({"protocol": 4, "told": '{"private": 1}'}, "site 'north'", "ask").privacy("told")
        Traceback (most recent call last):
        ...
        fedperi.protocol.fields.Refused: the 'ask' message of site 'north' has a 'told' whose 'private' is not true
        or false
        """
        value = self.mapping(key)
        for kind, (keys, fits) in _TOLD.items():
            for name in keys:
                if value is not None and name in value and not fits(value[name]):
                    self.wrong(f"has a {key!r} whose {name!r} is not {kind}")
        return value

    def names(self, key: str) -> tuple[str, ...] | None:
        """Take a list of names, or null, from JSON text."""
        value = self._parsed(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) > MAX_VARIABLES or not all(map(_is_name, value)):
            self.wrong(f"has {key} that are not a list of at most {MAX_VARIABLES} names")
        return tuple(value)

    def columns(self, key: str) -> tuple[Column, ...]:
        """Take descriptions of columns from JSON text."""
        value = self._parsed(key)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_VARIABLES:
            self.wrong(f"has {key} that are not a list of 1 to {MAX_VARIABLES} columns")
        names = [entry.get("name") if isinstance(entry, dict) else None for entry in value]
        if not all(map(_is_name, names)) or len(set(names)) < len(names):
            self.wrong("has a column without a name, with an invalid name, or with the name of another column")
        return tuple(map(self._column, value))

    def _column(self, entry: dict[str, Any]) -> Column:
        levels, bounds = entry.get("levels"), entry.get("bounds")
        listed = levels is None or (isinstance(levels, list) and len(levels) <= MAX_VARIABLES)
        bounded = bounds is None or (isinstance(bounds, list) and all(map(is_number, bounds)))
        if set(entry) != {"name", "kind", "levels", "bounds"} or not listed or not bounded:
            self.wrong(f"describes the column {entry['name']!r} in an unknown way")
        if not all(map(_is_name, levels or [])):
            self.wrong(f"has a level of the column {entry['name']!r} that is not plain text")
        try:
            return Column(
                entry["name"],
                entry["kind"],
                None if levels is None else tuple(levels),
                None if bounds is None else tuple(bounds),
            )
        except (InputError, TypeError):
            self.wrong(f"describes the column {entry['name']!r} in an unknown way")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME and all(map(plain, value))


def _is_name(value: object) -> bool:
    return name_problem(value) is None


_AMOUNTS = ["epsilon", "delta", "rho", "rows", "worth", "epsilon_per_answer", "answers_used", "answers_planned"]
_AMOUNTS += ["sensitivity", "sensitivity_proven", "noise_scale", "ridge", "epsilon_own_graph"]
_TOLD: dict[str, tuple[list[str], Callable[[Any], bool]]] = {
    "true or false": (["private"], lambda value: isinstance(value, bool)),
    "a number of 0 or more": (_AMOUNTS, lambda value: is_number(value) and value >= 0),
    "a short plain text": (["mechanism", "data", "neighbours", "release", "sensitivity_is"], _is_text),
    "a group of named values": (["ledger"], lambda value: value is None or isinstance(value, dict)),
}


def shown(value: object) -> str:
    """Quote a value that the other side sent: cut if it is long, and without characters that act on a terminal."""
    return shortened(value if isinstance(value, str) else type(value).__name__)
